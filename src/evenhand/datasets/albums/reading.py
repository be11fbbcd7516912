"""What every loader needs: pictures from files, codes from words, and a plan of what to read."""

from __future__ import annotations

import csv
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index
from evenhand.datasets.albums.face_alignment import aligned
from evenhand.datasets.albums.missing_by_group import by_number, missing_by_group
from evenhand.datasets.open_picture import open_picture
from evenhand.disk import below
from evenhand.domain.frames import delimiter_of
from evenhand.errors import DataError, UnknownName, require
from evenhand.limits import Count, PictureSize, WholeNumber, check_limits
from evenhand.media.album import UNKNOWN, Album, Attribute
from evenhand.values import tell_watcher

UNSAID = ("nan", "na", "n/a", "null", "?")
MOST_BYTES_IN_MEMORY = 1 << 29
SHOWN = 5
"""So many of the files that are left out are named."""
KINDS = (".jpg", ".jpeg", ".png", ".bmp", ".webp")


class SkippedPictures(UserWarning):
    """Files of a folder that are no part of its album, and why."""


@dataclass(frozen=True)
class Reading:
    """What to read of a folder.

    label: the attribute that becomes the label; None for pictures without one.  size: the side of the pictures in pixels.
    limit: at most so many, drawn by `seed`.
    names: other names for values, as in {gender: {"0": man, "1": woman}}.
    align: whether the face in each picture is looked for and brought to one place; else the largest square in the middle is taken.
    """

    label: str | None
    size: PictureSize = 64
    limit: Count | None = None
    seed: WholeNumber = 0
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    align: bool = False

    def __post_init__(self) -> None:
        check_limits(self)

    def renamed(self, attribute: str, words: Sequence[str]) -> list[str]:
        """The values of an attribute under the names that the reader gives them."""
        names = {str(old): str(new) for old, new in self.names.get(attribute, {}).items()}
        return [names.get(word, word) for word in words]


@dataclass
class Listing:
    """What a layout says of a folder: pictures, a word per attribute for each, and what is left out, with the reason."""

    name: str
    files: list[Path] = field(default_factory=list)
    words: dict[str, list[str]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)  # places of files that could not be read, or in which no face was found

    def add(self, file: Path, words: Mapping[str, str]) -> None:
        """One more picture; a file that is not there is left out."""
        if not file.is_file():
            self.skipped.append(f"{file.name} is not there")
            return
        self.files.append(file)
        for name, word in words.items():
            self.words.setdefault(name, []).append(word)


def album_from(listing: Listing, reading: Reading) -> Album:
    """An album of the listed pictures; those that cannot be read are left out and named."""
    if reading.label is not None and reading.label not in listing.words and listing.files:
        raise UnknownName("label", reading.label, listing.words)
    _check_names(listing, reading)
    order = np.arange(len(listing.files))
    if reading.limit is not None:
        order = np.random.default_rng(reading.seed).permutation(order)
    kept, pictures = readable(listing, order, reading)
    tell_skipped(listing, len(kept), "are these faces from the front, large enough?" if reading.align else "is it another layout?")
    missed = _missed_faces(listing, kept, reading) if reading.align and listing.unread else ""
    if missed:
        warnings.warn(f"{listing.name}: {missed}", SkippedPictures, stacklevel=2)
    attributes = {name: coded(reading.renamed(name, [words[place] for place in kept])) for name, words in listing.words.items()}
    sources = tuple(listing.files[place].name for place in kept)
    label = Attribute((), np.full(len(kept), UNKNOWN)) if reading.label is None else attributes[reading.label]
    return Album(listing.name, pictures, attributes, label, sources=sources, left_out=missed)


def _check_names(listing: Listing, reading: Reading) -> None:
    """Refuse new names for an attribute, or for a value, that no picture has: they were mistyped."""
    for attribute, values in reading.names.items() if listing.files else ():
        if attribute not in listing.words:
            raise UnknownName("attribute in names", attribute, listing.words)
        known = set(listing.words[attribute]) - {""}
        for old in values:
            if str(old) not in known:
                raise UnknownName(f"value of {attribute!r} in names", str(old), known)


