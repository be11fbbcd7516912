"""Findings of a search, page by page from its Parquet parts: sorted and filtered by reading one column, shown by reading one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arrays import Index, Mask, Reals
from evenhand.dashboard.run_state import parts_in, rows_in
from evenhand.engine.findings import RESERVED
from evenhand.errors import InvalidArgument, StoreError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as parquet

CODES = (f"{RESERVED}row_codes", f"{RESERVED}twin_codes")
Test = Literal["contains", "is", "at least", "at most"]
EARLY, STRIDE = 20, 1_000
"""A page within the first twentieth of all findings is found without sorting the others, so many findings at a time."""
TESTS: tuple[Test, ...] = ("contains", "is", "at least", "at most")


@dataclass(frozen=True)
class FindingsWish:
    """Which findings, in which order: `sort` names a column, `where` one that must pass the test with the value."""

    sort: str = ""
    is_descending: bool = False
    where: str = ""
    test: Test = "contains"
    value: str = ""


@dataclass(frozen=True)
class FoundPage:
    """One page of findings: their numbers in the search, and their cells."""

    total: int
    numbers: Index
    columns: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class FoundRows:
    """The findings of one search, as they are on the disk at this moment.

    >>> from pathlib import Path
    >>> FoundRows.below(Path("no search")).count
    0
    """

    parts: tuple[Path, ...]
    sizes: tuple[int, ...]  # in bytes; with the names they tell whether anything has changed

    @classmethod
    def below(cls, folder: Path) -> FoundRows:
        """The parts in a search's folder."""
        parts = tuple(parts_in(folder / "findings"))
        return cls(parts, tuple(part.stat().st_size for part in parts))

    @property
    def counts(self) -> Index:
        """How many findings each part holds."""
        return np.array([rows_in(part, size) for part, size in zip(self.parts, self.sizes, strict=True)], dtype=np.intp)

    @property
    def count(self) -> int:
        """How many findings there are."""
        return int(self.counts.sum()) if self.parts else 0

    def columns(self) -> tuple[str, ...]:
        """The columns of a reader, without codes."""
        return tuple(name for name in _names(self) if name not in CODES)

    def page(self, wish: FindingsWish, start: int, length: int) -> FoundPage:
        """The findings of one page; an early page does not sort those behind it."""
        self._check(wish)
        end = start + length
        if wish.sort and end * EARLY <= self.count:
            chosen = _first(self, wish, -(-end // STRIDE) * STRIDE)[start:end]
        else:
            chosen = self.order(wish)[start:end]
        names = self.columns()
        return FoundPage(self.total(wish), chosen, names, tuple(self.take(chosen, names)))

    def total(self, wish: FindingsWish) -> int:
        """How many findings are wished for."""
        self._check(wish)
        return len(_passing(self, replace(wish, sort="", is_descending=False))) if wish.where else self.count

    def order(self, wish: FindingsWish) -> Index:
        """The numbers of all findings that are wished for, in their order."""
        self._check(wish)
        if not wish.sort and not wish.where:
            plain = np.arange(self.count)
            return plain[::-1] if wish.is_descending else plain
        return _ordered(self, wish)

    def _check(self, wish: FindingsWish) -> None:
        for name in (wish.sort, wish.where):
            if name and name not in self.columns():
                raise InvalidArgument(f"column {name!r} is not one of the findings' columns")

    def codes(self, number: int, side: str = "row") -> list[float]:
        """The exact codes of the person or of the twin of one finding."""
        taken = self.take(np.array([number], dtype=np.intp), [f"{RESERVED}{side}_codes"])
        if not taken:
            raise StoreError(f"there is no finding number {number:,}")
        return [float("nan") if code is None else float(code) for code in taken[0][0]]

    def take(self, numbers: Index, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """The cells of these findings; only the parts that hold them are read."""
        ends = np.cumsum(self.counts)
        inside = (numbers >= 0) & (numbers < (ends[-1] if len(ends) else 0))
        found: dict[int, tuple[Any, ...]] = {}
        places = np.searchsorted(ends, numbers, side="right")
        for place in np.unique(places[inside]):
            here = np.flatnonzero((places == place) & inside)
            local = numbers[here] - (ends[place - 1] if place else 0)
            lines = _cells(self.parts[place], local, tuple(names))
            found |= dict(zip((int(at) for at in here), lines, strict=True))
        return [found[at] for at in sorted(found)]


def _cells(part: Path, local: Index, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """The cells of these rows of a part: only the groups of rows that hold them are read."""
    import pyarrow as pa

    try:
        file = _opened(part)
        ends = np.cumsum([file.metadata.row_group(place).num_rows for place in range(file.num_row_groups)])
        groups = np.unique(np.searchsorted(ends, local, side="right"))
        table = file.read_row_groups([int(each) for each in groups], [n for n in names if n in file.schema_arrow.names], use_threads=False)
    except (OSError, pa.ArrowException) as fault:
        raise StoreError(f"{part.name} cannot be read: {fault}") from None
    lengths = np.diff(ends, prepend=0)[groups]
    starts = ends[groups] - lengths - np.concatenate([[0], np.cumsum(lengths)[:-1]])  # from places in the part to places in what was read
    local = local - starts[np.searchsorted(groups, np.searchsorted(ends, local, side="right"))]
    missing = [None] * len(local)
    columns = [table.column(name).take(local).to_pylist() if name in table.column_names else missing for name in names]
    return list(zip(*columns, strict=True)) if columns else [()] * len(local)


def _opened(part: Path) -> parquet.ParquetFile:
    """A part whose words are read as codes."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    return parquet.ParquetFile(part, read_dictionary=[field.name for field in parquet.read_schema(part) if field.type == pa.string()])


@lru_cache(maxsize=24)
def _table(part: Path, size: int, names: tuple[str, ...]) -> pa.Table:  # noqa: ARG001 - a part of another size is another part
    import pyarrow as pa

    try:
        file = _opened(part)
        return file.read([name for name in names if name in file.schema_arrow.names], use_threads=False)
    except (OSError, pa.ArrowException) as fault:
        raise StoreError(f"{part.name} cannot be read: {fault}") from None


@lru_cache(maxsize=64)
def _names(rows: FoundRows) -> tuple[str, ...]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    found: dict[str, None] = {}
    for part in {*rows.parts[:1], *rows.parts[-1:]}:  # a column that no twin changes at first may come later
        try:
            found |= dict.fromkeys(parquet.read_schema(part).names)
        except (OSError, pa.ArrowException) as fault:
            raise StoreError(f"{part.name} cannot be read: {fault}") from None
    return tuple(found)


@lru_cache(maxsize=16)
def _passing(rows: FoundRows, wish: FindingsWish) -> Index:
    """The numbers of the findings that pass the test, as they were found."""
    return np.flatnonzero(_column(rows, wish.where).passing(wish))


@lru_cache(maxsize=16)
def _ordered(rows: FoundRows, wish: FindingsWish) -> Index:
    chosen = _passing(rows, replace(wish, sort="", is_descending=False)) if wish.where else np.arange(rows.count)
    if not wish.sort:
        return chosen[::-1] if wish.is_descending else chosen
    return chosen[np.argsort(_keys(rows, wish, chosen), kind="stable")]


@lru_cache(maxsize=16)
def _first(rows: FoundRows, wish: FindingsWish, count: int) -> Index:
    """The first so many of the wished order: only what may be among them is sorted."""
    chosen = _passing(rows, replace(wish, sort="", is_descending=False)) if wish.where else None
    keys = _keys(rows, wish, chosen)
    if count < len(keys):
        last = np.partition(keys, count - 1)[count - 1]
        near = np.flatnonzero(keys <= last) if not np.isnan(last) else np.arange(len(keys))
    else:
        near = np.arange(len(keys))
    found = near[np.argsort(keys[near], kind="stable")][:count]
    return found if chosen is None else chosen[found]


def _keys(rows: FoundRows, wish: FindingsWish, chosen: Index | None) -> Reals:
    """What is sorted by.  Descending by the negated rank, so that equal cells stay as they were found and missing ones stay last."""
    ranks = _column(rows, wish.sort).ranks
    ranks = ranks if chosen is None else ranks[chosen]
    return -ranks if wish.is_descending else ranks


@dataclass(frozen=True)
class NumberCells:
    """A column of numbers of all findings; a missing cell is NaN, which sorts last."""

    ranks: Reals

    def passing(self, wish: FindingsWish) -> Mask:
        """Which cells pass the test."""
        wanted = _as_number(wish.value)
        if wish.test == "contains":
            return np.array([wish.value in f"{value:.12g}" for value in self.ranks], dtype=bool)
        if wanted is None:
            return np.zeros(len(self.ranks), dtype=bool)
        compared = {"is": np.equal, "at least": np.greater_equal, "at most": np.less_equal}[wish.test]
        return np.asarray(compared(self.ranks, wanted), dtype=bool)


@dataclass(frozen=True)
class WordCells:
    """A column of words of all findings: a code for each cell, and what the codes stand for; a missing cell has code -1."""

    codes: Index
    words: tuple[str, ...]

    @property
    def ranks(self) -> Reals:
        """A number for each cell that sorts as the cell does; missing ones are NaN, which sorts last."""
        rank = np.full(len(self.words) + 1, np.nan)
        rank[sorted(range(len(self.words)), key=self.words.__getitem__)] = np.arange(len(self.words), dtype=np.float64)
        return rank[self.codes]

    def passing(self, wish: FindingsWish) -> Mask:
        """Which cells pass the test."""
        passes = np.array([*(_passes(word, wish) for word in self.words), False])
        return np.asarray(passes[self.codes], dtype=bool)


@lru_cache(maxsize=16)
def _column(rows: FoundRows, name: str) -> NumberCells | WordCells:
    """The column over all parts; numbers in one part and words in another are all words."""
    import pyarrow as pa
    import pyarrow.compute as compute

    tables = [_table(part, size, (name,)) for part, size in zip(rows.parts, rows.sizes, strict=True)]
    kind = pa.float64() if all(_is_number(table, name) for table in tables) else pa.string()
    cells = [table.column(name).cast(kind) if name in table.column_names else pa.nulls(table.num_rows, kind) for table in tables]
    whole = pa.chunked_array([piece for each in cells for piece in getattr(each, "chunks", [each])], kind)
    if kind == pa.float64():
        return NumberCells(whole.to_numpy())
    encoded = compute.dictionary_encode(whole).combine_chunks()
    encoded = encoded if isinstance(encoded, pa.DictionaryArray) else encoded.chunk(0)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    return WordCells(codes, tuple(encoded.dictionary.to_pylist()))


def _is_number(table: pa.Table, name: str) -> bool:
    import pyarrow as pa

    if name not in table.column_names:
        return False
    kind = table.schema.field(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _passes(word: str, wish: FindingsWish) -> bool:
    if wish.test == "contains":
        return wish.value.casefold() in word.casefold()
    if wish.test == "is":
        return word == wish.value
    left, right = _as_number(word), _as_number(wish.value)
    if left is None or right is None:
        return False
    return left >= right if wish.test == "at least" else left <= right


def _as_number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None
