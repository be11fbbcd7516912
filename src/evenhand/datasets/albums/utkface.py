"""The layout of UTKFace: everything is in the file's name, `age_gender_race_date.jpg`.

A few of the published files leave a part out, such as `61_1_20170109142408075.jpg`: what a name does not say is unknown.
"""

from __future__ import annotations

import re
from pathlib import Path

from evenhand.datasets.albums.reading import KINDS, Reading, album_from
from evenhand.errors import DataError
from evenhand.media.album import Album

GENDERS = ("male", "female")
RACES = ("white", "black", "asian", "indian", "other")
DECADES = tuple(f"{start}-{start + 9}" for start in range(0, 120, 10))


def fits(root: Path) -> bool:
    """By the name of its first picture."""
    first = next((file for file in sorted(root.iterdir()) if file.suffix.lower() in KINDS), None)
    return first is not None and re.match(r"\d{1,3}_[01]_", first.name) is not None


def read(root: Path | str, reading: Reading) -> Album:
    """Pictures with gender, race and age_group (by decade); a file whose name says none of them is named in the error."""
    root = Path(root)
    files = sorted(file for file in root.rglob("*") if file.suffix.lower() in KINDS)[: reading.limit]
    parts = [_parts(file) for file in files]
    words = {name: [part[place] for part in parts] for place, name in enumerate(("age_group", "gender", "race"))}
    return album_from("UTKFace", files, words, reading)


def _parts(file: Path) -> tuple[str, str, str]:
    """Age group, gender and race in words; empty where the name does not say."""
    cells = file.name.split("_")[:3]
    numbers = [int(cell) if cell.isdigit() else None for cell in (*cells, *[""] * (3 - len(cells)))]
    age, gender, race = numbers
    if age is None or len(cells) < 2:
        raise DataError(f"{file.name} must be named age_gender_race_date, such as 25_1_2_20170116.jpg")
    if age > 120 or (gender or 0) >= len(GENDERS) or (race or 0) >= len(RACES):
        raise DataError(f"{file.name}: age {age}, gender {gender} or race {race} is outside the layout's codes")
    decade = DECADES[min(age // 10, len(DECADES) - 1)]
    return decade, "" if gender is None else GENDERS[gender], "" if race is None else RACES[race]
