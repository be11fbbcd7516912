"""Writes the tables of docs/aitest.md: whatever stands between a pair of markers there is computed again.

Cells are noted in the cache folder ($EVENHAND_CACHE) under a name for the code that they came from, so that a run that was
interrupted goes on where it stopped.  `--only NAME` computes some parts, in the order in which they are named.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import aitest  # noqa: E402
from parts import aitest_tables as paper  # noqa: E402
from parts import common  # noqa: E402
from parts.aitest_data import Notes  # noqa: E402

REALISTIC = [*aitest.MANY, "bank", "compas"]
Part = Callable[[paper.Plan], list[dict[str, Any]]]


def wishes(plan: paper.Plan) -> list[dict[str, Any]]:
    """The thirty sets of wishes."""
    lines = plan.notes.cell(("wishes", 1_000), lambda: aitest.obedience(0, 1_000)[1])
    return [{key: value for key, value in line.items() if key != "share"} for line in lines]


def trees(plan: paper.Plan) -> list[dict[str, Any]]:
    """Chained trees on Adult by the number of held-out rows and by seed."""
    lines = []
    for held_out in (12_000, 16_000, 24_000):
        for seed in range(plan.seeds):
            lines.append(plan.notes.cell(("trees", held_out, seed), lambda n=held_out, s=seed: aitest.tree_likeness(s, n)))
    return lines


def rates(plan: paper.Plan) -> list[dict[str, Any]]:
    """Discriminatory instances among real, drawn and uniform rows."""
    lines = []
    for n in (4_000, 20_000):
        for seed in range(plan.seeds):
            found = plan.notes.cell(("rates", n, seed), lambda n=n, s=seed: aitest.rates(s, n))
            lines += [{"rows of each": n, "seed": seed, **line} for line in found]
    return sorted(lines, key=lambda line: (line["data"], line["protected"], line["rows of each"], line["seed"]))


PARTS: dict[str, Part] = {
    "table-6": lambda plan: paper.table_6([*aitest.MANY, "bank"], plan),
    "table-3": lambda plan: paper.table_3(aitest.MANY, plan),
    "table-4": lambda plan: paper.table_4(["adult", "credit", "compas"], plan),
    "table-5": lambda plan: paper.table_5(["adult", "credit"], plan),
    "table-7": lambda plan: paper.table_7(["credit", "adult", "compas", "car"], plan, 100),
    "trees": trees,
    "rates": rates,
    "wishes": wishes,
    "table-2": lambda plan: paper.table_2(REALISTIC, plan),
    "linear": lambda plan: plan.notes.cell(("linear",), lambda: aitest.linearity(0, ROOT / "docs" / "pictures" / "aitest-linear.svg")),
}


def written(page: str, name: str, lines: list[dict[str, Any]]) -> str:
    """The page with one part's table between its markers."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    if begin not in page or end not in page:
        raise SystemExit(f"the page lacks the markers {begin} and {end}")
    told = StringIO()
    with redirect_stdout(told):
        paper.show("", [{key: value for key, value in line.items() if key != "worst range"} for line in lines])
    table = told.getvalue().split("\n\n", 1)[1].strip()
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{table}\n{end}", page, flags=re.DOTALL)


def main() -> None:
    """Compute and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=list(PARTS), help="a part; repeat for several")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "aitest.md")
    chosen = parser.parse_args()
    plan = paper.Plan(notes=Notes.of_this_code())
    for name in chosen.only or list(PARTS):
        seconds, lines = common.cpu(lambda part=PARTS[name]: part(plan))
        chosen.page.write_text(written(chosen.page.read_text(encoding="utf-8"), name, lines), encoding="utf-8")
        sys.stdout.write(f"{name}: {len(lines)} lines, {seconds:.0f} CPU-seconds\n")


if __name__ == "__main__":
    main()
