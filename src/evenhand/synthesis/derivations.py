"""What a rule says about one column once others are known: its very cell, or the range that is left to it.

Rules are read from the tree of their text, declared ones and found ones alike.  A rule of a form that is not known here says nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from evenhand.arrays import Mask, Reals, Rows
from evenhand.domain import parser
from evenhand.domain.binding import bind
from evenhand.domain.columns import Column
from evenhand.domain.conditions import Condition, Dependency
from evenhand.domain.constraints import CompiledConstraint
from evenhand.domain.products import Equation
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.cells import grid_of


@dataclass(frozen=True)
class Told:
    """The cells that a derivation knows: where, and which (NaN is a missing cell)."""

    known: Mask
    codes: Reals


class Derivation(Protocol):
    """A column that follows from others, in all rows or in some."""

    @property
    def target(self) -> int:
        """The column that follows."""

    @property
    def inputs(self) -> tuple[int, ...]:
        """The columns that it follows from."""

    @property
    def is_total(self) -> bool:
        """Whether every cell follows, wherever the inputs are there."""

    def told(self, rows: Rows) -> Told:
        """What is known once the inputs are."""


@dataclass(frozen=True)
class Computation:
    """A number computed from others and rounded as its column is."""

    equation: Equation
    column: Column
    decimals: int | None
    is_total: bool = True
    empties: bool = False  # whether it is missing wherever one of the others is

    @property
    def target(self) -> int:
        """The number."""
        return self.equation.target

    @property
    def inputs(self) -> tuple[int, ...]:
        """The numbers that it is computed from."""
        return self.equation.places

    def told(self, rows: Rows) -> Told:
        """A result outside the column's range is none."""
        codes = self.equation.value(rows)
        codes = np.rint(codes) if self.column.is_integral else codes if self.decimals is None else np.round(codes, self.decimals)
        known = self.column.inside(codes) & ~np.isnan(codes)
        return Told(known | (np.isnan(rows[:, self.inputs]).any(axis=1) & self.empties), np.where(known, codes, np.nan))

    def between(self, low: float, high: float) -> Computation:
        """The same, whose result must lie between two ends that it is rounded to."""
        half = 0.5 if self.column.is_integral else 0.0 if self.decimals is None else 0.5 * 10.0**-self.decimals
        ends = max(low, self.column.lowest) - half, min(high, self.column.highest) + half
        return replace(self, column=replace(self.column, kind="real", values=(), low=ends[0], high=ends[1]))

    def room(self, at: int, rows: Rows, later: frozenset[int], limits: tuple[Reals, Reals]) -> tuple[Reals, Reals]:
        """The range that is left to an input, given the inputs before it, so that the result can still lie in its column's range."""
        if self.equation.is_product:
            return self._room_of_factor(at, rows, later, limits)
        low = np.full(len(rows), self.column.lowest - self.equation.constant)
        high = np.full(len(rows), self.column.highest - self.equation.constant)
        own = 1.0
        for place, weight in zip(self.inputs, self.equation.weights, strict=True):
            if place == at:
                own = weight
                continue
            ends = np.sort([weight * limits[0][place], weight * limits[1][place]]) if place in later else [weight * rows[:, place]] * 2
            low, high = low - ends[1], high - ends[0]
        first, second = low / own, high / own
        return (first, second) if own > 0 else (second, first)

    def _room_of_factor(self, at: int, rows: Rows, later: frozenset[int], limits: tuple[Reals, Reals]) -> tuple[Reals, Reals]:
        with np.errstate(all="ignore"):
            low, high = (np.full(len(rows), np.log(end / self.equation.constant)) for end in (self.column.lowest, self.column.highest))
            own = 1.0
            for place, power in zip(self.inputs, self.equation.weights, strict=True):
                if place == at:
                    own = power
                    continue
                cells = np.log([limits[0][place], limits[1][place]]) if place in later else np.log([rows[:, place]] * 2)
                ends = np.sort(power * cells, axis=0)
                low, high = low - ends[1], high - ends[0]
            first, second = np.exp(low / own), np.exp(high / own)
        return (first, second) if own > 0 else (second, first)


@dataclass(frozen=True)
class Determined:
    """A column whose cell another column's cell fixes; between two known numbers the one below decides."""

    dependency: Dependency
    sources: Reals = field(repr=False)  # ascending codes of a single source
    targets: Reals = field(repr=False)
    is_number: bool
    is_total: bool = True

    @classmethod
    def of(cls, dependency: Dependency, source: Column) -> Determined:
        """Of a dependency on one column."""
        codes = dependency.lookup.codes[:, 0]
        order = np.argsort(codes)
        return cls(dependency, codes[order], np.array(dependency.targets)[order], not source.is_listed)

    @property
    def target(self) -> int:
        """What is fixed."""
        return self.dependency.target

    @property
    def inputs(self) -> tuple[int, ...]:
        """The source."""
        return self.dependency.sources

    def told(self, rows: Rows) -> Told:
        """A missing source fixes nothing."""
        cells = rows[:, self.inputs[0]]
        at = np.clip(np.searchsorted(self.sources, cells, side="right") - 1, 0, len(self.sources) - 1)
        known = ~np.isnan(cells) & (self.is_number | (self.sources[at] == cells))
        return Told(known, self.targets[at])


