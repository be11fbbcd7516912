"""A folder of pictures with a CSV of attributes: one row per picture, one column per attribute."""

from __future__ import annotations

from pathlib import Path

from evenhand.datasets.albums.reading import Reading, album_from, named_files, present, read_table
from evenhand.media.album import Album


def fits(root: Path) -> bool:
    """By its table of attributes."""
    return (root / "attributes.csv").exists()


def read(root: Path | str, reading: Reading, table: str = "attributes.csv", column: str = "file") -> Album:
    """Pictures named in the column `file` of `attributes.csv`, relative to the folder; every other column is an attribute."""
    root = Path(root)
    rows = read_table(root / table, (column, *filter(None, [reading.label])))[: reading.limit]
    files = named_files(root, [row[column] for row in rows], root / table)
    present(files, root / table)
    names = [name for name in (rows[0] if rows else {}) if name != column]
    return album_from(root.name, files, {name: [row.get(name, "") for row in rows] for name in names}, reading)
