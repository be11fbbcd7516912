"""People in pictures by what is annotated of them: FACET's and MIAP's (Open Images Extended) tables of boxes.

Both have boxes only, so masks are cut out by colour and are rough.  What raters say of a person is what they perceive; it is kept as words.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from evenhand.datasets.scenes.picture_files import EVERY, SUFFIXES, SceneSample, annotation_faults, picture_path, read_picture
from evenhand.datasets.scenes.voc import cut_by_colour
from evenhand.errors import DataError
from evenhand.media.scene import MASKS, ROUGH, Instance, PixelBox, Scene

Line: TypeAlias = Mapping[str, str]

PERSON = "person"
FACET_COLUMNS, MIAP_COLUMNS = (
    ("filename", "bounding_box"),
    ("ImageID", "XMin", "YMin", "XMax", "YMax", "GenderPresentation", "AgePresentation"),
)
FAMILIES = ("gender_presentation", "age_presentation", "hair_type", "hair_color", "lighting", "visible")
"""FACET's columns of one question, each with its value behind this name; the value that most raters chose counts."""
TONES = (("light", 3.5), ("medium", 7.5), ("dark", 10.5))
"""The Monk scale's ten tones in three groups, by the raters' mean: up to 3, 4 to 7, 8 and above."""
MIAP_ATTRIBUTES = {"GenderPresentation": "gender presentation", "AgePresentation": "age presentation"}
LEAST_SIDE = 4
UNSAID = ("", "na", "unknown", "nan")


@dataclass(frozen=True)
class PersonLine:
    """One line of a table: the corners, in pixels or as shares of the picture, and what is said of the person."""

    corners: tuple[float, float, float, float]
    is_share: bool
    attributes: Mapping[str, str]

    def box(self, height: int, width: int) -> PixelBox:
        """In pixels of a picture of this size, inside it."""
        scale = (width, height, width, height) if self.is_share else (1, 1, 1, 1)
        sides = PixelBox(*(round(value * unit) for value, unit in zip(self.corners, scale, strict=True)))
        return sides.grown(0, (height, width))


def people_format(path: Path) -> str:
    """Whether a CSV file is a table of people's boxes: `facet`, `miap`, or neither."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as opened:
            heads = next(csv.reader([opened.readline(100_000)]), [])
    except OSError:
        return ""
    if set(MIAP_COLUMNS) <= set(heads):
        return "miap"
    return "facet" if set(FACET_COLUMNS) <= set(heads) else ""


def first_picture(path: Path, form: str) -> tuple[str, ...]:
    """What the first picture of a table of people's boxes may be called."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as opened:
            line = next(csv.DictReader(opened), {})
    except (OSError, csv.Error):
        return ()
    if form == "facet":
        return (str(line.get("filename", "")),)
    return tuple(f"{line.get('ImageID', '')}{ending}" for ending in SUFFIXES)


def from_facet(annotations: Path, pictures: Path, sample: SceneSample = EVERY) -> Iterator[Scene]:
    """Scenes from FACET's annotations.csv: a person for each line."""
    lines = _by_picture(annotations, FACET_COLUMNS, "filename")
    for name in sample.of(sorted(lines)):
        yield _scene(annotations, picture_path(pictures, name), lines[name], _facet_line)


def from_miap(annotations: Path, pictures: Path, sample: SceneSample = EVERY) -> Iterator[Scene]:
    """Scenes from a MIAP table of boxes, whose corners are shares of the picture; groups and drawings of people are left out."""
    lines = _by_picture(annotations, MIAP_COLUMNS, "ImageID")
    for name in sample.of(sorted(lines)):
        path = _with_ending(pictures, name)
        alone = [one for one in lines[name] if one.get("IsGroupOf") != "1" and one.get("IsDepictionOf") != "1"]
        yield _scene(annotations, path, alone, _miap_line)


