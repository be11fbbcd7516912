"""Tables 2 to 7 of "Data Synthesis for Testing Black-Box Machine Learning Models" (arXiv 2111.02161), one command for each.

    python papers/aitest.py --table 6 --data iris,ecoli

Nets are trained until five looks in a row gain nothing on held-out rows (`--steps` at most).  Surrogate trees may
grow as they like (`--paths` limits them).  Finished cells are noted in the cache folder; an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))  # the tables' makers stand there

from parts import aitest_tables as tables
from parts.aitest_data import Notes

UNLIMITED = 1_000_000
UNLIMITED_QUESTIONS = 1_000_000_000
DATA = {
    2: "iris,ecoli,car,credit,wdbc,adult,magic,bank,compas",
    3: "iris,ecoli,car,credit,wdbc,adult,magic",
    4: "credit,adult,compas",
    5: "credit,adult",
    6: "iris,ecoli,car,credit,wdbc,adult,magic,bank",
    7: "credit,car,adult,compas",
}
TITLES = {
    2: "realism of 1,000 rows",
    3: "accuracy of models trained on real and on synthetic rows",
    4: "properties, data constraints only",
    5: "properties with wished ratios, decision tree, 80:20",
    6: "fidelity of the surrogate",
    7: "paths taken by the test split and by AITEST's tests",
}


def options() -> argparse.Namespace:
    """Which table, on what, how often."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=int, choices=sorted(TITLES), required=True)
    parser.add_argument("--data", help="data sets, separated by commas; without it, all of the table's")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--net-seeds", type=int, default=5, help="Table 2: seeds of CTGAN and TVAE; 0 leaves them out")
    parser.add_argument("--steps", type=int, default=12_000, help="Table 2: most training steps of a net")
    parser.add_argument("--rows", type=int, default=4_000, help="real rows of a data set that a seed uses at most")
    parser.add_argument("--paths", type=int, default=UNLIMITED, help="Tables 6 and 7: most paths of a surrogate")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table's lines")
    return parser.parse_args()


def lines_of(chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """The table's lines."""
    names = (chosen.data or DATA[chosen.table]).split(",")
    steps = chosen.steps if chosen.net_seeds else 0
    plan = tables.Plan(chosen.seeds, chosen.net_seeds, steps, chosen.rows, chosen.paths, True, UNLIMITED_QUESTIONS, Notes.of_this_code())
    if chosen.table == 7:
        return tables.table_7(names, plan, chosen.paths)
    make = {2: tables.table_2, 3: tables.table_3, 4: tables.table_4, 5: tables.table_5, 6: tables.table_6}
    return make[chosen.table](names, plan)


def main() -> None:
    """Print one table."""
    chosen = options()
    lines = lines_of(chosen)
    tables.show(f"Table {chosen.table}: {TITLES[chosen.table]}", lines)
    if chosen.json:
        chosen.json.write_text(json.dumps(lines, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
