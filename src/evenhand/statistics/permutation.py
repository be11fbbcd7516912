"""Whether groups differ at all: tests that keep their level at every size, because chance is counted and not approximated.

Under the hypothesis of no difference, outcomes are dealt out to groups at random.  For shares the deals follow hypergeometric laws, so
that two groups are settled by full enumeration and more of them by thousands of drawn deals at the cost of a few; for
amounts the rows themselves are shuffled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals
from evenhand.errors import InvalidArgument

Kind = Literal["exact", "permutation", "chi-square", "impossible"]
Counts = NDArray[np.int64]

DRAWS = 4_999
MOST_SHUFFLED = 20_000_000
"""Cells that are shuffled at most; beyond this the large-sample law of the same statistic is as good."""

MOST_ENUMERATED = 14
"""So many things are dealt to two groups in every way there is, 3,432 of them; beyond this, deals are drawn."""

_TIE = 1e-9


@dataclass(frozen=True)
class Test:
    """A p-value and how it was computed; 1 and "impossible" where nothing can be compared."""

    p_value: float
    kind: Kind
    draws: int = 0


NOTHING = Test(1.0, "impossible")


@dataclass(frozen=True)
class Stratum:
    """Rows within which outcomes are exchangeable when there is no difference: hits and rows of every group."""

    hits: Counts
    sizes: Counts

    def __post_init__(self) -> None:
        if self.hits.shape != self.sizes.shape or (self.hits < 0).any() or (self.hits > self.sizes).any():
            raise InvalidArgument(f"hits={self.hits.tolist()} must be one count for each of sizes={self.sizes.tolist()}, between 0 and it")

    @property
    def is_telling(self) -> bool:
        """Whether two groups have rows and the outcomes are not all alike."""
        return bool((self.sizes > 0).sum() >= 2) and 0 < int(self.hits.sum()) < int(self.sizes.sum())

    def chi_square(self, hits: Counts) -> Reals:
        """Pearson's statistic of one or many deals, (..., groups) to (...,)."""
        share = self.hits.sum() / self.sizes.sum()
        expected = self.sizes * share
        spread = np.where(self.sizes > 0, expected * (1 - share), 1.0)
        statistic: Reals = ((hits - expected) ** 2 / spread).sum(axis=-1)
        return statistic


def shares_test(strata: Sequence[Stratum], rng: np.random.Generator, draws: int = DRAWS) -> Test:
    """Whether groups have the same share of hits within every stratum."""
    telling = [stratum for stratum in strata if stratum.is_telling]
    if not telling:
        return NOTHING
    if len(telling) == 1 and (telling[0].sizes > 0).sum() == 2:
        return Test(_enumerated(telling[0]), "exact")
    seen = sum(float(stratum.chi_square(stratum.hits)) for stratum in telling)
    dealt = sum(stratum.chi_square(_deals(stratum, draws, rng)) for stratum in telling)
    return Test(_p_value(np.asarray(dealt), seen), "permutation", draws)


def _deals(stratum: Stratum, draws: int, rng: np.random.Generator) -> Counts:
    return rng.multivariate_hypergeometric(stratum.sizes, int(stratum.hits.sum()), size=draws, method="marginals")


def _enumerated(stratum: Stratum) -> float:
    """Two groups: the chance of every deal that is at least as uneven, added up."""
    from scipy.special import betaln

    here = stratum.sizes > 0
    (first, second), hits = stratum.sizes[here], int(stratum.hits.sum())
    counts = np.arange(max(0, hits - int(second)), min(int(first), hits) + 1)
    # log C(n, k) = -log(n + 1) - log B(k + 1, n - k + 1); the terms without the count cancel when the chances are made to add up to 1.
    logs = -betaln(counts + 1, first - counts + 1) - betaln(hits - counts + 1, second - hits + counts + 1)
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    unevenness = np.abs(counts - hits * first / (first + second))
    seen = abs(stratum.hits[here][0] - hits * first / (first + second))
    return float(min(1.0, chances[unevenness >= seen - _TIE].sum()))


def group_against_rest(stratum: Stratum) -> Reals:
    """For every group, the exact two-sided p-value against all others pooled."""
    p_values = np.ones(len(stratum.sizes))
    for group, (hits, size) in enumerate(zip(stratum.hits, stratum.sizes, strict=True)):
        rest = Stratum(np.array([hits, stratum.hits.sum() - hits]), np.array([size, stratum.sizes.sum() - size]))
        if rest.is_telling:
            p_values[group] = _enumerated(rest)
    return p_values


def table_test(table: Counts, rng: np.random.Generator, draws: int = DRAWS) -> Test:
    """Whether the shares of several outcomes differ between groups; `table` is (groups, outcomes)."""
    from scipy.stats import random_table

    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return NOTHING
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    dealt = random_table(table.sum(axis=1), table.sum(axis=0)).rvs(size=draws, random_state=rng)
    statistic = (((dealt - expected) ** 2) / expected).sum(axis=(1, 2))
    return Test(_p_value(statistic, float(((table - expected) ** 2 / expected).sum())), "permutation", draws)


