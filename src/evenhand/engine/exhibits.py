"""What a witness shows: both pictures or both texts of a pair, kept with it, so that a reader sees them and a replay can ask about them."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Rows
from evenhand.contract import Medium, Restoring
from evenhand.disk import digest_of, read_bytes, write_whole
from evenhand.errors import StoreError
from evenhand.media.album import as_bytes
from evenhand.media.album_medium import AlbumMedium
from evenhand.media.pixel_differences import marked_difference
from evenhand.media.png import data_uri, picture_of

SIDES = ("person", "twin")
DIFFERENCE = "difference"
MOST_PICTURE_BYTES = 120_000_000
DATA_URI = "data:image/png;base64,"


@dataclass(frozen=True)
class Exhibit:
    """Both sides of a pair as pictures (data URIs, with their difference) or as texts; empty where a row is a line of a table.

    readings: what each reader of the user's jury sees in both pictures.  source: the file of the picture that both come from.
    """

    pictures: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    readings: dict[str, list[str]] = field(default_factory=dict)
    source: str = ""


def exhibit(pair: Rows, medium: Medium | None) -> Exhibit:
    """What the medium shows of the two rows."""
    shown: Any = medium.show(pair) if medium is not None and medium.kind != "table" else ()
    sides = list(shown) if isinstance(shown, list | np.ndarray) else []
    if sides and all(isinstance(side, str) for side in sides):
        return Exhibit(texts=dict(zip(SIDES, sides, strict=True)))
    if sides and all(isinstance(side, np.ndarray) and side.ndim == 3 for side in sides):
        return Exhibit(_pictures([as_bytes(side) for side in sides]), readings=_readings(shown, medium), source=_source(pair, medium))
    return Exhibit()


def _readings(shown: Any, medium: Medium | None) -> dict[str, list[str]]:
    """The values that the user's readers see, by what they read."""
    jury = getattr(medium, "jury", {}) if isinstance(shown, np.ndarray) else {}
    return {name: [str(reader.classes[code]) for code in reader.scores(shown).argmax(axis=1)] for name, reader in jury.items()}


def _source(pair: Rows, medium: Medium | None) -> str:
    """The file behind the pair, where the medium knows one."""
    return medium.sources(pair[:1])[0] if isinstance(medium, AlbumMedium) else ""


def _pictures(sides: list[NDArray[np.uint8]]) -> dict[str, str]:
    """Both sides, and what differs between them where they are of one size."""
    shown = {name: data_uri(side) for name, side in zip(SIDES, sides, strict=True)}
    return shown | ({DIFFERENCE: data_uri(marked_difference(*sides))} if sides[0].shape == sides[1].shape else {})


def picture_sums(pictures: dict[str, str]) -> dict[str, str]:
    """The checksum of each picture's file, which the witness keeps."""
    return {side: digest_of(base64.b64decode(uri.removeprefix(DATA_URI))) for side, uri in pictures.items() if uri.startswith(DATA_URI)}


def check_pictures(pictures: dict[str, str], sums: dict[str, str], path: Path) -> None:
    """StoreError where a picture is not the one that was written; files that are gone, and witnesses without sums, pass."""
    for side, now in picture_sums(pictures).items():
        if sums.get(side, now) != now:
            raise StoreError(f"{path}: the picture of the {side} beside it is damaged; restore it from a copy, or make the witness again")


def write_pictures(pictures: dict[str, str], stem: str, folder: Path) -> dict[str, str]:
    """Each picture as a PNG file beside the witness; the names of the files."""
    named = {side: f"{stem}-{side}.png" for side in pictures}
    for side, uri in pictures.items():
        if uri.startswith(DATA_URI) and not (folder / named[side]).exists():
            write_whole(folder / named[side], base64.b64decode(uri.removeprefix(DATA_URI)), private=True)
    return named


def read_pictures(named: dict[str, str], folder: Path) -> dict[str, str]:
    """The pictures again; a file that is gone leaves its name."""
    files = {side: folder / Path(str(name).replace("\0", "")).name for side, name in named.items() if isinstance(name, str)}
    return {
        side: DATA_URI + base64.b64encode(read_bytes(file, MOST_PICTURE_BYTES)).decode("ascii") if file.is_file() else file.name
        for side, file in files.items()
    }


def restore_pair(pair: Rows, pictures: dict[str, str], medium: Medium | None) -> None:
    """Give the medium back what another process made, and what it would show otherwise now: another album, another editor, no twins.

    Raises where neither the medium nor the witness has the pictures.
    """
    if not isinstance(medium, Restoring):
        return
    are_known, are_kept = medium.knows(pair).all(), all(pictures.get(side, "").startswith(DATA_URI) for side in SIDES)
    if not are_known and not are_kept:
        raise StoreError("the pictures of this witness were made by a method and are not kept beside it: their PNG files are missing")
    kept = [decoded(pictures[side]) for side in SIDES] if are_kept else []
    if are_kept and not (are_known and all(map(np.array_equal, kept, as_bytes(np.asarray(medium.show(pair)))))):
        medium.restore(pair, np.stack(kept))


def decoded(uri: str) -> NDArray[np.uint8]:
    """The picture behind a data URI."""
    return picture_of(base64.b64decode(uri.removeprefix(DATA_URI)))
