"""Which single cells could be changed, and to what, so that a broken constraint may hold again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.domain.columns import Column
from evenhand.domain.conditions import Cell, Combination, Compare, Dependency, Leaf, Listed, OneOf, Term
from evenhand.domain.constraints import CompiledConstraint
from evenhand.domain.parts import Part

MOST_TRIED = 64
"""A column with at most this many codes has all of them tried."""
MOST_NEAR = 512
"""Of a longer table of allowed combinations, only the first ones are tried as a whole."""


def leaves_of(part: Part) -> list[Leaf]:
    """The comparisons and look-ups of a part's constraints."""
    return [leaf for held in part.constraints if isinstance(held, CompiledConstraint) for leaf in held.condition.leaves()]


def proposals(part: Part, place: int, rows: Rows) -> Iterator[Reals]:
    """Codes for one column, one per row each time; NaN is a missing cell only where the column allows it."""
    column = part.columns[place]
    for code in _fixed(part, place):
        yield np.full(len(rows), code)
    if (column.cardinality or MOST_TRIED + 1) > MOST_TRIED:
        for leaf in leaves_of(part):
            if place in leaf.places:
                yield from (_fitted(column, codes, rows[:, place]) for codes in _critical(leaf, place, column, rows))


def whole_moves(part: Part, rows: Rows) -> Iterator[Rows]:
    """Rows moved to the nearest allowed combination of each table, several cells at once."""
    for leaf in leaves_of(part):
        if isinstance(leaf, Combination) and not leaf.forbids and len(leaf.columns) > 2:
            places = list(leaf.columns)
            table = leaf.lookup.codes[:MOST_NEAR]
            differing = (rows[:, None, places] != table[None]).sum(axis=2)
            moved = rows.copy()
            moved[:, places] = table[differing.argmin(axis=1)]
            yield moved


@lru_cache(maxsize=256)
def _fixed_codes(column: Column, constants: tuple[float, ...]) -> tuple[float, ...]:
    if (column.cardinality or MOST_TRIED + 1) <= MOST_TRIED:
        codes = list(np.arange(column.lowest, column.highest + 1))
    else:
        middle = (column.lowest + column.highest) / 2
        near = np.array(constants[:MOST_TRIED])
        step = 1.0 if column.is_integral else (column.highest - column.lowest) * 1e-6
        wanted = np.concatenate([[column.lowest, middle, column.highest], near, near - step, near + step])
        codes = list(np.unique(_fitted(column, wanted, np.full(len(wanted), np.nan))))
    present = [float(code) for code in codes if not np.isnan(code)]
    return tuple([*present, np.nan] if column.missing > 0 else present)


def _fixed(part: Part, place: int) -> tuple[float, ...]:
    """Codes to try whatever the row is: all of a short list; else both ends, the middle and the listed constants."""
    constants = [n for leaf in leaves_of(part) if isinstance(leaf, OneOf) and leaf.term == Cell(place) for n in leaf.numbers]
    return _fixed_codes(part.columns[place], tuple(constants))


def _critical(leaf: Leaf, place: int, column: Column, rows: Rows) -> Iterator[Reals]:
    if isinstance(leaf, Compare):
        yield from _around(leaf, place, column, rows)
    elif isinstance(leaf, Dependency) and place == leaf.target:
        yield leaf.determined(rows)
    elif isinstance(leaf, Dependency) and leaf.sources == (place,):
        targets = np.array(leaf.targets)
        order = np.argsort(targets, kind="stable")
        at = np.searchsorted(targets[order], rows[:, leaf.target]).clip(0, len(order) - 1)
        yield leaf.lookup.codes[order[at], 0]
    elif isinstance(leaf, Combination) and not leaf.forbids and len(leaf.columns) == 2:
        first, second = leaf.columns
        own, other = (0, 1) if place == first else (1, 0)
        table = leaf.lookup.codes
        order = np.argsort(table[:, other], kind="stable")
        at = np.searchsorted(table[order, other], rows[:, second if own == 0 else first]).clip(0, len(order) - 1)
        yield table[order[at], own]


def _around(leaf: Compare, place: int, column: Column, rows: Rows) -> Iterator[Reals]:
    """Codes at, just below and just above the one where both sides of a comparison are equal."""
    root = _root(leaf, place, column, rows)
    if column.is_integral:
        below, above = np.floor(root), np.ceil(root)
        yield from (below, above, below - 1, above + 1)
        return
    span = column.highest - column.lowest
    yield from (root, np.nextafter(root, -np.inf), np.nextafter(root, np.inf), root - 1e-6 * span, root + 1e-6 * span)


def _root(leaf: Compare, place: int, column: Column, rows: Rows) -> Reals:
    for own, other in ((leaf.left, leaf.right), (leaf.right, leaf.left)):
        if own == Cell(place) and place not in other.places:
            return np.broadcast_to(other.evaluate(rows), len(rows))
        if isinstance(own, Listed) and own.place == place and place not in other.places:
            return _inverse(own, np.broadcast_to(other.evaluate(rows), len(rows)))
    return _secant(leaf.left, leaf.right, place, column, rows)


def _inverse(term: Listed, numbers: Reals) -> Reals:
    """The code whose number is nearest from above; NaN stays NaN."""
    known = np.array(term.numbers)
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known[order], numbers).clip(0, len(known) - 1)
    return np.where(np.isnan(numbers), np.nan, order[at])


def _secant(left: Term, right: Term, place: int, column: Column, rows: Rows) -> Reals:
    """Exact where the comparison is linear in the column, as sums and products of different columns are."""
    moved = rows.copy()
    start = np.where(np.isnan(rows[:, place]), column.lowest, rows[:, place])
    step = max((column.highest - column.lowest) / 16, 1.0 if column.is_integral else 0.0)
    ends = []
    for shift in (0.0, step):
        moved[:, place] = start + shift
        ends.append(left.evaluate(moved) - right.evaluate(moved))
    with np.errstate(all="ignore"):
        root = start - ends[0] * step / (ends[1] - ends[0])
    return np.where(np.isfinite(root), root, np.nan)


def _fitted(column: Column, codes: Reals, otherwise: Reals) -> Reals:
    """Codes moved into the column's range; where there is none, the cell as it was."""
    whole = np.rint(codes) if column.is_integral else codes
    return np.where(np.isnan(codes), otherwise, np.clip(whole, column.lowest, column.highest))
