"""Sums that are known while parts of them are open: the last open part is what is left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.products import Equation
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.derivations import Computation

_ROUNDS = 3
"""How often a part that was solved may be a sum itself."""


@dataclass(frozen=True)
class LinearSum:
    """An equation whose parts come in the order of a chain, and the decimals of each of them (None: any)."""

    equation: Equation
    decimals: tuple[int | None, ...]

    @property
    def target(self) -> int:
        """The sum."""
        return self.equation.target

    def last_open(self, known: Mask) -> Index:
        """(n,) the last part that is open in each row; -1 where none is."""
        steps = np.where(~known[:, list(self.equation.places)], np.arange(len(self.equation.places)), -1).max(axis=1)
        return np.where(steps >= 0, np.array(self.equation.places)[steps], -1)

    def solved(self, at: int, rows: Rows, known: Mask, drawn: Rows) -> tuple[Rows, Mask]:
        """The rows in which this part, the last open one, is what the sum leaves to it; `drawn` has the parts before it."""
        if at not in self.equation.places:
            return rows, known
        step = self.equation.places.index(at)
        later = list(self.equation.places[step + 1 :])
        mine = known[:, self.target] & ~known[:, at] & known[:, later].all(axis=1)
        if not mine.any():
            return rows, known
        rows, known = rows.copy(), known.copy()
        rows[mine, at] = self._left(step, np.where(known[mine], rows[mine], drawn[mine]))
        known[mine, at] = True
        return rows, known

    def _left(self, step: int, rows: Rows) -> Reals:
        left = rows[:, self.target] - self.equation.constant
        for other, (place, weight) in enumerate(zip(self.equation.places, self.equation.weights, strict=True)):
            left = left - weight * rows[:, place] if other != step else left
        left, decimals = left / self.equation.weights[step], self.decimals[step]
        return left if decimals is None else np.round(left, decimals) + 0.0


def linear_sums(chain: ChainedTrees) -> tuple[LinearSum, ...]:
    """The sums of numbers that a chain computes."""
    rank = {at: step for step, at in enumerate(chain.order)}
    totals = [each for guide in chain.guides.values() if guide.is_total for each in guide.derivations if isinstance(each, Computation)]
    found = []
    for each in totals:
        places = sorted(each.inputs, key=lambda at: rank[at])
        if not each.equation.is_product and not any(chain.domain.columns[at].is_listed for at in places):
            weights = dict(zip(each.inputs, each.equation.weights, strict=True))
            equation = Equation(each.target, tuple(places), tuple(weights[at] for at in places), each.equation.constant)
            found.append(LinearSum(equation, tuple(_decimals(chain, at) for at in places)))
    return tuple(found)


def solved_first(sums: tuple[LinearSum, ...], rows: Rows, known: Mask) -> tuple[Rows, Mask]:
    """The rows with every part that what is known leaves no choice; a part may be a sum of others."""
    for each in sums * _ROUNDS:
        for at in each.equation.places:
            others = [place for place in each.equation.places if place != at]
            alone = known[:, others].all(axis=1, keepdims=True)
            found = each.solved(at, rows, known | ~alone, rows)
            rows, known = found[0], known | (found[1] & alone)
    return rows, known


def _decimals(chain: ChainedTrees, at: int) -> int | None:
    if chain.domain.columns[at].is_integral:
        return 0
    grid = chain.links[chain.order.index(at)].cells.grid
    return grid if isinstance(grid, int) else None
