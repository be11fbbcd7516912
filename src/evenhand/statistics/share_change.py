"""How a share has changed, with bounds: from the same rows judged twice, or from two intervals of independent samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.statistics.intervals import Interval, clopper_pearson


@dataclass(frozen=True)
class ShareChange:
    """A share before and after, and the difference with its bounds.

    >>> ShareChange(0.02, 0.05, low=0.01, high=0.05).verdict
    'worse'
    """

    before: float
    after: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """After minus before."""
        return self.after - self.before

    @property
    def verdict(self) -> str:
        """Better, worse, or not shown; a share counts unfair treatment, so that less of it is better."""
        return "better" if self.high < 0 else "worse" if self.low > 0 else "not shown"

    @property
    def sentence(self) -> str:
        """For a reader."""
        points = f"{100 * self.difference:+.2f} points ({100 * self.low:+.2f} to {100 * self.high:+.2f})"
        return f"{self.before:.2%} before, {self.after:.2%} now: {points}; {self.verdict}"


@dataclass(frozen=True)
class TwiceJudged:
    """Rows judged twice: how many there are, how many became unfair, and how many ceased to be."""

    rows: int
    new: int
    gone: int

    def bounds(self, confidence: float) -> Interval:
        """Bounds on the change of the share: exact ones of the share of the changed rows that got worse, times the share that changed.

        Conditional on how many rows changed, a changed row got worse with some probability p; the difference of the shares is (2p - 1)
        times the share that changed.  That share is bounded too, each part at half of the error that is allowed.
        """
        changed = self.new + self.gone
        estimate = (self.new - self.gone) / self.rows if self.rows else 0.0
        if not self.rows or not changed:
            most = clopper_pearson(0, self.rows, confidence).high if self.rows else 1.0
            return Interval(estimate, -most, most, self.rows, confidence)
        each = 1 - (1 - confidence) / 2
        share, direction = clopper_pearson(changed, self.rows, each), clopper_pearson(self.new, changed, each)
        low, high = 2 * direction.low - 1, 2 * direction.high - 1
        low *= share.low if low > 0 else share.high
        high *= share.high if high > 0 else share.low
        return Interval(estimate, low, high, self.rows, confidence)


def independent_change(before: Interval, after: Interval) -> ShareChange:
    """Newcombe's bounds on the difference of two independent shares, from their own intervals."""
    down = float(np.hypot(after.estimate - after.low, before.high - before.estimate))
    up = float(np.hypot(after.high - after.estimate, before.estimate - before.low))
    moved = after.estimate - before.estimate
    return ShareChange(before.estimate, after.estimate, moved - down, moved + up)
