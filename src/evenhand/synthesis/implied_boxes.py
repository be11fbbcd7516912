"""What a box asks of the columns that its own follow from: a tax of at most 100 leaves an income of at most 500.

Only ranges and lists of values are told, so a row that lies in what is implied may still break a relation; none is lost that keeps all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Mask, Reals
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.box import Box
from evenhand.synthesis.derivations import Computation, Derivation, Determined, Exclusive, InOrder, Settled

ROUNDS = 6
"""How often what is implied is followed further, to what it follows from itself."""
HALVINGS = 60


def implied_box(box: Box, derivations: Iterable[Derivation], orders: Iterable[InOrder], domain: TabularDomain) -> Box:
    """The box, cut besides in the columns that its columns follow from or stand in order with."""
    derivations, orders = tuple(derivations), tuple(orders)
    for _ in range(ROUNDS):
        before = box
        for each in derivations:
            if each.target in box.values or each.target in box.intervals:
                box = _Backward(box, domain).cut(each)
        for pair in orders:
            box = _in_order(box, pair)
        if _same(box, before):
            break
    return box


def _same(first: Box, second: Box) -> bool:
    if first.intervals != second.intervals or first.values.keys() != second.values.keys():
        return False
    return all(np.array_equal(mask, second.values[at]) for at, mask in first.values.items())


def _in_order(box: Box, pair: InOrder) -> Box:
    if pair.second in box.intervals and np.isfinite(high := box.intervals[pair.second][1]):
        box = box.with_interval(pair.first, -np.inf, high)
    if pair.first in box.intervals and np.isfinite(low := box.intervals[pair.first][0]):
        box = box.with_interval(pair.second, low, np.inf)
    return box


@dataclass(frozen=True)
class _Backward:
    """From a derived column in a box to its inputs."""

    box: Box
    domain: TabularDomain

    def cut(self, each: Derivation) -> Box:
        if isinstance(each, Computation):
            return self._computed(each)
        if isinstance(each, Determined):
            return self._determined(each)
        if isinstance(each, Exclusive):
            return self._exclusive(each)
        return self._settled(each) if isinstance(each, Settled) else self.box

    def _computed(self, each: Computation) -> Box:
        """Each input between the ends that the result and the widest other inputs leave it."""
        if each.target not in self.box.intervals:
            return self.box
        wanted = each.between(*self.box.intervals[each.target])
        limits = self.limits()
        box, no_rows, later = self.box, np.zeros((1, len(self.domain.columns))), frozenset(each.inputs)
        for at in each.inputs:
            with np.errstate(all="ignore"):
                first, last = (float(end[0]) for end in wanted.room(at, no_rows, later, limits))
            first, last = (-np.inf if np.isnan(first) else first), (np.inf if np.isnan(last) else last)
            if first > limits[0][at] or last < limits[1][at]:
                box = box.with_interval(at, first, last)
        return box

    def limits(self) -> tuple[Reals, Reals]:
        """The smallest and the largest code of every column inside the box."""
        low, high = self.domain.low.astype(np.float64), self.domain.high.astype(np.float64)
        for at in self.box.intervals:
            low[at], high[at] = self._ends(at)
        return low, high

    def _ends(self, at: int) -> tuple[float, float]:
        column, (low, high) = self.domain.columns[at], self.box.intervals[at]
        return max(low, column.lowest), min(high, column.highest)

    def _allows(self, target: int, codes: Reals) -> Mask:
        """Which codes of a column in the box lie in it; a missing cell does not."""
        known = ~np.isnan(codes)
        if target in self.box.values:
            mask = np.asarray(self.box.values[target])
            known[known] = mask[codes[known].astype(np.intp)]
            return known
        low, high = self.box.intervals[target]
        with np.errstate(invalid="ignore"):
            return known & (codes >= low) & (codes <= high)

    def _determined(self, each: Determined) -> Box:
        """The values of the source whose target lies in the box, and those that fix nothing."""
        source = self.domain.columns[each.inputs[0]]
        if not source.is_listed:
            return self.box
        allowed = np.ones(len(source.values), dtype=bool)
        allowed[each.sources.astype(np.intp)] = self._allows(each.target, each.targets)
        return self.box.with_values(each.inputs[0], allowed)

    def _exclusive(self, each: Exclusive) -> Box:
        """Where a flag says yes, the earlier ones say no."""
        if self._allows(each.target, np.array([0.0]))[0]:
            return self.box
        box = self.box
        for at in each.inputs:
            box = box.with_values(at, np.array([True, False]))
        return box

    def _settled(self, each: Settled) -> Box:
        """Where the settled cell lies outside, the condition does not hold: told of conditions on one column."""
        if len(each.inputs) != 1 or self._allows(each.target, np.array([each.code]))[0]:
            return self.box
        at = each.inputs[0]
        column = self.domain.columns[at]
        if column.is_listed:
            return self.box.with_values(at, ~self._condition_holds(each, np.arange(len(column.values), dtype=np.float64)))
        return self._beyond(each, at, column)

    def _condition_holds(self, each: Settled, codes: Reals) -> Mask:
        rows = np.zeros((len(codes), len(self.domain.columns)))
        rows[:, each.inputs[0]] = codes
        return np.broadcast_to(each.condition.truth(rows)[0], len(codes))

    def _beyond(self, each: Settled, at: int, column: Column) -> Box:
        """The side of a threshold on which the condition does not hold, found by halving."""
        low_holds, high_holds = self._condition_holds(each, np.array([column.lowest, column.highest]))
        if low_holds == high_holds:
            return self.box
        held, free = (column.lowest, column.highest) if low_holds else (column.highest, column.lowest)
        for _ in range(HALVINGS):
            middle = (held + free) / 2
            held, free = (middle, free) if self._condition_holds(each, np.array([middle]))[0] else (held, middle)
        return self.box.with_interval(at, free, np.inf) if low_holds else self.box.with_interval(at, -np.inf, free)


def limits_in(box: Box, domain: TabularDomain) -> tuple[Reals, Reals]:
    """The smallest and the largest code of every column inside a box."""
    return _Backward(box, domain).limits()
