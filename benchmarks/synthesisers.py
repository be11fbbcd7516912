"""Chained trees beside sequential CART, TVAE, CTGAN, the copula and AITEST's graph: how alike made-up rows are to held-out real ones.

Prints a Markdown table; `--json FILE` writes the figures of chained trees as one flat object.  Finished cells are kept in
`parts/synthesisers_kept.json` with their day and their code, so that an interrupted run goes on where it stopped; `--page` writes all of
them into docs/aitest.md.  `--tables` and `--synthesisers` choose among them, `--splits` how often; `straight 0`, `bent 0`, `bounded 0`,
`detector 0` and `small groups 0` are tables to develop on (any seed), best with a `--kept` file of their own.
The two nets get `--steps` training steps of 500 rows each, or stop where they gain nothing any more (`--converged`); the published
number of epochs is 300, about 12,000 steps for 20,000 rows.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.copula import Copula
from parts import aitest_tables as paper
from parts import common
from parts import realism as beside
from parts.aitest_data import Make, converged_nets, nets
from parts.kept_cells import KeptCells, code_of
from parts.sequential_cart import SequentialCart

PLAIN = (beside.OURS, beside.CART, "copula", "AITEST")
ALL = (*beside.REPORTED, *beside.GENERATED)
KEPT = Path(__file__).parent / "parts" / "synthesisers_kept.json"
PAGE = Path(__file__).parents[1] / "docs" / "aitest.md"
Found = dict[str, dict[str, list[dict[str, Any]]]]


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
    parser.add_argument("--converged", action="store_true", help="the nets stop where they gain nothing on held-out rows; --steps at most")
    parser.add_argument("--kept", type=Path, default=KEPT, metavar="FILE", help="where finished cells are kept")
    parser.add_argument("--page", action="store_true", help="measure nothing; write all kept cells into the page")
    return parser.parse_args()


def makers(steps: int) -> dict[str, Make]:
    """Every synthesiser that can be compared."""
    plain: dict[str, Make] = {
        beside.OURS: ChainedTrees.fit,
        beside.CART: SequentialCart,
        "copula": Copula.fit,
        "AITEST": ConstraintGraph.fit,
    }
    trained = {f"{name}, {steps} steps": make for name, make in nets(steps).items()}
    return plain | trained | {f"{name}, converged": make for name, make in converged_nets(steps).items()}


def measured(chosen: argparse.Namespace) -> Found:
    """The chosen cells by table and synthesiser, one for each split."""
    kept = KeptCells(None if chosen.quick else chosen.kept)
    names = ["generated 1"] if chosen.quick else chosen.tables.split(",")
    wanted = chosen.synthesisers.split(",")
    left_out = f"{chosen.steps} steps" if chosen.converged else "converged"
    fits = {name: make for name, make in makers(chosen.steps).items() if name.split(",")[0] in wanted and not name.endswith(left_out)}
    found: Found = {}
    for table in beside.tables(names):
        for name, fit in fits.items():
            for split in range(1 if chosen.quick else chosen.splits):
                key = (table.name, name, split, chosen.seed)
                one = kept.cell(key, name, lambda table=table, fit=fit, split=split: beside.cell(table, fit, split, chosen.seed))
                found.setdefault(table.name, {}).setdefault(name, []).append(one)
    return found


def all_kept(path: Path, seed: int) -> Found:
    """Every kept cell; all of them must come from the code as it is, and be about the same relations."""
    found: Found = {}
    for key, cell in KeptCells(path).known().items():
        table, name, _, its_seed = key.split(" / ")
        if int(its_seed) == seed:
            found.setdefault(table, {}).setdefault(name, []).append(cell)
    old = sorted({name for made in found.values() for name, cells in made.items() for cell in cells if cell["code"] != code_of(name)})
    if old:
        raise SystemExit(f"measured with other code: {', '.join(old)}; measure them again first")
    for table, made in found.items():
        if any(len({cell["relations"] for cell in same}) > 1 for same in zip(*made.values(), strict=False)):
            raise SystemExit(f"{table}: the synthesisers were not measured on the same relations; measure the older ones again")
    order = {name: at for at, name in enumerate((*PLAIN, "TVAE", "CTGAN"))}
    return {name: dict(sorted(found[name].items(), key=lambda one: order[one[0].split(",")[0]])) for name in ALL if name in found}


def lines_of(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The table's lines."""
    return [line for name, made in found.items() for line in beside.lines_of(name, made)]


def write_page(found: Found, page: Path) -> None:
    """The table between its markers."""
    told = StringIO()
    with redirect_stdout(told):
        paper.show("", lines_of(found))
    days = sorted({cell["date"] for made in found.values() for cells in made.values() for cell in cells})
    table = told.getvalue().split("\n\n", 1)[1].strip()
    text = f"<!-- begin synthesisers -->\nMeasured on {', '.join(days)}.\n\n{table}\n<!-- end synthesisers -->"
    whole = page.read_text(encoding="utf-8")
    page.write_text(
        re.sub("<!-- begin synthesisers -->.*?<!-- end synthesisers -->", lambda _: text, whole, flags=re.DOTALL), encoding="utf-8"
    )


def main() -> None:
    """The table and the figures."""
    chosen = options()
    found = all_kept(chosen.kept, chosen.seed) if chosen.page else measured(chosen)
    if chosen.page:
        write_page(found, PAGE)
    paper.show("Synthesisers beside each other", lines_of(found))
    has_both = all(beside.OURS in made and beside.CART in made for made in found.values())
    common.write_figures(beside.figures_of(found) if has_both else {}, chosen.json)


if __name__ == "__main__":
    main()
