"""Constraints taken apart: those that share columns form one part, and parts are sampled, searched and mended separately.

A part whose columns have few combinations is enumerated, which makes sampling and the question "can anybody satisfy this?"
exact.  Elsewhere valid rows are found by search, and a part without any is called contradictory when the search found none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals, Rows
from evenhand.domain.columns import Column
from evenhand.domain.constraints import CompiledConstraint, compile_constraint
from evenhand.errors import ConstraintError

if TYPE_CHECKING:
    from evenhand.domain.tabular import Constraint, TabularDomain

MOST_ENUMERATED = 100_000
"""Parts with at most this many combinations of cells are enumerated."""
STARTS = 4_096
"""How many evenly spread rows a search for valid ones begins with."""
SAMPLING_BEAM = 3
"""How hard a sampled row is mended: it must be valid, but nobody asked for the nearest one."""
MOST_SEARCHED = 512
"""How many of them are mended when hardly any is valid as it is."""


@dataclass(frozen=True)
class Part:
    """Constraints over shared columns; its rows hold only the cells of those columns."""

    places: tuple[int, ...]  # of its columns in the domain's rows
    columns: tuple[Column, ...]
    constraints: tuple[Constraint, ...]  # over the part's own rows
    protected: tuple[bool, ...]

    def broken(self, rows: Rows) -> NDArray[np.bool_]:
        """Which constraint each row breaks, (constraints, n)."""
        return np.array([~constraint.holds(rows) for constraint in self.constraints])

    def keeps(self, rows: Rows) -> Mask:
        """Which rows keep every constraint of the part."""
        fine = np.ones(len(rows), dtype=bool)
        for constraint in self.constraints:
            fine &= constraint.holds(rows)
        return fine

    @cached_property
    def reads(self) -> NDArray[np.bool_]:
        """Which columns each constraint reads, (constraints, columns)."""
        reads = np.ones((len(self.constraints), len(self.columns)), dtype=bool)
        for place, constraint in enumerate(self.constraints):
            if isinstance(constraint, CompiledConstraint):
                reads[place] = np.isin(np.arange(len(self.columns)), constraint.columns)
        return reads

    @cached_property
    def combinations(self) -> int | None:
        """How many different rows there are; None for too many to list, or real numbers."""
        total = 1
        for column in self.columns:
            total *= column.cardinality or MOST_ENUMERATED + 1
        return total if total <= MOST_ENUMERATED else None

    @cached_property
    def everything(self) -> Rows | None:
        """Every valid row, where they can be enumerated."""
        if self.combinations is None:
            return None
        levels = [_codes(column) for column in self.columns]
        rows = np.stack([grid.ravel() for grid in np.meshgrid(*levels, indexing="ij")], axis=1)
        return rows[self.keeps(rows)]

    @cached_property
    def pool(self) -> Rows:
        """Valid rows: all of them where they are enumerated, else as many as a fixed search finds.  Never empty."""
        found = self.everything if self.everything is not None else self._search()
        if not len(found):
            raise ConstraintError(self._conflict())
        return found

    def _search(self) -> Rows:
        from evenhand.domain.projection import search

        starts = spread(self.columns, STARTS)
        fine = self.keeps(starts)
        if fine.sum() >= MOST_SEARCHED:
            return starts[fine]
        mended, solved = search(self, starts[~fine][:MOST_SEARCHED])
        return np.vstack([starts[fine], mended[solved]])

    def _conflict(self) -> str:
        """The message that names a smallest set of constraints that exclude each other."""
        core = list(self.constraints)
        for constraint in self.constraints:
            fewer = [other for other in core if other is not constraint]
            if fewer and not _has_rows(Part(self.places, self.columns, tuple(fewer), self.protected)):
                core = fewer
        texts = "  |  ".join(constraint.text for constraint in core)
        if len(core) == 1:
            return f"no row keeps this constraint: {texts}; loosen it, or widen the ranges of its columns"
        return f"no row keeps these constraints together: {texts}; loosen one of them, or widen the ranges of their columns"

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Valid rows, each column uniform over its codes (and missing at its share) as far as the constraints allow."""
        if self.everything is not None:
            weights = np.cumsum(self._weights)
            drawn = np.searchsorted(weights, rng.random(n) * weights[-1], side="right")
            rows: Rows = self.pool[drawn.clip(0, len(self.pool) - 1)]
            return rows
        return self._rejection(n, rng)

    @cached_property
    def _weights(self) -> Reals:
        """The probability of each enumerated row when cells are drawn independently, up to a factor."""
        weights = np.ones(len(self.pool))
        for place, column in enumerate(self.columns):
            missing = np.isnan(self.pool[:, place])
            weights *= np.where(missing, column.missing, (1 - column.missing) / max((column.cardinality or 1) - (column.missing > 0), 1))
        return weights if weights.any() else np.ones(len(self.pool))

    def _rejection(self, n: int, rng: np.random.Generator) -> Rows:
        from evenhand.domain.projection import mend

        rows = np.empty((n, len(self.columns)))
        filled = drawn = 0
        while filled < n:
            fresh = self._space._uniform(max(n, 1_000), rng)
            fine = fresh[self.keeps(fresh)][: n - filled]
            rows[filled : filled + len(fine)] = fine
            filled, drawn = filled + len(fine), drawn + len(fresh)
            if filled < 0.02 * drawn and drawn >= 4 * n:
                # Drawing again would take forever: the rest are the nearest valid rows to uniform ones.
                rows[filled:] = mend(self, fresh[: n - filled], beam=SAMPLING_BEAM)
                break
        return rows

    @cached_property
    def _space(self) -> TabularDomain:
        from evenhand.domain.tabular import TabularDomain

        return TabularDomain(self.columns)


