"""Every method on eight data-set/attribute pairs and four model families, judged alike; see docs/arena.md.

compare() runs a small matrix and prints it; the script runs the whole one, resumable, or --quick.
"""

from __future__ import annotations

import common  # isort: skip  (limits threads before NumPy is loaded)

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand import registry
from evenhand.campaign.conduct import Settings, conduct
from evenhand.campaign.contest import Entrant, Terms
from evenhand.campaign.sources import Named
from evenhand.models.budget import Budget

PAIRS = (
    ("adult", "sex"), ("adult", "race"), ("adult", "age"), ("credit", "sex"), ("credit", "age"), ("bank", "age"), ("compas", "race"),
    ("meps", "SEX"),
)  # fmt: skip
FAMILIES = ("mlp", "forest", "boosting", "svm")


def compare(
    methods: Sequence[str | Entrant],
    pairs: Sequence[tuple[str, str]] = PAIRS,
    families: Sequence[str] = FAMILIES,
    seeds: Sequence[int] = (0,),
    cpu_seconds: float = 1.0,
) -> list[dict[str, Any]]:
    """Run a matrix in this process and print natural valid findings per CPU-second and rules, per method; returns the records."""
    sources = [Named(table, (column,), family) for table, column in pairs for family in families]
    started = time.process_time()
    records = conduct(methods, sources, seeds, Terms(Budget(cpu_seconds=cpu_seconds)), Settings(progress=say))
    print(f"{len(records)} runs, {time.process_time() - started:.0f} CPU-seconds in all")
    for figure in ("natural_valid_per_cpu_second", "rules"):
        print(f"\n{figure}, mean over seeds")
        print_matrix(records, figure)
    return records


def say(record: dict[str, Any]) -> None:
    """One line per run."""
    where = f"{record['dataset']:7}{record['protected']:6}{record['model']:9}{record['method']:20}"
    if record["status"] != "done":
        print(f"{where} {record['status']}: {record['reason'][:110]}", file=sys.stderr, flush=True)
        return
    print(
        f"{where}{record['candidates']:9,} candidates{record['findings']:9,} findings{record['cpu_seconds']:6.2f} CPU-s"
        f"{record['natural_valid_per_cpu_second'] or 0:11,.0f} natural valid/s  rules {record['rules']}/{record['rules_unfiltered']}"
        f"/{record['rules_total']}",
        file=sys.stderr,
        flush=True,
    )


def print_matrix(records: Sequence[dict[str, Any]], figure: str) -> None:
    """Grounds down, methods across; the best of each row is starred."""
    methods = list(dict.fromkeys(r["method"] for r in records))
    grounds = list(dict.fromkeys((r["dataset"], r["protected"], r["model"]) for r in records))
    print(" " * 24 + "".join(f"{name[:11]:>12}" for name in methods))
    for ground in grounds:
        cells = {}
        for name in methods:
            mine = [r for r in records if (r["dataset"], r["protected"], r["model"]) == ground and r["method"] == name]
            values = [r[figure] for r in mine if r["status"] == "done" and r.get(figure) is not None]
            cells[name] = float(np.mean(values)) if values else None
        best = max((v for v in cells.values() if v is not None), default=None)
        shown = [
            ("-" if v is None else f"{v:,.1f}" if v < 100 else f"{v:,.0f}") + ("*" if v is not None and v == best else "")
            for v in cells.values()
        ]
        print(f"{' '.join(ground):24}" + "".join(f"{cell:>12}" for cell in shown))


def main() -> int:
    """A first matrix."""
    given = common.options(__doc__ or "")
    methods = list(registry.entries())
    compare(methods, (("credit", "sex"),), ("mlp",), (given.seed,), 0.5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
