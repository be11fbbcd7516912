"""A share in one population from draws of another: importance weights, their effective sample size, and an interval that holds.

The interval bets against every share (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting"):
with weights below a known bound, the draws w (u - r) average to zero exactly when r is the true share, and a gambler who
believes otherwise gets rich only with a small chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Mask, Reals
from evenhand.errors import InvalidArgument
from evenhand.statistics.anytime import check_confidence
from evenhand.statistics.intervals import Interval

SMALL_SHARE = 0.1
SMALL_SIZE = 100
"""Below this share of the draws, or this many, an effective sample size is too small to lean on."""

_LARGEST_BET = 0.9
_AT_ONCE = 512


@dataclass(frozen=True)
class Draws:
    """Independent draws: the weight of each (target density over proposal density) and whether it is a hit.

    `bound` is a number that no weight of the proposal can exceed; None where nobody knows one.
    """

    weights: Reals
    hits: Mask
    bound: float | None = None

    def __post_init__(self) -> None:
        if self.weights.shape != self.hits.shape or self.weights.ndim != 1 or not len(self.weights):
            raise InvalidArgument(
                f"weights of shape {self.weights.shape} and hits of shape {self.hits.shape} must be two equal, filled lists"
            )
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all() and self.weights.any()):
            raise InvalidArgument("weights must be finite, at least 0, and not all 0")
        if self.bound is not None and self.weights.max() > self.bound * (1 + 1e-9):
            raise InvalidArgument(f"bound={self.bound!r} is below the largest weight {self.weights.max():.6g}")

    @property
    def effective_size(self) -> float:
        """How many equally weighted draws would be as steady (Kish)."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    @property
    def estimate(self) -> float:
        """The share of hits by weight."""
        return float(self.weights[self.hits].sum() / self.weights.sum())

    @property
    def warning(self) -> str:
        """What a reader must know when few draws carry most of the weight; empty when all is well."""
        size, n = self.effective_size, len(self.weights)
        if size >= max(SMALL_SIZE, SMALL_SHARE * n):
            return ""
        return (
            f"the {n:,} weighted draws are worth only {size:,.0f} plain ones: a few of them carry most of the weight, so the rate may be "
            "far off; draw from a population nearer to the one that the rate is about"
        )


def weights_of(log_target: Reals, log_proposal: Reals) -> Reals:
    """Importance weights from exact log-densities; a row that the target cannot have weighs nothing."""
    if not np.isfinite(log_proposal).all():
        raise InvalidArgument("log_proposal must be finite: every draw has a density under the population that it was drawn from")
    with np.errstate(over="ignore"):
        weights: Reals = np.exp(np.minimum(log_target - log_proposal, 700.0))
    return weights


def weighted_interval(draws: Draws, confidence: float = 0.95) -> Interval:
    """The share of hits by weight with its interval: exact where the weights are bounded, else of the linear approximation."""
    check_confidence(confidence)
    if draws.bound is None:
        low, high = _approximate(draws, confidence)
    else:
        low, high = _betting(draws, confidence)
    return Interval(draws.estimate, min(low, draws.estimate), max(high, draws.estimate), len(draws.weights), confidence)


def _deviation(draws: Draws) -> float:
    """The standard error of a ratio of two sums."""
    off = draws.weights * (draws.hits - draws.estimate)
    return float(np.sqrt((off**2).sum()) / draws.weights.sum())


def _approximate(draws: Draws, confidence: float) -> tuple[float, float]:
    from scipy.special import stdtrit

    reach = float(stdtrit(max(1.0, draws.effective_size - 1), 1 - (1 - confidence) / 2)) * _deviation(draws)
    return max(0.0, draws.estimate - reach), min(1.0, draws.estimate + reach)


def _betting(draws: Draws, confidence: float) -> tuple[float, float]:
    """The hull of the shares that no gambler has disproved, widened to the next share of the grid that one has."""
    reach = max(_deviation(draws), 1.0 / len(draws.weights))
    near = draws.estimate + reach * np.linspace(-8, 8, 321)
    grid = np.unique(np.clip(np.concatenate([np.linspace(0, 1, 101), near]), 0, 1))
    kept = np.flatnonzero(_wealth(draws, grid, confidence) < -np.log1p(-confidence))
    if not kept.size:
        return draws.estimate, draws.estimate
    return float(grid[max(kept[0] - 1, 0)]), float(grid[min(kept[-1] + 1, len(grid) - 1)])


def _wealth(draws: Draws, grid: Reals, confidence: float) -> Reals:
    """For every share, the largest log-wealth that one of two gamblers, half the money each, ever had."""
    assert draws.bound is not None
    hit, all_of = draws.weights * draws.hits / draws.bound, draws.weights / draws.bound
    bets = _bets(hit, all_of, confidence)
    up, down = np.zeros(len(grid)), np.zeros(len(grid))
    most = np.full(len(grid), -np.inf)
    with np.errstate(divide="ignore"):
        highest, deepest = _LARGEST_BET / grid, _LARGEST_BET / (1 - grid)
    for at in range(0, len(hit), _AT_ONCE):
        span = slice(at, at + _AT_ONCE)
        gain = hit[span, None] - all_of[span, None] * grid
        rising = up + np.cumsum(np.log1p(np.minimum(bets[span, None], highest) * gain), axis=0)
        falling = down + np.cumsum(np.log1p(-np.minimum(bets[span, None], deepest) * gain), axis=0)
        most = np.maximum(most, np.maximum(rising.max(axis=0), falling.max(axis=0)))
        up, down = rising[-1], falling[-1]
    wealth: Reals = most - np.log(2.0)
    return wealth


def _bets(hit: Reals, all_of: Reals, confidence: float) -> Reals:
    """The stake of every round from what the rounds before it showed, as if the share were the one seen so far."""
    n = len(hit)
    rounds = np.arange(1, n + 1)
    share = (0.5 + np.cumsum(hit)) / (1.0 + np.cumsum(all_of))
    variance = (0.25 + np.cumsum((hit - share * all_of) ** 2)) / (rounds + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    stakes: Reals = np.sqrt(2 * np.log(2 / (1 - confidence)) / (n * before))
    return stakes
