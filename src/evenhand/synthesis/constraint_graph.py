"""The constraint graph as a population: fit it to rows, steer it by wishes, narrow it to a box, draw any number of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.columns import Column, Value
from evenhand.domain.constraints import CompiledConstraint, compile_constraint
from evenhand.domain.parser import quote_name, quote_value
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError
from evenhand.synthesis.box import Box
from evenhand.synthesis.finishing import Finishing
from evenhand.synthesis.generation import GenerationPlan, Limits, Unfitted, make_plan
from evenhand.synthesis.graph import Graph, graph_of
from evenhand.synthesis.inference import infer
from evenhand.synthesis.rejection import keep_constraints
from evenhand.synthesis.steering import steer, wished_domain
from evenhand.synthesis.wishes import Wish, Wishes

MOST_TRIED = 24
"""Wished values of one column that are tried against the rules one by one, before anything is drawn."""


@dataclass(frozen=True)
class ConstraintGraph:
    """AITEST's synthesiser.  Its domain is the data's, changed as the user's wishes say."""

    domain: TabularDomain
    graph: Graph
    plan: GenerationPlan = field(repr=False)
    wishes: Wishes = field(default_factory=Wishes)
    name: str = "constraint graph"
    finishing: Finishing = field(default_factory=Finishing, repr=False)
    rows: Rows | None = field(default=None, repr=False, compare=False)  # what dependencies among a user's rules are learned from

    @classmethod
    def fit(cls, rows: Rows, domain: TabularDomain, rng: np.random.Generator, unfitted: Unfitted = "range") -> ConstraintGraph:
        """Infer the constraints of real rows and plan the generation."""
        graph = graph_of(infer(rows, domain))
        return cls(domain, graph, make_plan(graph, domain.columns, unfitted, rng), rows=rows)

    @classmethod
    def fit_steered(cls, rows: Rows, domain: TabularDomain, wishes: Wishes, rng: np.random.Generator) -> ConstraintGraph:
        """Infer the constraints of real rows and put a user's wishes in their place."""
        return cls.fit(rows, domain, rng).steered(wishes, rng)

    def steered(self, wishes: Wishes | Mapping[str, object], rng: np.random.Generator) -> ConstraintGraph:
        """The same data under a user's constraints."""
        if not isinstance(wishes, Wishes):
            wishes = Wishes.parse(wishes, self.domain)
        together = self.wishes + wishes
        domain = wished_domain(self.domain, wishes, self.rows)
        graph = steer(self.graph, wishes, domain)
        check_rules(domain, together)
        plan = make_plan(graph, domain.columns, self.plan.unfitted, rng)
        finishing = Finishing.of(together, domain, self.rows, rng)
        return replace(self, domain=domain, graph=graph, plan=plan, wishes=together, finishing=finishing)

    def balanced(self) -> ConstraintGraph:
        """The same graph, whose unique cells never repeat over several draws."""
        return replace(self, finishing=self.finishing.counting())

    def within(self, box: Box, rng: np.random.Generator) -> ConstraintGraph:
        """The same graph under one path's constraints: its rows lie in the box, associations that disagree are ignored."""
        limits = Limits({at: _with_missing(mask, self.graph.data.sizes[at]) for at, mask in box.values.items()}, box.intervals)
        plan = make_plan(self.graph, self.domain.columns, self.plan.unfitted, rng, limits)
        return replace(self, plan=plan, domain=box.domain(self.domain))

    def independent(self, *names: str) -> ConstraintGraph:
        """The same graph with the named columns made leaves, so that they keep their own frequencies."""
        graph = self.graph
        for name in names:
            graph = graph.without_incoming(self.domain.place(name))
        plan = make_plan(graph, self.domain.columns, self.plan.unfitted, np.random.default_rng(0))
        return replace(self, graph=graph, plan=plan)

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows that keep every wish and every constraint of the domain, or an error that names what is in the way."""
        return self.finishing.finish(self._drawn(n, self.finishing.whole(self.domain), rng), self.domain, rng)

    def _drawn(self, n: int, domain: TabularDomain, rng: np.random.Generator) -> Rows:
        if not domain.constraints:
            return self.plan.rows(n, rng)
        # Wished frequencies are met exactly, so these cells stay while the others are drawn again.
        wished = {at for edge in self.graph.edges if edge.by_user and not edge.is_numeric for at in (edge.source, edge.target)}
        held = tuple(sorted({*wished, *(at for at in self.graph.settled if at in self.graph.shares)}))
        kept = self.plan.rows(n, rng)[:, list(held)] if held else np.empty((n, 0))

        def redraw(fixed: Mapping[int, Reals], count: int) -> Rows:
            return self.plan.rows(count, rng, fixed)

        def draw(places: Index) -> Rows:
            rows = redraw({at: kept[places, i] for i, at in enumerate(held)}, len(places))
            return self.finishing.filled(rows, redraw, lambda _: ())

        return keep_constraints(draw, n, domain, held)

    def obeyed(self, rows: Rows) -> Mask:
        """Which rows keep the domain, every wished range and every wished set of values."""
        fine = self.domain.contains(rows)
        for wish in self.wishes.wishes:
            place = self.domain.place(wish.column)
            if wish.action == "delete":
                continue
            column = self.domain.columns[place]
            mine = np.ones(len(rows), dtype=bool)
            if wish.source:
                source = self.domain.place(wish.source)
                mine = rows[:, source] == self.domain.columns[source].code(wish.value)
            if wish.frequencies is not None and not wish.is_partial(column):
                allowed = [column.code(value) for value, share in wish.frequencies.items() if share > 0]
                fine &= ~mine | np.isin(rows[:, place], allowed)
            if wish.range is not None:
                inside = (rows[:, place] >= wish.range[0]) & (rows[:, place] <= wish.range[1])
                fine &= ~mine | inside | np.isnan(rows[:, place])
        return fine


def _with_missing(mask: Mask, size: int) -> Mask:
    return np.append(mask, np.zeros(size - len(mask), dtype=bool)) if len(mask) < size else mask


def check_rules(domain: TabularDomain, wishes: Wishes) -> None:
    """Raise before anything is drawn when rules, ranges and allowed values exclude each other."""
    if not domain.constraints:
        return
    decided = [
        wish
        for wish in wishes.wishes
        if wish.frequencies and not wish.source and wish.action != "delete" and not wish.is_partial(_column(wish, domain))
    ]
    _must_be_possible(domain, [_as_rule(wish, _wished_values(wish), domain) for wish in decided])
    ruled = {domain.names[at] for rule in domain.constraints if isinstance(rule, CompiledConstraint) for at in rule.columns}
    for wish in decided:
        if wish.column in ruled and len(_wished_values(wish)) <= MOST_TRIED:
            for value in _wished_values(wish):  # every one of them is to occur
                _must_be_possible(domain, [_as_rule(wish, [value], domain)])


def _must_be_possible(domain: TabularDomain, more: Sequence[CompiledConstraint]) -> None:
    try:
        for part in replace(domain, constraints=(*domain.constraints, *more)).parts:
            assert len(part.pool)  # an empty pool raises, and its message names the rules
    except ConstraintError as fault:
        told = str(fault)
        for rule in more:
            told = told.replace(str(rule.source), rule.text)
        raise ConstraintError(told) from None


def _column(wish: Wish, domain: TabularDomain) -> Column:
    return domain.columns[domain.place(wish.column)]


def _wished_values(wish: Wish) -> list[Value]:
    return [value for value, share in (wish.frequencies or {}).items() if share > 0]


def _as_rule(wish: Wish, values: Sequence[Value], domain: TabularDomain) -> CompiledConstraint:
    listed = ", ".join(quote_value(value) for value in values)
    rule = compile_constraint(f"{quote_name(wish.column)} in [{listed}]", domain.columns)
    return replace(rule, text=wish.text if len(values) > 1 else f"{wish.text} (its value {values[0]})")
