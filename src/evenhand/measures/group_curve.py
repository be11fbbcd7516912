"""A protected number such as age, compared without cutting it into groups: a smooth curve with a band, and a test of flatness.

Rows are smoothed over their ranks, so that a bandwidth is a share of the people and not of the range.  Three bandwidths are tried at once;
the largest standardised departure from a flat line is compared with what dealing the outcomes out at random gives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows
from evenhand.measures.group import AmountMetric, Outcomes, ShareMetric
from evenhand.measures.group_figures import Figure, GroupSettings
from evenhand.statistics import gaps
from evenhand.statistics.gaps import Bounds, Size
from evenhand.statistics.permutation import NOTHING, Test

BANDWIDTHS = (0.04, 0.1, 0.25)
SHOWN = 1
"""The bandwidth of the curve that is shown."""

MOST_KNOTS = 256
"""Different values that are told apart; more are merged with their nearest, far below the narrowest bandwidth."""

POINTS = 48
DRAWS = 1_999
MOST_SHUFFLED = 20_000_000


@dataclass(frozen=True)
class Observations:
    """One outcome per row along a number, with the weights of the rows; `is_share` when every outcome is 0 or 1."""

    along: Reals
    values: Reals
    weights: Reals | None
    is_share: bool


@dataclass(frozen=True)
class _Smoother:
    """Knots along the number, and the kernel of every point and bandwidth on them."""

    knot: Index  # (n,) the knot of every row
    rows: NDArray[np.int64]  # (knots,)
    points: Reals  # (points,) in the number's own unit
    kernel: Rows  # (bandwidths * points, knots)


@dataclass(frozen=True, eq=False)
class ProtectedNumber:
    """A protected number that a figure is followed along: its name and everybody's value."""

    name: str
    values: Reals


def curve_figure(
    metric: ShareMetric | AmountMetric, outcomes: Outcomes, along: ProtectedNumber, settings: GroupSettings, rng: np.random.Generator
) -> Figure | None:
    """One metric along one number; None where the outcomes lack what it needs, or where it compares more than one kind of cases."""
    seen = _observations(metric, outcomes, along.values)
    if seen is None:
        return None
    facts = (metric.name, metric.title, metric.meaning, along.name, "share" if seen.is_share else "amount", ())
    if len(seen.values) < 2 or len(np.unique(seen.along)) < 2:
        return Figure(*facts, gaps.UNKNOWN, NOTHING, settings.alpha, exact=False)
    smoother = _smoother(seen)
    flat = _flatness(seen, smoother, settings, rng)
    test, (_, curve) = flat.test, _band(seen, smoother, flat.reach(settings.confidence))

    def sizes(confidence: float) -> Size:
        return _size(seen, smoother, flat.reach(confidence))

    if len(seen.values) < gaps.rows_needed(
        float(np.mean(seen.values)) if seen.is_share else 0.5, 1 << 40, settings.smallest_gap, settings.alpha
    ):
        return Figure(*facts, gaps.UNKNOWN, test, settings.alpha, test.p_value, False, curve)
    return Figure(*facts, sizes(settings.confidence), test, settings.alpha, test.p_value, False, curve, sizes=sizes)


def _size(seen: Observations, smoother: _Smoother, reach: float) -> Size:
    """How far the curve goes up and down; at least as far as its farthest point surely is from the mean of all."""
    band, _ = _band(seen, smoother, reach)
    wide = gaps.gap(band)
    if wide.low is None or np.ptp(seen.values) == 0:
        return wide
    points, sums = len(smoother.points), _sums(seen, smoother, np.arange(len(seen.values))[None])
    shown = slice(SHOWN * points, (SHOWN + 1) * points)
    apart = _departures(seen, smoother, *sums)[0][shown]
    unit = _deviations(seen, smoother, *sums[1:])[0][shown]
    return replace(wide, low=max(wide.low, float(((apart - reach) * unit).max())))


@dataclass(frozen=True)
class _Flatness:
    """The test, and how many deviations the shown curve of dealt rows departs at most, deal by deal."""

    test: Test
    farthest: Reals

    def reach(self, confidence: float) -> float:
        """How many deviations the shown curve's band reaches so that all of it holds together."""
        return float(np.quantile(self.farthest, confidence))


def _observations(metric: ShareMetric | AmountMetric, outcomes: Outcomes, along: Reals) -> Observations | None:
    if isinstance(metric, AmountMetric):
        values = metric.values(outcomes)
        if values is None:
            return None
        counts = np.isfinite(values)
    else:
        cases = metric.cases(outcomes)
        if cases is None or len(cases) > 1 or metric.size == "ratio":
            return None
        values, counts = cases[0].hits.astype(np.float64), cases[0].rows
    counts = counts & np.isfinite(along)
    if outcomes.weights is not None:
        counts &= outcomes.weights > 0
    weights = None if outcomes.weights is None else outcomes.weights[counts]
    return Observations(along[counts], values[counts], weights, isinstance(metric, ShareMetric))