def readable(listing: Listing, order: Index, reading: Reading) -> tuple[list[int], NDArray[np.uint8]]:
    """The first pictures of this order that can be read, as many as are wanted, and their places in the listing, both in its order."""
    most = len(order) if reading.limit is None else min(reading.limit, len(order))
    room = _room(most, reading.size)
    kept: list[int] = []
    for place in order:
        if len(kept) == most:
            break
        try:
            room[len(kept)] = (read_face if reading.align else read_square)(listing.files[place], reading.size)
            kept.append(int(place))
            tell_watcher("reading pictures", len(kept), most)
        except DataError as fault:
            listing.skipped.append(str(fault))
            listing.unread.append(int(place))
    sorting = np.argsort(kept, kind="stable")
    pictures = room[: len(kept)]
    return sorted(kept), pictures if (np.diff(kept) > 0).all() else pictures[sorting]


def tell_skipped(listing: Listing, kept: int, question: str) -> None:
    """Refuse a folder without pictures, or of which most cannot be used; else name what is left out."""
    skipped = listing.skipped
    if not kept:
        raise DataError(f"{listing.name}: no pictures found" + (f"; the first of {len(skipped)} left out: {skipped[0]}" if skipped else ""))
    if len(skipped) > max(1, kept):
        raise DataError(f"{listing.name}: {len(skipped)} files cannot be used and {kept} can; {question}  The first: {skipped[0]}")
    if skipped:
        shown = "; ".join(skipped[:SHOWN]) + (f"; and {len(skipped) - SHOWN} more" if len(skipped) > SHOWN else "")
        warnings.warn(f"{listing.name}: {len(skipped)} of {len(skipped) + kept} files are left out: {shown}", SkippedPictures, stacklevel=2)


def _missed_faces(listing: Listing, kept: Sequence[int], reading: Reading) -> str:
    """Whether some groups are left out more often than others."""
    words = {name: reading.renamed(name, each) for name, each in listing.words.items()}
    return f"pictures without a face that was found, by group: {missing_by_group(words, listing.unread, kept)}"


def coded(words: Sequence[str], order: Sequence[str] = ()) -> Attribute:
    """Codes of words; an empty word, "nan", "NA" and "?" are unknown.  Without an order, numbers come in theirs, words alphabetically."""
    words = ["" if word.lower() in UNSAID else word for word in words]
    found = list(order) or sorted({word for word in words if word}, key=by_number)
    places = {word: place for place, word in enumerate(found)}
    return Attribute(tuple(found), np.array([places.get(word, UNKNOWN) for word in words], dtype=np.intp))


def read_pictures(files: Sequence[Path], size: int) -> NDArray[np.uint8]:
    """Pictures (n, size, size, 3): the largest square in the middle, scaled."""
    pictures = _room(len(files), size)
    for place, file in enumerate(files):
        pictures[place] = read_square(file, size)
        tell_watcher("reading pictures", place + 1, len(files))
    return pictures


def read_square(file: Path, size: int) -> NDArray[np.uint8]:
    """One picture (size, size, 3)."""
    image = require("PIL.Image", "image")
    with open_picture(file) as opened:
        return np.asarray(_square(_coloured(opened)).resize((size, size), image.Resampling.BILINEAR))


def read_face(file: Path, size: int) -> NDArray[np.uint8]:
    """The face in a picture, aligned, (size, size, 3)."""
    with open_picture(file) as opened:
        whole = np.asarray(_coloured(opened))
    try:
        return aligned(whole, size)
    except DataError as fault:
        raise DataError(f"{file.name}: {fault}") from None


def pictures_below(folder: Path) -> list[Path]:
    """Every picture in a folder and its folders, by name."""
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in KINDS and file.is_file())


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


HEAD = 100_000
"""So many characters of a table show what stands between its cells."""


def read_table(file: Path, needed: Iterable[str]) -> list[dict[str, str]]:
    """The rows of a CSV file that must have certain columns."""
    if not file.exists():
        raise DataError(f"{file} does not exist")
    try:
        with file.open(newline="", encoding="utf-8-sig") as opened:
            delimiter = delimiter_of(opened.read(HEAD))
            opened.seek(0)
            reader = csv.DictReader(opened, delimiter=delimiter)
            for name in needed:
                if name not in (reader.fieldnames or ()):
                    raise DataError(f"{file}: no column {name!r}; it has {', '.join(reader.fieldnames or ['none'])}")
            return [{key: (value or "").strip() for key, value in row.items() if key is not None} for row in reader]
    except (csv.Error, UnicodeDecodeError, OSError) as fault:
        raise DataError(f"{file} cannot be read as a table: {fault}") from fault
