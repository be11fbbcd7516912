"""Pairs of pictures for verification: `pairs.csv` names two pictures for each pair, and whether they show one person.

Each pair becomes one picture, the first on the left and the second on the right; the label is `same`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evenhand.datasets.albums.reading import Reading, coded, named_files, read_pictures, read_table
from evenhand.errors import DataError
from evenhand.media.album import UNKNOWN, Album, Attribute

TABLE, FIRST, SECOND, SAME = "pairs.csv", "first", "second", "same"
YES, NO = ("1", "yes", "true", "same"), ("0", "no", "false", "different")


def fits(root: Path) -> bool:
    """By its table of pairs."""
    try:
        return {FIRST, SECOND, SAME} <= set(read_table(root / TABLE, ())[0])
    except (DataError, IndexError):
        return False


def read(root: Path | str, reading: Reading) -> Album:
    """Both pictures of every pair side by side; all other columns are attributes of the pair."""
    root = Path(root)
    rows = read_table(root / TABLE, (FIRST, SECOND, SAME))
    order = np.random.default_rng(reading.seed).permutation(len(rows))[: reading.limit or len(rows)]
    rows = [rows[place] for place in sorted(order.tolist())]
    # A picture that stands in many pairs is read once.
    distinct = sorted({row[side] for row in rows for side in (FIRST, SECOND)})
    read_once = read_pictures(named_files(root, distinct, root / TABLE), reading.size)
    places = {name: place for place, name in enumerate(distinct)}
    sides = [read_once[[places[row[side]] for row in rows]] for side in (FIRST, SECOND)]
    names = [name for name in (rows[0] if rows else {}) if name not in (FIRST, SECOND, SAME)]
    attributes = {name: coded(reading.renamed(name, [row[name] for row in rows])) for name in names}
    sources = tuple(f"{row[FIRST]} {row[SECOND]}" for row in rows)
    pictures = np.concatenate(sides, axis=2)
    return Album(root.resolve().name, pictures, attributes, _same([row[SAME] for row in rows], root), sources=sources)


def _same(words: list[str], root: Path) -> Attribute:
    codes = [1 if word.lower() in YES else 0 if word.lower() in NO else UNKNOWN for word in words]
    if UNKNOWN in codes:
        raise DataError(f"{root / TABLE}: {SAME} is {words[codes.index(UNKNOWN)]!r}; expected one of {', '.join((*YES, *NO))}")
    return Attribute(("different", "same"), np.array(codes, dtype=np.intp))