@dataclass(frozen=True)
class Exclusive:
    """One of several flags: no where an earlier one says yes; the last of them yes where none does."""

    target: int
    inputs: tuple[int, ...]
    is_last: bool

    @property
    def is_total(self) -> bool:
        """The last of them follows from the others."""
        return self.is_last

    def told(self, rows: Rows) -> Told:
        """All of it is known of the last one."""
        taken = (rows[:, list(self.inputs)] == 1).any(axis=1)
        return Told(np.ones(len(rows), dtype=bool) if self.is_last else taken, np.where(taken, 0.0, 1.0))


@dataclass(frozen=True)
class Settled:
    """A column that has one cell wherever a condition on others holds."""

    target: int
    condition: Condition = field(repr=False)
    code: float
    is_total: bool = False

    @property
    def inputs(self) -> tuple[int, ...]:
        """What the condition asks."""
        return tuple(sorted(self.condition.places))

    def told(self, rows: Rows) -> Told:
        """Where the condition surely holds."""
        return Told(np.broadcast_to(self.condition.truth(rows)[0], len(rows)), np.full(len(rows), self.code))


@dataclass(frozen=True)
class InOrder:
    """Two numbers of which the first is never above the second."""

    first: int
    second: int
    is_strict: bool


@dataclass(frozen=True)
class RulesRead:
    """What a set of rules says."""

    derivations: tuple[Derivation, ...]
    sequences: tuple[InOrder, ...]

    def without_inputs(self, places: Collection[int]) -> RulesRead:
        """The same without what would follow from these columns."""
        return RulesRead(tuple(each for each in self.derivations if not set(each.inputs) & set(places)), self.sequences)


def read_rules(rules: Mapping[CompiledConstraint, float] | tuple[CompiledConstraint, ...], domain: TabularDomain, rows: Rows) -> RulesRead:
    """The derivations and orders among some rules; `rows` tell how many decimals a number has."""
    derivations: list[Derivation] = []
    sequences: list[InOrder] = []
    for rule in rules:
        for each in _Reader(domain, rows, rule).read():
            if isinstance(each, InOrder):
                sequences.append(each)
            else:
                derivations.append(each)
    return RulesRead(tuple(derivations), tuple(sequences))


@dataclass(frozen=True)
class Following:
    """What follows from given cells by a domain's rules."""

    derivations: tuple[Derivation, ...]

    @classmethod
    def of(cls, domain: TabularDomain, rows: Rows) -> Following:
        """By its rules; `rows` tell how many decimals a number has."""
        return cls(read_rules(tuple(rule for rule in domain.constraints if isinstance(rule, CompiledConstraint)), domain, rows).derivations)

    def inputs(self, at: int) -> tuple[int, ...]:
        """The columns that one always follows from by computing; none where it does not."""
        return next((each.inputs for each in self.derivations if each.target == at and isinstance(each, Computation)), ())

    def computed(self, rows: Rows, keep: int | None = None) -> Rows:
        """The rows with every cell that follows from others put right; the column to keep stays as it is."""
        rows = rows.copy()
        for each in self.derivations * 2:  # what follows from what follows
            if each.target != keep:
                told = each.told(rows)
                rows[told.known, each.target] = told.codes[told.known]
        return rows


