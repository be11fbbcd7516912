"""The layout of UTKFace: everything is in the file's name, `age_gender_race_date.jpg`."""

from __future__ import annotations

from pathlib import Path

from evenhand.datasets.faces.album import Album
from evenhand.datasets.faces.loaders.reading import KINDS, Reading, album_from
from evenhand.errors import DataError

GENDERS = ("male", "female")
RACES = ("white", "black", "asian", "indian", "other")
DECADES = tuple(f"{start}-{start + 9}" for start in range(0, 120, 10))


def utkface(root: Path | str, reading: Reading) -> Album:
    """Pictures with gender, race and age_group (by decade); a file whose name does not say is named in the error."""
    root = Path(root)
    files = sorted(file for file in root.rglob("*") if file.suffix.lower() in KINDS)[: reading.limit]
    parts = [_parts(file) for file in files]
    words = {
        "age_group": [DECADES[min(age // 10, len(DECADES) - 1)] for age, _, _ in parts],
        "gender": [GENDERS[gender] for _, gender, _ in parts],
        "race": [RACES[race] for _, _, race in parts],
    }
    return album_from("UTKFace", files, words, reading)


def _parts(file: Path) -> tuple[int, int, int]:
    cells = file.name.split("_")
    try:
        age, gender, race = (int(cell) for cell in cells[:3])
    except ValueError:
        raise DataError(f"{file.name} must be named age_gender_race_date, such as 25_1_2_20170116.jpg") from None
    if not (0 <= age <= 120 and gender < len(GENDERS) and race < len(RACES)):
        raise DataError(f"{file.name}: age {age}, gender {gender} or race {race} is outside the layout's codes")
    return age, gender, race
