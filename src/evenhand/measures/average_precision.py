"""Average precision of a recogniser's ranked boxes: boxes are matched by their scores, the best first, as the COCO evaluation does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals

RECALLS = np.linspace(0, 1, 101)
"""Where precision is read off, as in the COCO evaluation."""


@dataclass(frozen=True)
class RankedBox:
    """One box that a recogniser told: whether it shows an object of its class, and how large that is, or else the box itself."""

    label: str
    score: float
    is_right: bool
    area: float  # share of the picture


def taken_by_score(scores: Reals, overlaps: Reals, least: float) -> NDArray[np.intp]:
    """For each told box the object that it takes, the highest score first; -1 without.  `overlaps` is (boxes, objects), -1 where barred."""
    taken = np.full(len(scores), -1, np.intp)
    free = np.ones(overlaps.shape[1], bool)
    for place in np.argsort(-scores, kind="stable"):
        best = np.where(free, overlaps[place], -1.0)
        if best.size and best.max() >= least:
            taken[place] = int(best.argmax())
            free[taken[place]] = False
    return taken


def average_precision(boxes: Sequence[RankedBox], objects: int) -> float | None:
    """The mean over recalls of the best precision at that recall or above; None without objects.

    >>> average_precision([RankedBox("car", 0.9, True, 0.1), RankedBox("car", 0.8, False, 0.1)], 1)
    1.0
    """
    if not objects:
        return None
    order = np.argsort([-box.score for box in boxes], kind="stable")
    right: Mask = np.array([box.is_right for box in boxes], bool)[order]
    hits = np.cumsum(right)
    precision = hits / np.arange(1, len(right) + 1)
    best = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(hits / objects, RECALLS - 1e-12)
    return float(np.append(best, 0.0)[at].mean())
