"""The pictures of many pairs at a glance, made from what the witnesses kept: each pair side by side, in small.  Asks nobody anything."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import EvenhandError
from evenhand.media.png import data_uri, picture_of, sheet
from evenhand.media.thumbnails import thumbnail
from evenhand.report.record import Record, WitnessRecord

PNG = "data:image/png;base64,"
SIDES = ("person", "twin")
LEAST_PAIRS, MOST_PAIRS = 2, 24
HIGH = 96
"""Pixels of a small picture's height, at most."""
PAIRS_IN_A_ROW = 4
BETWEEN = 2
"""Pixels of white beside each picture of a pair."""


def sheet_of_witnesses(record: Record) -> dict[str, Any] | None:
    """One sheet of all pairs that have pictures; None with fewer than two of them."""
    pairs = [small for witness in record.witnesses[:MOST_PAIRS] if (small := _small_pair(witness)) is not None]
    if len(pairs) < LEAST_PAIRS:
        return None
    high, wide = (max(pair.shape[axis] for pair in pairs) for axis in (0, 1))
    padded = np.stack([_padded(pair, high, wide) for pair in pairs])
    in_a_row = min(PAIRS_IN_A_ROW, len(pairs))
    twin = "as a learned editor made it for another value" if record.header.medium.learned_twins else "with only what is protected changed"
    told = f"Each pair side by side: first as it is, then {twin}. In the order of the pairs above, row by row."
    return {"title": f"{len(pairs)} pairs at a glance", "picture": data_uri(sheet(padded, in_a_row, gap=6)), "sentence": told}


def _small_pair(witness: WitnessRecord) -> NDArray[np.uint8] | None:
    """Both sides beside each other; None where one is not there or cannot be read."""
    sides = [_decoded(witness.pictures, side) for side in SIDES]
    small = [_small(side) for side in sides if side is not None]
    if len(small) < len(SIDES):
        return None
    high = max(side.shape[0] for side in small)
    return np.hstack([_padded(side, high, side.shape[1] + BETWEEN) for side in small])


def _decoded(pictures: Mapping[str, str], side: str) -> NDArray[np.uint8] | None:
    kept = pictures.get(side, "")
    if not kept.startswith(PNG):
        return None
    try:
        return picture_of(base64.b64decode(kept.removeprefix(PNG), validate=True))
    except (EvenhandError, ValueError):  # a picture that a page cannot show is left out of the sheet, too
        return None


def _small(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """About as high as a sheet's pictures are: the mean of blocks of pixels, or every pixel of a tiny picture several times."""
    larger = max(1, HIGH // picture.shape[0])
    if larger > 1:
        return picture.repeat(larger, axis=0).repeat(larger, axis=1)
    return thumbnail(picture, HIGH)


def _padded(picture: NDArray[np.uint8], high: int, wide: int) -> NDArray[np.uint8]:
    """On white."""
    room = np.full((high, wide, 3), 255, np.uint8)
    room[: picture.shape[0], : picture.shape[1]] = picture
    return room


def kept_sheets(record: Record) -> Sequence[Mapping[str, Any]]:
    """Sheets that a verb brought along, and the one of the witnesses."""
    made = sheet_of_witnesses(record)
    return [*record.body.sheets, *([made] if made is not None else [])]
