"""Constraints that a table seems to keep: dependencies, order between columns, combinations that ought to occur and do not.

Each comes with the share of rows that break it.  A person decides; none is put into force here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals, Rows
from evenhand.domain.columns import Column
from evenhand.domain.constraints import CompiledConstraint, compile_constraint
from evenhand.domain.parser import quote_name, quote_value
from evenhand.domain.tabular import TabularDomain

if TYPE_CHECKING:
    import pandas as pd

FEWEST_ROWS = 50
MOST_LEVELS = 1_000
MOST_SUGGESTED = 25
ROWS_PER_LEVEL = 10
TOLERATED = 0.002
"""The share of rows that may break an order or a forbidden combination."""
FIRST_LOOKED_AT, CLEARLY_BROKEN = 5_000, 0.02
"""An order that this share of so many rows breaks is not looked at in the others."""
MOST_BROKEN = 0.02
"""A rule that more rows break than this was an accident of the rows that it was found on."""
ROWS_LOOKED_AT = 100_000
EXPECTED_COUNT = 50.0
"""How often a combination must be expected from its margins before its absence says something."""


@dataclass(frozen=True)
class Suggestion:
    """A constraint that could be put into force."""

    source: str | Mapping[str, object]
    text: str
    broken: float  # the share of the data's rows that break it
    columns: tuple[int, ...] = ()


def spread_rows(domain: TabularDomain, frame: pd.DataFrame) -> Rows:
    """Rows spread evenly over the table, as many as relations and constraints are looked for in."""
    return domain.encode(frame.iloc[:: max(1, len(frame) // ROWS_LOOKED_AT)])


def suggest_constraints(domain: TabularDomain, frame: pd.DataFrame, rows: Rows) -> tuple[Suggestion, ...]:
    """The constraints that a table seems to keep, dependencies first.  Found on evenly spread rows, then counted over all of them."""
    if len(frame) < FEWEST_ROWS:
        return ()
    dependencies = list(_dependencies(domain, rows))
    known = {frozenset(pair) for pair in dependencies}
    texts = [f"{quote_name(domain.names[a])} determines {quote_name(domain.names[b])}" for a, b in dependencies]
    orders = [pair for pair in _orders(domain, rows) if frozenset(pair) not in known]
    texts += [f"{quote_name(domain.names[a])} <= {quote_name(domain.names[b])}" for a, b in orders]
    texts += list(_exclusions(domain, rows, known))
    return tuple(_counted([compile_constraint(text, domain.columns, rows) for text in texts[:MOST_SUGGESTED]], domain, frame))


def _counted(found: list[CompiledConstraint], domain: TabularDomain, frame: pd.DataFrame) -> Iterator[Suggestion]:
    """Each with the share of all rows that break it; only the columns in question are encoded, a stretch of rows at a time."""
    if not found:
        return
    used = sorted({place for each in found for place in each.columns})
    broken = np.zeros(len(found))
    for at in range(0, len(frame), ROWS_LOOKED_AT):
        part = frame.iloc[at : at + ROWS_LOOKED_AT]
        rows = np.full((len(part), len(domain.columns)), np.nan)
        for place in used:
            rows[:, place] = domain.columns[place].encode(part[domain.names[place]])
        broken += [np.count_nonzero(~each.holds(rows)) for each in found]
    for each, count in zip(found, broken, strict=True):
        if count <= MOST_BROKEN * len(frame):
            yield Suggestion(each.source, each.text, float(count / len(frame)), each.columns)


def _dependencies(domain: TabularDomain, rows: Rows) -> Iterator[tuple[int, int]]:
    """Pairs where the first column's cell always fixes the second's, with enough rows per cell to believe it."""
    levels = {place: _levels(rows[:, place]) for place in range(len(domain.columns))}
    usable = [place for place, (count, _) in levels.items() if 2 <= count <= MOST_LEVELS]
    found: set[tuple[int, int]] = set()
    for source in usable:
        for target in usable:
            if source == target or (target, source) in found:
                continue
            if _determines(*levels[source], *levels[target]):
                found.add((source, target))
                yield source, target


def _levels(cells: Reals) -> tuple[int, NDArray[np.intp]]:
    """How many different cells there are, and which one each row has; -1 where it is missing."""
    present = ~np.isnan(cells)
    values, inverse = np.unique(cells[present], return_inverse=True)
    places = np.full(len(cells), -1, dtype=np.intp)
    places[present] = inverse
    return len(values), places


def _determines(sources: int, source: NDArray[np.intp], targets: int, target: NDArray[np.intp]) -> bool:
    both = (source >= 0) & (target >= 0)
    if both.sum() < ROWS_PER_LEVEL * sources or sources < targets:
        return False
    table = np.bincount(source[both] * targets + target[both], minlength=sources * targets).reshape(sources, targets)
    commonest = table.sum(axis=0).max() / both.sum()
    return bool(((table > 0).sum(axis=1) <= 1).all() and commonest < 0.9)


def _orders(domain: TabularDomain, rows: Rows) -> Iterator[tuple[int, int]]:
    """Pairs of numbers where the first is never above the second, though it would be if they were unrelated."""
    numbers = [place for place, column in enumerate(domain.columns) if not column.is_listed and column.lowest < column.highest]
    cells = {place: np.ascontiguousarray(rows[:, place]) for place in numbers}
    few = slice(None, None, max(1, len(rows) // FIRST_LOOKED_AT))
    for first in numbers:
        for second in numbers:
            if first == second or np.mean(cells[first][few] > cells[second][few]) > CLEARLY_BROKEN:
                continue
            both = np.stack([cells[first], cells[second]], axis=1)
            both = both[~np.isnan(both).any(axis=1)]
            if len(both) < FEWEST_ROWS or np.mean(both[:, 0] > both[:, 1]) > TOLERATED:
                continue
            below = np.searchsorted(np.sort(both[:, 1]), both[:, 0], side="left") / len(both)
            if below.mean() > 0.05:
                yield first, second


def _exclusions(domain: TabularDomain, rows: Rows, known: set[frozenset[int]]) -> Iterator[str]:
    """Rules for values that hardly ever meet, though their margins would let them meet often; the strongest first."""
    listed = [place for place, column in enumerate(domain.columns) if column.is_listed and 2 <= len(column.values) <= 100]
    places = {place: _places(rows[:, place]) for place in listed}
    scored: list[tuple[float, str]] = []
    for first, second in permutations(listed, 2):
        if frozenset((first, second)) not in known:
            scored += _excluded(domain.columns[first], domain.columns[second], places[first], places[second])
    yield from (text for _, text in sorted(scored, reverse=True))


def _places(codes: Reals) -> NDArray[np.intp]:
    """The place of every row's value in the column's list, from 1; 0 where it is missing."""
    return np.where(np.isnan(codes), 0, codes + 1).astype(np.intp)


def _excluded(first: Column, second: Column, sources: NDArray[np.intp], targets: NDArray[np.intp]) -> Iterator[tuple[float, str]]:
    shape = (len(first.values) + 1, len(second.values) + 1)
    table = np.bincount(sources * shape[1] + targets, minlength=shape[0] * shape[1]).reshape(shape)[1:, 1:]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(table.sum(), 1)
    for value in range(len(first.values)):
        total = int(table[value].sum())
        # Only a rule that leaves a single answer is worth a line: the others are many and say little.
        likely = int(table[value].argmax())
        others = total - int(table[value, likely])
        surprising = expected[value].sum() - expected[value, likely]
        if surprising >= EXPECTED_COUNT and others <= TOLERATED * total:
            left, right = quote_value(first.values[value]), quote_value(second.values[likely])
            yield float(surprising), f"{quote_name(first.name)} == {left} => {quote_name(second.name)} == {right}"