@dataclass(frozen=True)
class _Reader:
    domain: TabularDomain
    rows: Rows
    rule: CompiledConstraint

    def read(self) -> Iterator[Derivation | InOrder]:
        if isinstance(self.rule.condition, Dependency):
            if len(self.rule.condition.sources) == 1:
                yield Determined.of(self.rule.condition, self.domain.columns[self.rule.condition.sources[0]])
            return
        if not isinstance(self.rule.source, str):
            return
        node = parser.parse(self.rule.source)
        if isinstance(node, parser.ComparisonChain):
            yield from self._comparisons(node)
        elif isinstance(node, parser.Logic) and node.operator == "=>":
            yield from self._settled(*node.operands)

    def _comparisons(self, node: parser.ComparisonChain) -> Iterator[Derivation | InOrder]:
        if node.operators == ("==",):
            yield from self._equation(*node.operands)
            return
        for left, way, right in zip(node.operands, node.operators, node.operands[1:], strict=False):
            if isinstance(left, parser.Name) and isinstance(right, parser.Name) and way in ("<", "<=", ">", ">="):
                first, second = (self._place(left), self._place(right)) if way[0] == "<" else (self._place(right), self._place(left))
                if not self.domain.columns[first].is_listed and not self.domain.columns[second].is_listed:
                    yield InOrder(first, second, len(way) == 1)

    def _equation(self, left: parser.Node, right: parser.Node) -> Iterator[Derivation]:
        if (flags := self._flags(left, right)) is not None:
            yield from (Exclusive(at, tuple(flags[:step]), step == len(flags) - 1) for step, at in enumerate(flags) if step)
            return
        for name, other in ((left, right), (right, left)):
            if isinstance(name, parser.Name) and not self._column(name).is_listed:
                target = self._place(name)
                found = _linear(other, self._place) or _power(other, self._place)
                if found is not None and found.places and target not in found.places:
                    equation = Equation(target, found.places, found.weights, found.constant, found.is_product)
                    empties = _missing_together(self.rows[:, target], self.rows[:, found.places])
                    yield Computation(equation, self.domain.columns[target], self._decimals(target), empties=empties)
                    return

    def _decimals(self, at: int) -> int | None:
        grid = grid_of(np.unique(self.rows[~np.isnan(self.rows[:, at]), at])) if len(self.rows) else None
        return grid if isinstance(grid, int) else None

    def _flags(self, left: parser.Node, right: parser.Node) -> list[int] | None:
        """The places of flags whose sum is one."""
        if not isinstance(right, parser.Literal) or right.value != 1 or not isinstance(left, parser.Arithmetic):
            return None
        found = _linear(left, self._place)
        is_sum = found is not None and found.constant == 0 and set(found.weights) == {1.0}
        if found is None or not is_sum or any(tuple(self.domain.columns[at].values) != (0, 1) for at in found.places):
            return None
        return list(found.places)

    def _settled(self, when: parser.Node, then: parser.Node) -> Iterator[Derivation]:
        place, code = None, float("nan")
        if isinstance(then, parser.Absence) and isinstance(then.operand, parser.Name) and not then.negated:
            place = self._place(then.operand)
        elif isinstance(then, parser.ComparisonChain) and then.operators == ("==",):
            name, literal = then.operands
            if isinstance(name, parser.Name) and isinstance(literal, parser.Literal):
                place = self._place(name)
                code = self.domain.columns[place].code(literal.value)
        condition = bind(when, self.domain.columns, str(self.rule.source))
        if place is not None and place not in condition.places:
            yield Settled(place, condition, code)

    def _place(self, name: parser.Name) -> int:
        return self.domain.place(name.name)

    def _column(self, name: parser.Name) -> Column:
        return self.domain.columns[self._place(name)]


def _missing_together(target: Reals, inputs: Rows) -> bool:
    """Whether a cell is missing in every row that lacks an input, and there are such rows."""
    lacking = np.isnan(inputs).any(axis=1)
    return bool(lacking.any() and np.isnan(target[lacking]).all())


@dataclass(frozen=True)
class _Form:
    """Weights of columns, and a constant: added up, or as powers of factors."""

    weights_of: Mapping[int, float]
    constant: float
    is_product: bool = False

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(self.weights_of)

    @property
    def weights(self) -> tuple[float, ...]:
        return tuple(self.weights_of.values())


def _linear(node: parser.Node, place: object) -> _Form | None:
    """A sum of multiples; None for anything else."""
    if isinstance(node, parser.Literal):
        return _Form({}, float(node.value)) if isinstance(node.value, int | float) else None
    if isinstance(node, parser.Name):
        return _Form({place(node): 1.0}, 0.0)  # type: ignore[operator]
    if not isinstance(node, parser.Arithmetic):
        return None
    left, right = _linear(node.left, place), _linear(node.right, place)
    if left is None or right is None:
        return None
    if node.operator in "+-":
        sign = 1.0 if node.operator == "+" else -1.0
        weights = dict(left.weights_of)
        for at, weight in right.weights_of.items():
            weights[at] = weights.get(at, 0.0) + sign * weight
        return _Form(weights, left.constant + sign * right.constant)
    if node.operator == "*" and (not left.places or not right.places):
        factor, other = (left.constant, right) if not left.places else (right.constant, left)
        return _Form({at: factor * weight for at, weight in other.weights_of.items()}, factor * other.constant)
    if node.operator == "/" and not right.places and right.constant:
        return _Form({at: weight / right.constant for at, weight in left.weights_of.items()}, left.constant / right.constant)
    return None


def _power(node: parser.Node, place: object) -> _Form | None:
    """A product of powers; None for anything else."""
    if isinstance(node, parser.Literal):
        return _Form({}, float(node.value), True) if isinstance(node.value, int | float) and node.value > 0 else None
    if isinstance(node, parser.Name):
        return _Form({place(node): 1.0}, 1.0, True)  # type: ignore[operator]
    if not isinstance(node, parser.Arithmetic) or node.operator not in "*/":
        return None
    left, right = _power(node.left, place), _power(node.right, place)
    if left is None or right is None:
        return None
    sign = 1.0 if node.operator == "*" else -1.0
    weights = dict(left.weights_of)
    for at, power in right.weights_of.items():
        weights[at] = weights.get(at, 0.0) + sign * power
    return _Form(weights, left.constant * right.constant**sign, True)
