"""The contact sheet of the papers' pairs: first, second and what differs, widest gap first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from picture_pairs import JudgedPairs

from evenhand.arrays import Index
from evenhand.contract import Pictures
from evenhand.errors import InvalidArgument
from evenhand.media.album import as_bytes
from evenhand.media.png import sheet


def widest(judged: JudgedPairs, count: int, only_unfair: bool = True) -> Index:
    """The pairs to show: largest gap first."""
    if count < 1:
        raise InvalidArgument(f"count={count!r} must be at least 1")
    shown = np.flatnonzero(judged.unfair) if only_unfair else np.arange(len(judged))
    return shown[np.argsort(-judged.gap[shown], kind="stable")][:count]


def difference(first: Pictures, second: Pictures) -> NDArray[np.uint8]:
    """What differs: grey where nothing does, lighter or darker where the second picture is."""
    apart = second.astype(np.float32) - first.astype(np.float32)
    return np.asarray(np.clip(127.5 + 0.5 * apart, 0, 255), dtype=np.uint8)


def contact_picture(judged: JudgedPairs, count: int = 12, columns: int = 4) -> NDArray[np.uint8]:
    """One picture: first, second and difference of each pair side by side."""
    shown = widest(judged, count)
    first, second = as_bytes(judged.pairs.first[shown]), as_bytes(judged.pairs.second[shown])
    strips = np.concatenate([first, second, difference(first, second)], axis=2)
    if not len(strips):
        raise InvalidArgument("no pair is unfair: there is nothing to show")
    return sheet(strips, columns, gap=4)
