"""Chained trees under a user's wishes: what the wishes decide leads the chain, what they move is moved, rules always hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.contract import Executor
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError, InvalidArgument
from evenhand.synthesis.box import Box
from evenhand.synthesis.carried_orders import CarriedOrders
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.conditional_wishes import ConditionalWish, PartlyDecided, conditional_wish
from evenhand.synthesis.constraint_graph import ConstraintGraph, check_rules
from evenhand.synthesis.decimals import rounded
from evenhand.synthesis.derivations import Computation
from evenhand.synthesis.finishing import Finishing
from evenhand.synthesis.generation import CategoryStep, NumberStep, SoFar, draw_category, draw_number
from evenhand.synthesis.graph import Graph, Scaling
from evenhand.synthesis.rejection import keep_constraints
from evenhand.synthesis.steering import wished_domain
from evenhand.synthesis.tree_settings import TreeSettings
from evenhand.synthesis.wishes import Wish, Wishes

PILOT_ROWS, HELD = 400, 0.5
"""Rows that tell which relations the wishes are against, and the share of them that must keep a relation."""


@dataclass(frozen=True)
class SteeredTrees:
    """A population: the trees' rows after the user's constraints."""

    domain: TabularDomain
    trees: ChainedTrees = field(repr=False)
    leaders: tuple[CategoryStep | NumberStep, ...] = field(repr=False)  # columns whose distribution the user decided
    scalings: Mapping[int, Scaling]
    value_scalings: Mapping[tuple[int, int], Mapping[int, Scaling]]
    name: str = "chained trees, steered"
    box: Box = field(default_factory=Box, repr=False)  # rows lie in it; what it leaves of a decided column keeps its shares
    drawn: dict[int, Reals] | None = field(default=None, repr=False, compare=False)  # cells of decided categories so far, if counted
    conditionals: tuple[ConditionalWish, ...] = field(default=(), repr=False)  # columns decided for one value of another
    finishing: Finishing = field(default_factory=Finishing, repr=False)
    overridden: tuple[str, ...] = ()  # relations of every learnt row that the wishes are against

    def balanced(self) -> SteeredTrees:
        """The same trees, whose rows of several draws have the wished shares together, to the row wherever the boxes allow it."""
        return replace(self, drawn={}, finishing=self.finishing.counting())

    @classmethod
    def of(
        cls,
        rows: Rows,
        domain: TabularDomain,
        wishes: Wishes,
        rng: np.random.Generator,
        settings: TreeSettings | None = None,
        executor: Executor | None = None,
    ) -> SteeredTrees:
        """Learn the chain with the decided columns first."""
        for wish in wishes.wishes:
            if wish.source and wish.action == "delete":
                raise InvalidArgument(f"{wish.text}: trees learn associations as a whole; the constraint graph can delete a single one")
            if wish.only_range:
                raise InvalidArgument(f"{wish.text}: trees keep the data's range; the constraint graph can do without it")
        steered = ConstraintGraph.fit(rows, domain, rng).steered(wishes, rng)
        graph, wished = steered.graph, wished_domain(domain, wishes, rows)
        check_rules(wished, wishes)
        decided = {*graph.settled, *graph.dropped}
        leaders = tuple(step for step in steered.plan.steps if step.place in decided)
        plain = TabularDomain(domain.columns, domain.protected, domain.label)
        conditionals = tuple(conditional_wish(wish, steered) for wish in wishes.wishes if wish.source and _decides(wish))
        leading = [step.place for step in leaders]
        leading += [each.source for each in conditionals] + [each.target for each in conditionals]
        leaders_first = [domain.names[at] for at in dict.fromkeys(leading)]
        trees = ChainedTrees.fit(rows, plain, rng, settings, first=leaders_first, executor=executor)
        moves = _moves(graph, decided)
        changed = frozenset({*moves, *(at for _, at in graph.value_scalings)})
        found = cls(
            _roomy(wished, following(trees, changed), wishes),
            trees,
            leaders,
            moves,
            graph.value_scalings,
            conditionals=conditionals,
            finishing=Finishing.of(wishes, wished, rows, rng),
        )
        return found.under_relations(rng)

    def under_relations(self, rng: np.random.Generator) -> SteeredTrees:
        """The same, with the relations of every learnt row as rules, but for those that the wishes are against: they take precedence."""
        always = tuple(each for each in self.trees.relations if each.support == 1.0)
        if not always:
            return self
        try:
            rows = self.sample(PILOT_ROWS, rng)
        except ConstraintError:  # told of when rows are drawn
            return self
        held = tuple(each for each in always if each.rule.holds(rows).mean() >= HELD)
        declared = {rule.text for rule in self.domain.constraints}
        rules = (each.rule for each in held if each.text not in declared)
        return replace(
            self,
            domain=replace(self.domain, constraints=(*self.domain.constraints, *rules)),
            trees=replace(self.trees, relations=held),
            overridden=tuple(each.text for each in always if each not in held),
        )

    def within(self, box: Box) -> SteeredTrees:
        """The same wishes, for rows that lie in a box; a ConstraintError where the wishes leave it empty."""
        moved = {*self._changed, *self._carried.places, *self._following}
        decided = {step.place for step in self.leaders}
        free = Box(
            {at: mask for at, mask in box.values.items() if at not in decided},
            {at: ends for at, ends in box.intervals.items() if at not in decided | moved},
        )
        # The trees keep to the box by themselves, except in columns that are moved afterwards.
        after = Box({}, {at: ends for at, ends in box.intervals.items() if at in decided | moved})
        rules = compile_constraints(after.rules(self.domain), self.domain.columns)
        narrowed = replace(self.domain, constraints=(*self.domain.constraints, *rules))
        return replace(self, trees=self.trees.within(free), domain=narrowed, box=box)

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows that keep every wish and every rule, or an error that names what is in the way."""
        kept = self._decided(n, rng)
        partly = self._partly_decided(kept, n, rng)
        domain = self.finishing.whole(self.domain)

        def draw(places: Index) -> Rows:
            return self._draw(
                {at: cells[places] for at, cells in kept.items()}, {at: each.at(places) for at, each in partly.items()}, len(places), rng
            )

        rows = keep_constraints(draw, n, domain, tuple(kept), self.trees.repeats) if domain.constraints else draw(np.arange(n))
        self._note(kept)
        return self.finishing.finish(rows, self.domain, rng)

    def _draw(self, kept: Mapping[int, Reals], partly: Mapping[int, PartlyDecided], n: int, rng: np.random.Generator) -> Rows:
        """Rows with the decided cells: one draw for the rows of each set of columns that are decided."""
        if not partly:
            return self._moved(self._sampled(n, rng, kept), kept)
        rows = np.empty((n, len(self.domain.columns)))
        decided = np.stack([each.decided for each in partly.values()], axis=1)
        for pattern in np.unique(decided, axis=0):
            mine = np.flatnonzero((decided == pattern).all(axis=1))
            fixed = {at: cells[mine] for at, cells in kept.items()}
            fixed |= {at: each.codes[mine] for (at, each), is_in in zip(partly.items(), pattern, strict=True) if is_in}
            rows[mine] = self._moved(self._sampled(len(mine), rng, fixed), fixed)
        return rows

    def _sampled(self, n: int, rng: np.random.Generator, fixed: Mapping[int, Reals]) -> Rows:
        """Rows of the trees with fixed cells, in which no cell is missing that the wishes blank by the row."""

        def redraw(kept: Mapping[int, Reals], count: int) -> Rows:
            return self.trees.sample(count, rng, self._within_old_range(kept))

        def follows(at: int) -> tuple[int, ...]:
            return following(self.trees, frozenset({at}))

        return self.finishing.filled(redraw(fixed, n), redraw, follows)

    def _partly_decided(self, kept: dict[int, Reals], n: int, rng: np.random.Generator) -> dict[int, PartlyDecided]:
        """Columns decided for some values of another column, whose cells are settled first and join those that are kept."""
        sources = [each.source for each in self.conditionals if each.source not in kept]
        if sources:
            drawn = self.trees.sample(n, rng, self._within_old_range(kept))
            kept |= {at: drawn[:, at] for at in sources}
        found: dict[int, PartlyDecided] = {}
        for each in self.conditionals:
            before = found.get(each.target, PartlyDecided.nothing(n))
            found[each.target] = before.and_also(np.flatnonzero(kept[each.source] == each.code), each, self.domain, rng)
        return found

    def _note(self, kept: Mapping[int, Reals]) -> None:
        """Count the cells of decided categories."""
        for step in self.leaders if self.drawn is not None else ():
            if isinstance(step, CategoryStep) and self.drawn is not None:
                size = step.upto.shape[1]
                cells = np.where(np.isnan(kept[step.place]), size - 1, kept[step.place]).astype(np.intp)
                self.drawn[step.place] = self.drawn.get(step.place, np.zeros(size)) + np.bincount(cells, minlength=size)

    def _owed(self, step: CategoryStep, n: int, rng: np.random.Generator) -> Index:
        """Cells that bring all draws together nearest to the wished shares."""
        assert self.drawn is not None
        inside = self._inside(step)
        assert isinstance(inside, CategoryStep)
        possible = np.diff(inside.upto[0], prepend=0.0) > 0
        shares = np.diff(step.upto[0], prepend=0.0) / step.upto[0, -1]
        so_far = self.drawn.get(step.place, np.zeros(len(shares)))
        owed = np.where(possible, np.maximum(shares * (so_far.sum() + n) - so_far, 0.0), 0.0)
        owed = owed if owed.sum() > 0 else np.where(possible, shares, 0.0)
        exact = owed * n / owed.sum()
        counts = np.floor(exact).astype(np.intp)
        counts[np.argsort(counts - exact, kind="stable")[: n - counts.sum()]] += 1
        return rng.permutation(np.repeat(np.arange(len(counts)), counts))

    def _decided(self, n: int, rng: np.random.Generator) -> dict[int, Reals]:
        found: dict[int, Reals] = {}
        for step in self.leaders:
            column, inside = self.domain.columns[step.place], self._inside(step)
            if isinstance(inside, NumberStep):
                found[step.place] = draw_number(inside, column, SoFar({}, {}, n), "quantiles", rng)
                continue
            counted = self.drawn is not None and isinstance(step, CategoryStep) and step.joint is None
            codes = self._owed(step, n, rng) if counted and isinstance(step, CategoryStep) else draw_category(inside, {}, n, rng)
            found[step.place] = np.where(codes == len(column.values), np.nan, codes)
        return found

    def _inside(self, step: CategoryStep | NumberStep) -> CategoryStep | NumberStep:
        """A decided column cut to its part of the box."""
        if isinstance(step, CategoryStep) and step.place in self.box.values:
            shares = np.diff(step.upto, axis=1, prepend=0.0)
            mask = np.zeros(shares.shape[1])
            mask[: len(self.box.values[step.place])] = self.box.values[step.place]
            left = shares * mask
            if not left.sum() > 0:
                name = self.domain.names[step.place]
                raise ConstraintError(f"the wishes leave no value of {name!r} in the box {self.box.text(self.domain)}")
            return replace(step, upto=np.cumsum(left / left.sum(axis=1, keepdims=True), axis=1))
        if isinstance(step, NumberStep) and step.place in self.box.intervals:
            low, high = self.box.intervals[step.place]
            span = max(step.span[0], low), min(step.span[1], high)
            if span[0] > span[1]:
                name = self.domain.names[step.place]
                raise ConstraintError(f"the wishes leave no number of {name!r} in the box {self.box.text(self.domain)}")
            return replace(step, span=span)
        return step

    @cached_property
    def _changed(self) -> frozenset[int]:
        """Columns that are moved after the trees have drawn them."""
        return frozenset({*self.scalings, *(at for _, at in self.value_scalings)})

    @cached_property
    def _carried(self) -> CarriedOrders:
        """Numbers that stay in order with moved ones."""
        decided = {step.place for step in self.leaders} | {each.target for each in self.conditionals}
        return CarriedOrders.of(self.trees, self._changed, decided)

    @cached_property
    def _following(self) -> tuple[int, ...]:
        """Computed columns, in the order of the chain, that depend on moved ones."""
        return following(self.trees, self._changed | self._carried.places)

    def _within_old_range(self, fixed: Mapping[int, Reals]) -> dict[str, Reals]:
        """What the trees see of a decided column: its cells, as near as the data's range allows."""
        columns = self.trees.domain.columns
        return {columns[at].name: np.clip(cells, columns[at].lowest, columns[at].highest) for at, cells in fixed.items()}

    @cached_property
    def _decimals(self) -> dict[int, int | None]:
        grids = {at: link.cells.grid for at, link in zip(self.trees.order, self.trees.links, strict=True)}
        whole = self.domain.integral  # what is computed from a whole number is computed from it as it will stand there
        return {at: 0 if whole[at] else grid if isinstance(grid, int) else None for at, grid in grids.items()}

    def _moved(self, rows: Rows, fixed: Mapping[int, Reals]) -> Rows:
        before = rows.copy()
        for at, cells in fixed.items():
            rows[:, at] = cells
        for at, scaling in self.scalings.items():
            rows[:, at] = rounded(scaling.apply(rows[:, at]), *scaling.ends, self._decimals[at])
        for (source, at), by_value in self.value_scalings.items():
            for value, scaling in by_value.items():
                mine = rows[:, source] == value
                moved = scaling.apply(np.clip(rows[mine, at], *scaling.old))
                rows[mine, at] = rounded(moved, *scaling.new, self._decimals[at])
        self._carried.carry(rows, before)
        for at in self._following:
            for each in self.trees.guides[at].derivations:
                computed = replace(each, column=self.domain.columns[at]) if isinstance(each, Computation) else each
                told = computed.told(rows)
                rows[told.known, at] = told.codes[told.known]
        return self.domain.clip(rows)


