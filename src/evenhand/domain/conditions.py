"""Compiled conditions over rows of codes, in three-valued logic.

A condition answers with two masks, surely true and surely false; a row in neither is unknown.  A comparison with a missing
cell (or with the result of a division by zero) is unknown, `is missing` never is, and a constraint is broken only where it
is surely false.  Results of arithmetic are compared with a relative tolerance of 1e-9, cells and constants exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Protocol, TypeAlias

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows

Truth: TypeAlias = tuple[Mask, Mask]
"""Surely true, surely false."""

TOLERANCE = 1e-9


class Term(Protocol):
    """Something with a number in every row; NaN where it is unknown."""

    @property
    def places(self) -> frozenset[int]:
        """The columns that it reads."""

    def evaluate(self, rows: Rows) -> Reals:
        """One number per row, or one for all rows."""


@dataclass(frozen=True)
class Cell:
    """The code of a column."""

    place: int

    @property
    def places(self) -> frozenset[int]:
        """The column itself."""
        return frozenset((self.place,))

    def evaluate(self, rows: Rows) -> Reals:
        """The codes."""
        return rows[:, self.place]


@dataclass(frozen=True)
class Listed:
    """A number for each value of a listed column: its value where values are numbers, or a shared identity."""

    place: int
    numbers: tuple[float, ...]

    @property
    def places(self) -> frozenset[int]:
        """The column itself."""
        return frozenset((self.place,))

    def evaluate(self, rows: Rows) -> Reals:
        """The numbers that the codes stand for; codes outside the list are unknown."""
        codes = rows[:, self.place]
        last = len(self.numbers)
        known = (codes >= 0) & (codes < last)
        table = np.array([*self.numbers, np.nan])
        found: Reals = table[np.where(known, codes, last).astype(np.intp)]
        return found


@dataclass(frozen=True)
class Constant:
    """The same number in every row."""

    number: float
    places: frozenset[int] = frozenset()

    def evaluate(self, rows: Rows) -> Reals:  # noqa: ARG002 - every term takes rows
        """The number."""
        return np.asarray(self.number, dtype=np.float64)


@dataclass(frozen=True)
class Computed:
    """Two terms joined by + - * or /."""

    operator: str
    left: Term
    right: Term

    @property
    def places(self) -> frozenset[int]:
        """The columns of both sides."""
        return self.left.places | self.right.places

    def evaluate(self, rows: Rows) -> Reals:
        """The result; what is not finite is unknown."""
        operation = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[self.operator]
        with np.errstate(all="ignore"):
            result = operation(self.left.evaluate(rows), self.right.evaluate(rows))
        return np.where(np.isfinite(result), result, np.nan)


class Condition(Protocol):
    """Something that is true, false or unknown in every row."""

    @property
    def places(self) -> frozenset[int]:
        """The columns that it reads."""

    def truth(self, rows: Rows) -> Truth:
        """Where it is surely true, and where surely false."""

    def leaves(self) -> Iterator[Leaf]:
        """The comparisons and look-ups that it is made of."""


@dataclass(frozen=True)
class Compare:
    """left operator right."""

    operator: str
    left: Term
    right: Term

    @property
    def places(self) -> frozenset[int]:
        """The columns of both sides."""
        return self.left.places | self.right.places

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def truth(self, rows: Rows) -> Truth:
        """The opposite operator is asked for surely false: with NaN neither holds."""
        left, right = self.left.evaluate(rows), self.right.evaluate(rows)
        if isinstance(self.left, Computed) or isinstance(self.right, Computed):
            right = _snapped(left, right)
        with np.errstate(invalid="ignore"):
            match self.operator:
                case "==":
                    return left == right, (left < right) | (left > right)
                case "!=":
                    return (left < right) | (left > right), left == right
                case "<":
                    return left < right, left >= right
                case "<=":
                    return left <= right, left > right
                case ">":
                    return left > right, left <= right
        return left >= right, left < right


def _snapped(left: Reals, right: Reals) -> Reals:
    """The right side, made equal to the left where they differ by rounding only."""
    with np.errstate(invalid="ignore"):
        close = np.abs(left - right) <= TOLERANCE * np.maximum(np.abs(left), np.abs(right))
    return np.where(close, left, right)


@dataclass(frozen=True)
class OneOf:
    """Whether a term has one of the listed numbers."""

    term: Term
    numbers: tuple[float, ...]

    @property
    def places(self) -> frozenset[int]:
        """The term's columns."""
        return self.term.places

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def truth(self, rows: Rows) -> Truth:
        """A missing cell is unknown."""
        cells = self.term.evaluate(rows)
        found = np.isin(cells, self.numbers)
        return found, ~found & ~np.isnan(cells)


