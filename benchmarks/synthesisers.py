"""Chained trees beside sequential CART, TVAE, CTGAN, the copula and AITEST's graph: how alike made-up rows are to held-out real ones.

Prints a Markdown table; `--json FILE` writes the figures of chained trees as one flat object.  Finished cells are noted in the cache
folder, so that an interrupted run goes on where it stopped.  `--tables` and `--synthesisers` choose among them, `--splits` how often.
The two nets get `--steps` training steps of 500 rows each; the published number of epochs is 300, about 12,000 steps for 20,000 rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.copula import Copula
from parts import aitest_tables as paper
from parts import common
from parts import realism as beside
from parts.aitest_data import Make, Notes, nets
from parts.sequential_cart import SequentialCart

PLAIN = (beside.OURS, beside.CART, "copula", "AITEST")
ALL = (*beside.REPORTED, *beside.GENERATED)


def options() -> argparse.Namespace:
    """What is compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one split of one table, without the nets: under 90 CPU-seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as one flat object")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", default=",".join(ALL), help="names, separated by commas")
    parser.add_argument("--synthesisers", default=",".join(PLAIN), help="names, separated by commas; TVAE and CTGAN besides")
    parser.add_argument("--splits", type=int, default=beside.SPLITS)
    parser.add_argument("--steps", type=int, default=12_000, help="training steps of the nets")
    return parser.parse_args()


def makers(steps: int) -> dict[str, Make]:
    """Every synthesiser that can be compared."""
    plain: dict[str, Make] = {
        beside.OURS: ChainedTrees.fit,
        beside.CART: SequentialCart,
        "copula": Copula.fit,
        "AITEST": ConstraintGraph.fit,
    }
    return plain | {f"{name}, {steps} steps": make for name, make in nets(steps).items()}


def main() -> None:
    """The table and the figures."""
    chosen = options()
    notes = Notes() if chosen.quick else Notes.of_this_code()
    names = ["generated 1"] if chosen.quick else chosen.tables.split(",")
    wanted = chosen.synthesisers.split(",")
    fits = {name: make for name, make in makers(chosen.steps).items() if name.split(",")[0] in wanted}
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for table in beside.tables(names):
        for name, fit in fits.items():
            for split in range(1 if chosen.quick else chosen.splits):
                key = (table.name, name, split, chosen.seed)
                one = notes.cell(key, lambda table=table, fit=fit, split=split: beside.cell(table, fit, split, chosen.seed))
                found.setdefault(table.name, {}).setdefault(name, []).append(one)
    paper.show("Synthesisers beside each other", [line for name, made in found.items() for line in beside.lines_of(name, made)])
    has_both = all(beside.OURS in made and beside.CART in made for made in found.values())
    common.write_figures(beside.figures_of(found) if has_both else {}, chosen.json)


if __name__ == "__main__":
    main()
