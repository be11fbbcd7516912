"""The layout of UTKFace: everything is in the file's name, `age_gender_race_date.jpg`.

A few of the published files leave a part out, such as `61_1_20170109142408075.jpg`: what a name does not say is unknown.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from evenhand.datasets.albums.reading import KINDS, Listing, Reading, album_from, pictures_below
from evenhand.errors import DataError
from evenhand.media.album import Album

GENDERS = ("male", "female")
RACES = ("white", "black", "asian", "indian", "other")
LOOKED_AT = 50
DECADES = tuple(f"{start}-{start + 9}" for start in range(0, 120, 10))


def fits(root: Path) -> bool:
    """By the names of its first pictures, of which a few may be others; they may lie in folders, as the published parts do."""
    found = (file for file in root.rglob("*") if file.suffix.lower() in KINDS)
    first = list(islice(found, LOOKED_AT))
    return bool(first) and sum(re.match(r"\d{1,3}_[01]_", file.name) is not None for file in first) * 2 > len(first)


def read(root: Path | str, reading: Reading) -> Album:
    """Pictures with age, age_group (by decade), gender and race; a file whose name says none of them is left out and named."""
    listing = Listing("UTKFace")
    for file in pictures_below(Path(root)):
        try:
            listing.add(file, _words(file))
        except DataError as fault:
            listing.skipped.append(str(fault))
    return album_from(listing, reading)


def _words(file: Path) -> dict[str, str]:
    """What the name says; empty where it leaves a part out."""
    cells = file.name.split("_")[:3]
    age, gender, race = (int(cell) if cell.isdigit() else None for cell in (*cells, *[""] * (3 - len(cells))))
    if age is None or len(cells) < 2:
        raise DataError(f"{file.name} must be named age_gender_race_date, such as 25_1_2_20170116.jpg")
    if age > 120 or (gender or 0) >= len(GENDERS) or (race or 0) >= len(RACES):
        raise DataError(f"{file.name}: age {age}, gender {gender} or race {race} is outside the layout's codes")
    named = {"gender": "" if gender is None else GENDERS[gender], "race": "" if race is None else RACES[race]}
    return {"age": str(age), "age_group": DECADES[min(age // 10, len(DECADES) - 1)], **named}
