"""The layout of LFW: a folder per name with numbered pictures, and `lfw_attributes.txt` with a score per attribute."""

from __future__ import annotations

from pathlib import Path

from evenhand.datasets.albums.reading import Listing, Reading, album_from
from evenhand.errors import DataError
from evenhand.media.album import Album


def fits(root: Path) -> bool:
    """By its table of attributes."""
    return (root / "lfw_attributes.txt").exists()


def read(root: Path | str, reading: Reading) -> Album:
    """Pictures with attributes "yes" (score above 0) and "no"; rows whose picture is absent are left out."""
    root = Path(root)
    table = root / "lfw_attributes.txt"
    if not table.exists():
        raise DataError(f"{table} does not exist; it holds the attributes of the LFW layout")
    names, rows = _rows(table)
    pictures = root / "lfw" if (root / "lfw").is_dir() else root
    listing = Listing("LFW")
    for row in rows:
        if (file := _place(pictures, row)).exists():
            listing.add(file, {name: "yes" if float(row[place]) > 0 else "no" for place, name in enumerate(names, start=2)})
    return album_from(listing, reading)


def _rows(table: Path) -> tuple[list[str], list[list[str]]]:
    lines = [line.rstrip("\n") for line in table.read_text(encoding="utf-8").splitlines()]
    header = next((line for line in lines if line.lstrip("# \t").startswith("person")), "")
    if not header:
        raise DataError(f"{table}: no line of column names that starts with 'person'")
    names = [name for name in header.lstrip("# ").split("\t") if name][2:]
    rows = [line.split("\t") for line in lines if line and not line.startswith("#") and line != header]
    for row in rows:
        if len(row) != len(names) + 2:
            raise DataError(f"{table}: the row of {row[0]!r} has {len(row)} cells, expected {len(names) + 2}")
    return names, rows


def _place(pictures: Path, row: list[str]) -> Path:
    folder = row[0].replace(" ", "_")
    return pictures / folder / f"{folder}_{int(row[1]):04d}.jpg"
