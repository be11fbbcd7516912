"""How large the difference between groups is: bounds of all groups that hold together, and with them bounds of every gap and ratio.

A bootstrap of the largest minus the smallest rate never contains 0 and so convicts fair models.  Here every group has its own
interval, at a confidence such that all of them hold at once; the gap of any rates inside them bounds the true gap.  Of pairs of groups
the bounds are sharper: the errors of two independent groups add up as squares (Zou and Donner's MOVER on exact limits).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.limits import ConfidenceLevel, check_argument


@dataclass(frozen=True)
class Bounds:
    """Estimates with lower and upper bounds that hold for all of them together; NaN estimates where there are no rows."""

    estimate: Reals
    low: Reals
    high: Reals

    def only(self, chosen: NDArray[np.bool_]) -> Bounds:
        """Some of them."""
        return Bounds(self.estimate[chosen], self.low[chosen], self.high[chosen])


@dataclass(frozen=True)
class Size:
    """How far groups are apart, with bounds; None where fewer than two groups can be compared."""

    estimate: float | None
    low: float | None
    high: float | None

    def as_dict(self) -> dict[str, float | None]:
        """For JSON."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high}


UNKNOWN = Size(None, None, None)


def each_confidence(confidence: float, count: int) -> float:
    """The confidence of one of several independent intervals that all hold together with the given one (Sidak)."""
    check_argument(ConfidenceLevel, confidence=confidence)
    return float(confidence ** (1.0 / max(1, count)))


def share_bounds(hits: Reals, sizes: Reals, confidence: float) -> Bounds:
    """Clopper-Pearson's bounds of every share at this confidence each.  Effective sizes of weighted rows need not be whole."""
    from scipy.special import betaincinv

    hits, sizes = np.asarray(hits, np.float64), np.asarray(sizes, np.float64)
    tail, misses = (1 - confidence) / 2, sizes - hits
    few, many = hits <= 1e-12, misses <= 1e-12
    low = np.where(few, 0.0, betaincinv(np.where(few, 1.0, hits), np.maximum(misses, 0) + 1, tail))
    high = np.where(many, 1.0, betaincinv(hits + 1, np.where(many, 1.0, misses), 1 - tail))
    estimate = np.divide(hits, sizes, out=np.full(hits.shape, np.nan), where=sizes > 0)
    return Bounds(estimate, np.where(sizes > 0, low, 0.0), np.where(sizes > 0, high, 1.0))


def mean_bounds(means: Reals, errors: Reals, freedom: Reals, confidence: float) -> Bounds:
    """Student's bounds of every mean at this confidence each: for amounts, where nothing exact is known."""
    from scipy.special import stdtrit

    reach = stdtrit(np.maximum(freedom, 1), 1 - (1 - confidence) / 2) * errors
    usable = freedom >= 1
    return Bounds(means, np.where(usable, means - reach, -np.inf), np.where(usable, means + reach, np.inf))


def gap(bounds: Bounds) -> Size:
    """The largest minus the smallest."""
    known = bounds.only(~np.isnan(bounds.estimate))
    if len(known.estimate) < 2:
        return UNKNOWN
    most = known.estimate.max() - known.estimate.min()
    least = max(0.0, float(known.low.max() - known.high.min()))
    return Size(float(most), least, float(_widest(known.high[:, None] - known.low[None, :])))


