"""The layout of FairFace: `fairface_label_train.csv` or `fairface_label_val.csv` with file, age, gender, race; pictures beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from evenhand.datasets.albums.reading import Listing, Reading, album_from, named_files, read_table
from evenhand.media.album import Album


def fits(root: Path) -> bool:
    """By its table of labels."""
    return any((root / f"fairface_label_{part}.csv").exists() for part in ("train", "val"))


def read(root: Path | str, reading: Reading, part: Literal["train", "val"] = "val") -> Album:
    """Pictures with age (nine groups, in order), gender and race."""
    root = Path(root)
    table = root / f"fairface_label_{part}.csv"
    rows = read_table(table, ("file", "age", "gender", "race"))
    listing = Listing("FairFace")
    for file, row in zip(named_files(root, [row["file"] for row in rows], table), rows, strict=True):
        listing.add(file, {name: row[name] for name in ("age", "gender", "race")})
    return album_from(listing, reading)