def _by_picture(path: Path, columns: tuple[str, ...], key: str) -> dict[str, list[Line]]:
    """All lines of a table by their picture."""
    found: dict[str, list[Line]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as opened:
            table = csv.DictReader(opened)
            missing = [name for name in columns if name not in (table.fieldnames or ())]
            if missing:
                raise DataError(f"{path} has no column {', '.join(missing)}; a table of people's boxes has {', '.join(columns)}")
            for line in table:
                found.setdefault(str(line[key]), []).append(line)
    except (OSError, UnicodeDecodeError, csv.Error) as fault:
        raise DataError(f"{path} cannot be read as a CSV table of people's boxes: {fault}") from fault
    return found


def _with_ending(pictures: Path, name: str) -> Path:
    """MIAP names pictures without their ending."""
    paths = [picture_path(pictures, f"{name}{ending}") for ending in SUFFIXES]
    return next((path for path in paths if path.is_file()), picture_path(pictures, f"{name}.jpg"))


def _scene(annotations: Path, path: Path, lines: Sequence[Line], read: Callable[[Line], PersonLine]) -> Scene:
    """The picture with its people, each with a mask that is cut out of the box."""
    picture = read_picture(path)
    instances = []
    with annotation_faults(annotations):
        for told in map(read, lines):
            box = told.box(int(picture.shape[0]), int(picture.shape[1]))
            left, top, right, bottom = box
            if right - left >= LEAST_SIDE and bottom - top >= LEAST_SIDE:
                stencil = cut_by_colour(picture, PERSON, box)[top:bottom, left:right]
                instances.append(Instance(PERSON, box, stencil, attributes=told.attributes))
    return Scene(path.stem, picture, tuple(instances), facts={MASKS: ROUGH})


def _facet_line(line: Line) -> PersonLine:
    told = json.loads(line["bounding_box"])
    left, top = float(told["x"]), float(told["y"])
    return PersonLine((left, top, left + float(told["width"]), top + float(told["height"])), False, facet_attributes(line))


def _miap_line(line: Line) -> PersonLine:
    left, top, right, bottom = (float(line[name]) for name in ("XMin", "YMin", "XMax", "YMax"))
    return PersonLine((left, top, right, bottom), True, miap_attributes(line))


def facet_attributes(line: Line) -> dict[str, str]:
    """What is said of one person: the commonest answer of each question, the group of skin tones, and what is worn or seen.

    >>> facet_attributes({"lighting_dimly_lit": "1", "lighting_well_lit": "0", "skin_tone_2": "2", "skin_tone_9": "1", "has_cap": "1"})
    {'lighting': 'dimly lit', 'skin tone': 'medium', 'cap': 'yes'}
    """
    told = {family.replace("_", " "): value for family in FAMILIES if (value := _commonest(line, f"{family}_"))}
    tone = _tone(line)
    told |= {"skin tone": tone} if tone else {}
    worn = {name.removeprefix("has_").replace("_", " "): value for name, value in line.items() if str(name).startswith("has_")}
    return told | {name: "yes" if _number(value) > 0 else "no" for name, value in worn.items()}


def _commonest(line: Line, family: str) -> str:
    """The value that most raters chose; nothing where none did, or where two are level."""
    votes = {name.removeprefix(family): _number(value) for name, value in line.items() if str(name).startswith(family)}
    most = max(votes.values(), default=0.0)
    first = [value.replace("_", " ") for value, count in votes.items() if count == most]
    return first[0] if most > 0 and len(first) == 1 and first[0] not in UNSAID else ""


def _tone(line: Line) -> str:
    votes = {tone: _number(line.get(f"skin_tone_{tone}", "")) for tone in range(1, 11)}
    total = sum(votes.values())
    if not total > 0:
        return ""
    mean = sum(tone * count for tone, count in votes.items()) / total
    return next(name for name, most in TONES if mean <= most)


def miap_attributes(line: Line) -> dict[str, str]:
    """Perceived gender and age.

    >>> miap_attributes({"GenderPresentation": "Predominantly Feminine", "AgePresentation": "Young"})
    {'gender presentation': 'Predominantly Feminine', 'age presentation': 'Young'}
    """
    return {name: line[column] for column, name in MIAP_ATTRIBUTES.items() if line.get(column, "").lower() not in UNSAID}


def _number(value: str | None) -> float:
    """A vote; what is no number is none."""
    try:
        found = float(value or 0)
    except ValueError:
        return 1.0 if str(value).strip().lower() == "true" else 0.0
    return found if 0 < found < 1e6 else 0.0
