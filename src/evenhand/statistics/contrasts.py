"""Differences between groups against a margin that is tolerated: bounds of many of them that hold together.

Every difference is a sum with one part for each row.  How far the largest of all differences strays by chance is drawn with normal
multipliers of these parts (Chernozhukov, Chetverikov and Kato, 2013), so that twelve questions about the same rows cost less than twelve
questions; and what is shown once is no longer counted among what might be shown by chance (Romano and Wolf, 2005).
A difference within the margin strays beyond it to one side only, unless the margin is small beside the error; both sides are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals
from evenhand.limits import ConfidenceLevel, check_argument

DRAWS = 1_999
DRAWN_AT_ONCE = 250

Parts = NDArray[np.float32]  # (rows, differences): what each row adds to each difference, around its mean


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Differences, their standard errors, and what every row adds to each."""

    estimate: Reals
    error: Reals
    parts: Parts

    @classmethod
    def of_pairs(cls, levels: Reals, errors: Reals, parts: Parts) -> Contrasts:
        """Every two groups: levels and errors of the groups, and what each row adds to its group's level, (rows, groups).

        >>> Contrasts.of_pairs(np.array([0.1, 0.3]), np.array([0.03, 0.04]), np.zeros((5, 2), np.float32)).error.round(3)
        array([0.05])
        """
        pairs = np.array(list(combinations(range(len(levels)), 2)), dtype=np.intp).reshape(-1, 2)
        one, other = pairs[:, 0], pairs[:, 1]
        return cls(levels[one] - levels[other], np.hypot(errors[one], errors[other]), parts[:, one] - parts[:, other])

    @classmethod
    def joined(cls, many: Sequence[Contrasts]) -> Contrasts:
        """Several lists of differences over the same rows as one."""
        parts = np.concatenate([each.parts for each in many], axis=1)
        return cls(np.concatenate([each.estimate for each in many]), np.concatenate([each.error for each in many]), parts)

    def __len__(self) -> int:
        return len(self.estimate)

    def beyond(self, reach: Reals, margin: float) -> Mask:
        """Which ones lie wholly beyond the margin, with bounds so many errors away."""
        beyond: Mask = np.abs(self.estimate) - reach * self.error > margin
        return beyond


def reaches(contrasts: Contrasts, margin: float, confidence: float, rng: np.random.Generator) -> Reals:
    """How many errors the bounds of each difference lie away from it, such that with this confidence none is wrongly beyond the margin."""
    check_argument(ConfidenceLevel, confidence=confidence)
    reach = np.zeros(len(contrasts))
    if not len(contrasts):
        return reach
    strayed = _strayed(contrasts, margin, rng)
    left = np.ones(len(contrasts), dtype=bool)
    while left.any():
        reach[left] = np.quantile(strayed[:, left].max(axis=1), confidence, method="higher")
        shown = left & contrasts.beyond(reach, margin)
        if not shown.any():
            break
        left &= ~shown
    return reach


def _strayed(contrasts: Contrasts, margin: float, rng: np.random.Generator) -> Reals:
    """In errors, how far differences at the margin stray beyond it, (draws, differences)."""
    told = np.sqrt((contrasts.parts.astype(np.float64) ** 2).sum(axis=0))
    untold = np.sqrt(np.maximum(contrasts.error**2 - told**2, 0.0))  # what the errors allow beyond what was seen, as of shares of 0 or 1
    found = []
    for at in range(0, DRAWS, DRAWN_AT_ONCE):
        count = min(DRAWN_AT_ONCE, DRAWS - at)
        drawn = rng.standard_normal((count, len(contrasts.parts)), dtype=np.float32) @ contrasts.parts
        found.append((drawn + untold * rng.standard_normal((count, len(contrasts)))) / np.maximum(contrasts.error, 1e-300))
    away = np.concatenate(found)
    strayed: Reals = np.maximum(away, -away - 2 * margin / np.maximum(contrasts.error, 1e-300))
    return strayed
