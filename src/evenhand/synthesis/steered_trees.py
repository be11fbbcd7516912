"""Chained trees under a user's wishes: what the wishes decide leads the chain, what they move is moved, rules always hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.constraint_graph import ConstraintGraph, check_rules
from evenhand.synthesis.decimals import rounded
from evenhand.synthesis.generation import CategoryStep, NumberStep, SoFar, draw_category, draw_number
from evenhand.synthesis.graph import Graph, Scaling
from evenhand.synthesis.rejection import keep_constraints
from evenhand.synthesis.steering import wished_domain
from evenhand.synthesis.tree_settings import TreeSettings
from evenhand.synthesis.wishes import Wishes


@dataclass(frozen=True)
class SteeredTrees:
    """A population: the trees' rows after the user's constraints."""

    domain: TabularDomain
    trees: ChainedTrees = field(repr=False)
    leaders: tuple[CategoryStep | NumberStep, ...] = field(repr=False)  # columns whose distribution the user decided
    scalings: Mapping[int, Scaling]
    value_scalings: Mapping[tuple[int, int], Mapping[int, Scaling]]
    name: str = "chained trees, steered"

    @classmethod
    def of(
        cls, rows: Rows, domain: TabularDomain, wishes: Wishes, rng: np.random.Generator, settings: TreeSettings | None = None
    ) -> SteeredTrees:
        """Learn the chain with the decided columns first."""
        for wish in wishes.wishes:
            if wish.source and (wish.action == "delete" or (wish.range is None and wish.factor is None)):
                raise InvalidArgument(f"{wish.text}: trees learn associations as a whole; the constraint graph can change a single one")
            if wish.only_range:
                raise InvalidArgument(f"{wish.text}: trees keep the data's range; the constraint graph can do without it")
        steered = ConstraintGraph.fit(rows, domain, rng).steered(wishes, rng)
        graph, wished = steered.graph, wished_domain(domain, wishes)
        check_rules(wished, wishes)
        decided = {*graph.settled, *graph.dropped}
        leaders = tuple(step for step in steered.plan.steps if step.place in decided)
        plain = TabularDomain(domain.columns, domain.protected, domain.label)
        trees = ChainedTrees.fit(rows, plain, rng, settings, first=[domain.names[step.place] for step in leaders])
        return cls(wished, trees, leaders, _moves(graph, decided), graph.value_scalings)

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows that keep every wish and every rule, or an error that names what is in the way."""
        kept = self._decided(n, rng)

        def draw(places: Index) -> Rows:
            fixed = {at: cells[places] for at, cells in kept.items()}
            return self._moved(self.trees.sample(len(places), rng, self._within_old_range(fixed)), fixed)

        if not self.domain.constraints:
            return draw(np.arange(n))
        return keep_constraints(draw, n, self.domain, tuple(kept))

    def _decided(self, n: int, rng: np.random.Generator) -> dict[int, Reals]:
        found: dict[int, Reals] = {}
        for step in self.leaders:
            column = self.domain.columns[step.place]
            if isinstance(step, CategoryStep):
                codes = draw_category(step, {}, n, rng)
                found[step.place] = np.where(codes == len(column.values), np.nan, codes)
            else:
                found[step.place] = draw_number(step, column, SoFar({}, {}, n), "quantiles", rng)
        return found

    def _within_old_range(self, fixed: Mapping[int, Reals]) -> dict[str, Reals]:
        """What the trees see of a decided column: its cells, as near as the data's range allows."""
        columns = self.trees.domain.columns
        return {columns[at].name: np.clip(cells, columns[at].lowest, columns[at].highest) for at, cells in fixed.items()}

    @cached_property
    def _decimals(self) -> dict[int, int | None]:
        grids = {at: link.cells.grid for at, link in zip(self.trees.order, self.trees.links, strict=True)}
        return {at: grid if isinstance(grid, int) else None for at, grid in grids.items()}

    def _moved(self, rows: Rows, fixed: Mapping[int, Reals]) -> Rows:
        for at, cells in fixed.items():
            rows[:, at] = cells
        for at, scaling in self.scalings.items():
            rows[:, at] = rounded(scaling.apply(rows[:, at]), *scaling.new, self._decimals[at])
        for (source, at), by_value in self.value_scalings.items():
            for value, scaling in by_value.items():
                mine = rows[:, source] == value
                moved = scaling.apply(np.clip(rows[mine, at], *scaling.old))
                rows[mine, at] = rounded(moved, *scaling.new, self._decimals[at])
        return self.domain.clip(rows)


def _moves(graph: Graph, decided: set[int]) -> dict[int, Scaling]:
    return {at: scaling for at, scaling in graph.scalings.items() if at not in decided}
