"""A folder of pictures with a CSV of attributes: one row per picture, one column per attribute."""

from __future__ import annotations

from pathlib import Path

from evenhand.datasets.albums.reading import KINDS, Listing, Reading, album_from, named_files, read_table
from evenhand.errors import DataError
from evenhand.media.album import Album

USUAL = "attributes.csv"
LOOKED_AT = 50
"""So many rows of a table show which of its columns names pictures."""


def fits(root: Path) -> bool:
    """By its table of attributes: the usual one, or one whose column names pictures that are there."""
    return (root / USUAL).exists() or any(_column(table, root) for table in sorted(root.glob("*.csv")))


def read(root: Path | str, reading: Reading) -> Album:
    """Pictures that one column of the table names, relative to the folder; every other column is an attribute."""
    root = Path(root)
    table, column = _table(root)
    rows = read_table(table, (column, *filter(None, [reading.label])))
    listing = Listing(root.resolve().name)
    for file, row in zip(named_files(root, [row[column] for row in rows], table), rows, strict=True):
        listing.add(file, {name: word for name, word in row.items() if name != column})
    return album_from(listing, reading)


def _table(root: Path) -> tuple[Path, str]:
    """The table of attributes, and its column of file names."""
    if (root / USUAL).exists():
        return root / USUAL, _column(root / USUAL, root) or "file"
    for table in sorted(root.glob("*.csv")):
        if column := _column(table, root):
            return table, column
    raise DataError(f"{root}: no {USUAL}, and no other CSV with a column that names pictures in this folder")


def _column(table: Path, root: Path) -> str:
    """The column that names pictures below the folder; empty where none does."""
    try:
        rows = read_table(table, ())[:LOOKED_AT]
    except DataError:
        return ""
    if rows and {"first", "second", "same"} <= set(rows[0]):
        return ""  # pairs of pictures are a layout of their own
    for name in rows[0] if rows else ():
        named = [row.get(name, "") for row in rows]
        if all(word.lower().endswith(KINDS) for word in named) and any((root / word).is_file() for word in named):
            return name
    return ""