def following(trees: ChainedTrees, changed: frozenset[int]) -> tuple[int, ...]:
    """Computed columns that depend on changed ones, in the order of the chain."""
    found: list[int] = []
    for at in trees.order:
        guide = trees.guides.get(at)
        if guide is not None and guide.is_total and at not in changed:
            inputs = {place for each in guide.derivations for place in each.inputs}
            if inputs & (changed | set(found)):
                found.append(at)
    return tuple(found)


def _decides(wish: Wish) -> bool:
    """Whether a wish about one value of a source says how the target is distributed, not only how it is moved."""
    return wish.action != "delete" and (wish.frequencies is not None or wish.distribution is not None)


def _roomy(domain: TabularDomain, places: tuple[int, ...], wishes: Wishes) -> TabularDomain:
    """The domain with room for totals of moved numbers: what moves a part by a factor moves the whole by at most as much."""
    factors = [wish.factor for wish in wishes.wishes if wish.factor is not None]
    shifts = sum(abs(wish.shift) for wish in wishes.wishes if wish.shift is not None)
    if not places or not (factors or shifts):
        return domain
    columns = list(domain.columns)
    for at in places:
        column = columns[at]
        if not column.is_listed:
            ends = [end * factor for end in (column.lowest, column.highest) for factor in (1.0, *factors)]
            low, high = min(ends) - shifts, max(ends) + shifts
            low, high = (np.floor(low), np.ceil(high)) if column.is_integral else (low, high)
            columns[at] = replace(column, low=low, high=high)
    return replace(domain, columns=tuple(columns))


def _moves(graph: Graph, decided: set[int]) -> dict[int, Scaling]:
    return {at: scaling for at, scaling in graph.scalings.items() if at not in decided}
