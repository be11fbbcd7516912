"""Wishes about a column in the rows of one value of another, for a population that is learnt as a whole: such cells are settled first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Index, Mask, Reals
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.generation import CategoryStep, NumberStep, SoFar, draw_category, draw_number
from evenhand.synthesis.wishes import Wish


@dataclass(frozen=True, eq=False)
class ConditionalWish:
    """How a target is distributed in the rows whose source has this code."""

    source: int
    code: float
    target: int
    step: CategoryStep | NumberStep

    def codes(self, n: int, domain: TabularDomain, rng: np.random.Generator) -> Reals:
        """Cells of n such rows; shares of categories are met to the row."""
        column = domain.columns[self.target]
        if isinstance(self.step, CategoryStep):
            codes = draw_category(self.step, {}, n, rng)
            return np.where(codes == len(column.values), np.nan, codes)
        groups = np.full(n, int(self.code))
        return draw_number(self.step, column, SoFar({self.source: groups}, {}, n), "quantiles", rng)


def conditional_wish(wish: Wish, steered: ConstraintGraph) -> ConditionalWish:
    """A wish about an association, as the steered graph understands it."""
    domain = steered.domain
    source, target = domain.place(wish.source), domain.place(wish.column)
    code = domain.columns[source].code(wish.value)
    step = next(step for step in steered.plan.steps if step.place == target)
    if isinstance(step, CategoryStep):
        table = steered.graph.tables[target]
        axis = table.sources.index(source)
        counts = np.take(table.counts.reshape(*table.sizes, -1), int(code), axis=axis)
        shares = counts.reshape(-1, table.counts.shape[-1]).sum(axis=0)
        return ConditionalWish(source, code, target, CategoryStep(target, np.cumsum(shares / shares.sum())[None], None))
    return ConditionalWish(source, code, target, replace(step, bounds=()))


@dataclass(frozen=True, eq=False)
class PartlyDecided:
    """A column some of whose cells are settled."""

    decided: Mask
    codes: Reals

    @classmethod
    def nothing(cls, n: int) -> PartlyDecided:
        """No cell yet."""
        return cls(np.zeros(n, dtype=bool), np.full(n, np.nan))

    def at(self, places: Index) -> PartlyDecided:
        """Those of some rows."""
        return PartlyDecided(self.decided[places], self.codes[places])

    def and_also(self, places: Index, wish: ConditionalWish, domain: TabularDomain, rng: np.random.Generator) -> PartlyDecided:
        """The cells of these rows settled too."""
        decided, codes = self.decided.copy(), self.codes.copy()
        decided[places], codes[places] = True, wish.codes(len(places), domain, rng)
        return PartlyDecided(decided, codes)
