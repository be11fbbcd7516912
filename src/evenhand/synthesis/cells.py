"""One column cut into cells: single values, runs of integers, intervals of reals, and the missing cell.

A cell is what a synthesiser gives a probability to; the place inside a cell is uniform.  Knows nothing of other columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evenhand.arrays import Index, Mask, Reals
from evenhand.domain.columns import Column
from evenhand.synthesis.decimals import decimals_of

NEAREST_KNOWN = 1e-9
"""A decoded real closer than this share of its column's range to a value of the data is that value."""
_BINS, _WORTH_BINS, _CROWDED = 4096, 512, 8
"""Bins of a column's range; from how many codes on they are worth a look; borders in one bin at most."""
REPEATED = 8
"""Rows for each distinct value from which on values count as few although they are many: a rate of the day, a price of a list."""


@dataclass(frozen=True)
class Cells:
    """Cells in ascending order; the missing one, where the column allows it, comes last."""

    column: Column
    start: Reals  # (cells,) smallest code of the cell
    width: Reals  # (cells,) how many integers, or the length of the interval; 0 for a single real
    edges: Reals  # borders that a code is looked up in
    at_edge: Index  # (edges,) cell of a code equal to the border
    above_edge: Index  # (edges,) cell of a code above the border and below the next
    has_missing: bool
    grid: int | str | None = None  # decimals, "float32", or None: what real codes of this column look like
    known: Reals = field(default_factory=lambda: np.empty(0))

    @property
    def count(self) -> int:
        """How many cells there are, the missing one included."""
        return len(self.start) + self.has_missing

    def locate(self, codes: Reals) -> Index:
        """The cell of every code; -1 outside the column's range."""
        if not len(self.edges):  # a column of missing cells only
            return np.where(np.isnan(codes) & self.has_missing, 0, -1).astype(np.intp)
        if self._is_run:
            return self._counted(codes)
        place = self._last_edge(codes)
        inside = (place >= 0) & (codes <= self.column.highest)
        place = np.clip(place, 0, len(self.edges) - 1)
        found = np.where(codes == self.edges[place], self.at_edge[place], self.above_edge[place])
        if self.column.is_integral:
            inside &= codes == np.rint(codes)
        found = np.where(inside, found, -1)
        return np.where(np.isnan(codes), len(self.start) if self.has_missing else -1, found).astype(np.intp)

    def _last_edge(self, codes: Reals) -> Index:
        """The last border that is not above each code, -1 where there is none: by a table of bins for many codes, else by halving."""
        if len(codes) < _WORTH_BINS or self._bins is None:
            return np.searchsorted(self.edges, codes, side="right") - 1
        table, pace, next_edge = self._bins
        codes = np.minimum(codes, self.edges[-1])
        bins = np.fmin(np.fmax((codes - self.edges[0]) * pace, 0.0), _BINS).astype(np.intp)  # these two take a missing one for the first
        places: Index = table[bins]
        behind = np.flatnonzero(next_edge[places] <= codes)
        while behind.size:
            places[behind] += 1
            behind = behind[next_edge[places[behind]] <= codes[behind]]
        places[codes < self.edges[0]] = -1
        return places

    @cached_property
    def _bins(self) -> tuple[Index, float, Reals] | None:
        """For equally wide bins of codes, a border that is surely not above them; how many bins a unit has; the border after each one.

        None where too many borders lie in one bin: a column that has nearly everybody at one end.
        """
        width = self.edges[-1] - self.edges[0]
        if not 0 < width < np.inf:
            return None
        pace = _BINS / width
        sure = self.edges[0] + (np.arange(_BINS + 1) - 1) / pace  # a bin lower: what is rounded may lie on the other side
        table = np.maximum(np.searchsorted(self.edges, sure, side="right") - 1, 0)
        return None if np.diff(table).max() > _CROWDED else (table, pace, np.append(self.edges[1:], np.inf))

    def _counted(self, codes: Reals) -> Index:
        """The same where every whole number from the first on is a cell of its own: counted off, not looked up."""
        above = codes - self.edges[0]
        missing = np.isnan(above)
        steps: Index = np.where(missing, -1.0, np.clip(above, -1.0, len(self.edges))).astype(np.intp)
        steps[(steps != above) | (steps >= len(self.edges))] = -1
        if self.has_missing:
            steps[missing] = len(self.start)
        return steps

    @cached_property
    def _is_run(self) -> bool:
        """Whether the cells are whole numbers one after the other."""
        return self.is_single and bool((np.diff(self.edges) == 1).all()) and np.array_equal(self.edges, self.start)

    def inner(self, codes: Reals, cells: Index) -> tuple[Reals, Reals]:
        """The part of its cell, within 0..1, that stands for each code: its lower and its upper end."""
        if not len(self.start):
            return np.zeros(len(codes)), np.ones(len(codes))
        cells = np.minimum(cells, len(self.start) - 1)
        width = self.width[cells]
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where((width > 0) & ~np.isnan(codes), (codes - self.start[cells]) / width, 0.0)
        if not self.column.is_integral:
            return low, np.where(width > 0, low, 1.0)
        return low, np.where(np.isnan(codes), 1.0, low + 1.0 / width)

    def codes(self, cells: Index, inner: Reals) -> Reals:
        """The code at a place within 0..1 of each cell."""
        if not len(self.start):
            return np.full(len(cells), np.nan)
        if self.is_single:
            codes = self.start[np.minimum(cells, len(self.start) - 1)]
        else:
            place = np.minimum(cells, len(self.start) - 1)
            codes = self._inside(self.start[place], self.width[place], inner)
        if self.has_missing:
            codes = np.where(cells == len(self.start), np.nan, codes)
        return codes

    @cached_property
    def is_single(self) -> bool:
        """Whether every cell is one value."""
        return self.column.is_integral and bool((self.width == 1).all())

    def _inside(self, start: Reals, width: Reals, inner: Reals) -> Reals:
        if self.column.is_integral:
            return start + np.minimum(np.floor(width * inner), width - 1)
        codes = np.clip(start + width * inner, self.column.lowest, self.column.highest)
        if isinstance(self.grid, int):
            return np.clip(np.round(codes, self.grid), self.column.lowest, self.column.highest)
        if self.grid == "float32":
            return np.clip(codes.astype(np.float32).astype(np.float64), self.column.lowest, self.column.highest)
        return _snapped(codes, self.known, NEAREST_KNOWN * (self.column.highest - self.column.lowest))

    def narrowed(self, allowed: Mask | None, interval: tuple[float, float] | None) -> tuple[Cells, Reals]:
        """Cells cut to allowed values or to an interval, and the part of every cell that is left."""
        if allowed is not None:
            part = np.zeros(self.count)
            part[: len(allowed)] = allowed[: self.count]
            return self, part
        if interval is None:
            return self, np.ones(self.count)
        low, high = interval
        if self.column.is_integral:
            start = np.maximum(self.start, np.ceil(low))
            width = np.minimum(self.start + self.width - 1, np.floor(high)) - start + 1
        else:
            start = np.maximum(self.start, low)
            width = np.minimum(self.start + self.width, high) - start
        return self._shrunk(start, width)

    def _shrunk(self, start: Reals, width: Reals) -> tuple[Cells, Reals]:
        single = (self.width == 0) & (width >= 0)
        part = np.divide(np.maximum(width, 0.0), self.width, out=single.astype(np.float64), where=self.width > 0)
        kept = part > 0
        cells = replace(self, start=np.where(kept, start, self.start), width=np.where(kept, width, self.width))
        return cells, np.append(part, np.zeros(int(self.has_missing)))

    def log_width(self) -> Reals:
        """(cells,) logarithm of what a cell's probability is divided by to be that of one code."""
        with np.errstate(divide="ignore"):
            width = np.where(self.width > 0, self.width, 1.0)
        return np.append(np.log(width), np.zeros(int(self.has_missing)))


