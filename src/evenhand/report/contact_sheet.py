"""The pictures of many pairs at a glance, made from what the witnesses kept: each pair side by side, in small.  Asks nobody anything."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import EvenhandError
from evenhand.media.png import data_uri, picture_of, sheet
from evenhand.report.record import Record, WitnessRecord

PNG = "data:image/png;base64,"
SIDES = ("person", "twin")
LEAST_PAIRS, MOST_PAIRS = 2, 24
HIGH = 96
"""Pixels of a small picture's height."""
PAIRS_IN_A_ROW = 4


def sheet_of_witnesses(record: Record) -> dict[str, Any] | None:
    """One sheet of all pairs that have pictures; None with fewer than two of them."""
    pairs = [small for witness in record.witnesses[:MOST_PAIRS] if (small := _small_pair(witness)) is not None]
    if len(pairs) < LEAST_PAIRS:
        return None
    wide = max(pair.shape[1] for pair in pairs)
    padded = np.stack([_padded(pair, wide) for pair in pairs])
    told = "Each pair side by side: first as it is, then with only what is protected changed. In the order of the pairs above, row by row."
    return {"title": f"{len(pairs)} pairs at a glance", "picture": data_uri(sheet(padded, PAIRS_IN_A_ROW, gap=6)), "sentence": told}


def _small_pair(witness: WitnessRecord) -> NDArray[np.uint8] | None:
    """Both sides beside each other; None where one is not there or cannot be read."""
    sides = [_decoded(witness.pictures, side) for side in SIDES]
    return np.hstack([_small(side) for side in sides if side is not None]) if all(side is not None for side in sides) else None


def _decoded(pictures: Mapping[str, str], side: str) -> NDArray[np.uint8] | None:
    kept = pictures.get(side, "")
    if not kept.startswith(PNG):
        return None
    try:
        return picture_of(base64.b64decode(kept.removeprefix(PNG), validate=True))
    except (EvenhandError, ValueError):  # a picture that a page cannot show is left out of the sheet, too
        return None


def _small(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """At most so high: the mean of blocks of pixels; a smaller picture stays as it is, on white."""
    step = max(1, -(-picture.shape[0] // HIGH))
    rows, columns = (picture.shape[0] // step) * step, (picture.shape[1] // step) * step
    blocks = picture[:rows, :columns].reshape(rows // step, step, columns // step, step, 3).mean(axis=(1, 3))
    small = np.full((HIGH, max(1, blocks.shape[1]) + 2, 3), 255, np.uint8)
    small[: blocks.shape[0], : blocks.shape[1]] = blocks.astype(np.uint8)
    return small


def _padded(pair: NDArray[np.uint8], wide: int) -> NDArray[np.uint8]:
    room = np.full((pair.shape[0], wide, 3), 255, np.uint8)
    room[:, : pair.shape[1]] = pair
    return room


def kept_sheets(record: Record) -> Sequence[Mapping[str, Any]]:
    """Sheets that a verb brought along, and the one of the witnesses."""
    made = sheet_of_witnesses(record)
    return [*record.body.sheets, *([made] if made is not None else [])]
