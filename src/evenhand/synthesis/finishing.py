"""What wishes ask of whole samples, after the rows are drawn: a share of missing cells to the row, and cells that never repeat."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.columns import Column
from evenhand.domain.constraints import CompiledConstraint, compile_constraints
from evenhand.domain.parser import quote_name
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError
from evenhand.synthesis.decimals import decimals_of
from evenhand.synthesis.derivations import Following
from evenhand.synthesis.missing_pattern import MissingPattern
from evenhand.synthesis.wishes import Wishes

_STEPS = 2.0**40
"""Different reals that a range is taken to hold where the data have no number of decimals."""
_ROUNDS, _RULED_ROUNDS = 48, 200
_FILLS = 12
"""Times that a missing cell is drawn again at most before its whole row is."""

Redraw = Callable[[Mapping[int, Reals], int], Rows]  # so many rows that hold these cells


@dataclass(frozen=True)
class Finishing:
    """Shares of missing cells and unique columns, by place; `taken` are the unique cells of earlier draws, if they are counted."""

    missing: Mapping[int, float] = field(default_factory=dict)
    unique: tuple[int, ...] = ()
    taken: dict[int, Index] | None = field(default=None, compare=False, repr=False)
    patterns: Mapping[int, MissingPattern] = field(default_factory=dict, compare=False, repr=False)  # whose cells are missing

    @classmethod
    def of(cls, wishes: Wishes, domain: TabularDomain, rows: Rows | None, rng: np.random.Generator) -> Finishing:
        """What the wishes ask for; real rows tell whose cells are missing."""
        missing = {domain.place(wish.column): wish.missing for wish in wishes.wishes if wish.missing is not None}
        learnt = {at: MissingPattern.learnt(rows, at, domain, rng) for at in missing} if rows is not None else {}
        patterns = {at: pattern for at, pattern in learnt.items() if pattern is not None}
        return cls(missing, tuple(domain.place(wish.column) for wish in wishes.wishes if wish.is_unique), patterns=patterns)

    def counting(self) -> Finishing:
        """The same, minding earlier draws."""
        return replace(self, taken={})

    @property
    def is_idle(self) -> bool:
        """Whether nothing is asked for."""
        return not self.missing and not self.unique

    def whole(self, domain: TabularDomain) -> TabularDomain:
        """The domain that rows are drawn in: cells that are to be blanked by the row are all there first."""
        rules = [f"{quote_name(domain.names[at])} is not missing" for at in self.missing if domain.columns[at].missing > 0]
        return replace(domain, constraints=(*domain.constraints, *compile_constraints(rules, domain.columns)))

    def filled(self, rows: Rows, redraw: Redraw, follows: Callable[[int], Collection[int]]) -> Rows:
        """The rows with cells drawn where some are missing that are to be blanked by the row; what else a row holds stays.

        Whole rows drawn again would leave out those people whose cells are missing more often.
        """
        for at in self.missing:
            free = np.array(sorted({at, *follows(at)}))
            for _ in range(_FILLS):
                lacking = np.flatnonzero(np.isnan(rows[:, at]))
                if not lacking.size:
                    break
                kept = {place: rows[lacking, place] for place in range(rows.shape[1]) if place not in free}
                rows[np.ix_(lacking, free)] = redraw(kept, len(lacking))[:, free]
        return rows

    def finish(self, rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> Rows:
        """The rows with their unique cells apart and as many cells blanked as asked for; `domain` is the final one."""
        if self.is_idle:
            return rows
        for at in self.unique:
            following = Following.of(domain, rows)
            ruled = any(at in rule.columns for rule in domain.constraints if isinstance(rule, CompiledConstraint))
            if ruled and not domain.columns[at].is_listed:
                rows = self._apart_under_rules(_Ruled(rows, at, following.inputs(at) or (at,), following), domain, rng)
            else:
                rows[:, at] = self._apart(rows[:, at], at, domain.columns[at], rng)
        for at, share in self.missing.items():
            rows[self._blanked(rows, at, round(share * len(rows)), rng), at] = np.nan
        if not domain.keeps_constraints(rows).all():
            names = ", ".join(domain.names[at] for at in (*self.unique, *self.missing))
            broken = [text for text, share in domain.broken_shares(rows).items() if share > 0]
            raise ConstraintError(f"what is wished of {names} (unique, missing) breaks a rule: {'  |  '.join(broken)}")
        return rows

    def _blanked(self, rows: Rows, at: int, count: int, rng: np.random.Generator) -> Index:
        """So many rows whose cell is to be missing: people whose cells are missing in the data, where the other columns tell them."""
        if at in self.patterns:
            return self.patterns[at].chosen(rows, count, rng)
        return rng.permutation(len(rows))[:count]

    def _apart_under_rules(self, ruled: _Ruled, domain: TabularDomain, rng: np.random.Generator) -> Rows:
        """The rows, in which a repeated cell, or a number that it is computed from, is moved a little until no cell repeats."""
        rows, at, reach = ruled.rows, ruled.at, 1
        grid = _Grid.of(domain.columns[at], rows[~np.isnan(rows[:, at]), at])
        taken = (self.taken or {}).get(at, np.empty(0, dtype=np.int64))
        numbers = [place for place in ruled.moved if not domain.columns[place].is_listed]
        for turn in range(_RULED_ROUNDS if numbers else 0):
            present = np.flatnonzero(~np.isnan(rows[:, at]))
            places = grid.places(rows[present, at])
            wrong = present[_repeated(places, taken)]
            if not wrong.size:
                if self.taken is not None:
                    self.taken[at] = np.union1d(taken, places)
                return rows
            ruled.move(wrong, numbers[turn % len(numbers)], reach, domain, rng)
            reach = min(2 * reach, grid.size)
        sources = ", ".join(repr(domain.names[place]) for place in ruled.moved if place != at)
        raise ConstraintError(
            f"{domain.names[at]!r}{f' is computed from {sources}, and' if sources else ''} has too few values that keep every rule for "
            f"{len(rows):,} unique cells; ask for fewer rows, or wish another column to be unique"
        )

    def _apart(self, codes: Reals, at: int, column: Column, rng: np.random.Generator) -> Reals:
        """Every code that repeats an earlier one moved to a free one near it."""
        present = ~np.isnan(codes)
        grid = _Grid.of(column, codes[present])
        taken = (self.taken or {}).get(at, np.empty(0, dtype=np.int64))
        if grid.size < present.sum() + len(taken):
            raise ConstraintError(
                f"{column.name!r} has {grid.size:,} different values, too few for {int(present.sum()) + len(taken):,} unique cells; "
                f"ask for fewer rows, or widen its range"
            )
        places = _separated(grid.places(codes[present]), taken, grid.size, rng)
        if self.taken is not None:
            self.taken[at] = np.union1d(taken, places)
        moved = codes.copy()
        moved[present] = grid.codes(places)
        return moved


@dataclass(frozen=True, eq=False)
class _Ruled:
    """Rows, a column of them that rules speak of, and the columns that may be moved for it: itself, or those that it is computed from."""

    rows: Rows
    at: int
    moved: tuple[int, ...]
    following: Following

    def move(self, which: Index, place: int, reach: int, domain: TabularDomain, rng: np.random.Generator) -> None:
        """Move the numbers of one column, and what follows from them, wherever that breaks no rule."""
        grid = _Grid.of(domain.columns[place], self.rows[~np.isnan(self.rows[:, place]), place])
        which = which[~np.isnan(self.rows[which, place])]
        step = min(reach, max(grid.size // 4, 1))
        moved = self.rows[which].copy()
        own, by = grid.places(moved[:, place]), rng.integers(-step, step + 1, len(which))
        by = np.where((own + by < 0) | (own + by >= grid.size), -by, by)  # at an end, where all would meet, the other way
        moved[:, place] = grid.codes(np.clip(own + by, 0, grid.size - 1))
        moved = self.following.computed(moved)
        fine = domain.contains(moved)
        self.rows[which[fine]] = moved[fine]


@dataclass(frozen=True)
class _Grid:
    """The different codes of a column, numbered."""

    low: float
    step: float
    size: int
    decimals: int | None

    @classmethod
    def of(cls, column: Column, codes: Reals) -> _Grid:
        span = column.highest - column.lowest
        decimals = 0 if column.is_integral else decimals_of(codes)
        step = 10.0**-decimals if decimals is not None else max(span / _STEPS, 1e-300)
        return cls(column.lowest, step, int(span / step + 1e-6) + 1, decimals)

    def places(self, codes: Reals) -> Index:
        return np.clip(np.rint((codes - self.low) / self.step).astype(np.int64), 0, self.size - 1)

    def codes(self, places: Index) -> Reals:
        codes: Reals = np.asarray(self.low + places * self.step, dtype=np.float64)
        return codes if self.decimals is None else np.round(codes, self.decimals)


def _separated(places: Index, taken: Index, size: int, rng: np.random.Generator) -> Index:
    """Different places, as near to the given ones as chance finds them; what is left over goes to places that are free."""
    reach = 1
    for _ in range(_ROUNDS):
        wrong = np.flatnonzero(_repeated(places, taken))
        if not wrong.size:
            return places
        places[wrong] = np.clip(places[wrong] + rng.integers(-reach, reach + 1, len(wrong)), 0, size - 1)
        reach = min(2 * reach, max(size // 4, 1))
    wrong = np.flatnonzero(_repeated(places, taken))
    if wrong.size:  # few places are left, so all of them can be listed
        used = np.union1d(taken, np.delete(places, wrong))
        places[wrong] = rng.permutation(np.setdiff1d(np.arange(size), used, assume_unique=True))[: len(wrong)]
    return places


def _repeated(places: Index, taken: Index) -> Mask:
    found = np.ones(len(places), dtype=bool)
    found[np.unique(places, return_index=True)[1]] = False
    return found | np.isin(places, taken)
