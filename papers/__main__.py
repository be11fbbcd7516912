"""`python -m papers limi table-1 [--quick|--full]` redoes one table or figure and writes its page; `--list` names all of them.

Without an item every one of the paper is redone, with `--all` every one of all papers.  What was computed before is not computed again
unless something that it rests on has changed; `--again` computes everything again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before NumPy is loaded: costs are for one thread
sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "benchmarks")]

from inventory import ITEMS, NOTES, PaperItem, find  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
EVERYTHING = (*ITEMS, *NOTES)


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paper", nargs="?", choices=sorted({item.paper for item in EVERYTHING}))
    parser.add_argument("item", nargs="?", help="such as table-1")
    parser.add_argument("--list", action="store_true", help="every table and figure, its command and its state")
    parser.add_argument("--all", action="store_true", help="every item of every paper")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--quick", action="store_true", help="the short form, under 90 CPU-seconds an item")
    form.add_argument("--full", action="store_true", help="the whole of it, which is the default and takes hours")
    parser.add_argument("--again", action="store_true", help="compute everything again")
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "papers", metavar="FOLDER", help="where the pages go")
    return parser.parse_args()


def listing() -> str:
    """One line for each item."""
    return "\n".join(f"{i.paper:11} {i.name:16} {i.state:6} {i.title}{f' ({i.note})' if i.note else ''}" for i in EVERYTHING)


def chosen_items(chosen: argparse.Namespace) -> list[PaperItem]:
    """What is to be redone."""
    if chosen.all:
        return list(EVERYTHING)
    of_paper = [item for item in EVERYTHING if item.paper == chosen.paper]
    if not chosen.item:
        return of_paper
    item = find(chosen.paper, chosen.item)
    if item is None:
        sys.exit(f"{chosen.paper} has no item {chosen.item!r}; it has {', '.join(each.name for each in of_paper)}")
    return [item]


def redo(item: PaperItem, chosen: argparse.Namespace) -> float:
    """Compute one, write its page; returns the CPU-seconds that its cells have cost."""
    from cells import Cells
    from pace import PACE
    from redone import Effort, PageFacts, page

    from evenhand.disk import write_whole

    effort = Effort(chosen.quick, Cells(is_fresh=chosen.again))
    begun, looking = time.process_time(), PACE.spent
    done = item.make()(effort)
    here = time.process_time() - begun - (PACE.spent - looking)
    spent, unit = max(here, effort.cells.spent), PACE.now()
    sorts = effort.cells.sorts(unit) + (spent - effort.cells.spent) / unit
    facts = PageFacts(item.heading, f"{item.line}{' --quick' if chosen.quick else ''}", spent, sorts, item.note)
    chosen.to.mkdir(parents=True, exist_ok=True)
    write_whole(chosen.to / f"{item.stem}.md", page(done, facts))
    for name, picture in done.pictures.items():
        write_whole(chosen.to / name, picture)
    return spent


def main() -> int:
    """Redo one, several or all; or list them."""
    chosen = options()
    if chosen.list or not (chosen.paper or chosen.all):
        print(listing())  # noqa: T201 - asked for
        return 0
    failed = []
    for item in chosen_items(chosen):
        try:
            spent = redo(item, chosen)
        except Exception as fault:
            failed.append(f"{item.paper} {item.name}: {type(fault).__name__}: {fault}")
            continue
        print(f"{item.paper:11} {item.name:16} {spent:7.1f} CPU-seconds  {chosen.to / item.stem}.md", flush=True)  # noqa: T201
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
