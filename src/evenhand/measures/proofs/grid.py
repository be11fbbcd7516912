"""The domain as a finite grid: columns cut into cells inside which no tree can tell two inputs apart, each with its share.

Columns that constraints or implied changes tie together become one axis, whose cells are their possible joint values; so the axes
are independent of each other, and the share of a box is the product of its sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import MissingAbility
from evenhand.measures.proofs.tree_features import TreeFront

MOST_JOINT = 200_000
"""Joint values of columns that constraints tie together, above which they are not enumerated."""
MOST_LISTED = 4_096
"""Whole numbers up to this many are listed one by one; wider ranges are cut at thresholds, which are found by halving."""
MOST_TRIED = 200_000
"""Whole numbers up to this many are listed where a preparation is not monotone."""


@dataclass(frozen=True)
class GridAxis:
    """One independent part of the domain: some columns and the cells of their joint values."""

    places: tuple[int, ...]
    codes: Rows  # (cells, columns of the axis): a value of each cell
    weights: Reals  # (cells,): shares that add up to one
    answers: dict[int, NDArray[np.bool_]]  # question -> (combinations or 1, cells)
    allowed: NDArray[np.bool_]  # (combinations or 1, cells): which twins are possible
    spans: Rows | None = None  # (cells, 2): lowest and highest code of each cell, for a single number
    members: Members | None = None  # every joint value with its cell, where they are listed

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.weights)

    def draw(self, open_cells: NDArray[np.bool_], is_integral: bool, rng: np.random.Generator) -> Rows:
        """A joint value inside each of these sets of cells (n, cells), by the shares."""
        if self.members is not None:
            return self.members.codes[_chosen(open_cells[:, self.members.cell], self.members.weights, rng)]
        cell = _chosen(open_cells, self.weights, rng)
        if self.spans is None:
            return self.codes[cell]
        low, high = self.spans[cell].T
        drawn = rng.random(len(cell))
        inside: Rows = low + (np.floor(drawn * (high - low + 1)) if is_integral else drawn * (high - low))
        within: Rows = np.minimum(inside, high)[:, None]
        return within


@dataclass(frozen=True, eq=False)
class Members:
    """Joint values of an axis, one by one: their codes, their shares and the cell that each belongs to."""

    codes: Rows  # (values, columns of the axis)
    weights: Reals  # (values,)
    cell: Index  # (values,)


def _chosen(open_cells: NDArray[np.bool_], weights: Reals, rng: np.random.Generator) -> Index:
    """One of the open places of every row, by the weights."""
    running = np.cumsum(np.where(open_cells, weights, 0.0), axis=1)
    level = rng.random(len(running)) * running[:, -1]
    return np.asarray((running > level[:, None]).argmax(axis=1), dtype=np.intp)


@dataclass(frozen=True)
class Grid:
    """All axes; the axis of each question; and which of the domain's combinations each distinct combination stands for."""

    domain: TabularDomain
    axes: tuple[GridAxis, ...]
    combinations: int
    fixed: dict[int, bool]  # questions with one answer everywhere

    @cached_property
    def axis_of(self) -> dict[int, int]:
        """The axis that a question concerns."""
        return {question: at for at, axis in enumerate(self.axes) for question in axis.answers}

    @property
    def cells(self) -> float:
        """How many cells the grid has."""
        return math.prod(float(axis.cells) for axis in self.axes)  # infinite for very wide ones

    def rows(self, chosen: Sequence[Index]) -> Rows:
        """Rows of the domain in the chosen cells, one array of cells per axis."""
        rows = np.empty((len(chosen[0]), len(self.domain.columns)))
        for axis, cells in zip(self.axes, chosen, strict=True):
            rows[:, list(axis.places)] = axis.codes[cells]
        return rows


def grid_of(front: TreeFront, domain: TabularDomain) -> Grid:
    """Cut the domain at everything that the trees ask."""
    groups = tied(domain)
    axes = [_joint_axis(front, domain, each) if is_joint(each, domain) else _single_axis(front, domain, each[0]) for each in groups]
    grid = Grid(domain, tuple(axes), len(domain.combinations), front.constant_answers)
    return _distinct(grid)


def is_joint(places: tuple[int, ...], domain: TabularDomain) -> bool:
    """Whether these columns must be listed by their joint values."""
    return len(places) > 1 or places[0] in domain.protected_places or is_constrained(domain, places)


def is_constrained(domain: TabularDomain, places: tuple[int, ...]) -> bool:
    """Whether a constraint concerns any of these columns."""
    return any(set(part.places) & set(places) for part in domain.parts)


def tied(domain: TabularDomain) -> list[tuple[int, ...]]:
    """Columns in groups that share no constraint and no implied change; the protected ones belong together."""
    implied = {domain.place(name) for rule in domain.implied if rule.column in domain.protected for name in rule.changes}
    sets = [set(part.places) for part in domain.parts] + [set(domain.protected_places) | implied]
    sets += [{place} for place in range(len(domain.columns))]
    merged: list[set[int]] = []
    for each in sets:
        touching = [known for known in merged if known & each]
        merged = [known for known in merged if not known & each] + [each.union(*touching)]
    return sorted(tuple(sorted(each)) for each in merged)


