"""Few rows that hold every combination of the values of any two (or three) columns that the rules allow: a covering array.

Numbers have three levels: their lowest, one between, and their highest.  Rows are built one after the other, each the best of some
that hold a combination still wanted (after Cohen, Dalal, Fredman, Patton, "The AETG System", 1997).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, check_argument
from evenhand.synthesis.decimals import as_written
from evenhand.synthesis.derivations import Following

MOST_VALUES = 12
"""Of a category that has more, the most frequent ones are combined."""
MOST_COMBINATIONS = 5_000_000
CANDIDATES = 30
TRIES = 3
"""Batches of candidates without a valid one after which a combination is called impossible."""


@dataclass(frozen=True, eq=False)
class CoveringRows:
    """Rows that hold every possible combination; `impossible` ones the rules exclude."""

    rows: Rows
    ways: int
    combinations: int
    impossible: int

    def sentence(self) -> str:
        """For a reader."""
        held = self.combinations - self.impossible
        told = f"{len(self.rows):,} rows hold all {held:,} combinations of the values of any {self.ways} columns"
        return told + (f"; {self.impossible:,} more were not found under the rules" if self.impossible else "")


def covering_rows(domain: TabularDomain, carriers: Rows, rng: np.random.Generator, ways: int = 2) -> CoveringRows:
    """A covering array of the domain; the levels come from `carriers`, realistic rows.

    >>> import numpy as np
    >>> import evenhand as eh
    >>> from evenhand.synthesis.value_combinations import covering_rows
    >>> columns = tuple(eh.Column(name, "category", ("a", "b", "c")) for name in "xyz")
    >>> domain = eh.TabularDomain(columns)
    >>> rng = np.random.default_rng(0)
    >>> found = covering_rows(domain, domain.sample(100, rng), rng)
    >>> (found.combinations, found.impossible, len(found.rows) <= 14)
    (27, 0, True)
    """
    check_argument(Count, ways=ways)
    if ways > len(domain.columns):
        raise InvalidArgument(f"ways={ways} must be at most the number of columns, {len(domain.columns)}")
    if not len(carriers):
        raise InvalidArgument("carriers must have at least one realistic row, got none")
    levels = [_levels(column, carriers[:, at]) for at, column in enumerate(domain.columns)]
    follows = Following.of(domain, carriers)
    excluded = _Array(domain, levels, 2, rng, follows).grow() if ways > 2 and domain.constraints else None
    found = _Array(domain, levels, ways, rng, follows, excluded).grow().found
    return replace(found, rows=as_written(found.rows, carriers, domain))


def _levels(column: Column, cells: Rows) -> Rows:
    """The codes that stand for a column's levels; of three levels of a number, the one between stands for all that lie there."""
    present = cells[~np.isnan(cells)]
    if column.is_listed:
        counts = np.bincount(present.astype(np.intp), minlength=len(column.values))
        return np.sort(np.argsort(-counts, kind="stable")[:MOST_VALUES]).astype(np.float64)
    between = present[(present > column.lowest) & (present < column.highest)]
    middle = [float(np.quantile(between, 0.5, method="nearest"))] if between.size else []
    return np.unique([column.lowest, *middle, column.highest])