@dataclass(frozen=True)
class Absent:
    """Whether a cell is missing: never unknown."""

    place: int

    @property
    def places(self) -> frozenset[int]:
        """The column."""
        return frozenset((self.place,))

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def truth(self, rows: Rows) -> Truth:
        """Missing, and not missing."""
        missing = np.isnan(rows[:, self.place])
        return missing, ~missing


@dataclass(frozen=True)
class Joined:
    """Conditions joined by `and`, `or`, `=>`, or one of them under `not`."""

    operator: str
    operands: tuple[Condition, ...]

    @property
    def places(self) -> frozenset[int]:
        """The columns of all operands."""
        return frozenset().union(*(operand.places for operand in self.operands))

    def leaves(self) -> Iterator[Leaf]:
        """The leaves of all operands."""
        for operand in self.operands:
            yield from operand.leaves()

    def truth(self, rows: Rows) -> Truth:
        """Kleene's logic."""
        truths = [operand.truth(rows) for operand in self.operands]
        if self.operator == "not":
            return truths[0][::-1]
        if self.operator == "=>":
            truths[0] = truths[0][::-1]
        trues, falses = zip(*truths, strict=True)
        if self.operator == "and":
            return reduce(np.logical_and, trues), reduce(np.logical_or, falses)
        return reduce(np.logical_or, trues), reduce(np.logical_and, falses)


@dataclass(frozen=True)
class Lookup:
    """Finds rows of codes in a table of them."""

    table: tuple[tuple[float, ...], ...]  # distinct
    _steps: list[Any] = field(init=False, compare=False, repr=False)
    _order: Any = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        codes = self.codes
        steps, key = [], np.zeros(len(codes), dtype=np.int64)
        for cells in codes.T:
            levels, at = np.unique(cells, return_inverse=True)
            prefixes, key = np.unique(key * len(levels) + at, return_inverse=True)
            steps.append((levels, prefixes))
        object.__setattr__(self, "_steps", steps)
        object.__setattr__(self, "_order", np.argsort(key))

    @property
    def codes(self) -> Rows:
        """The table as an array."""
        return np.array(self.table, dtype=np.float64).reshape(len(self.table), -1)

    def find(self, cells: Rows) -> Index:
        """The place of each row of cells in the table; -1 where it is not there."""
        key = np.zeros(len(cells), dtype=np.int64)
        known = np.ones(len(cells), dtype=bool)
        # Numbering the prefixes again at every column keeps keys small: they never exceed (rows of the table) squared.
        for place, (levels, prefixes) in enumerate(self._steps):
            at = np.searchsorted(levels, cells[:, place]).clip(0, len(levels) - 1)
            known &= levels[at] == cells[:, place]
            wanted = key * len(levels) + at
            key = np.searchsorted(prefixes, wanted).clip(0, len(prefixes) - 1)
            known &= prefixes[key] == wanted
        found: Index = np.where(known, self._order[key], -1)
        return found


@dataclass(frozen=True)
class Combination:
    """Whether the cells of several columns stand together in a table of allowed (or forbidden) combinations."""

    columns: tuple[int, ...]
    lookup: Lookup
    forbids: bool = False

    @property
    def places(self) -> frozenset[int]:
        """The columns."""
        return frozenset(self.columns)

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def truth(self, rows: Rows) -> Truth:
        """A combination with a missing cell is unknown."""
        cells = rows[:, list(self.columns)]
        found = self.lookup.find(cells) >= 0
        absent = ~found & ~np.isnan(cells).any(axis=1)
        return (absent, found) if self.forbids else (found, absent)


@dataclass(frozen=True)
class Dependency:
    """Whether the target has the value that the sources determine; sources that the map does not know are unknown."""

    sources: tuple[int, ...]
    target: int
    lookup: Lookup
    targets: tuple[float, ...]

    @property
    def places(self) -> frozenset[int]:
        """The sources and the target."""
        return frozenset((*self.sources, self.target))

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    def determined(self, rows: Rows) -> Reals:
        """The code that the sources determine; NaN where they determine none."""
        at = self.lookup.find(rows[:, list(self.sources)])
        table = np.array([*self.targets, np.nan])
        found: Reals = table[at]  # -1 is the NaN at the end
        return found

    def truth(self, rows: Rows) -> Truth:
        """A missing target is unknown."""
        expected, cells = self.determined(rows), rows[:, self.target]
        return cells == expected, (cells < expected) | (cells > expected)


Leaf: TypeAlias = Compare | OneOf | Absent | Combination | Dependency
