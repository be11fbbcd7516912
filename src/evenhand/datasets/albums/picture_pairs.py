"""Pairs of pictures for verification: `pairs.csv` names two pictures for each pair, and whether they show one person.

Each pair becomes one picture, the first on the left and the second on the right; the label is `same`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.datasets.albums.reading import Listing, Reading, coded, named_files, read_table, readable, tell_skipped
from evenhand.errors import DataError, UnknownName
from evenhand.media.album import UNKNOWN, Album, Attribute

TABLE, FIRST, SECOND, SAME = "pairs.csv", "first", "second", "same"
YES, NO = ("1", "yes", "true", "same", "match", "mated", "genuine"), ("0", "no", "false", "different", "non-match", "non-mated", "impostor")
"""What stands in the column for pairs of one person, and of two; other words are told by `names`."""
NAMES = ("different", "same")
"""What the label is called, unless `names` gives it other names."""


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
    read_once, places = _readable(dict(zip(distinct, named_files(root, distinct, root / TABLE), strict=True)), reading, root.resolve().name)
    rows = [row for row in rows if row[FIRST] in places and row[SECOND] in places]
    sides = [read_once[[places[row[side]] for row in rows]] for side in (FIRST, SECOND)]
    names = [name for name in (rows[0] if rows else {}) if name not in (FIRST, SECOND, SAME)]
    attributes = {name: coded(reading.renamed(name, [row[name] for row in rows])) for name in names}
    sources = tuple(f"{row[FIRST]} {row[SECOND]}" for row in rows)
    pictures = np.concatenate(sides, axis=2)
    return Album(root.resolve().name, pictures, attributes, _same([row[SAME] for row in rows], reading, root), sources=sources)


def _readable(files: Mapping[str, Path], reading: Reading, name: str) -> tuple[NDArray[np.uint8], dict[str, int]]:
    """The pictures that can be read, and the place of each by its name; pairs of the others are left out, and the pictures named."""
    listing = Listing(name)
    for file in files.values():
        listing.add(file, {})
    kept, pictures = readable(listing, np.arange(len(listing.files)), replace(reading, limit=None))
    tell_skipped(listing, len(kept), "is the table that of these pictures?")
    places = {listing.files[place]: at for at, place in enumerate(kept)}
    return pictures, {word: places[file] for word, file in files.items() if file in places}


def _same(words: list[str], reading: Reading, root: Path) -> Attribute:
    """Whether each pair shows one person; called what `names` calls it."""
    renamed = dict(zip(words, reading.renamed(SAME, words), strict=True))
    if mistyped := sorted({str(word) for word in reading.names.get(SAME, {})} - set(words)):
        raise UnknownName(f"value of {SAME!r} in names", mistyped[0], set(words))
    codes = {word: _code(word, renamed[word]) for word in renamed}
    unclear = next((word for word, code in codes.items() if code == UNKNOWN), None)
    if unclear is not None:
        raise DataError(
            f"{root / TABLE}: {SAME} is {unclear!r}; expected one of {', '.join((*YES, *NO))}, or names: {{{SAME}: {{{unclear}: same}}}}"
        )
    own = {codes[word]: name for word, name in renamed.items() if name != word and name.lower() not in (*YES, *NO)}
    values = tuple(own.get(code, usual) for code, usual in enumerate(NAMES))
    return Attribute(values, np.array([codes[word] for word in words], dtype=np.intp))


def _code(word: str, renamed: str) -> int:
    """By the word itself, else by what it is renamed to."""
    return next((code for each in (word.lower(), renamed.lower()) for code, known in enumerate((NO, YES)) if each in known), UNKNOWN)
