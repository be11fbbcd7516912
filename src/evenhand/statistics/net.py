"""The net of two opposite movements in one sample: how many more trials went one way than the other, with an exact interval.

The trials that move either way are a nuisance: bounds hold for every share of them inside an exact interval that takes a fifth of the
error probability (R. Berger, D. Boos, "P Values Maximized over a Confidence Set for the Nuisance Parameter", 1994); trials are ordered by
the studentised net.  That is nearly as sharp as the normal approximation, and much sharper than the difference of two exact intervals.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Reals
from evenhand.limits import Limit
from evenhand.statistics.intervals import Interval, clopper_pearson

NUISANCE_SHARE = 0.2
NUISANCE_POINTS = 40
ROUNDS = 22
OUTSIDE = 7.0
"""Numbers of moving trials further than this many standard deviations from their mean are added to the error probability as one part."""


def net_interval(up: int, down: int, n: int, confidence: float = 0.95) -> Interval:
    """The share that went up minus the share that went down, between -1 and 1; with no trials the whole range."""
    Limit(least=0, most=n).check("up", up, hint=", the number of trials")
    Limit(least=0, most=n - up).check("down", down, hint=", the trials that did not go up")
    if n == 0:
        return Interval(float("nan"), -1.0, 1.0, 0, confidence)
    tail = (1.0 - confidence) / 2.0
    return Interval((up - down) / n, _lower(up, down, n, tail), -_lower(down, up, n, tail), n, confidence)


def _lower(up: int, down: int, n: int, tail: float) -> float:
    """The largest net that the one-sided test still rejects, by halving."""
    moving = clopper_pearson(up + down, n, 1.0 - NUISANCE_SHARE * tail)
    shares = np.linspace(moving.low, moving.high, NUISANCE_POINTS)
    rejected, kept = -1.0, (up - down) / n
    for _ in range(ROUNDS):
        middle = (rejected + kept) / 2.0
        if _chance(up, down, n, middle, shares) < (1.0 - NUISANCE_SHARE) * tail:
            rejected = middle
        else:
            kept = middle
    return rejected


def _chance(up: int, down: int, n: int, net: float, shares: Reals) -> float:
    """The largest chance, over the shares of moving trials, of a studentised net at least as large as the one seen."""
    possible = np.maximum(shares, abs(net))[:, None]  # a net of this size needs at least that many moving trials
    around = OUTSIDE * np.sqrt(n * possible * (1.0 - possible))
    first, last = max(0, int((n * possible - around).min())), min(n, int((n * possible + around).max()) + 1)
    moved = np.arange(first, last + 1, dtype=np.float64)
    ups = np.clip(np.ceil((_least(up, down, n, net, moved) + moved) / 2.0 - 1e-9), 0, moved + 1)
    upward = (1.0 + net / np.maximum(possible, 1e-300)) / 2.0
    chances: Reals = np.sum(np.multiply(_binomial(moved[None, :], n, possible), _tail(ups[None, :], moved[None, :], upward)), axis=1)
    return float(chances.max()) + 1e-11


def _least(up: int, down: int, n: int, net: float, moved: Reals) -> Reals:
    """For each number of moving trials, the least difference of ups and downs whose studentised net reaches the one seen."""
    seen, expected = up - down, n * net
    reached = (seen - expected) / np.sqrt(up + down + 1.0 - seen**2 / n)
    spread = 1.0 + reached**2 / n
    root = (moved + 1.0) * spread - n * net**2
    least: Reals = (expected + reached * np.sqrt(np.maximum(root, 0.0))) / spread
    return np.where(root >= 0.0, least, np.inf if net > 0 else -np.inf)


def _binomial(count: Reals, n: int, share: Reals) -> Reals:
    from scipy.special import gammaln, xlog1py, xlogy

    chosen = gammaln(n + 1.0) - gammaln(count + 1.0) - gammaln(n - count + 1.0)
    return np.asarray(np.exp(chosen + xlogy(count, share) + xlog1py(n - count, -share)))


def _tail(least: Reals, n: Reals, share: Reals) -> Reals:
    """The chance of at least this many successes."""
    from scipy.special import betainc

    inside = np.asarray(betainc(np.maximum(least, 1.0), np.maximum(n - least + 1.0, 1e-9), np.clip(share, 0.0, 1.0)))
    return np.where(least <= 0, 1.0, np.where(least > n, 0.0, inside))
