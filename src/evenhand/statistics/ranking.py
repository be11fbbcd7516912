"""Who is ahead of whom over several grounds: mean with interval, ranks, Friedman's test, Nemenyi's critical difference, paired tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Reals, Rows
from evenhand.errors import InvalidArgument
from evenhand.statistics.multiplicity import holm


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with Student's interval; without one for a single seed."""

    mean: float
    low: float | None
    high: float | None
    n: int


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> Mean:
    """The mean of independent runs and where it may lie if they are about normal."""
    from scipy.stats import t

    x = np.asarray(values, np.float64).ravel()
    if not x.size:
        raise InvalidArgument("values is empty; a mean needs at least one")
    if x.size == 1:
        return Mean(float(x[0]), None, None, 1)
    half = float(t.ppf((1 + confidence) / 2, x.size - 1) * x.std(ddof=1) / np.sqrt(x.size))
    return Mean(float(x.mean()), float(x.mean()) - half, float(x.mean()) + half, x.size)


def ranks(scores: Rows) -> Rows:
    """Per row, 1 for the largest score; equal ones share the mean of their ranks.  (grounds, methods)"""
    from scipy.stats import rankdata

    ranked: Rows = rankdata(-np.asarray(scores, np.float64), axis=1)
    return ranked


@dataclass(frozen=True)
class Ranking:
    """Mean ranks over grounds, whether they differ at all, and how far apart two must be to differ."""

    mean_ranks: Reals  # (methods,)
    p_value: float | None  # Friedman; None where there is too little to test
    critical_difference: float | None  # Nemenyi; None likewise
    grounds: int


def ranking(scores: Rows, alpha: float = 0.05) -> Ranking:
    """Friedman's test and Nemenyi's critical difference (Demsar 2006) of a complete table of scores, larger being better."""
    from scipy.stats import friedmanchisquare, studentized_range

    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise InvalidArgument(f"scores of shape {table.shape} must be a complete table (grounds, methods) of finite numbers")
    grounds, methods = table.shape
    means = ranks(table).mean(axis=0)
    if grounds < 2 or methods < 3:
        return Ranking(means, None, None, grounds)
    p_value = 1.0 if (table == table[:, :1]).all() else float(friedmanchisquare(*table.T).pvalue)
    critical = studentized_range.ppf(1 - alpha, methods, np.inf) / np.sqrt(2)
    return Ranking(means, p_value, float(critical * np.sqrt(methods * (methods + 1) / (6 * grounds))), grounds)


@dataclass(frozen=True)
class Duel:
    """One method against another over the grounds where both were run."""

    wins: int
    ties: int
    losses: int
    p_value: float  # exact or approximate two-sided Wilcoxon signed-rank


def duel(first: ArrayLike, second: ArrayLike) -> Duel:
    """Paired scores, larger being better."""
    from scipy.stats import wilcoxon

    a, b = np.asarray(first, np.float64).ravel(), np.asarray(second, np.float64).ravel()
    if a.shape != b.shape or not a.size:
        raise InvalidArgument(f"first has {a.size} and second {b.size} scores; a duel needs pairs")
    difference = a - b
    p_value = float(wilcoxon(difference[difference != 0]).pvalue) if (difference != 0).any() else 1.0
    return Duel(int((difference > 0).sum()), int((difference == 0).sum()), int((difference < 0).sum()), p_value)


def corrected(duels: list[Duel]) -> Reals:
    """The duels' p-values, adjusted by Holm so that any false difference among them has at most the stated chance."""
    return holm([each.p_value for each in duels])
