"""The layout of FairFace: `fairface_label_val.csv` or `fairface_label_train.csv` with file, age, gender, race; pictures beside it.

Where both are there, the one for validation is read: classifiers have learnt from the other.
"""

from __future__ import annotations

from pathlib import Path

from evenhand.datasets.albums.reading import Listing, Reading, album_from, named_files, read_table
from evenhand.media.album import Album

TABLES = ("fairface_label_val.csv", "fairface_label_train.csv")


def fits(root: Path) -> bool:
    """By its table of labels."""
    return any((root / name).exists() for name in TABLES)


def read(root: Path | str, reading: Reading) -> Album:
    """Pictures with age (nine groups, in order), gender and race."""
    root = Path(root)
    table = next((root / name for name in TABLES if (root / name).exists()), root / TABLES[0])
    rows = read_table(table, ("file", "age", "gender", "race"))
    listing = Listing("FairFace")
    for file, row in zip(named_files(root, [row["file"] for row in rows], table), rows, strict=True):
        listing.add(file, {name: row[name] for name in ("age", "gender", "race")})
    return album_from(listing, reading)
