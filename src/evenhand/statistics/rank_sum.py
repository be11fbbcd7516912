"""The rank test of two large samples, by its normal limit: what `scipy.stats.mannwhitneyu` gives, without loading all of scipy's tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Reals


@dataclass(frozen=True)
class RankSum:
    """In how many pairs the first sample is above the second, ties by half; and the two-sided p-value."""

    above: float
    p_value: float


def rank_sum(first: Reals, second: Reals) -> RankSum:
    """Mann and Whitney's test with the corrections for ties and continuity."""
    from scipy.special import ndtr

    n, m = len(first), len(second)
    _, places, counts = np.unique(np.concatenate([first, second]), return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2.0
    above = float(ranks[places[:n]].sum()) - n * (n + 1) / 2.0
    ties = float((counts.astype(np.float64) ** 3 - counts).sum()) / ((n + m) * (n + m - 1.0))
    spread = np.sqrt(n * m / 12.0 * (n + m + 1.0 - ties))
    distance = abs(above - n * m / 2.0) - 0.5
    return RankSum(above, float(min(1.0, 2.0 * ndtr(-distance / spread))))
