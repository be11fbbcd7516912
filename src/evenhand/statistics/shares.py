"""Comparing shares: exact one-sided tests, and the rank test with the chance that one draw exceeds another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Reals
from evenhand.errors import InvalidArgument
from evenhand.limits import Limit, Share, check_argument


def above_others(hits: ArrayLike, trials: ArrayLike) -> Reals:
    """For each group, Fisher's exact one-sided p-value that its share is above that of all other groups pooled; 1 without trials."""
    from scipy.stats import hypergeom

    k, n = np.asarray(hits, np.int64).ravel(), np.asarray(trials, np.int64).ravel()
    if k.shape != n.shape or (k < 0).any() or (k > n).any():
        raise InvalidArgument(f"hits={k.tolist()} must be one count for each of trials={n.tolist()}, between 0 and the trials")
    p_values = hypergeom.sf(k - 1, n.sum(), k.sum(), n)
    return np.where(n > 0, np.clip(p_values, 0.0, 1.0), 1.0)


def above_rate(hits: int, trials: int, rate: float) -> float:
    """The exact binomial chance of this many hits or more at a known rate."""
    from scipy.stats import binom

    Limit(least=0, most=trials).check("hits", hits, hint=", the number of trials")
    check_argument(Share, rate=rate)
    return float(np.clip(binom.sf(hits - 1, trials, rate), 0.0, 1.0))


@dataclass(frozen=True)
class RankTest:
    """Mann-Whitney: the statistic, its two-sided p-value, and the chance that a draw of the first exceeds one of the second."""

    statistic: float
    p_value: float
    chance: float


def mann_whitney(first: ArrayLike, second: ArrayLike) -> RankTest:
    """Whether two samples differ in level; ties count one half."""
    from scipy.stats import mannwhitneyu

    a, b = np.asarray(first, np.float64).ravel(), np.asarray(second, np.float64).ravel()
    if not a.size or not b.size:
        raise InvalidArgument(f"first has {a.size} and second {b.size} values; both need at least one")
    if np.ptp(np.concatenate([a, b])) == 0:
        return RankTest(a.size * b.size / 2, 1.0, 0.5)
    result = mannwhitneyu(a, b, alternative="two-sided")
    return RankTest(float(result.statistic), float(result.pvalue), float(result.statistic) / (a.size * b.size))