def _smoother(seen: Observations) -> _Smoother:
    distinct, knot, counts = np.unique(seen.along, return_inverse=True, return_counts=True)
    if len(distinct) > MOST_KNOTS:
        place = ((np.cumsum(counts) - counts / 2) / counts.sum() * MOST_KNOTS).astype(np.intp)
        _, merged = np.unique(place, return_inverse=True)
        distinct = np.bincount(merged, distinct * counts) / np.bincount(merged, counts)
        knot, counts = merged[knot], np.bincount(merged, counts).astype(np.int64)
    rank = (np.cumsum(counts) - counts / 2) / counts.sum()
    shown = np.unique(np.linspace(0, len(distinct) - 1, min(POINTS, len(distinct))).astype(np.intp))
    off = rank[shown][:, None] - rank
    kernel = np.concatenate([np.exp(-0.5 * (off / bandwidth) ** 2) for bandwidth in BANDWIDTHS])
    return _Smoother(knot.reshape(-1).astype(np.intp), counts.astype(np.int64), distinct[shown], kernel)


def _flatness(seen: Observations, smoother: _Smoother, settings: GroupSettings, rng: np.random.Generator) -> _Flatness:
    n = len(seen.values)
    if np.ptp(seen.values) == 0:
        return _Flatness(NOTHING, np.array([3.0]))
    is_counted = seen.is_share and seen.weights is None
    most = min(DRAWS, settings.draws)
    draws = most if is_counted else int(np.clip(MOST_SHUFFLED // n, min(199, most), most))
    deal = _dealt_counts if is_counted else _dealt_rows
    apart = _departures(seen, smoother, *_sums(seen, smoother, np.arange(n)[None]))[0]
    dealt = deal(seen, smoother, draws, rng)
    p_value = float((1 + np.count_nonzero(dealt.max(axis=1) >= apart.max() - 1e-9)) / (1 + draws))
    points = len(smoother.points)
    return _Flatness(Test(p_value, "permutation", draws), dealt[:, SHOWN * points : (SHOWN + 1) * points].max(axis=1))


def _sums(seen: Observations, smoother: _Smoother, order: NDArray[np.intp]) -> tuple[Rows, Rows, Rows]:
    """Weighted values, weights and squared weights at every knot, for every deal of the rows; (deals, knots) each."""
    w = np.ones(len(seen.values)) if seen.weights is None else seen.weights
    deals, knots = len(order), len(smoother.rows)
    place = (np.arange(deals)[:, None] * knots + smoother.knot).ravel()

    def at_knots(values: Reals) -> Rows:
        return np.bincount(place, values[order].ravel(), deals * knots).reshape(deals, knots).astype(np.float64)

    if seen.weights is None:
        rows = np.broadcast_to(smoother.rows.astype(np.float64), (deals, knots))
        return at_knots(seen.values), rows, rows
    return at_knots(w * seen.values), at_knots(w), at_knots(w * w)


def _departures(seen: Observations, smoother: _Smoother, value: Rows, weight: Rows, square: Rows) -> Rows:
    """How many deviations the curve is away from the mean, (deals, bandwidths * points)."""
    w = np.ones(len(seen.values)) if seen.weights is None else seen.weights
    mean = float(np.average(seen.values, weights=w))
    curve = (value @ smoother.kernel.T) / (weight @ smoother.kernel.T)
    departures: Rows = np.abs(curve - mean) / _deviations(seen, smoother, weight, square)
    return departures


def _deviations(seen: Observations, smoother: _Smoother, weight: Rows, square: Rows) -> Rows:
    """One deviation of the curve where nothing depends on the number."""
    w = np.ones(len(seen.values)) if seen.weights is None else seen.weights
    mean = float(np.average(seen.values, weights=w))
    variance = float(np.average((seen.values - mean) ** 2, weights=w))
    deviations: Rows = np.sqrt(variance * (square @ (smoother.kernel**2).T)) / (weight @ smoother.kernel.T)
    return deviations


def _dealt_counts(seen: Observations, smoother: _Smoother, draws: int, rng: np.random.Generator) -> Rows:
    hits = rng.multivariate_hypergeometric(smoother.rows, int(seen.values.sum()), size=draws, method="marginals").astype(np.float64)
    rows = smoother.rows[None].astype(np.float64)
    return _departures(seen, smoother, hits, rows, rows)


def _dealt_rows(seen: Observations, smoother: _Smoother, draws: int, rng: np.random.Generator) -> Rows:
    n = len(seen.values)
    step = max(1, 1_000_000 // n)
    parts = []
    for at in range(0, draws, step):
        order = np.argsort(rng.random((min(step, draws - at), n)), axis=1)
        parts.append(_departures(seen, smoother, *_sums(seen, smoother, order)))
    return np.concatenate(parts)


def _band(seen: Observations, smoother: _Smoother, reach: float) -> tuple[Bounds, dict[str, list[float]]]:
    """The shown curve with bounds that hold along all of it, up to the smoothing itself."""
    from scipy.special import ndtr

    points = len(smoother.points)
    kernel = smoother.kernel[SHOWN * points : (SHOWN + 1) * points]
    value, weight, square = (each[0] for each in _sums(seen, smoother, np.arange(len(seen.values))[None]))
    mass, effective = kernel @ weight, (kernel @ weight) ** 2 / (kernel**2 @ square)
    curve = (kernel @ value) / mass
    if seen.is_share:
        bounds = gaps.share_bounds(np.clip(curve, 0, 1) * effective, effective, float(2 * ndtr(reach) - 1))
    else:
        off = (seen.values - np.interp(seen.along, smoother.points, curve)) ** 2
        error = np.sqrt(np.average(off, weights=seen.weights) / effective)
        bounds = Bounds(curve, curve - reach * error, curve + reach * error)
    shown = {"at": smoother.points, "estimate": bounds.estimate, "low": bounds.low, "high": bounds.high}
    return bounds, {name: [float(each) for each in values] for name, values in shown.items()}