@dataclass(frozen=True)
class Amounts:
    """One number per row, its group (-1 for none), and the weight of the row."""

    values: Reals
    groups: Index
    count: int
    weights: Reals | None = None
    strata: Index | None = None

    def kept(self) -> Amounts:
        """Without the rows that belong to no group."""
        chosen = self.groups >= 0
        weights = None if self.weights is None else self.weights[chosen]
        strata = None if self.strata is None else self.strata[chosen]
        return Amounts(self.values[chosen], self.groups[chosen], self.count, weights, strata)


def amounts_test(amounts: Amounts, rng: np.random.Generator, draws: int = 999) -> Test:
    """Whether groups differ in level: the studentised (Welch) statistic under shuffled rows, within strata when there are some.

    Exact where rows are exchangeable; studentised, so that groups that merely spread differently are not called different.
    """
    rows = amounts.kept()
    sizes = np.bincount(rows.groups, minlength=rows.count)
    if (sizes >= 2).sum() < 2 or np.ptp(rows.values) == 0:
        return NOTHING
    seen = float(_welch(rows.values[None], _weights(rows)[None], rows)[0])
    if len(rows.values) * draws > MOST_SHUFFLED:
        return _large_sample(seen, int((sizes >= 2).sum()))
    step = max(1, 2_000_000 // len(rows.values))
    dealt = np.concatenate([_shuffled(rows, min(step, draws - at), rng) for at in range(0, draws, step)])
    return Test(_p_value(dealt, seen), "permutation", draws)


def _large_sample(statistic: float, groups: int) -> Test:
    from scipy.stats import chi2

    return Test(float(chi2.sf(statistic, groups - 1)), "chi-square")


def _weights(rows: Amounts) -> Reals:
    return np.ones(len(rows.values)) if rows.weights is None else rows.weights


def _shuffled(rows: Amounts, deals: int, rng: np.random.Generator) -> Reals:
    """The statistic of so many deals; a row keeps its weight and stays in its stratum."""
    order = np.argsort(rng.random((deals, len(rows.values))), axis=1)
    if rows.strata is not None:
        # Sorted by stratum, ties broken at random, rows change places only with others of their stratum.
        home = np.argsort(rows.strata, kind="stable")
        order = np.take_along_axis(order, np.argsort(rows.strata[order], axis=1, kind="stable"), axis=1)
        placed = np.empty_like(order)
        placed[:, home] = order
        order = placed
    return _welch(rows.values[order], _weights(rows)[order], rows)


def _welch(values: Reals, weights: Reals, rows: Amounts) -> Reals:
    """Squared distances of group means from their common mean, each over its own variance; (deals, n) to (deals,)."""
    member = np.zeros((len(rows.groups), rows.count))
    member[np.arange(len(rows.groups)), rows.groups] = 1.0
    member = member[:, member.sum(axis=0) >= 2]
    total = weights @ member
    mean = ((weights * values) @ member) / total
    square = (weights**2) @ member
    # Residual sums by the binomial formula: sum w^2 (v - m)^2 = sum w^2 v^2 - 2 m sum w^2 v + m^2 sum w^2.
    residual = ((weights**2 * values**2) @ member) - 2 * mean * ((weights**2 * values) @ member) + mean**2 * square
    count = member.sum(axis=0)
    variance = np.maximum(residual, 0.0) / total**2 * count / (count - 1)
    precision = 1.0 / np.maximum(variance, 1e-12 * max(float(np.ptp(rows.values)) ** 2, 1e-300))
    centre = (precision * mean).sum(axis=1, keepdims=True) / precision.sum(axis=1, keepdims=True)
    statistic: Reals = (precision * (mean - centre) ** 2).sum(axis=1)
    return statistic


def _p_value(dealt: Reals, seen: float) -> float:
    """The share of deals at least as uneven, the one seen being one of them."""
    return float((1 + np.count_nonzero(dealt >= seen - _TIE * max(1.0, abs(seen)))) / (1 + len(dealt)))


def distances_test(distances: Reals, groups: Index, rng: np.random.Generator, draws: int = DRAWS) -> Test:
    """Whether things of different groups lie further apart than things of one group.  distances: (things, things), symmetric.

    With the total fixed, the less lies within groups, the more lies across.  Two groups of few things are dealt out in every way there is.
    """
    everything = len(groups) <= MOST_ENUMERATED and len(np.unique(groups)) == 2
    dealt = _every_deal(groups) if everything else np.stack([rng.permutation(groups) for _ in range(draws)])
    within = np.array([_within(distances, each) for each in dealt])
    smaller = float((within <= _within(distances, groups) + _TIE).sum())
    return Test(smaller / len(dealt), "exact") if everything else Test((smaller + 1) / (draws + 1), "permutation", draws)


def _every_deal(groups: Index) -> Index:
    """All ways to give the first of two groups as many things as it has."""
    first = groups == groups.min()
    chosen = np.array(list(combinations(range(len(groups)), int(first.sum()))))
    dealt = np.full((len(chosen), len(groups)), groups.max())
    np.put_along_axis(dealt, chosen, groups.min(), axis=1)
    return dealt


def _within(distances: Reals, groups: Index) -> float:
    return float(distances[groups[:, None] == groups].sum())
