"""Findings of a search, page by page from its Parquet parts: sorted and filtered by reading one column, shown by reading one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

CODES = (f"{RESERVED}row_codes", f"{RESERVED}twin_codes")
Test = Literal["contains", "is", "at least", "at most"]
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
        """The findings of one page."""
        order = self.order(wish)
        chosen = order[start : start + length]
        names = self.columns()
        return FoundPage(len(order), chosen, names, tuple(self.take(chosen, names)))

    def order(self, wish: FindingsWish) -> Index:
        """The numbers of all findings that are wished for, in their order."""
        for name in (wish.sort, wish.where):
            if name and name not in self.columns():
                raise InvalidArgument(f"column {name!r} is not one of the findings' columns")
        if not wish.sort and not wish.where:
            plain = np.arange(self.count)
            return plain[::-1] if wish.is_descending else plain
        return _ordered(self, wish)

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
            lines = _cells(self.parts[place], self.sizes[place], local, tuple(names))
            found |= dict(zip((int(at) for at in here), lines, strict=True))
        return [found[at] for at in sorted(found)]


def _cells(part: Path, size: int, local: Index, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    table = _table(part, size, names)
    missing = [None] * len(local)
    columns = [table.column(name).take(local).to_pylist() if name in table.column_names else missing for name in names]
    return list(zip(*columns, strict=True)) if columns else [()] * len(local)


@lru_cache(maxsize=24)
def _table(part: Path, size: int, names: tuple[str, ...]) -> pa.Table:  # noqa: ARG001 - a part of another size is another part
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(part, read_dictionary=[field.name for field in parquet.read_schema(part) if field.type == pa.string()])
        return file.read([name for name in names if name in file.schema_arrow.names])
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
def _ordered(rows: FoundRows, wish: FindingsWish) -> Index:
    chosen = np.flatnonzero(_column(rows, wish.where).passing(wish)) if wish.where else np.arange(rows.count)
    if not wish.sort:
        return chosen[::-1] if wish.is_descending else chosen
    keys = _column(rows, wish.sort).ranks[chosen]
    # Descending by the negated rank, so that equal cells stay in the order in which they were found and missing ones stay last.
    return chosen[np.argsort(-keys if wish.is_descending else keys, kind="stable")]


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