def _joint_axis(front: TreeFront, domain: TabularDomain, places: tuple[int, ...]) -> GridAxis:
    """Every possible joint value of these columns, with what its twins answer."""
    only_protected = set(places) <= set(domain.protected_places) and not is_constrained(domain, places)
    codes, weights = own_value(domain, places) if only_protected else joint_values(domain, places)
    rows = np.repeat(front.base, len(codes), axis=0)
    rows[:, list(places)] = codes
    is_protected = bool(set(places) & set(domain.protected_places))
    orbit = domain.twins(rows).rows if is_protected else rows[None]
    allowed = np.ones(orbit.shape[:2], dtype=bool)
    for part in domain.parts:
        if set(part.places) <= set(places):
            flat = orbit.reshape(-1, orbit.shape[2])[:, list(part.places)]
            allowed &= part.keeps(flat).reshape(allowed.shape)
    if not is_protected:
        allowed = np.ones((1, len(codes)), dtype=bool)
    answers: dict[int, NDArray[np.bool_]] = {}
    for place in places:
        questions = front.questions_of(place)
        if len(questions):
            held = front.answers(place, orbit[:, :, place].ravel(), questions)
            answers |= {int(q): table.reshape(orbit.shape[:2]) for q, table in zip(questions, held, strict=True)}
    return _merged(GridAxis(places, codes, weights, answers, allowed))


def own_value(domain: TabularDomain, places: tuple[int, ...]) -> tuple[Rows, Reals]:
    """Protected cells are replaced in every twin, so that one own value stands for all."""
    own = dict(zip(domain.protected_places, domain.combinations[0], strict=True))
    return np.array([[own[place] for place in places]]), np.ones(1)


def joint_values(domain: TabularDomain, places: tuple[int, ...]) -> tuple[Rows, Reals]:
    """Every joint value that keeps the constraints, and its share among them."""
    columns = [domain.columns[place] for place in places]
    total = 1
    for column in columns:
        total *= column.cardinality or MOST_JOINT + 1
    combinations = len(domain.combinations) if set(places) & set(domain.protected_places) else 1
    if total * combinations > MOST_JOINT * 10 or total > MOST_JOINT:
        names = ", ".join(repr(column.name) for column in columns)
        raise MissingAbility(
            f"constraints or implied changes tie the columns {names} together, whose joint values are too many to list "
            f"(more than {MOST_JOINT:,}); certify a domain without these constraints, or with coarser columns"
        )
    listed = [levels(column) for column in columns]
    codes = np.stack([each.ravel() for each in np.meshgrid(*[codes for codes, _ in listed], indexing="ij")], axis=1)
    shares = np.stack([each.ravel() for each in np.meshgrid(*[share for _, share in listed], indexing="ij")], axis=1).prod(axis=1)
    kept = np.ones(len(codes), dtype=bool)
    for part in domain.parts:
        if set(part.places) <= set(places):
            kept &= part.keeps(codes[:, [places.index(place) for place in part.places]])
    return codes[kept], shares[kept] / shares[kept].sum()


def levels(column: Column) -> tuple[Reals, Reals]:
    """The codes of a column and their shares under the domain's own measure."""
    codes = np.arange(column.lowest, column.highest + 1)
    shares = np.full(len(codes), (1 - column.missing) / max(1, len(codes)))
    return (np.append(codes, np.nan), np.append(shares, column.missing)) if column.missing > 0 else (codes, shares)


def _single_axis(front: TreeFront, domain: TabularDomain, place: int) -> GridAxis:
    column, questions = domain.columns[place], front.questions_of(place)
    if (column.cardinality or MOST_LISTED + 1) <= MOST_LISTED or not len(questions):
        return _listed_axis(front, column, place, questions)
    if not _is_monotone(front, place):
        if (column.cardinality or MOST_TRIED + 1) <= MOST_TRIED:
            return _listed_axis(front, column, place, questions)
        raise MissingAbility(
            f"column {column.name!r} has too many values to list, and a preparation or split of the model does not go up or down with it "
            "throughout; certify cannot cut it into intervals"
        )
    return _cut_axis(front, column, place, questions)


def _listed_axis(front: TreeFront, column: Column, place: int, questions: Index) -> GridAxis:
    if not len(questions):
        codes, weights = np.array([[column.lowest if column.highest >= column.lowest else np.nan]]), np.ones(1)
        return GridAxis((place,), codes, weights, {}, np.ones((1, 1), dtype=bool))
    codes, weights = levels(column)
    held = front.answers(place, codes, questions)
    answers = {int(q): table[None] for q, table in zip(questions, held, strict=True)}
    return _merged(GridAxis((place,), codes[:, None], weights, answers, np.ones((1, len(codes)), dtype=bool)))


