"""What every loader needs: pictures from files, codes from words, and a plan of what to read."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.datasets.open_picture import open_picture
from evenhand.disk import below
from evenhand.errors import DataError, UnknownName, require
from evenhand.limits import Count, PictureSize, check_limits
from evenhand.media.album import UNKNOWN, Album, Attribute

UNSAID = ("nan", "na", "n/a", "null", "?")
MOST_BYTES_IN_MEMORY = 1 << 29
KINDS = (".jpg", ".jpeg", ".png", ".bmp", ".webp")


@dataclass(frozen=True)
class Reading:
    """What to read: the attribute that becomes the label, the side of the pictures in pixels, and at most how many."""

    label: str
    size: PictureSize = 64
    limit: Count | None = None

    def __post_init__(self) -> None:
        check_limits(self)


def album_from(name: str, files: Sequence[Path], words: Mapping[str, Sequence[str]], reading: Reading) -> Album:
    """An album of these files, whose attributes are given as one word per file."""
    if reading.label not in words:
        raise UnknownName("label", reading.label, words)
    if not files:
        raise DataError(f"{name}: no pictures found")
    count = len(files) if reading.limit is None else min(reading.limit, len(files))
    attributes = {key: coded(values[:count]) for key, values in words.items()}
    pictures = read_pictures(files[:count], reading.size)
    return Album(name, pictures, attributes, attributes[reading.label], sources=tuple(file.name for file in files[:count]))


def coded(words: Sequence[str], order: Sequence[str] = ()) -> Attribute:
    """Codes of words; an empty word, "nan", "NA" and "?" are unknown.  Without an order, numbers come in theirs, words alphabetically."""
    words = ["" if word.lower() in UNSAID else word for word in words]
    found = list(order) or sorted({word for word in words if word}, key=_by_number)
    places = {word: place for place, word in enumerate(found)}
    return Attribute(tuple(found), np.array([places.get(word, UNKNOWN) for word in words], dtype=np.intp))


def _by_number(word: str) -> tuple[int, float, str]:
    start = word.split("-")[0] if word[:1].isdigit() else word
    digits = start.replace("more than ", "")
    return (0, float(digits), word) if digits.replace(".", "", 1).isdigit() else (1, 0.0, word)


def read_pictures(files: Sequence[Path], size: int) -> NDArray[np.uint8]:
    """Pictures (n, size, size, 3): the largest square in the middle, scaled."""
    image = require("PIL.Image", "image")
    pictures = _room(len(files), size)
    for place, file in enumerate(files):
        with open_picture(file) as opened:
            pictures[place] = np.asarray(_square(_coloured(opened)).resize((size, size), image.Resampling.BILINEAR))
    return pictures


def named_files(folder: Path, names: Sequence[str], table: Path) -> list[Path]:
    """The files that a table names; DataError for one that lies outside the folder."""
    found = [below(folder, name) for name in names]
    for name, file in zip(names, found, strict=True):
        if file is None:
            raise DataError(f"{table} names {name!r}, which lies outside {folder}; pictures are read from below it only")
    return [file for file in found if file is not None]


def _room(count: int, size: int) -> NDArray[np.uint8]:
    """Room for so many pictures: in memory where they are few, else in a file that is gone when nobody reads it any more."""
    shape = (count, size, size, 3)
    if count * size * size * 3 <= MOST_BYTES_IN_MEMORY:
        return np.empty(shape, np.uint8)
    with tempfile.TemporaryFile(prefix="evenhand-album-") as file:
        return np.memmap(file, np.uint8, "w+", shape=shape)


def _coloured(picture: Any) -> Any:
    """Upright as the camera meant it, transparency on white, sixteen bits of grey as eight."""
    image, upright = require("PIL.Image", "image"), require("PIL.ImageOps", "image").exif_transpose(picture)
    if upright.mode.startswith("I;16") or upright.mode == "I":
        grey = np.asarray(upright).astype(np.float64)
        return image.fromarray((grey * (255.0 / (65535.0 if grey.max() > 255 else 255.0))).astype(np.uint8)).convert("RGB")
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        drawn = upright.convert("RGBA")
        return image.alpha_composite(image.new("RGBA", drawn.size, (255, 255, 255, 255)), drawn).convert("RGB")
    return upright.convert("RGB")


def _square(picture: Any) -> Any:
    width, height = picture.size
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    return picture.crop((left, top, left + side, top + side))


def read_table(file: Path, needed: Iterable[str]) -> list[dict[str, str]]:
    """The rows of a CSV file that must have certain columns."""
    if not file.exists():
        raise DataError(f"{file} does not exist")
    try:
        with file.open(newline="", encoding="utf-8-sig") as opened:
            reader = csv.DictReader(opened)
            for name in needed:
                if name not in (reader.fieldnames or ()):
                    raise DataError(f"{file}: no column {name!r}; it has {', '.join(reader.fieldnames or ['none'])}")
            return [{key: (value or "").strip() for key, value in row.items() if key is not None} for row in reader]
    except (csv.Error, UnicodeDecodeError, OSError) as fault:
        raise DataError(f"{file} cannot be read as a table: {fault}") from fault


def present(files: Sequence[Path], table: Path) -> None:
    """Refuse a table that names pictures which are not there."""
    missing = [file for file in files if not file.is_file()]
    if missing:
        raise DataError(f"{table} names {len(missing)} pictures that are not there, the first is {missing[0]}")
