"""What of the papers and of the site can be run: tables with a command, blocks of the pages, examples of the public names.

`--quick` runs pages, the short ones first, until the CPU time of `--cpu-seconds` is spent, then every table in its short form, which takes
20 to 40 CPU-minutes where none is kept (`make papers`); only what has run is counted.  Without it every page is run as well.
"""

from __future__ import annotations

import argparse
import inspect
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from parts.common import write_figures

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "papers"), str(ROOT / "scripts")]

from inventory import ITEMS
from page_blocks import blocks_of, pages

import evenhand as eh

SHORT_FIRST = ("statistics", "constraints", "security", "own-method", "budgets", "models", "where", "gate")


@dataclass(frozen=True)
class Allowance:
    """CPU seconds of child processes that may be spent; None for as many as it takes."""

    cpu_seconds: float | None

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is begun."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return self.cpu_seconds is not None and used.ru_utime + used.ru_stime >= self.cpu_seconds


def ends_well(command: Sequence[str]) -> bool:
    """Whether a command ends with 0; what it says is shown where it does not."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"failed: {' '.join(command)}\n{done.stderr[-2000:]}")
    return done.returncode == 0


def blocks_run(allowance: Allowance) -> int:
    """How many blocks of the pages were done."""
    found = sorted(
        pages(), key=lambda page: (page.stem not in SHORT_FIRST, SHORT_FIRST.index(page.stem) if page.stem in SHORT_FIRST else 0)
    )
    done = 0
    for page in found:
        if not allowance.is_spent and ends_well(["scripts/page_blocks.py", str(page)]):
            done += sum(block.counts for block in blocks_of(page))
    return done


def tables_run(allowance: Allowance) -> int:
    """How many items were redone in short; what a run before it has kept is not computed again."""
    done = 0
    with TemporaryDirectory() as folder:
        for item in ITEMS:
            if not allowance.is_spent:
                done += ends_well(["-m", "papers", item.paper, item.name, "--quick", "--to", folder])
    return done


MOST_TABLE_SECONDS = 2_400.0
"""What all tables may take in their short form."""


def figures(allowance: Allowance) -> dict[str, float]:
    """Everything that is counted."""
    tables = Allowance(None if allowance.cpu_seconds is None else allowance.cpu_seconds + MOST_TABLE_SECONDS)
    return {
        "tables_total": len(ITEMS),
        "tables_with_command": sum(callable(item.make()) for item in ITEMS),
        "doc_blocks_total": sum(block.counts for page in pages() for block in blocks_of(page)),
        "doc_blocks_run": blocks_run(allowance),
        "tables_run_quick": tables_run(tables),
        "public_names": len(eh.__all__),
        "public_names_with_example": sum(">>>" in (inspect.getdoc(getattr(eh, name)) or "") for name in eh.__all__),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every table in its short form, and pages until the allowance is spent")
    parser.add_argument("--cpu-seconds", type=float, default=80.0, help="the allowance of --quick for pages")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    write_figures(figures(Allowance(chosen.cpu_seconds if chosen.quick else None)), chosen.json)
