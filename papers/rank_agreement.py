"""Whether two measures of unfairness tell the same story about several models: rank agreement and spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Reals
from evenhand.errors import InvalidArgument


@dataclass(frozen=True)
class Agreement:
    """Two measures over the same models: do they rank alike, and which one tells them apart more clearly?"""

    spearman: float
    first_spread: float
    second_spread: float

    @property
    def significance(self) -> float:
        """How many times as far apart the first measure's values are; infinite where the second one is constant."""
        if self.second_spread == 0:
            return float("inf") if self.first_spread > 0 else float("nan")
        return self.first_spread / self.second_spread


def agreement(first: Sequence[float], second: Sequence[float]) -> Agreement:
    """Spearman's rank correlation and both standard deviations, as NeuronFair compares AUC with DM-RS."""
    if len(first) != len(second) or len(first) < 2:
        raise InvalidArgument(f"both measures need the same models, at least two; got {len(first)} and {len(second)} values")
    return Agreement(spearman(first, second), float(np.std(first)), float(np.std(second)))


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """The correlation of ranks, ties sharing theirs; NaN where one side is constant."""
    ranks = [_ranks(np.asarray(values, dtype=np.float64)) for values in (first, second)]
    if any(np.ptp(each) == 0 for each in ranks):
        return float("nan")
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Reals) -> Reals:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    mean: Reals = last - (count - 1) / 2.0
    return mean[place]
