"""Cells of the table of synthesisers, kept in the repository with the day and the code that they come from.

A cell whose code has changed since is measured again; cells of other synthesisers stay, as the rule by which all are measured is the same.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import evenhand
from evenhand.measures import naturalness, synthesis_quality
from parts import realism

PACKAGE = Path(evenhand.__file__).parent
HERE = Path(__file__).parent
RULE = (
    *(naturalness.two_sample_auc, synthesis_quality.likeness, synthesis_quality._with_label, synthesis_quality._gaps),
    *(synthesis_quality._gap, synthesis_quality.group_borders, synthesis_quality._copied, realism.cell, realism.related_table),
)
"""What decides how every synthesiser is measured, and on what."""

_NETS = ("normalisation", "learning", "adam")
_TREES = [
    "box",
    "cells",
    "chained_trees",
    "coarse_parents",
    "copy_limit",
    "derivations",
    "guides",
    "last_column",
    "leaf_sizes",
    "leaves",
    "links",
    "pilot_rows",
    "rejection",
    "tree_growth",
    "tree_settings",
    "trends",
    "associations",
]
SOURCES = {
    "chained trees": _TREES,
    "copula": ["copula"],
    "AITEST": ["constraint_graph", "bins", "families", "fitting", "generation", "graph", "inference", "kolmogorov"],
    "TVAE": ["tvae", *_NETS],
    "CTGAN": ["ctgan", "ctgan_training", *_NETS],
}


@cache  # the files may be edited while a long run still has the code of its beginning
def code_of(synthesiser: str) -> str:
    """A name for the code that measures a synthesiser, its own and the rule's."""
    own = [PACKAGE / "synthesis" / f"{name}.py" for name in SOURCES.get(synthesiser.split(",")[0], [])] or [HERE / "sequential_cart.py"]
    own += [HERE / "converged_nets.py"] if synthesiser.endswith("converged") else []
    rule = "".join(inspect.getsource(each) for each in RULE).encode()
    return hashlib.sha256(rule + b"".join(file.read_bytes() for file in own)).hexdigest()[:12]


@dataclass(frozen=True)
class KeptCells:
    """Measured cells in a file; None keeps nothing."""

    path: Path | None

    def cell(self, key: Sequence[Any], synthesiser: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What is kept under the key for the code at hand, or the result of the work."""
        name, code = " / ".join(str(part) for part in key), code_of(synthesiser)
        known = self.known().get(name)
        if known is not None and known["code"] == code:
            return known
        print(f"  {name}", file=sys.stderr, flush=True)
        found = work() | {"code": code, "date": dt.datetime.now(dt.UTC).date().isoformat()}
        self._keep(name, found)
        return found

    def known(self) -> dict[str, dict[str, Any]]:
        """Everything that is kept."""
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path is not None and self.path.is_file() else {}

    def _keep(self, name: str, found: dict[str, Any]) -> None:
        if self.path is None:
            return
        with self.path.with_suffix(".lock").open("w") as lock:  # several tables may be measured at the same time
            fcntl.flock(lock, fcntl.LOCK_EX)
            cells = dict(sorted((self.known() | {name: found}).items()))
            lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in cells.items())
            self.path.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
