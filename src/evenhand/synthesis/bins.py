"""A numeric column in ascending order and cut into bins, and its rows in groups: what fits and tests look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows

BINS = 2_048
MANY_ROWS = 200_000
"""From here on there are twice as many bins, so that fewer rows of each have to be opened."""


@dataclass(frozen=True)
class Binned:
    """A numeric column in ascending order, cut into bins that hold about equally many rows and never part equal values."""

    order: NDArray[Any]  # rows in ascending order of value, missing ones left out
    values: Reals  # sorted
    offsets: Index  # (bins + 1,) positions in `values`
    places: Index  # (n,) bin of every row; the number of bins stands for a missing cell
    middle: Reals  # (bins,) mean value

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.offsets) - 1

    @cached_property
    def top(self) -> Reals:
        """The largest value of every bin."""
        return self.values[self.offsets[1:] - 1]

    @cached_property
    def bottom(self) -> Reals:
        """The smallest value of every bin."""
        return self.values[self.offsets[:-1]]

    @cached_property
    def is_single(self) -> Mask:
        """Which bins hold one value only."""
        return np.asarray(self.bottom == self.top)


def bin_column(codes: Reals) -> Binned:
    """Sort a column and cut it."""
    bins = BINS if len(codes) < MANY_ROWS else 2 * BINS
    order = np.argsort(codes)
    order = order[: len(codes) - int(np.isnan(codes).sum())].astype(np.int32 if len(codes) < 2**31 else np.int64)
    values = codes[order]
    borders = np.unique(values[np.linspace(0, len(values) - 1, min(bins, len(values))).astype(np.intp)]) if len(values) else values
    offsets = np.append(np.searchsorted(values, borders), len(values)).astype(np.intp)
    count = len(borders)
    places = np.full(len(codes), count, dtype=np.intp)
    sizes = np.diff(offsets)
    places[order] = np.repeat(np.arange(count), sizes)
    middle = np.add.reduceat(values, offsets[:-1]) / sizes if count else np.empty(0)
    return Binned(order, values, offsets, places, middle)


@dataclass(frozen=True)
class Groups:
    """Rows of one column by group: counts per bin, and the codes that tell the groups of one source apart."""

    counts: Rows  # (groups, bins + 1), the last bin being the missing cells
    codes: tuple[NDArray[Any], ...]  # for every source, the code of each row, in as few bytes as it needs
    source: Index  # (groups,) which of `codes` a group belongs to; -1 is the whole column
    value: Index  # (groups,)


def opened(column: Binned, groups: Groups, group: int, bins: Index) -> tuple[Reals, Index]:
    """The sorted values of one group inside some bins, and the bin of each."""
    sizes = column.offsets[bins + 1] - column.offsets[bins]
    starts = np.repeat(column.offsets[bins] - np.append(0, np.cumsum(sizes)[:-1]), sizes)
    positions = starts + np.arange(sizes.sum())
    of_bin = np.repeat(bins, sizes)
    if groups.source[group] < 0:
        return column.values[positions], of_bin
    mine = groups.codes[groups.source[group]][column.order[positions]] == groups.value[group]
    return column.values[positions[mine]], of_bin[mine]
