"""The best of five distributions for every group of one numeric column, by the Kolmogorov-Smirnov test.

Parameters come from a fine histogram, the test statistic is exact.  A fit is kept when its p-value exceeds .05, and the largest
p-value wins; within one group that is the smallest distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.synthesis import families
from evenhand.synthesis.bins import WHOLE, Binned, Groups
from evenhand.synthesis.families import NONE, Parameters
from evenhand.synthesis.kolmogorov import ExactTest, survival

ACCEPTED = 0.05
FEWEST_ROWS = 5
"""Groups with fewer rows get no distribution: any would pass the test."""
QUANTILES = 129
_TOO_NARROW = 1e-7
"""A group's variance, as a part of its distance from the column's centre, from which on it is computed by itself."""
_TOGETHER = 16
"""Groups whose logarithms fit into the processor's cache."""


@dataclass(frozen=True)
class Fits:
    """What is known of a numeric column in each of several groups; the whole column is the case of one group."""

    count: Reals  # (groups,)
    low: Reals
    high: Reals
    missing: Reals  # share of missing cells
    family: Index  # NONE where no distribution fits
    parameters: Parameters  # (groups, 4)
    p_value: Reals  # of the chosen fit, 0 without one
    quantiles: Rows  # (groups, QUANTILES) of the data: what may stand in where no distribution fits

    def take(self, groups: Index | slice) -> Fits:
        """Some of the groups."""
        names = ("count", "low", "high", "missing", "family", "parameters", "p_value", "quantiles")
        return Fits(**{name: getattr(self, name)[groups] for name in names})

    @property
    def error(self) -> float:
        """Mean of 1 - p over the groups that have rows; a group without a distribution counts as 1."""
        present = self.count > 0
        return float((1.0 - self.p_value[present]).mean()) if present.any() else 1.0


def fit_groups(column: Binned, groups: Groups) -> Fits:
    """Ranges, distributions and quantiles of every group."""
    counts = groups.counts[:, :-1]
    total = counts.sum(axis=1)
    low, high = _extremes(column, groups, counts)
    everything = groups.counts.sum(axis=1)
    fits = Fits(
        count=everything,
        low=low,
        high=high,
        missing=np.divide(groups.counts[:, -1], everything, out=np.zeros(len(total)), where=everything > 0),
        family=np.full(len(total), NONE, dtype=np.intp),
        parameters=np.tile([0.0, 1.0, 1.0, 1.0], (len(total), 1)),
        p_value=np.zeros(len(total)),
        quantiles=_quantiles(column, counts, total, (low, high)),
    )
    worth = np.flatnonzero((total >= FEWEST_ROWS) & (high > low))
    return _choose(column, groups, fits, worth) if worth.size else fits


def _extremes(column: Binned, groups: Groups, counts: Rows) -> tuple[Reals, Reals]:
    """The exact smallest and largest value of every group: only its first and its last bin are opened."""
    filled = counts > 0
    first = filled.argmax(axis=1)
    last = counts.shape[1] - 1 - filled[:, ::-1].argmax(axis=1)
    low, high = np.zeros(len(counts)), np.zeros(len(counts))
    for group in np.flatnonzero(filled.any(axis=1)):
        head, tail = ((int(column.offsets[at]), int(column.offsets[at + 1])) for at in (first[group], last[group]))
        if groups.source[group] == WHOLE:
            low[group], high[group] = column.values[0], column.values[-1]
        else:
            low[group] = column.values[head[0] + int(groups.mask(int(group), [head]).argmax())]
            high[group] = column.values[tail[1] - 1 - int(groups.mask(int(group), [tail])[::-1].argmax())]
    return low, high


def _quantiles(column: Binned, counts: Rows, total: Reals, ends: tuple[Reals, Reals]) -> Rows:
    levels = np.linspace(0, 1, QUANTILES)
    found = np.zeros((len(counts), QUANTILES))
    for group in np.flatnonzero(total > 0):
        upto = np.cumsum(counts[group]) / total[group]
        found[group] = np.interp(levels, np.append(0.0, upto), np.append(ends[0][group], column.top))
        found[group] = np.clip(found[group], ends[0][group], ends[1][group])
    return found


def _choose(column: Binned, groups: Groups, fits: Fits, worth: Index) -> Fits:
    """Try every candidate on every group that is worth it; keep the smallest distance, if its p-value passes."""
    counts = groups.counts[worth, :-1]
    n = counts.sum(axis=1)
    guesses = list(candidates(column, counts, n, (fits.low[worth], fits.high[worth])))
    test = ExactTest(column, groups, worth, np.cumsum(counts, axis=1))
    chosen, distance = test.nearest(guesses)
    found = np.flatnonzero(chosen >= 0)
    family, parameters, p_value = fits.family.copy(), fits.parameters.copy(), fits.p_value.copy()
    if found.size:
        p = survival(distance[found], n[found])
        for at, value in zip(found[p > ACCEPTED], p[p > ACCEPTED], strict=True):
            family[worth[at]], p_value[worth[at]] = guesses[chosen[at]][0], value
            parameters[worth[at]] = guesses[chosen[at]][1][at]
    return replace(fits, family=family, parameters=parameters, p_value=p_value)


