"""A numeric column in ascending order and cut into bins, and its rows in groups: what fits and tests look at.

Work over rows goes in pieces that stay in the processor's cache; all categories of a row lie side by side for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows

BINS = 2_048
MANY_ROWS = 400_000
"""From here on there are twice as many bins, so that fewer rows of each have to be opened."""
PIECE = 16_384
"""Rows that are looked at together."""
_MOST_PACKED_ROWS = 2**22
_PACKED = 64
"""Most codes of a pack of several categories."""
_ALIGNED = 16
"""The codes of a row take a multiple of as many places: such rows are moved fastest."""

Span: TypeAlias = tuple[int, int]  # positions from the first up to, not including, the second


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

    def spans(self, bins: Index) -> list[Span]:
        """The positions of some ascending bins, neighbours together."""
        breaks = np.flatnonzero(np.diff(bins) > 1)
        first, last = bins[np.append(0, breaks + 1)], bins[np.append(breaks, len(bins) - 1)]
        return list(zip(self.offsets[first].tolist(), self.offsets[last + 1].tolist(), strict=True))


def bin_column(codes: Reals) -> Binned:
    """Sort a column and cut it."""
    bins = BINS if len(codes) < MANY_ROWS else 2 * BINS
    order, values = ascending(codes)
    values = values[: np.searchsorted(values, np.nan)]
    borders = np.unique(values[np.linspace(0, len(values) - 1, min(bins, len(values))).astype(np.intp)]) if len(values) else values
    offsets = np.append(np.searchsorted(values, borders), len(values)).astype(np.intp)
    middle = np.add.reduceat(values, offsets[:-1]) / np.diff(offsets) if len(borders) else np.empty(0)
    return Binned(order, values, offsets, middle)


def ascending(codes: Reals) -> tuple[Index, Reals]:
    """A column's order, missing cells last, and its values in that order.

    Leading bits of a value and its row are sorted as one integer, which is faster than `np.argsort`.
    """
    n = len(codes)
    if n < 2 or n > _MOST_PACKED_ROWS or codes.dtype != np.float64:
        order = np.argsort(codes)
        return order, codes[order]
    row_bits = np.int64((1 << (n - 1).bit_length()) - 1)
    keys = _sortable(codes)
    keys &= ~row_bits
    keys |= np.arange(n)
    keys.sort()
    keys &= row_bits
    order = keys.astype(np.intp, copy=False)
    values = codes[order]
    if _is_ascending(values):
        return order, values
    again = np.argsort(values, kind="stable")  # values that the leading bits do not tell apart
    return order[again], values[again]


def _sortable(codes: Reals) -> NDArray[np.int64]:
    """Whole numbers in the order of the codes, a missing cell above all."""
    keys = (codes + 0.0).view(np.int64)
    keys[np.isnan(codes)] = np.iinfo(np.int64).max
    if keys.min() < 0:
        keys ^= (keys >> np.int64(63)) & np.int64(2**63 - 1)  # negative floats count downwards in their bits
    return keys


def _is_ascending(values: Reals) -> bool:
    present = values[: len(values) - int(np.isnan(values).sum())] if np.isnan(values[-1]) else values
    return bool((present[1:] >= present[:-1]).all())


@dataclass(frozen=True)
class Pack:
    """A few categories as one code, so that one look at the rows serves them all."""

    members: tuple[int, ...]
    shape: tuple[int, ...]  # how many values of each member occur: without missing cells one fewer than it could have

    @property
    def size(self) -> int:
        """How many codes there are."""
        return int(np.prod(self.shape))

    @cached_property
    def _values(self) -> dict[int, NDArray[Any]]:
        """(size,) for each member, the value that every code gives it."""
        return dict(zip(self.members, np.unravel_index(np.arange(self.size), self.shape), strict=True))

    def holds(self, member: int, value: int) -> Mask:
        """(size,) which codes mean that a member has this value."""
        return np.asarray(self._values[member] == value)

    def sums(self, member: int, size: int) -> Rows:
        """(values of the member, codes): what a table by code is multiplied with to give one by value."""
        return np.array([self.holds(member, value) for value in range(size)], dtype=np.float64)


@dataclass(frozen=True)
class Packed:
    """All categories of a table as packs, the codes of a row side by side."""

    packs: tuple[Pack, ...]
    codes: NDArray[Any]  # (rows, packs or a few more) of a small whole type

    @cached_property
    def pack_of(self) -> dict[int, int]:
        """Category -> the number of its pack."""
        return {member: number for number, pack in enumerate(self.packs) for member in pack.members}


def pack_categories(codes: dict[int, NDArray[Any]], frequencies: dict[int, Reals]) -> Packed:
    """Categories together while their codes stay few, the largest first."""
    packs: list[Pack] = []
    used = {at: len(counts) - int(counts[-1] == 0) for at, counts in frequencies.items()}
    for at in sorted(codes, key=lambda at: -used[at]):
        room = next((number for number, pack in enumerate(packs) if pack.size * used[at] <= _PACKED), None)
        if room is None:
            packs.append(Pack((at,), (used[at],)))
        else:
            packs[room] = Pack((*packs[room].members, at), (*packs[room].shape, used[at]))
    rows = len(next(iter(codes.values()), ()))
    width = -(-len(packs) // _ALIGNED) * _ALIGNED
    packed = np.zeros((rows, width), dtype=np.min_scalar_type(max((pack.size for pack in packs), default=1)))
    for begin in range(0, rows, PIECE):
        span = slice(begin, begin + PIECE)
        for number, pack in enumerate(packs):
            packed[span, number] = _joined(pack, {member: codes[member][span] for member in pack.members}, packed.dtype)
    return Packed(tuple(packs), packed)


def _joined(pack: Pack, cells: dict[int, NDArray[Any]], kind: np.dtype[Any]) -> NDArray[Any]:
    found = cells[pack.members[0]].astype(kind)
    for member, used in zip(pack.members[1:], pack.shape[1:], strict=True):
        found = found * kind.type(used) + cells[member].astype(kind)
    return found


WHOLE = -1
"""The source of the group of all rows."""


@dataclass(frozen=True)
class Groups:
    """Rows of one column by group: counts per bin, and the codes that tell the groups apart."""

    counts: Rows  # (groups, bins + 1), the last bin being the missing cells
    packed: Packed
    codes: NDArray[Any]  # (packs, rows) in ascending order of the column
    source: Index  # (groups,) which category a group belongs to; WHOLE is the whole column
    value: Index  # (groups,)

    def mask(self, group: int, spans: list[Span]) -> Mask:
        """Which rows, by their positions in the ascending column, belong to a group other than the whole."""
        source, value = int(self.source[group]), int(self.value[group])
        number = self.packed.pack_of[source]
        pack = self.packed.packs[number]
        ordered = self.codes[number]
        codes = np.concatenate([ordered[begin:end] for begin, end in spans])
        if len(pack.members) == 1:
            return np.asarray(codes == value)
        # Packs of several categories have few codes, which bytes look up faster than arrays do.
        told = bytes(pack.holds(source, value)).ljust(256, b"\0")
        return np.frombuffer(codes.astype(np.uint8, copy=False).tobytes().translate(told), dtype=np.bool_)

    def positions(self, group: int, spans: list[Span]) -> Index:
        """The positions of a group's rows inside some spans."""
        begins, ends = np.array(spans).T
        before = np.cumsum(ends - begins) - (ends - begins)
        inside = np.flatnonzero(self.mask(group, spans))
        inside += np.repeat(begins - before, np.diff(np.append(np.searchsorted(inside, before), len(inside))))
        return inside