def _is_monotone(front: TreeFront, place: int) -> bool:
    """Whether the column's features go strictly one way, and every question about them cuts the range once."""
    asked = [front.source.ensemble.questions[q] for q in front.questions_of(place)]
    if any(question.kind not in ("at_most", "below") or question.zero_is_missing for question in asked):
        return False
    codes = front.probes(place)
    codes = codes[~np.isnan(codes)]
    features = front._column_features(place, codes)[:, sorted({question.feature for question in asked})].astype(np.float64)
    steps = np.diff(features, axis=0)
    return bool(((steps > 0).all(axis=0) | (steps < 0).all(axis=0)).all())


def _cut_axis(front: TreeFront, column: Column, place: int, questions: Index) -> GridAxis:
    """Intervals between the places where some answer changes."""
    lasts = _last_codes(front, column, place, questions)
    lasts = np.unique(lasts[lasts < column.highest])
    ends = np.append(lasts, column.highest)
    starts = np.append(column.lowest, lasts + 1 if column.is_integral else np.nextafter(lasts, np.inf))
    sizes = ends - starts + 1 if column.is_integral else np.diff(np.concatenate([[column.lowest], ends]))
    weights = sizes / sizes.sum() * (1 - column.missing) if sizes.sum() > 0 else np.full(len(sizes), (1 - column.missing) / len(sizes))
    codes, spans = starts, np.stack([starts, ends], axis=1)
    if column.missing > 0:
        codes, weights = np.append(codes, np.nan), np.append(weights, column.missing)
        spans = np.vstack([spans, [np.nan, np.nan]])
    held = front.answers(place, codes, questions)
    answers = {int(q): table[None] for q, table in zip(questions, held, strict=True)}
    return GridAxis((place,), codes[:, None], weights, answers, np.ones((1, len(codes)), dtype=bool), spans)


def _last_codes(front: TreeFront, column: Column, place: int, questions: Index) -> Reals:
    """For each question the last code that is answered as the lowest one is; found by halving, exact to the last bit of the code."""
    low = np.full(len(questions), _key(np.array([column.lowest]), column)[0])
    high = np.full(len(questions), _key(np.array([column.highest]), column)[0])
    first = _diagonal(front, place, _code(low, column), questions)
    high = np.where(_diagonal(front, place, _code(high, column), questions) == first, high + 1, high)
    while (open_ := low + 1 < high).any():
        middle = np.where(open_, (low & high) + ((low ^ high) >> 1), low)  # their mean, without overflow
        same = _diagonal(front, place, _code(middle, column), questions) == first
        low, high = np.where(open_ & same, middle, low), np.where(open_ & ~same, middle, high)
    return _code(low, column)


def _diagonal(front: TreeFront, place: int, codes: Reals, questions: Index) -> Mask:
    """Each question's answer to its own code."""
    features = front._column_features(place, codes)
    asked = [front.source.ensemble.questions[q] for q in questions]
    return np.array([question.holds(features[at : at + 1, question.feature])[0] for at, question in enumerate(asked)])


def _key(codes: Reals, column: Column) -> NDArray[np.int64]:
    """Whole numbers in the order of the codes: for real numbers, one for every number that can be written."""
    if column.is_integral:
        return codes.astype(np.int64)
    bits = (codes + 0.0).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _code(keys: NDArray[np.int64], column: Column) -> Reals:
    if column.is_integral:
        return keys.astype(np.float64)
    bits = np.where(keys < 0, np.int64(-(2**63)) - keys, keys)
    return bits.view(np.float64)


def _merged(axis: GridAxis) -> GridAxis:
    """Cells that no question tells apart as one."""
    tables = [*axis.answers.values(), axis.allowed]
    packed = np.packbits(np.concatenate(tables, axis=0), axis=0).T
    _, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # cells stay in the order of their values
    rank = np.argsort(order)
    weights: Reals = np.bincount(rank[inverse.ravel()], weights=axis.weights, minlength=len(first)).astype(np.float64)
    kept = first[order]
    answers = {question: table[:, kept] for question, table in axis.answers.items()}
    members = Members(axis.codes, axis.weights, np.asarray(rank[inverse.ravel()], dtype=np.intp))
    return replace(axis, codes=axis.codes[kept], weights=weights, answers=answers, allowed=axis.allowed[:, kept], members=members)


def _distinct(grid: Grid) -> Grid:
    """Combinations that every tree treats alike as one; they get the same label always."""
    varied = [table for axis in grid.axes for table in [*axis.answers.values(), axis.allowed] if len(table) > 1]
    if not varied:
        return replace(grid, combinations=1)
    packed = np.packbits(np.concatenate(varied, axis=1), axis=1)
    _, first = np.unique(packed, axis=0, return_index=True)
    kept = np.sort(first)

    def cut(table: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return table[kept] if len(table) > 1 else table

    axes = [replace(a, answers={q: cut(t) for q, t in a.answers.items()}, allowed=cut(a.allowed)) for a in grid.axes]
    return replace(grid, axes=tuple(axes), combinations=len(kept))