def candidates(column: Binned, counts: Rows, n: Reals, ends: tuple[Reals, Reals]) -> Iterator[tuple[int, Parameters]]:
    """Every distribution that is tried, with its parameters for each group.

    Uniform, normal and exponential by maximum likelihood.  Gamma and beta by maximum likelihood given their ends, which are
    the data's or the natural ones (0; 0 and 1), and gamma by three moments besides: a free search over the ends is unbounded.
    """
    low, high = ends
    weights = counts / n[:, None]
    mean, deviation, skew = _moments(column, weights)
    yield families.FAMILIES.index("uniform"), _pack(low, high - low)
    yield families.FAMILIES.index("normal"), _pack(mean, deviation)
    yield families.FAMILIES.index("exponential"), _pack(low, np.maximum(mean - low, 1e-300))
    margin = (high - low) / (n + 1)
    gamma = families.FAMILIES.index("gamma")
    yield gamma, _gamma(column, weights, mean, low - margin)
    if (low > 0).any():
        yield gamma, _gamma(column, weights, mean, np.where(low > 0, 0.0, np.nan))
    # With hardly any skew this gamma is the normal distribution again.
    skew = np.where(skew > 0.2, skew, np.nan)
    yield gamma, _pack(mean - 2 * deviation / skew, deviation * skew / 2, 4 / skew**2)
    beta = families.FAMILIES.index("beta")
    yield beta, _beta(column, weights, (mean, deviation), (low - margin, high + margin))
    inside = (low > 0) & (high < 1)
    if inside.any():
        ends = np.where(inside, 0.0, np.nan), np.where(inside, 1.0, np.nan)
        yield beta, _beta(column, weights, (mean, deviation), ends)


def _pack(loc: Reals, scale: Reals, first: Reals | float = 1.0, second: Reals | float = 1.0) -> Parameters:
    ones = np.ones(len(loc))
    return np.column_stack([loc, scale, first * ones, second * ones])


def _moments(column: Binned, weights: Rows) -> tuple[Reals, Reals, Reals]:
    """Mean, standard deviation and skewness of every group."""
    centre, scale = float(column.middle.mean()), float(column.middle.std()) or 1.0
    x = (column.middle - centre) / scale
    first, second, third = (weights @ np.column_stack([x, x * x, x * x * x])).T
    variance, skewed = second - first**2, third - 3 * first * second + 2 * first**3
    for group in np.flatnonzero(variance < _TOO_NARROW * second):  # differences of large numbers would leave nothing
        spread = x - first[group]
        variance[group], skewed[group] = weights[group] @ spread**2, weights[group] @ spread**3
    deviation = np.sqrt(np.maximum(variance * scale**2, 1e-300))
    varied = variance > 1e-200  # of a group within one bin nothing is left to be skewed
    skew = np.divide(skewed, np.where(varied, variance, 1.0) ** 1.5, out=np.zeros(len(skewed)), where=varied)
    return centre + scale * first, deviation, skew


def _mean_log(weights: Rows, middle: Reals, ends: tuple[Reals, Reals], within: tuple[float, float]) -> Reals:
    """The mean logarithm of every group's (middle - loc) / scale; where all have the same ends it is computed once."""
    loc, scale = ends
    if (loc == loc[0]).all() and (scale == scale[0]).all():
        shared: Reals = weights @ np.log(np.clip((middle - loc[0]) / scale[0], *within))
        return shared
    found = np.empty(len(weights))
    for begin in range(0, len(weights), _TOGETHER):
        span = slice(begin, begin + _TOGETHER)
        distance = middle[None, :] - loc[span, None]
        distance /= scale[span, None]
        np.clip(distance, *within, out=distance)
        found[span] = np.einsum("ij,ij->i", weights[span], np.log(distance, out=distance))
    return found


def _gamma(column: Binned, weights: Rows, mean: Reals, loc: Reals) -> Parameters:
    from scipy.special import digamma, polygamma

    centre = np.maximum(mean - loc, 1e-300)
    gap = np.maximum(np.log(centre) - _mean_log(weights, column.middle, (loc, np.ones(len(loc))), (1e-300, np.inf)), 1e-9)
    shape = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(3):
        step = (np.log(shape) - digamma(shape) - gap) / (1 / shape - polygamma(1, shape))
        shape = np.clip(shape - step, shape / 10, shape * 10)
    return _pack(loc, centre / shape, shape)


def _beta(column: Binned, weights: Rows, moments: tuple[Reals, Reals], ends: tuple[Reals, Reals]) -> Parameters:
    from scipy.special import digamma, polygamma

    low, high = ends
    scale = np.maximum(high - low, 1e-300)
    mean = np.clip((moments[0] - low) / scale, 1e-12, 1 - 1e-12)
    variance = np.maximum((moments[1] / scale) ** 2, 1e-12)
    common = np.maximum(mean * (1 - mean) / variance - 1, 1e-2)
    a, b = mean * common, (1 - mean) * common
    within = (1e-12, 1 - 1e-12)
    left, right = _mean_log(weights, column.middle, (low, scale), within), _mean_log(weights, -column.middle, (-high, scale), within)
    for _ in range(8):
        g1, g2 = digamma(a) - digamma(a + b) - left, digamma(b) - digamma(a + b) - right
        shared = polygamma(1, a + b)
        h11, h22 = polygamma(1, a) - shared, polygamma(1, b) - shared
        determinant = h11 * h22 - shared**2
        a = np.clip(a - (h22 * g1 + shared * g2) / determinant, a / 3, a * 3)
        b = np.clip(b - (shared * g1 + h11 * g2) / determinant, b / 3, b * 3)
    return _pack(low, scale, a, b)
