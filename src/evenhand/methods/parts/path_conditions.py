"""What symbolic execution asks of a path: one test negated, the others kept, as boxes of codes with their place in the queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.methods.parts.fitted_tree import NO_TEST, Paths, sides_of


@dataclass(frozen=True)
class PathWishes:
    """Conditions that other rows shall meet: the row each comes from, the columns that it names, their intervals, and its confidence."""

    origin: Index
    named: NDArray[np.bool_]  # (wishes, columns)
    low: Rows
    high: Rows
    confidence: Reals  # the mean over the tests of the condition

    def __len__(self) -> int:
        return len(self.origin)

    def __getitem__(self, at: Index | Mask) -> PathWishes:
        return PathWishes(self.origin[at], self.named[at], self.low[at], self.high[at], self.confidence[at])

    @property
    def can_hold(self) -> Mask:
        """Which of them no interval contradicts."""
        return np.asarray((~self.named | (self.low <= self.high)).all(axis=1))


@dataclass(frozen=True)
class PathBox:
    """Every test of some paths as bounds on its column, kept and negated, (rows, depth) each."""

    column: Index
    low: Reals
    high: Reals
    other_low: Reals
    other_high: Reals
    confidence: Reals
    is_free: NDArray[np.bool_]  # a test, and not on a protected column

    @classmethod
    def of(cls, paths: Paths, domain: TabularDomain) -> PathBox:
        """The tests of the paths in the domain's codes."""
        tested = paths.column != NO_TEST
        column = np.where(tested, paths.column, 0)
        below, above = sides_of(paths.threshold, domain.integral[column])
        down, lowest, highest = paths.is_below, np.full(column.shape, -np.inf), np.full(column.shape, np.inf)
        kept = np.where(tested & ~down, above, lowest), np.where(tested & down, below, highest)
        negated = np.where(tested & down, above, lowest), np.where(tested & ~down, below, highest)
        is_free = tested & ~np.isin(column, domain.protected_places)
        return cls(column, *kept, *negated, np.where(tested, paths.confidence, 0.0), is_free)


def local_wishes(paths: Paths, domain: TabularDomain) -> PathWishes:
    """Each test negated with all others on the same column kept: another value of that column alone."""
    bounds = PathBox.of(paths, domain)
    depth = bounds.column.shape[1]
    row, test = np.nonzero(bounds.is_free)
    column = bounds.column[row, test]
    beside = (bounds.column[row] == column[:, None]) & (paths.column[row] != NO_TEST) & (np.arange(depth) != test[:, None])
    low = np.where(beside, bounds.low[row], -np.inf).max(axis=1, initial=-np.inf)
    high = np.where(beside, bounds.high[row], np.inf).min(axis=1, initial=np.inf)
    low = np.maximum(np.maximum(low, bounds.other_low[row, test]), domain.low[column])
    high = np.minimum(np.minimum(high, bounds.other_high[row, test]), domain.high[column])
    own = bounds.confidence[row, test]
    confidence = (bounds.confidence[row].sum(axis=1) + 1.0 - 2.0 * own) / (paths.column[row] != NO_TEST).sum(axis=1)
    named = np.zeros((len(row), len(domain.columns)), dtype=bool)
    named[np.arange(len(row)), column] = True
    return PathWishes(row, named, _spread(named, low), _spread(named, high), confidence)


def _spread(named: NDArray[np.bool_], values: Reals) -> Rows:
    return np.where(named, values[:, None], 0.0)


def global_wishes(paths: Paths, domain: TabularDomain, least: float) -> PathWishes:
    """Each test negated with those before it kept, up to the first one whose confidence is below `least`; protected ones are left out."""
    bounds = PathBox.of(paths, domain)
    n, depth = bounds.column.shape
    going = np.ones(n, dtype=bool)
    low, high = np.tile(domain.low, (n, 1)), np.tile(domain.high, (n, 1))
    named, total, count = np.zeros(low.shape, dtype=bool), np.zeros(n), np.zeros(n)
    found = [PathWishes(np.empty(0, dtype=np.intp), named[:0], low[:0], high[:0], total[:0])]
    for test in range(depth):
        free, column, sure = bounds.is_free[:, test], bounds.column[:, test], bounds.confidence[:, test]
        going &= ~free | (sure >= least)
        at = np.flatnonzero(going & free)
        if not at.size:
            continue
        here = column[at]
        turned = PathWishes(at, named[at], low[at], high[at], (total[at] + 1.0 - sure[at]) / (count[at] + 1.0))
        place = np.arange(len(at))
        turned.named[place, here] = True
        turned.low[place, here] = np.maximum(low[at, here], bounds.other_low[at, test])
        turned.high[place, here] = np.minimum(high[at, here], bounds.other_high[at, test])
        found.append(turned)
        named[at, here] = True
        low[at, here] = np.maximum(low[at, here], bounds.low[at, test])
        high[at, here] = np.minimum(high[at, here], bounds.high[at, test])
        total[at] += sure[at]
        count[at] += 1.0
    parts = ("origin", "named", "low", "high", "confidence")
    return PathWishes(*(np.concatenate([getattr(each, name) for each in found]) for name in parts))