def cut(column: Column, codes: Reals, most: int) -> Cells:
    """Cells for one column: every value its own where they are few, frequent values and quantiles where they are many."""
    present = codes[~np.isnan(codes)]
    has_missing = column.missing > 0 or len(present) < len(codes)
    if column.is_listed or (column.is_integral and column.highest - column.lowest < most):
        starts = np.arange(column.lowest, column.highest + 1)
        places = np.arange(len(starts))
        return Cells(column, starts, np.ones(len(starts)), starts, places, places, has_missing)
    singles, borders = _landmarks(present, most)
    if column.is_integral:
        return _integer_cells(column, singles, borders, has_missing)
    return _real_cells(column, np.unique(present), (singles, borders), has_missing)


def _landmarks(present: Reals, most: int) -> tuple[Reals, Reals]:
    """Values that deserve a cell of their own, and quantiles of the others."""
    distinct, counts = np.unique(present, return_counts=True)
    is_repeated = len(distinct) <= 2 * most and len(present) >= REPEATED * len(distinct)
    if len(distinct) <= most or is_repeated:
        return distinct, np.empty(0)
    frequent = counts >= max(2.0, len(present) / most)
    others = np.repeat(distinct[~frequent], counts[~frequent])
    if not len(others):
        return distinct[frequent], np.empty(0)
    cells = int(np.clip(len(others) * most // len(present), 1, most))
    return distinct[frequent], np.unique(
        np.concatenate([np.quantile(others, np.linspace(0, 1, cells + 1), method="lower"), tails(others, cells)])
    )


def tails(ascending: Reals, cells: int) -> Reals:
    """Borders in the first and the last of so many cells of equal weight, each with half the rows of the one before.

    The place inside a cell is uniform, and a heavy tail is far from that.
    """
    rows = len(ascending) // cells
    steps = 2 ** np.arange(max(rows, 1).bit_length() - 1) if rows > 1 else np.empty(0, dtype=np.intp)
    found: Reals = ascending[np.concatenate([steps, len(ascending) - 1 - steps]).astype(np.intp)]
    return found


def _integer_cells(column: Column, singles: Reals, borders: Reals, has_missing: bool) -> Cells:
    starts = np.unique(np.concatenate([[column.lowest], singles, singles + 1, borders]))
    starts = starts[(starts >= column.lowest) & (starts <= column.highest)]
    places = np.arange(len(starts))
    return Cells(column, starts, np.diff(np.append(starts, column.highest + 1)), starts, places, places, has_missing)


def _real_cells(column: Column, distinct: Reals, landmarks: tuple[Reals, Reals], has_missing: bool) -> Cells:
    ends = np.array([column.lowest, column.highest])
    singles = np.union1d(landmarks[0], ends)
    edges = np.union1d(singles, landmarks[1])
    edges = edges[(edges >= ends[0]) & (edges <= ends[1])]
    is_single = np.isin(edges, singles)
    # Every border starts an interval except the last; a single value has one more cell just before that interval.
    first = np.cumsum(1 + is_single) - (1 + is_single)
    above = first + is_single
    count = int(above[-1])
    start, width = np.empty(count), np.zeros(count)
    start[first[is_single]] = edges[is_single]
    start[above[:-1]], width[above[:-1]] = edges[:-1], np.diff(edges)
    above[-1] = count - 1
    at_edge = np.where(is_single, first, above).astype(np.intp)
    grid = grid_of(distinct)
    known = distinct if grid is None else np.empty(0)
    return Cells(column, start, width, edges, at_edge, above.astype(np.intp), has_missing, grid, known)


def grid_of(distinct: Reals) -> int | str | None:
    """What real codes look like: a number of decimals, "float32", or nothing in particular."""
    if (decimals := decimals_of(distinct)) is not None:
        return decimals
    with np.errstate(over="ignore"):
        return "float32" if np.array_equal(distinct.astype(np.float32).astype(np.float64), distinct) else None


def _snapped(codes: Reals, known: Reals, tolerance: float) -> Reals:
    if not len(known):
        return codes
    above = np.clip(np.searchsorted(known, codes), 1, max(len(known) - 1, 1))
    below = known[above - 1]
    upper = known[np.minimum(above, len(known) - 1)]
    nearest = np.where(codes - below <= upper - codes, below, upper)
    return np.where(np.abs(nearest - codes) <= tolerance, nearest, codes)
