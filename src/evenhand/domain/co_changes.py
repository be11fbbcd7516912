"""What seems to change along with a protected value, learnt from a table: values that occur with one protected value only, in pairs.

A husband is a man and a wife is a woman; a man's twin who stays a husband is nobody.  Such pairs are proposed, with the counts that speak
for them.  A person decides; none is put into force here, since another twin is another question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.columns import Column, Value
from evenhand.domain.tabular import TabularDomain
from evenhand.domain.twins import Implied

FEWEST_ROWS = 30
"""A value that fewer rows have says nothing of what it goes along with."""
MOST_OTHERWISE = 0.005
"""So few of a value's rows may have another protected value: cells are sometimes wrong."""
SURPRISING = 15.0
"""So many of a value's rows would have another protected value if the two had nothing to do with each other."""
MOST_VALUES = 200
CLEARLY_NEARER = 0.7
"""Of several values, two are a pair if their people are so much nearer to each other than to those of any other value."""


@dataclass(frozen=True)
class CoChange:
    """A change that could follow a protected one, and what speaks for it."""

    rule: Implied
    reason: str


def learn_co_changes(domain: TabularDomain, rows: Rows) -> tuple[CoChange, ...]:
    """What every protected column seems to take along, one rule for each pair of its values.

    >>> from evenhand.domain.columns import Column, Value
    >>> columns = Column("sex", "category", ("f", "m")), Column("role", "category", ("child", "husband", "wife"))
    >>> rows = np.array([[0.0, 2.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]] * 40)
    >>> [found.rule.changes for found in learn_co_changes(TabularDomain(columns, ("sex",)), rows)]
    [{'role': {'wife': 'husband'}}]
    """
    return tuple(found for name in domain.protected for found in _of_protected(domain, name, rows))


def _of_protected(domain: TabularDomain, name: str, rows: Rows) -> Iterator[CoChange]:
    place = domain.place(name)
    if not _is_countable(domain.columns[place]):
        return
    others = [at for at in domain.free_places if _is_countable(domain.columns[at]) and not _is_told(domain, name, at)]
    tables = {at: _Counts.of(rows, place, at) for at in others}
    for first, second in combinations(np.unique(rows[~np.isnan(rows[:, place]), place]), 2):
        changes: dict[str, dict[Value, Value]] = {}
        reasons: list[str] = []
        for at, counts in tables.items():
            pairs = _pairs(counts.bound_to(first), counts.bound_to(second), rows, (place, at))
            if pairs:
                column = domain.columns[at]
                changes[column.name] = {_value(column, one): _value(column, other) for one, other in pairs}
                reasons += [counts.words(column, domain.columns[place], code) for pair in pairs for code in pair]
        if changes:
            source, target = (_value(domain.columns[place], code) for code in (first, second))
            yield CoChange(Implied(name, source, target, changes, is_learnt=True), "; ".join(reasons))


def _value(column: Column, code: float) -> Value:
    """The value of a code that is no missing one."""
    found = column.value(code)
    assert found is not None
    return found


def _is_told(domain: TabularDomain, name: str, at: int) -> bool:
    """Whether a person has said already what becomes of a column."""
    return any(rule.column == name and domain.names[at] in rule.changes for rule in domain.implied)


def _is_countable(column: Column) -> bool:
    return column.is_listed and 2 <= (column.cardinality or 0) <= MOST_VALUES


@dataclass(frozen=True)
class _Counts:
    """How often every value of a column goes along with every protected value."""

    table: Reals  # (values, protected values)

    @classmethod
    def of(cls, rows: Rows, protected: int, at: int) -> _Counts:
        known = rows[~np.isnan(rows[:, [protected, at]]).any(axis=1)][:, [at, protected]].astype(np.intp)
        table = np.zeros(known.max(axis=0) + 1 if len(known) else (1, 1))
        np.add.at(table, (known[:, 0], known[:, 1]), 1.0)
        return cls(table)

    def bound_to(self, protected: float) -> Index:
        """The values that occur with this protected value only, often enough for that to be no accident."""
        if int(protected) >= self.table.shape[1]:
            return np.empty(0, dtype=np.intp)
        own, total = self.table[:, int(protected)], self.table.sum(axis=1)
        expected = total * (1.0 - self.table[:, int(protected)].sum() / max(1.0, self.table.sum()))
        bound = (total >= FEWEST_ROWS) & (total - own <= MOST_OTHERWISE * total) & (expected >= SURPRISING)
        return np.flatnonzero(bound)

    def words(self, column: Column, protected: Column, code: float) -> str:
        """What speaks for one value."""
        line = self.table[int(code)]
        value, other = column.value(code), protected.value(float(line.argmax()))
        return f"{column.name} {value!r} has {protected.name} {other!r} in {int(line.max()):,} of {int(line.sum()):,} rows"


def _pairs(first: Index, second: Index, rows: Rows, apart: tuple[int, int]) -> list[tuple[float, float]]:
    """Which value of one group stands for which of the other; none where that is not clear, since people are not paired by guessing."""
    if not len(first) or len(first) != len(second):
        return []
    if len(first) == 1:
        return [(float(first[0]), float(second[0]))]
    distances = _distances(first, second, rows, apart)
    nearest = distances.argmin(axis=1)
    if len(np.unique(nearest)) < len(first):
        return []
    clear = np.partition(distances, 1, axis=1)
    if (clear[:, 0] > CLEARLY_NEARER * clear[:, 1]).any():
        return []
    return [(float(one), float(second[other])) for one, other in zip(first, nearest, strict=True)]


def _distances(first: Index, second: Index, rows: Rows, apart: tuple[int, int]) -> Reals:
    """How unlike the people of two values are, by the means of all other columns."""
    place, at = apart
    others = [each for each in range(rows.shape[1]) if each not in (place, at)]
    spread = np.nanstd(rows[:, others], axis=0)
    means = [np.nanmean(rows[rows[:, at] == code][:, others], axis=0) / np.where(spread > 0, spread, 1.0) for code in (*first, *second)]
    ours, theirs = np.nan_to_num(means[: len(first)]), np.nan_to_num(means[len(first) :])
    distances: Reals = np.linalg.norm(ours[:, None] - theirs[None], axis=2)
    return distances


def co_change_pairs(rule: Implied) -> str:
    """The change in words."""
    pairs = [f"{name} ({old} becomes {new})" for name, cells in rule.changes.items() for old, new in cells.items()]
    return f"{', '.join(pairs)} where {rule.column} goes from {rule.source} to {rule.target}"


def co_change_words(rule: Implied) -> str:
    """For whoever reads a result that rests on it."""
    return f"Twins also change {co_change_pairs(rule)}, and back: learnt from the data, not known to be so."
