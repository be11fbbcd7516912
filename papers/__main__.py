"""`python -m papers limi table-1 [--quick]` redoes one table or figure; `python -m papers --list` names all of them."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from inventory import ITEMS, find

ROOT = Path(__file__).resolve().parents[1]


def options() -> argparse.Namespace:
    """What the command line says; further words go to the script."""
    parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__)
    parser.add_argument("paper", nargs="?", choices=sorted({item.paper for item in ITEMS}))
    parser.add_argument("item", nargs="?", help="such as table-1")
    parser.add_argument("--list", action="store_true", help="every table and figure, its command and its state")
    parser.add_argument("--quick", action="store_true", help="the short form")
    parser.add_argument("--full", action="store_true", help="the whole of it, which is the default")
    return parser.parse_args()


def listing() -> str:
    """One line for each item."""
    return "\n".join(f"{i.paper:11} {i.name:12} {i.state:8} {i.title}{f' ({i.note})' if i.note else ''}" for i in ITEMS)


def main() -> int:
    """Run one, or list all."""
    chosen = options()
    if chosen.list or chosen.paper is None:
        print(listing())  # noqa: T201 - asked for
        return 0
    item = find(chosen.paper, chosen.item or "")
    if item is None:
        names = ", ".join(each.name for each in ITEMS if each.paper == chosen.paper)
        sys.exit(f"{chosen.paper} has no item {chosen.item!r}; it has {names}")
    if not item.command:
        sys.exit(f"{item.paper} {item.name} ({item.title}) is not redone yet. {item.note}")
    return subprocess.call([sys.executable, *item.command, *(item.quick if chosen.quick else ())], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
