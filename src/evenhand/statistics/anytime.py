"""A share watched while it is sampled, with bounds that hold at every moment at once: stop whenever you like.

The bounds are those of the beta mixture: the likelihood of what was seen, averaged over all shares by a Beta(1/2, 1/2), divided
by the likelihood under one share, is a martingale when that share is true.  By Ville's inequality it ever exceeds 1 / alpha
with a chance of at most alpha, so all shares under which it has not are kept (Robbins 1970).  Nothing is approximate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Reals
from evenhand.limits import ConfidenceLevel, Limit, check_argument
from evenhand.statistics.intervals import Interval

_PRIOR = 0.5
_HALVINGS = 60


@dataclass
class AnytimeShare:
    """Counts successes and keeps the intersection of all bounds so far.  Looking costs nothing: look after every draw if you like."""

    confidence: float = 0.95
    successes: int = 0
    n: int = 0
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        check_confidence(self.confidence)

    def add(self, successes: int, n: int) -> Interval:
        """Count further independent draws; the bounds after them."""
        Limit(least=0, most=n).check("successes", successes, hint=", the number of trials")
        self.successes += int(successes)
        self.n += int(n)
        low, high = beta_mixture_bounds(self.successes, self.n, self.confidence)
        self.low, self.high = max(self.low, float(low)), min(self.high, float(high))
        return self.interval()

    def interval(self) -> Interval:
        """What is known now."""
        estimate = self.successes / self.n if self.n else float("nan")
        return Interval(estimate, min(self.low, self.high), max(self.low, self.high), self.n, self.confidence)


def beta_mixture_bounds(successes: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> tuple[Reals, Reals]:
    """Lower and upper bounds for any number of counts at once, each valid at every sample size together."""
    check_confidence(confidence)
    hits, total = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(n, np.float64))
    misses = total - hits
    # Shares whose log-likelihood lies below this level are ruled out.
    level = _log_mixture(hits, misses) + np.log1p(-confidence)
    estimate = np.divide(hits, total, out=np.full(hits.shape, 0.5), where=total > 0)
    low = _border(np.zeros(hits.shape), estimate, (hits, misses, level))
    high = _border(np.ones(hits.shape), estimate, (hits, misses, level))
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


def _log_mixture(hits: Reals, misses: Reals) -> Reals:
    from scipy.special import betaln

    mixture: Reals = betaln(hits + _PRIOR, misses + _PRIOR) - betaln(_PRIOR, _PRIOR)
    return mixture


def _border(outer: Reals, inner: Reals, seen: tuple[Reals, Reals, Reals]) -> Reals:
    """Halve between a share that is ruled out and one that is not; the side that is ruled out is returned."""
    from scipy.special import xlog1py, xlogy

    hits, misses, level = seen
    for _ in range(_HALVINGS):
        middle = (outer + inner) / 2
        out = xlogy(hits, middle) + xlog1py(misses, -middle) <= level
        outer, inner = np.where(out, middle, outer), np.where(out, inner, middle)
    return outer


def check_confidence(confidence: float) -> None:
    """Raise unless this is a confidence."""
    check_argument(ConfidenceLevel, confidence=confidence)