def pair_confidence(confidence: float, groups: int, strata: int = 1) -> float:
    """The confidence of every pair's interval that lets all pairs in all strata hold together (Bonferroni: pairs share groups)."""
    check_argument(ConfidenceLevel, confidence=confidence)
    return 1.0 - (1.0 - confidence) / max(1, groups * (groups - 1) // 2 * strata)


def pair_gap(bounds: Bounds) -> Size:
    """The largest minus the smallest, from bounds of single groups at `pair_confidence`."""
    known = bounds.only(~np.isnan(bounds.estimate))
    if len(known.estimate) < 2:
        return UNKNOWN
    up, down = known.high - known.estimate, known.estimate - known.low
    apart = known.estimate[:, None] - known.estimate[None, :]
    with np.errstate(invalid="ignore"):
        least = _widest(np.nan_to_num(apart - np.hypot(down[:, None], up[None, :]), nan=-np.inf))
        most = _widest(np.nan_to_num(apart + np.hypot(up[:, None], down[None, :]), nan=np.inf))
    return Size(float(apart.max()), max(0.0, least), most)


def pair_ratio(bounds: Bounds) -> Size:
    """The smallest over the largest, from bounds of single groups at `pair_confidence`; 1 when all are alike, or all are 0."""
    known = bounds.only(~np.isnan(bounds.estimate))
    if len(known.estimate) < 2:
        return UNKNOWN
    largest = known.estimate.max()
    estimate = float(known.estimate.min() / largest) if largest > 0 else 1.0
    product = np.outer(known.estimate, known.estimate)
    low, high = known.low * (2 * known.estimate - known.low), known.high * (2 * known.estimate - known.high)
    with np.errstate(divide="ignore", invalid="ignore"):
        under = np.sqrt(np.maximum(product**2 - np.outer(low, high), 0.0))
        least = np.where(high[None, :] > 0, (product - under) / high[None, :], known.low[:, None] / known.high[None, :])
        over = np.sqrt(np.maximum(product**2 - np.outer(high, low), 0.0))
        most = np.where((low[None, :] > 0) & (high[:, None] > 0), (product + over) / low[None, :], known.high[:, None] / known.low[None, :])
    least, most = np.nan_to_num(least, nan=0.0), np.nan_to_num(most, nan=np.inf)
    return Size(estimate, max(0.0, -_widest(-least)), min(1.0, -_widest(-most)))


def level_of(sizes: Callable[[float], Size], none: float) -> float:
    """The smallest level at which the bounds leave out `none`, which is no difference: what a p-value is to a test."""
    small, large = 1e-9, 0.999
    if not leaves_out(sizes(1 - large), none):
        return 1.0
    if leaves_out(sizes(1 - small), none):
        return small
    for _ in range(24):
        middle = float(np.sqrt(small * large))
        small, large = (small, middle) if leaves_out(sizes(1 - middle), none) else (middle, large)
    return large


def leaves_out(size: Size, none: float) -> bool:
    """Whether the bounds leave out no difference: 0 for a gap, 1 for a ratio."""
    if size.low is None or size.high is None:
        return False
    return size.low > none or size.high < none


def _widest(differences: Reals) -> float:
    """The largest entry off the diagonal."""
    off = ~np.eye(len(differences), dtype=bool)
    return float(differences[off].max())


def mean_of(sizes: list[Size]) -> Size:
    """The average of several gaps whose bounds hold together."""
    if any(size.estimate is None for size in sizes):
        return UNKNOWN
    return Size(*(float(np.mean([getattr(size, name) for size in sizes])) for name in ("estimate", "low", "high")))


def largest_of(sizes: list[Size]) -> Size:
    """The largest of several gaps whose bounds hold together."""
    if any(size.estimate is None for size in sizes):
        return UNKNOWN
    return Size(*(float(max(getattr(size, name) for size in sizes)) for name in ("estimate", "low", "high")))


def rows_needed(share: float, others: int, smallest_gap: float, alpha: float, power: float = 0.8) -> int:
    """Rows that a group needs for a gap of this size from all others to be noticed with this power.

    Where the others are too few themselves, it is the number that both sides need.
    """
    from scipy.special import ndtri

    check_argument(ConfidenceLevel, smallest_gap=smallest_gap)
    centre = float(np.clip(share, smallest_gap / 2, 1 - smallest_gap / 2)) if np.isfinite(share) else 0.5
    needed = float((ndtri(1 - alpha / 2) + ndtri(power)) ** 2) * centre * (1 - centre) / smallest_gap**2
    # 1 / rows + 1 / others must not exceed 1 / needed.
    alone = needed * others / (others - needed) if others > needed else np.inf
    return int(np.ceil(min(alone, 2 * needed) if others < 2 * needed else alone))
