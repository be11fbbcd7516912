"""Exact intervals for a share: at a fixed sample size, and at whatever moment a sequential test stops."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from evenhand.limits import ConfidenceLevel, Limit, check_argument


@dataclass(frozen=True)
class Interval:
    """An estimated share with its exact bounds."""

    estimate: float
    low: float
    high: float
    n: int
    confidence: float

    @property
    def width(self) -> float:
        """How far apart the bounds are."""
        return self.high - self.low

    def __contains__(self, share: float) -> bool:
        return self.low <= share <= self.high

    def __str__(self) -> str:
        return f"{self.estimate:.2%} ({100 * self.confidence:.6g}% interval {self.low:.2%} to {self.high:.2%}, n = {self.n:,})"

    def as_dict(self) -> dict[str, float | int]:
        """For JSON."""
        return asdict(self)


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """The exact two-sided interval of a binomial share; with no trials it is the whole of [0, 1]."""
    from scipy.special import betaincinv

    Limit(least=0, most=n).check("successes", successes, hint=", the number of trials")
    check_argument(ConfidenceLevel, confidence=confidence)
    if n == 0:
        return Interval(float("nan"), 0.0, 1.0, 0, confidence)
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1.0 - tail))
    return Interval(successes / n, low, high, n, confidence)


@dataclass
class SequentialShare:
    """A share watched while it grows, whose interval holds at the moment one stops, whenever that is.

    The k-th look spends alpha / (k (k + 1)) of the error probability on an exact Clopper-Pearson interval; those parts add up to
    alpha over any number of looks, and the intersection of all intervals so far is reported.
    """

    confidence: float = 0.95
    successes: int = 0
    n: int = 0
    looks: int = 0
    low: float = 0.0
    high: float = 1.0

    def add(self, successes: int, n: int) -> None:
        """Count further trials without looking at the interval."""
        self.successes += int(successes)
        self.n += int(n)

    def look(self) -> Interval:
        """The interval that is valid now; spends a part of the error probability."""
        self.looks += 1
        spent = (1.0 - self.confidence) / (self.looks * (self.looks + 1))
        now = clopper_pearson(self.successes, self.n, 1.0 - spent)
        self.low, self.high = max(self.low, now.low), min(self.high, now.high)
        return self.current()

    def current(self) -> Interval:
        """What the looks so far support."""
        estimate = self.successes / self.n if self.n else float("nan")
        return Interval(estimate, self.low, self.high, self.n, self.confidence)


def simultaneous(successes: np.ndarray[tuple[int], np.dtype[np.intp]], n: int, confidence: float = 0.95) -> list[Interval]:
    """Intervals of several shares that hold all together, by Bonferroni's correction."""
    each = 1.0 - (1.0 - confidence) / max(1, len(successes))
    return [clopper_pearson(int(count), n, each) for count in successes]