def split(domain: TabularDomain) -> tuple[Part, ...]:
    """The parts of a domain's constraints, in the order of their first columns."""
    groups: list[tuple[set[int], list[Constraint]]] = []
    for constraint in domain.constraints:
        places = set(constraint.columns) if isinstance(constraint, CompiledConstraint) else set(range(len(domain.columns)))
        joined = [group for group in groups if group[0] & places]
        groups = [group for group in groups if not group[0] & places]
        merged = [held for group in joined for held in group[1]]
        groups.append((places.union(*(group[0] for group in joined)), [*merged, constraint]))
    return tuple(_part(domain, sorted(places), held) for places, held in sorted(groups, key=lambda group: min(group[0])))


def _part(domain: TabularDomain, places: list[int], constraints: list[Constraint]) -> Part:
    columns = tuple(domain.columns[place] for place in places)
    own = tuple(compile_constraint(held.source, columns) if isinstance(held, CompiledConstraint) else held for held in constraints)
    return Part(tuple(places), columns, own, tuple(place in domain.protected_places for place in places))


def _has_rows(part: Part) -> bool:
    return bool(len(part.everything if part.everything is not None else part._search()))


def _codes(column: Column) -> Reals:
    codes = np.arange(column.lowest, column.highest + 1)
    return np.append(codes, np.nan) if column.missing > 0 else codes


def spread(columns: Sequence[Column], n: int) -> Rows:
    """Rows spread evenly over the columns' ranges by an additive recurrence: always the same ones."""
    ratio = 2.0
    for _ in range(40):  # the root of x ** (k + 1) == x + 1, the k-dimensional golden ratio
        ratio = (1 + ratio) ** (1 / (len(columns) + 1))
    steps = ratio ** -np.arange(1, len(columns) + 1)
    levels = (0.5 + np.arange(1, n + 1)[:, None] * steps) % 1.0
    rows = np.empty_like(levels)
    for place, column in enumerate(columns):
        level = levels[:, place] / (1 - column.missing) if column.missing < 1 else np.full(n, 2.0)
        span = column.highest - column.lowest
        codes = np.floor(level * (span + 1)) if column.is_integral else level * span
        rows[:, place] = np.where(level >= 1, np.nan, np.minimum(column.lowest + codes, column.highest))
    return rows