def group_rows(column: Binned, packed: Packed, sizes: dict[int, int]) -> Groups:
    """Every value of every category as a group; the first group is the whole column."""
    ordered, tables = _count(column, packed)
    whole = np.append(np.diff(column.offsets), len(column.order) - len(column.values)).astype(np.float64)
    counts = np.empty((1 + sum(sizes.values()), column.bins + 1))
    counts[0] = whole
    begins = dict(zip(sizes, 1 + np.cumsum([0, *sizes.values()]), strict=False))
    for pack, table in zip(packed.packs, tables, strict=True):
        for member, part in _by_value(pack, table[:, : pack.size], sizes):
            counts[begins[member] : begins[member] + sizes[member]] = part
    source = np.concatenate([[WHOLE], *(np.full(size, member) for member, size in sizes.items())])
    value = np.concatenate([[0], *(np.arange(size) for size in sizes.values())])
    return Groups(counts, packed, ordered, source, value)


def _by_value(pack: Pack, table: Index, sizes: dict[int, int]) -> Iterator[tuple[int, Rows]]:
    """For every member (values, bins + 1)."""
    if len(pack.members) == 1:
        yield pack.members[0], np.pad(table.T, ((0, sizes[pack.members[0]] - pack.size), (0, 0)))
        return
    # Whole numbers below 2^24 are exact in the smaller type, which is multiplied twice as fast.
    kind: Any = np.float32 if table.max(initial=0) * pack.size < 2**24 else np.float64
    by_code: NDArray[Any] = table.astype(kind).T
    for member in pack.members:
        yield member, pack.sums(member, sizes[member]).astype(kind) @ by_code


def _count(column: Binned, packed: Packed) -> tuple[NDArray[Any], list[Index]]:
    """The codes in ascending order of the column, and for every pack a table (bins + 1, codes) of rows."""
    ordered = np.empty((len(packed.packs), len(packed.codes)), dtype=packed.codes.dtype)
    widths = [max(_PACKED, pack.size) for pack in packed.packs]
    tables = [np.zeros((column.bins + 1, width), dtype=np.intp) for width in widths]
    for begin in range(0, len(packed.codes), PIECE):  # none where there are no categories
        span = slice(begin, min(begin + PIECE, len(packed.codes)))
        ordered[:, span] = packed.codes.take(column.order[span], axis=0).T[: len(ordered)]
        places = column.sorted_places[span]
        first, last = int(places[0]), int(places[-1]) + 1
        bases = {width: (places - first) * width for width in set(widths)}
        for number, (table, width) in enumerate(zip(tables, widths, strict=True)):
            keys = bases[width] + ordered[number, span]
            table[first:last] += np.bincount(keys, minlength=(last - first) * width).reshape(-1, width)
    return ordered, tables