class _Array:
    """The combinations still wanted, as one flag each: those of one set of columns lie side by side."""

    def __init__(
        self,
        domain: TabularDomain,
        levels: list[Rows],
        ways: int,
        rng: np.random.Generator,
        follows: Following,
        pairs: _Array | None = None,
    ) -> None:
        self.domain, self.levels, self.ways, self.rng = domain, levels, ways, rng
        self.follows = follows
        self.sizes = np.array([len(each) for each in levels])
        self.sets = np.array(list(combinations(range(len(levels)), ways)))  # (sets, ways)
        per_set = self.sizes[self.sets].prod(axis=1)
        if per_set.sum() > MOST_COMBINATIONS:
            raise InvalidArgument(f"{int(per_set.sum()):,} combinations are too many; combine fewer columns, or ways={ways - 1}")
        self.starts = np.cumsum(per_set) - per_set
        self.factors = np.ones_like(self.sets)
        for way in range(ways - 2, -1, -1):
            self.factors[:, way] = self.factors[:, way + 1] * self.sizes[self.sets[:, way + 1]]
        self.wanted: Mask = np.ones(int(per_set.sum()), dtype=bool)
        self.impossible: Mask = np.zeros(len(self.wanted), dtype=bool)
        self.rows: list[Rows] = []
        if pairs is not None:
            self._leave_out(pairs)

    def _leave_out(self, pairs: _Array) -> None:
        """Whatever holds an impossible pair is impossible."""
        flags = np.arange(len(self.wanted))
        at = np.searchsorted(self.starts, flags, side="right") - 1
        held = (flags - self.starts[at])[:, None] // self.factors[at] % self.sizes[self.sets[at]]
        order = {tuple(each): number for number, each in enumerate(pairs.sets.tolist())}
        for first, second in combinations(range(self.ways), 2):
            number = np.array([order[int(each[first]), int(each[second])] for each in self.sets])[at]
            key = pairs.starts[number] + held[:, first] * pairs.factors[number, 0] + held[:, second]
            self.impossible |= pairs.impossible[key]
        self.wanted &= ~self.impossible

    def keys(self, chosen: Index) -> Index:
        """(rows, sets): the flag of every combination that rows of levels hold."""
        found: Index = self.starts + (chosen[:, self.sets] * self.factors).sum(axis=2)
        return found

    def grow(self) -> _Array:
        """Rows until nothing is wanted."""
        while (left := np.flatnonzero(self.wanted)).size:
            aim = int(self.rng.choice(left))
            best = self._best(aim)
            if best is None:
                self.wanted[aim] = False
                self.impossible[aim] = True
            else:
                self.wanted[self.keys(best.chosen)] = False
                self.rows.append(best.rows)
        return self

    @property
    def found(self) -> CoveringRows:
        """What has grown."""
        rows = np.vstack(self.rows) if self.rows else np.empty((0, len(self.levels)))
        return CoveringRows(rows, self.ways, len(self.wanted), int(self.impossible.sum()))

    def _best(self, aim: int) -> _Candidates | None:
        """Of valid rows that hold the combination, the one that holds most that are wanted."""
        at = int(np.searchsorted(self.starts, aim, side="right") - 1)
        held = (aim - self.starts[at]) // self.factors[at] % self.sizes[self.sets[at]]
        for _ in range(TRIES):
            chosen = (self.rng.random((CANDIDATES, len(self.sizes))) * self.sizes).astype(np.intp)
            chosen[:, self.sets[at]] = held
            tried = self._mended(np.column_stack([codes[chosen[:, place]] for place, codes in enumerate(self.levels)]))
            fine = np.flatnonzero((tried.chosen[:, self.sets[at]] == held).all(axis=1))
            if fine.size:
                best = fine[self.wanted[self.keys(tried.chosen[fine])].sum(axis=1).argmax()]
                return _Candidates(tried.rows[[best]], tried.chosen[[best]])
        return None

    def _mended(self, rows: Rows) -> _Candidates:
        """Rows that keep the rules, those that broke one moved to the nearest that does, with the levels that they then hold."""
        if self.domain.constraints and (broken := np.flatnonzero(~self.domain.contains(rows))).size:
            rows[broken] = self.follows.computed(rows[broken])
            broken = broken[~self.domain.contains(rows[broken])]
            rows[broken] = self.domain.project(rows[broken])
            rows = rows[self.domain.contains(rows)]
        known = [np.isin(rows[:, at], codes) for at, codes in enumerate(self.levels) if self.domain.columns[at].is_listed]
        rows = rows[np.logical_and.reduce(known)] if known else rows
        places = [self._level(rows[:, at], at) for at in range(len(self.levels))]
        return _Candidates(rows, np.stack(places, axis=1))

    def _level(self, codes: Rows, at: int) -> Index:
        levels = self.levels[at]
        if self.domain.columns[at].is_listed or len(levels) < 3:
            return np.searchsorted(levels, codes)
        return np.where(codes <= levels[0], 0, np.where(codes >= levels[2], 2, 1))


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Rows, and the level of each of their cells."""

    rows: Rows
    chosen: Index
