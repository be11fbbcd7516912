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
_MOST_PACKED_ROWS = 2**22
_PACKED = 32
"""Most codes of a pack of several categories."""


@dataclass(frozen=True)
class Binned:
    """A numeric column in ascending order, cut into bins that hold about equally many rows and never part equal values."""

    order: Index  # (n,) rows in ascending order of value, those with a missing cell last
    values: Reals  # sorted, missing ones left out
    offsets: Index  # (bins + 1,) positions in `values`
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

    @cached_property
    def sorted_places(self) -> Index:
        """(n,) the bin at every position of the order; the number of bins stands for a missing cell."""
        sizes = np.append(np.diff(self.offsets), len(self.order) - len(self.values))
        return np.repeat(np.arange(self.bins + 1), sizes)

    def places(self) -> Index:
        """(n,) the bin of every row."""
        places = np.empty(len(self.order), dtype=np.intp)
        places[self.order] = self.sorted_places
        return places


def bin_column(codes: Reals) -> Binned:
    """Sort a column and cut it."""
    bins = BINS if len(codes) < MANY_ROWS else 2 * BINS
    order = ascending(codes)
    values = codes[order]
    values = values[: len(codes) - int(np.isnan(values).sum())]
    borders = np.unique(values[np.linspace(0, len(values) - 1, min(bins, len(values))).astype(np.intp)]) if len(values) else values
    offsets = np.append(np.searchsorted(values, borders), len(values)).astype(np.intp)
    middle = np.add.reduceat(values, offsets[:-1]) / np.diff(offsets) if len(borders) else np.empty(0)
    return Binned(order, values, offsets, middle)


def ascending(codes: Reals) -> Index:
    """What `np.argsort` gives up to the order of equal values, faster: leading bits of a value and its row, sorted as one integer."""
    n = len(codes)
    if n < 2 or n > _MOST_PACKED_ROWS or codes.dtype != np.float64:
        return np.argsort(codes)
    row_bits = np.int64((1 << (n - 1).bit_length()) - 1)
    keys = np.where(np.isnan(codes), np.inf, codes).view(np.int64)
    keys = keys ^ ((keys >> np.int64(63)) & np.int64(2**63 - 1))  # negative floats count downwards in their bits
    keys &= ~row_bits
    keys |= np.arange(n)
    keys.sort()
    order: Index = (keys & row_bits).astype(np.intp, copy=False)
    values = codes[order]
    present = values[: n - int(np.isnan(values).sum())]
    if not np.isnan(present.sum()) and (present[1:] >= present[:-1]).all():
        return order
    return order[np.argsort(values, kind="stable")]  # values that the leading bits do not tell apart


@dataclass(frozen=True)
class Pack:
    """A few categories as one code, so that one look at the rows serves them all."""

    members: tuple[int, ...]
    shape: tuple[int, ...]  # how many values of each member occur: without missing cells one fewer than it could have
    codes: NDArray[Any]

    @property
    def size(self) -> int:
        """How many codes there are."""
        return int(np.prod(self.shape))

    @cached_property
    def _values(self) -> dict[int, NDArray[Any]]:
        """(size,) for each member, the value that every code gives it."""
        found = np.unravel_index(np.arange(self.size), self.shape)
        return {member: values.astype(np.int32) for member, values in zip(self.members, found, strict=True)}

    def holds(self, member: int, value: int) -> Mask:
        """(size,) which codes mean that a member has this value."""
        return np.asarray(self._values[member] == value)


def pack_categories(codes: dict[int, Index], frequencies: dict[int, Reals]) -> list[Pack]:
    """Neighbouring categories together while their codes stay few."""
    packs: list[Pack] = []
    for at, cells in codes.items():
        used = len(frequencies[at]) - int(frequencies[at][-1] == 0)
        last = packs[-1] if packs else None
        if last is not None and last.size * used <= _PACKED:
            packs[-1] = Pack((*last.members, at), (*last.shape, used), last.codes * used + cells)
        else:
            packs.append(Pack((at,), (used,), cells))
    return packs


WHOLE = -1
"""The source of the group of all rows."""


@dataclass(frozen=True)
class Groups:
    """Rows of one column by group: counts per bin, and the codes that tell the groups apart."""

    counts: Rows  # (groups, bins + 1), the last bin being the missing cells
    packs: tuple[Pack, ...]  # their codes in ascending order of the column
    source: Index  # (groups,) which category a group belongs to; WHOLE is the whole column
    value: Index  # (groups,)

    @cached_property
    def _pack_of(self) -> dict[int, Pack]:
        return {member: pack for pack in self.packs for member in pack.members}

    def mask(self, group: int, positions: Index | slice) -> Mask:
        """Which rows, by their positions in the ascending column, belong to a group other than the whole."""
        pack, value = self._pack_of[int(self.source[group])], int(self.value[group])
        codes = pack.codes[positions] if isinstance(positions, slice) else pack.codes.take(positions)
        if len(pack.members) == 1:
            return np.asarray(codes == value)
        return pack.holds(int(self.source[group]), value).take(codes)


def group_rows(column: Binned, packs: tuple[Pack, ...], sizes: dict[int, int]) -> Groups:
    """Every value of every category as a group; the first group is the whole column."""
    ordered = tuple(Pack(pack.members, pack.shape, pack.codes.take(column.order)) for pack in packs)
    width = column.bins + 1
    whole = np.append(np.diff(column.offsets), len(column.order) - len(column.values)).astype(np.float64)
    parts, source, value = [whole[None]], [np.array([WHOLE])], [np.array([0])]
    firsts = column.sorted_places * _PACKED
    keys = np.empty_like(firsts)
    for pack in ordered:
        most = max(_PACKED, pack.size)
        np.add(firsts if most == _PACKED else column.sorted_places * most, pack.codes, out=keys)
        counts = np.bincount(keys, minlength=most * width).reshape(width, most)[:, : pack.size].reshape(width, *pack.shape)
        for axis, member in enumerate(pack.members):
            others = tuple(i + 1 for i in range(len(pack.shape)) if i != axis)
            part = np.zeros((sizes[member], width))
            part[: pack.shape[axis]] = counts.sum(axis=others).T
            parts.append(part)
            source.append(np.full(sizes[member], member))
            value.append(np.arange(sizes[member]))
    return Groups(np.vstack(parts), ordered, np.concatenate(source), np.concatenate(value))


def positions_of(column: Binned, bins: Index) -> Index:
    """The positions, in the ascending column, of all rows of some bins."""
    sizes = column.offsets[bins + 1] - column.offsets[bins]
    positions = np.repeat(column.offsets[bins] - (np.cumsum(sizes) - sizes), sizes)
    positions += np.arange(len(positions))
    return positions
