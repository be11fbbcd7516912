"""A flat boundary between two classes of latents: three ways to fit it, and how well it ranks them.

Fitting is exact and in batches of matrix products: the linear SVM is solved in the primal by Newton's method (squared hinge, as
in Chapelle, "Training a Support Vector Machine in the Primal", 2007).  Knows nothing of models and rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.synthesis.latent import Latents

MOST_STEPS = 60
THINNING = 8
SMALLEST_THINNED = 20_000
STRIP_ROWS = 4096
"""Rows of one matrix product; the weighted copy of more would leave the cache."""


@dataclass(frozen=True)
class Boundary:
    """The plane normal . z + offset = 0 with a normal of length one; positive on the favourable side."""

    normal: Reals
    offset: float

    def distances(self, latents: Latents) -> NDArray[np.floating]:
        """Signed distances from the plane."""
        return latents @ self.normal.astype(latents.dtype) + latents.dtype.type(self.offset)


Fit = Callable[[Latents, Mask, Reals], tuple[Reals, float]]


def fit_boundary(latents: Latents, is_favourable: Mask, kind: str, counts: Reals | None = None) -> Boundary:
    """The plane that separates the two classes best, by the criterion called `kind`; `counts` says how often each latent is there."""
    if kind not in BOUNDARIES:
        raise UnknownName("boundary", kind, BOUNDARIES)
    if is_favourable.all() or not is_favourable.any():
        raise InvalidArgument("a boundary needs latents of both classes")
    normal, offset = BOUNDARIES[kind](latents, is_favourable, np.ones(len(latents)) if counts is None else counts)
    length = float(np.linalg.norm(normal))
    if not np.isfinite(length) or length == 0.0:
        normal, offset, length = np.eye(1, latents.shape[1])[0], 0.0, 1.0
    # Dividing the offset by |w| too is what makes the plane the fitted one; the paper's Eq. 7 divides it by one.
    return Boundary(normal / length, offset / length)


def _svm(latents: Latents, is_favourable: Mask, counts: Reals) -> tuple[Reals, float]:
    """min |w|^2 / 2 + C sum max(0, 1 - y f)^2 with C = 1."""
    return _descend(latents, is_favourable, counts, _squared_hinge)


def _logistic(latents: Latents, is_favourable: Mask, counts: Reals) -> tuple[Reals, float]:
    """min |w|^2 / 2 + sum log(1 + exp(-y f))."""
    return _descend(latents, is_favourable, counts, _log_loss)


def _closed_form(latents: Latents, is_favourable: Mask, counts: Reals) -> tuple[Reals, float]:
    """Fisher's discriminant: the pooled covariance, once."""
    size, n = latents.shape[1], float(counts.sum())
    shares = [np.where(side, counts, 0.0) / n for side in (~is_favourable, is_favourable)]
    means = [share @ latents.astype(np.float64, copy=False) / share.sum() for share in shares]
    within = _curvature(latents, counts)[:size, :size] / n
    for share, mean in zip(shares, means, strict=True):
        within -= share.sum() * np.outer(mean, mean)
    ridge = 1e-6 * max(float(np.trace(within)) / size, 1e-12)
    normal = np.linalg.solve(within + ridge * np.eye(size), means[1] - means[0])
    return normal, float(-normal @ (means[0] + means[1]) / 2)


BOUNDARIES: dict[str, Fit] = {"svm": _svm, "logistic": _logistic, "closed-form": _closed_form}
"""Every kind of boundary by name."""

Loss = Callable[[Reals], tuple[float, Reals, Reals]]


def _squared_hinge(is_favourable: Mask, counts: Reals, values: Reals) -> tuple[float, Reals, Reals]:
    sides = np.where(is_favourable, 1.0, -1.0)
    lacking = np.maximum(0.0, 1.0 - sides * values)
    counted = counts * lacking
    return float(counted @ lacking), -2.0 * sides * counted, np.where(lacking > 0, 2.0 * counts, 0.0)


def _log_loss(is_favourable: Mask, counts: Reals, values: Reals) -> tuple[float, Reals, Reals]:
    from scipy.special import expit

    chances = expit(values)
    loss = float(counts @ np.logaddexp(0.0, np.where(is_favourable, -values, values)))
    return loss, counts * (chances - is_favourable), counts * chances * (1 - chances)


CountedLoss = Callable[[Mask, Reals, Reals], tuple[float, Reals, Reals]]


def _descend(latents: Latents, is_favourable: Mask, counts: Reals, loss_of: CountedLoss) -> tuple[Reals, float]:
    """The minimum over all latents, looked for from the minimum over every eighth: few full steps are then left to do."""
    weights = np.zeros(latents.shape[1] + 1)
    thinned = slice(None, None, THINNING)
    for chosen in (thinned, slice(None)) if len(latents) > SMALLEST_THINNED else (slice(None),):
        some = np.ascontiguousarray(latents[chosen])
        weights = _newton(some, partial(loss_of, is_favourable[chosen], counts[chosen]), weights)
    return weights[:-1], float(weights[-1])


def _newton(latents: Latents, loss_of: Loss, weights: Reals) -> Reals:
    """Newton steps with halving until the loss no longer falls; the offset is not penalised."""
    size = latents.shape[1]
    penalty = np.append(np.ones(size), 0.0)
    values = latents @ weights[:-1].astype(latents.dtype) + weights[-1]
    loss, slope, curve = loss_of(values)
    for _ in range(MOST_STEPS):
        gradient = np.append(slope.astype(latents.dtype) @ latents, slope.sum()) + penalty * weights
        curvature = _curvature(latents, curve) + np.diag(penalty + 1e-8)
        step = -np.linalg.solve(curvature, gradient)
        along = latents @ step[:-1].astype(latents.dtype) + step[-1]
        objective = loss + weights @ (penalty * weights) / 2
        scale = 1.0
        while scale > 1e-6:
            tried = weights + scale * step
            loss, slope, curve = loss_of(values + scale * along)
            if loss + tried @ (penalty * tried) / 2 <= objective:
                break
            scale /= 2
        else:
            break
        weights, values = tried, values + scale * along
        if objective - (loss + weights @ (penalty * weights) / 2) <= 1e-8 * objective:
            break
    return weights


def _curvature(latents: Latents, curve: Reals) -> NDArray[np.float64]:
    """Sum over rows of curve * (z, 1) (z, 1)', strip by strip over the rows that count."""
    size = latents.shape[1]
    total = np.zeros((size + 1, size + 1))
    for at in range(0, len(latents), STRIP_ROWS):
        heavy = np.flatnonzero(curve[at : at + STRIP_ROWS]) + at
        roots = np.sqrt(curve[heavy]).astype(latents.dtype)
        strip = latents[heavy]
        strip *= roots[:, None]
        total[:size, :size] += strip.T @ strip  # symmetric, which the linear algebra library sees and does half the work
        total[:size, size] += roots @ strip
        total[size, size] += curve[heavy].sum()
    total[size, :size] = total[:size, size]
    return total


def ranking_auc(values: NDArray[np.floating], is_favourable: Mask) -> float:
    """The probability that a favourable latent lies further up than another one; NaN where a class is absent."""
    n = int(is_favourable.sum())
    m = len(is_favourable) - n
    if n == 0 or m == 0:
        return float("nan")
    above, below = values[is_favourable], np.sort(values[~is_favourable])
    beaten = np.searchsorted(below, above, side="left").sum() + np.searchsorted(below, above, side="right").sum()
    return float(beaten / 2 / (n * m))
