"""Before and after over several seeds: paired differences, intervals that allow for overlapping training sets, corrected tests.

Paper: Nadeau, Bengio, "Inference for the Generalization Error", Machine Learning 2003: seeds that draw their training rows from one table
are not independent, so that the variance of a mean difference is 1 / seeds + held-out rows / training rows, not 1 / seeds.  Where fewer
rows train than are there to train on, the ratio is that of the rows that are there: smaller training sets overlap less, not more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Reals

FLOOR = 0.001
"""Added to shares before their logarithm, so that zero has one; a tenth of a point is less than matters.  Where one held-out person is
more than that, that one is added: otherwise a single flip more or less would move the logarithm of a small share as much as a repair."""


@dataclass(frozen=True)
class PairedMean:
    """The mean over seeds with a t-interval that ends where the figure itself must; bounds are None with a single seed."""

    estimate: float
    low: float | None
    high: float | None
    seeds: int
    error: float = 0.0  # of the mean

    def at_least(self, confidence: float) -> float | None:
        """The one-sided bound below it; None with a single seed."""
        return None if self.low is None else self.estimate - self.error * _quantile(self.seeds, 2 * confidence - 1)

    def as_dict(self) -> dict[str, float | int | None]:
        """For JSON."""
        return {"estimate": _finite(self.estimate), "low": self.low, "high": self.high, "seeds": self.seeds}


@dataclass(frozen=True)
class Change:
    """A paired difference, after minus before, with its interval; the two-sided p-value and the mean of what was tested."""

    mean: PairedMean
    p_value: float
    tested: float

    @property
    def falls(self) -> float:
        """The one-sided p-value that the figure falls; 1 where nothing is known."""
        if self.mean.low is None:
            return 1.0
        return self.p_value / 2 if self.tested < 0 else 1 - self.p_value / 2

    @property
    def rises(self) -> float:
        """The one-sided p-value that the figure rises; 1 where nothing is known."""
        return 1.0 if self.mean.low is None else 1 - self.falls

    def as_dict(self) -> dict[str, float | int | None]:
        """For JSON."""
        return self.mean.as_dict() | {"p_value": self.p_value}


@dataclass(frozen=True)
class Range:
    """Between which values a figure must lie, whatever is seen of it."""

    least: float = -math.inf
    most: float = math.inf

    @property
    def of_changes(self) -> Range:
        """Between which values the difference of two such figures must lie."""
        return Range(self.least - self.most, self.most - self.least)


@dataclass(frozen=True)
class Design:
    """How the seeds hang together: held-out rows per row that is there to train on, the confidence of every interval, and the people that
    are held out."""

    held_out_ratio: float
    confidence: float = 0.95
    held_out: float = math.inf

    @property
    def floor(self) -> float:
        """What is added to a share before its logarithm."""
        return max(FLOOR, 1.0 / self.held_out)


def mean_of(values: Reals, design: Design, within: Range = Range()) -> PairedMean:
    """The mean of one figure over seeds; with few of them a t-interval reaches far beyond what is possible, and is cut there."""
    known = values[np.isfinite(values)]
    if not len(known):
        return PairedMean(math.nan, None, None, 0)
    centre = float(known.mean())
    if len(known) < 2:
        return PairedMean(centre, None, None, 1)
    error = _error(known, design)
    half = error * _quantile(len(known), design.confidence)
    return PairedMean(centre, max(centre - half, within.least), min(centre + half, within.most), len(known), error)


def change_of(before: Reals, after: Reals, design: Design, by_ratio: bool = False, within: Range = Range()) -> Change:
    """The mean of the paired differences; p-value 1 where fewer than two seeds have both figures.

    by_ratio tests the logarithms' differences: a repair divides a share of unfair treatment rather than taking points off it, and where the
    share before varies a lot from seed to seed, so do the points.
    """
    from scipy.special import stdtr

    known = np.isfinite(after) & np.isfinite(before)
    mean = mean_of((after - before)[known], design, within.of_changes)
    tested = np.log(after[known] + design.floor) - np.log(before[known] + design.floor) if by_ratio else (after - before)[known]
    if len(tested) < 2:
        return Change(mean, 1.0, 0.0)
    centre, error = float(tested.mean()), _error(tested, design)
    if error < 1e-12:
        return Change(mean, 1.0 if abs(centre) < 1e-12 else 0.0, centre)
    return Change(mean, float(2 * stdtr(len(tested) - 1, -abs(centre) / error)), centre)


def _error(values: Reals, design: Design) -> float:
    return float(np.std(values, ddof=1) * math.sqrt(1 / len(values) + design.held_out_ratio))


def _quantile(n: int, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + confidence) / 2))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
