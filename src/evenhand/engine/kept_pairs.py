"""Rows and their twins as findings keep them: usual tables' rows as they are, wide ones' in as few bytes as their codes need, exactly; of
twins only the columns in which any of them differs.

A wide table's row has hundreds of cells, of which most need one byte and few differ from its twin's.  Whoever needs the codes unpacks
the findings that it looks at, and not all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Rows
from evenhand.domain.columns import Column

WIDE_COLUMNS = 48
"""From here on packing saves more than it costs."""

CELLS_AT_ONCE = 4_000_000
"""So many cells are unpacked at once by whoever goes through all pairs."""


@dataclass(frozen=True)
class Packing:
    """Which columns need one byte, which two, and which are kept as numbers; the largest code of a type is a missing cell."""

    low: Rows  # the code that becomes 0, one for each column
    bytes_at: Index
    words_at: Index
    numbers_at: Index

    @property
    def is_plain(self) -> bool:
        """Whether every column is kept as numbers."""
        return len(self.numbers_at) == len(self.low)

    def equals(self, other: Packing) -> bool:
        """Whether the same codes are packed in the same way."""
        return self is other or all(np.array_equal(getattr(self, each.name), getattr(other, each.name)) for each in fields(Packing))


def _plain_packing(columns: int) -> Packing:
    none = np.empty(0, dtype=np.intp)
    return Packing(np.zeros(columns), none, none, np.arange(columns))


@lru_cache(maxsize=16)
def _packing(columns: tuple[Column, ...]) -> Packing:
    """The packing of a table; a narrow one is not packed."""
    if len(columns) < WIDE_COLUMNS:
        return _plain_packing(len(columns))
    codes = np.array([np.inf if (count := column.cardinality) is None else count + column.reserve for column in columns])
    low = np.array([column.lowest for column in columns])
    small, middle = codes <= 255, (codes > 255) & (codes <= 65_535)
    return Packing(low, np.flatnonzero(small), np.flatnonzero(middle), np.flatnonzero(~small & ~middle))


@dataclass(frozen=True)
class KeptPairs:
    """Pairs of a row and its twin, packed."""

    packing: Packing
    small: NDArray[np.uint8]  # (n, columns of one byte)
    middle: NDArray[np.uint16]  # (n, columns of two)
    numbers: Rows  # (n, the other columns)
    places: Index  # the columns in which any twin differs from its row
    cells: Rows  # (n, places): the twins' codes there

    @classmethod
    def of(cls, rows: Rows, twins: Rows, columns: tuple[Column, ...]) -> KeptPairs:
        """Pack them; codes that do not fit the columns are kept as they are."""
        packing, places = _packing(columns), np.flatnonzero(_differing(rows, twins).any(axis=0))
        if packing.is_plain:
            return replace(cls.plain(rows, rows), places=places, cells=twins[:, places])
        small = _narrow(rows[:, packing.bytes_at] - packing.low[packing.bytes_at], np.uint8)
        middle = _narrow(rows[:, packing.words_at] - packing.low[packing.words_at], np.uint16)
        made = cls(packing, small, middle, rows[:, packing.numbers_at], places, twins[:, places])
        return cls.plain(rows, twins) if _differing(made.rows, rows).any() else made

    @classmethod
    def plain(cls, rows: Rows, twins: Rows) -> KeptPairs:
        """As they are, without a copy."""
        packing = _plain_packing(rows.shape[1])
        return cls(packing, np.empty((len(rows), 0), np.uint8), np.empty((len(rows), 0), np.uint16), rows, packing.numbers_at, twins)

    @classmethod
    def join(cls, parts: Sequence[KeptPairs]) -> KeptPairs:
        """All parts as one; at least one part."""
        if len(parts) == 1:
            return parts[0]
        if not all(part.packing.equals(parts[0].packing) for part in parts):
            return cls.plain(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "twins")))
        places = np.unique(np.concatenate([part.places for part in parts]))
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("small", "middle", "numbers")}
        return cls(parts[0].packing, **columns, places=places, cells=np.concatenate([part.twins_at(places) for part in parts]))

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, chosen: Any) -> KeptPairs:
        parts = (self.small[chosen], self.middle[chosen], self.numbers[chosen])
        return KeptPairs(self.packing, *parts, self.places, self.cells[chosen])

    @property
    def rows(self) -> Rows:
        """The rows' codes."""
        packing = self.packing
        if packing.is_plain:
            return self.numbers
        rows = np.empty((len(self), len(packing.low)))
        rows[:, packing.bytes_at] = _wide(self.small) + packing.low[packing.bytes_at]
        rows[:, packing.words_at] = _wide(self.middle) + packing.low[packing.words_at]
        rows[:, packing.numbers_at] = self.numbers
        return rows

    @property
    def twins(self) -> Rows:
        """The twins' codes."""
        if len(self.places) == len(self.packing.low):
            return self.cells
        twins = self.numbers.copy() if self.packing.is_plain else self.rows
        twins[:, self.places] = self.cells
        return twins

    def rows_at(self, places: Sequence[int] | Index) -> Rows:
        """The rows' codes in some columns, of which alone these are unpacked."""
        packing = self.packing
        if packing.is_plain:
            return self.numbers[:, list(places)]
        codes = np.empty((len(self), len(places)))
        for at, place in enumerate(places):
            for kept, columns in ((self.small, packing.bytes_at), (self.middle, packing.words_at)):
                for here in np.flatnonzero(columns == place):
                    codes[:, at] = _wide(kept[:, here]) + packing.low[place]
            for here in np.flatnonzero(packing.numbers_at == place):
                codes[:, at] = self.numbers[:, here]
        return codes

    def twins_at(self, places: Sequence[int] | Index) -> Rows:
        """The twins' codes in some columns, likewise."""
        if np.array_equal(places, self.places):
            return self.cells
        codes = self.rows_at(places)
        for at, place in enumerate(places):
            for here in np.flatnonzero(self.places == place):
                codes[:, at] = self.cells[:, here]
        return codes

    def stretches(self) -> Iterator[slice]:
        """Positions in turn, so few at once that they can be unpacked."""
        step = max(1, CELLS_AT_ONCE // max(1, len(self.packing.low)))
        return (slice(at, at + step) for at in range(0, len(self), step))


def _differing(first: Rows, second: Rows) -> Mask:
    """Which cells differ, a missing one being equal to a missing one."""
    differs: Mask = first != second
    if differs.any():
        differs &= ~(np.isnan(first) & np.isnan(second))
    return differs


def _narrow(codes: Rows, kind: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    """Codes from 0 on as whole numbers of one type, the largest of which is a missing cell."""
    most = np.iinfo(kind).max
    return np.where((codes >= 0) & (codes < most), codes, most).astype(kind)


def _wide(codes: NDArray[Any]) -> Rows:
    """The same as numbers again."""
    wide = codes.astype(np.float64)
    wide[codes == np.iinfo(codes.dtype).max] = np.nan
    return wide
