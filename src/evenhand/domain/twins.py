"""The same person under every protected value: which values are compared, and what must change along with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from evenhand.arrays import Index, Mask, Orbit, Reals, Rows
from evenhand.domain.columns import Column, Value
from evenhand.errors import DomainError

MOST_COMBINATIONS = 10_000
"""Above this, comparing every combination is a mistake of declaration rather than a test."""


@dataclass(frozen=True)
class Implied:
    """A change that must follow when a protected column goes from one value to another (Husband to Wife).

    The way back (Wife to Husband) is implied wherever the mapping can be inverted.

    >>> Implied("sex", "f", "m", {"title": {"Ms": "Mr"}}).column
    'sex'
    """

    column: str
    source: Value
    target: Value
    changes: Mapping[str, Mapping[Value, Value]]
    is_learnt: bool = field(default=False, repr=False)  # from data, not known; the twins are the same

    def reversed(self) -> Implied:
        """The same rule read backwards."""
        back = {name: {new: old for old, new in cells.items()} for name, cells in self.changes.items()}
        return Implied(self.column, self.target, self.source, back, self.is_learnt)


@dataclass(frozen=True)
class Comparison:
    """Which values of one protected column are compared: all of them, a declared few, or one per bin.

    `edges` are bin borders; a bin holds its lower border, the last bin both.  Each bin is represented by its middle.

    >>> Comparison(values=(25, 40, 60)).values
    (25, 40, 60)
    >>> Comparison(edges=(18, 30, 65, 95)).edges
    (18, 30, 65, 95)
    """

    values: tuple[Value, ...] = ()
    edges: tuple[float, ...] = ()

    def codes(self, column: Column) -> Reals:
        """The codes that stand for the compared values, in ascending order for numbers."""
        if self.edges:
            return self._middles(column)
        if self.values:
            codes = np.array([column.code(v) for v in self.values], dtype=np.float64)
            outside = ~column.inside(codes)
            if outside.any():
                wrong = self.values[int(np.flatnonzero(outside)[0])]
                raise DomainError(f"protected column {column.name!r}: compared value {wrong!r} is outside its range")
            if len(np.unique(codes)) != len(codes):
                raise DomainError(f"protected column {column.name!r}: a compared value is listed twice")
            return np.sort(codes)
        if not column.is_integral:
            raise DomainError(
                f"protected column {column.name!r} holds real numbers: declare compared values or bins "
                f"(twins: compare: {{{column.name}: {{bins: [...]}}}})"
            )
        return np.arange(column.lowest, column.highest + 1)

    def _middles(self, column: Column) -> Reals:
        edges = np.asarray(self.edges, dtype=np.float64)
        if column.is_listed:
            raise DomainError(f"protected column {column.name!r}: bins are for numbers; list values instead")
        if len(edges) < 3 or (np.diff(edges) <= 0).any():
            raise DomainError(f"protected column {column.name!r}: bins need at least three ascending borders, got {list(self.edges)}")
        lows = edges[:-1]
        middles: Reals
        if column.is_integral:
            highs = np.append(np.ceil(edges[1:-1]) - 1, np.floor(edges[-1]))
            middles = np.floor((np.ceil(lows) + highs) / 2)
        else:
            middles = (lows + edges[1:]) / 2
        if not column.inside(middles).all() or len(np.unique(middles)) != len(middles):
            raise DomainError(f"protected column {column.name!r}: bins {list(self.edges)} do not fit its range")
        return middles

    def place(self, codes: Reals, compared: Reals) -> Index:
        """Which compared value each code belongs to; -1 for none."""
        if self.edges:
            edges = np.asarray(self.edges)
            place = np.searchsorted(edges, codes, side="right") - 1
            place = np.where(codes == edges[-1], len(edges) - 2, place)
            place[(place >= len(edges) - 1) | np.isnan(codes)] = -1
            return place.astype(np.intp)
        place = np.searchsorted(compared, codes).clip(0, len(compared) - 1)
        return np.where(compared[place] == codes, place, -1).astype(np.intp)


@dataclass(frozen=True)
class Twins:
    """Every input under every protected combination, itself included."""

    rows: Orbit  # (combinations, n, columns)
    valid: Mask  # (combinations, n): which of them the domain's constraints allow


@dataclass(frozen=True)
class TwinMaker:
    """The compiled way from rows to their twins, for one set of protected columns."""

    columns: tuple[Column, ...]
    protected: tuple[int, ...]
    comparisons: tuple[Comparison, ...]
    implied: tuple[Implied, ...] = ()
    compared: tuple[Reals, ...] = field(init=False)
    combinations: Rows = field(init=False)  # (combinations, protected)

    def __post_init__(self) -> None:
        compared = tuple(c.codes(self.columns[p]) for p, c in zip(self.protected, self.comparisons, strict=True))
        count = int(np.prod([len(codes) for codes in compared], dtype=np.float64)) if compared else 0
        if count > MOST_COMBINATIONS:
            raise DomainError(
                f"the protected columns have {count:,} combinations, more than {MOST_COMBINATIONS:,}; "
                "declare fewer compared values or bins for them"
            )
        object.__setattr__(self, "compared", compared)
        object.__setattr__(self, "combinations", np.array(list(product(*compared)), dtype=np.float64).reshape(count, len(compared)))

    def own(self, rows: Rows) -> Index:
        """The combination that each row itself has; -1 when it has none of the compared ones."""
        return self.own_of(rows[:, list(self.protected)])

    def own_of(self, cells: Rows) -> Index:
        """The same of the protected cells alone, in the order of the protected columns."""
        own = np.zeros(len(cells), dtype=np.intp)
        alien = np.zeros(len(cells), dtype=bool)
        for codes, comparison, compared in zip(cells.T, self.comparisons, self.compared, strict=True):
            place = comparison.place(codes, compared)
            alien |= place < 0
            own = own * len(compared) + place
        own[alien] = -1
        return own

    def orbit(self, rows: Rows) -> Orbit:
        """Every row under every combination, with implied changes made."""
        orbit = np.empty((len(self.combinations), *rows.shape))
        orbit[:] = rows
        orbit[:, :, list(self.protected)] = self.combinations[:, None, :]
        for rule in self._rules:
            self._apply(rule, rows, orbit)
        return orbit

    def twin(self, rows: Rows, which: Index) -> Rows:
        """Every row under one combination of its own, by position among the combinations; what `orbit` gives there."""
        orbit = rows[None].copy()
        orbit[0][:, list(self.protected)] = self.combinations[which]
        for rule in self._rules:
            self._apply(rule, rows, orbit)
        twin: Rows = orbit[0]
        return twin

    @property
    def _rules(self) -> tuple[Implied, ...]:
        return self.implied + tuple(rule.reversed() for rule in self.implied)

    def _apply(self, rule: Implied, rows: Rows, orbit: Orbit) -> None:
        names = [column.name for column in self.columns]
        at = names.index(rule.column)
        if at not in self.protected:
            return
        source, target = self.columns[at].code(rule.source), self.columns[at].code(rule.target)
        leaving = rows[:, at] == source
        for name, cells in rule.changes.items():
            changed = names.index(name)
            for old, new in cells.items():
                affected = leaving & (rows[:, changed] == self.columns[changed].code(old))
                moved = (orbit[:, :, at] == target) & affected
                orbit[:, :, changed][moved] = self.columns[changed].code(new)


def check_implied(rules: Sequence[Implied], columns: Sequence[Column], protected: Sequence[str]) -> None:
    """Raise unless every implied change names columns and values that exist."""
    known = {column.name: column for column in columns}
    for rule in rules:
        for name in (rule.column, *rule.changes):
            if name not in known:
                raise DomainError(f"implied change: there is no column {name!r}")
        for name in rule.changes:
            if name in protected:
                raise DomainError(f"implied change of {rule.column!r}: {name!r} is protected itself and cannot be implied")
        for value in (rule.source, rule.target):
            known[rule.column].code(value)
        for name, cells in rule.changes.items():
            for value in (*cells, *cells.values()):
                known[name].code(value)
