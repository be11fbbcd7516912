"""Large CSV files through Arrow, cell for cell what the careful reader in `frames` gives, at a tenth of its cost.

Whatever Arrow does not read beyond doubt is left to the careful reader: `read_bulk` then answers None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SMALLEST_BULK = 4 << 20
"""Bytes from which a file is worth the second way of reading."""
MOST_WIDENED = 8
"""How often a column may turn out wider than its first block; beyond this the careful reader is as quick."""
EXACT_AS_FLOAT = 2.0**53
_CHUNK = 2 << 20


@dataclass(frozen=True)
class BulkFile:
    """A file with what is known of it before a cell is read."""

    path: Path
    delimiter: str
    missing_values: tuple[str, ...]
    numbers: tuple[str, ...] = ()  # columns that are known to hold numbers, whatever zeros stand before them


def read_bulk(file: BulkFile) -> pd.DataFrame | None:
    """The table, or None where only the careful reader is sure of every cell."""
    with _lasting_memory() as memory:
        frame = _frame(file)
        memory.release_unused()
    return frame


def _frame(file: BulkFile) -> pd.DataFrame | None:
    import pandas as pd
    import pyarrow as pa

    try:
        whole = _whole_table(file)
        table = None if whole is None else whole.cells
        texts = [] if whole is None else [*_times(whole.cells.schema), *whole.padded, *_padded(file, whole.cells.schema, whole.unseen)]
        kept = _read(file, dict.fromkeys(texts, _shared_text()), texts) if texts else table
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    if table is None or kept is None or any(_loses_digits(column) for column in table.columns):
        return None
    held: dict[str, Any] = dict(zip(table.column_names, table.columns, strict=True))
    held |= {name: kept.column(name) for name in texts}
    del whole, table, kept
    # A column is let go of when its cells have been taken over, so that hardly anything is held twice.
    return pd.DataFrame({name: _cells(held.pop(name)) for name in list(held)}, copy=False)


@dataclass(frozen=True)
class _Whole:
    """A table as read, its columns of whole numbers with a cell such as 04109, and those whose texts nobody looked at."""

    cells: pa.Table
    padded: tuple[str, ...]
    unseen: tuple[str, ...]


def _whole_table(file: BulkFile) -> _Whole | None:
    """Every column, its type guessed from the first block and widened where a later block needs it."""
    import pyarrow as pa
    from pyarrow import csv

    first = csv.open_csv(file.path, csv.ReadOptions(use_threads=False), _parsing(file), _converting(file, {})).schema
    codes = {*_times(first), *_padded_first(file, first)}
    types = {
        field.name: _shared_text() if pa.types.is_string(field.type) or pa.types.is_null(field.type) or field.name in codes else field.type
        for field in first
    }
    seen = [name for name, kind in types.items() if pa.types.is_integer(kind) and name not in file.numbers]
    for _ in range(MOST_WIDENED):
        try:
            return _read_seen(file, types, seen)
        except _NotDigits as fault:
            seen.remove(fault.name)  # Arrow's own reading may still take it for a whole number, such as one between spaces
        except pa.ArrowInvalid as fault:
            place = re.search(r"CSV column #(\d+)", str(fault))
            if place is None:
                raise
            name = first.names[int(place.group(1))]
            types[name] = pa.float64() if pa.types.is_integer(types[name]) else _shared_text()
            seen = [other for other in seen if other != name]
    return None


class _NotDigits(Exception):
    """A column of whole numbers has a cell that is not written in digits alone."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _read_seen(file: BulkFile, types: Mapping[str, Any], seen: Sequence[str]) -> _Whole:
    """The table in one pass; the texts of these columns of whole numbers are looked at on the way, for zeros before them."""
    import pyarrow as pa
    from pyarrow import csv

    wanted = {**types, **dict.fromkeys(seen, pa.string())}
    reader = csv.open_csv(file.path, _reading(), _parsing(file), _converting(file, wanted))
    batches, padded = [], dict.fromkeys(seen, False)
    for batch in reader:
        cells = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name in seen:
            padded[name] = padded[name] or _begins_with_zero(cells[name])
            cells[name] = _whole_numbers(cells[name], name)
        batches.append(pa.RecordBatch.from_pydict(cells))
    unseen = [name for name, kind in types.items() if pa.types.is_integer(kind) and name not in seen and name not in file.numbers]
    kinds = pa.schema([(name, types.get(name)) for name in reader.schema.names])
    return _Whole(pa.Table.from_batches(batches, kinds), tuple(name for name in seen if padded[name]), tuple(unseen))


def _whole_numbers(texts: Any, name: str) -> Any:
    """Texts of digits as numbers."""
    import pyarrow as pa

    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid:
        raise _NotDigits(name) from None


def _shared_text() -> Any:
    """Text whose equal cells are kept once."""
    import pyarrow as pa

    return pa.dictionary(pa.int32(), pa.string())


def _read(file: BulkFile, types: Mapping[str, Any], only: Sequence[str] = ()) -> pa.Table:
    """The table block by block, so that no more than a block is held beside what is read."""
    import pyarrow as pa
    from pyarrow import csv

    reader = csv.open_csv(file.path, _reading(), _parsing(file), _converting(file, types, only))
    return pa.Table.from_batches(list(reader), reader.schema)


@contextmanager
def _lasting_memory() -> Iterator[pa.MemoryPool]:
    """Arrow's memory from jemalloc where it is built in: the usual pool asks for huge pages anew, and has them cleared, block by block."""
    import pyarrow as pa

    usual = pa.default_memory_pool()
    with suppress(NotImplementedError):
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    try:
        yield pa.default_memory_pool()
    finally:
        pa.set_memory_pool(usual)


def _reading() -> Any:
    from pyarrow import csv

    return csv.ReadOptions(use_threads=False, block_size=_CHUNK)


def _parsing(file: BulkFile) -> Any:
    from pyarrow import csv

    return csv.ParseOptions(delimiter=file.delimiter, newlines_in_values=True)


def _converting(file: BulkFile, types: Mapping[str, Any], only: Sequence[str] = ()) -> Any:
    from pyarrow import csv

    return csv.ConvertOptions(
        null_values=list(file.missing_values),
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        include_columns=list(only) or None,
        column_types=dict(types),
        true_values=["True", "TRUE", "true"],
        false_values=["False", "FALSE", "false"],
    )


def _times(schema: pa.Schema) -> list[str]:
    """Columns that Arrow took for dates or times: their cells stay the texts that they are."""
    return [field.name for field in schema if str(field.type).startswith(("date", "time", "duration"))]


def _padded(file: BulkFile, schema: pa.Schema, unseen: Sequence[str]) -> list[str]:
    """Of columns of whole numbers whose texts nobody looked at, those with a cell such as 04109, which is a code and no number."""
    import pyarrow as pa
    from pyarrow import csv

    wholes = [field.name for field in schema if pa.types.is_integer(field.type) and field.name in unseen]
    if not wholes or not _has_padding(file.path, file.delimiter):
        return []
    texts = csv.ConvertOptions(include_columns=wholes, column_types=dict.fromkeys(wholes, pa.string()))
    found: set[str] = set()
    for batch in csv.open_csv(file.path, _reading(), _parsing(file), texts):
        rest = [name for name in wholes if name not in found]
        found |= {name for name in rest if _has_padded(batch.column(name))}
    return [name for name in wholes if name in found]


def _padded_first(file: BulkFile, schema: pa.Schema) -> list[str]:
    """Columns of whole numbers that show such a cell in the first block already, as nearly all of them do."""
    import pyarrow as pa
    from pyarrow import csv

    wholes = [field.name for field in schema if pa.types.is_integer(field.type) and field.name not in file.numbers]
    texts = csv.ConvertOptions(include_columns=wholes, column_types=dict.fromkeys(wholes, pa.string()))
    reader = csv.open_csv(file.path, csv.ReadOptions(use_threads=False), _parsing(file), texts) if wholes else iter(())
    return [name for batch in islice(reader, 1) for name in wholes if _has_padded(batch.column(name))]


def _has_padded(cells: Any) -> bool:
    """Whether a whole number in these texts begins with a zero that says nothing; few columns need the slow look."""
    import pyarrow.compute as compute

    spaced = compute.any(compute.starts_with(cells, " ")).as_py() or compute.any(compute.starts_with(cells, "\t")).as_py()
    if spaced:
        return bool(compute.any(compute.match_substring_regex(cells, r"^\s*0\d+\s*$")).as_py())
    return _begins_with_zero(cells)


def _begins_with_zero(cells: Any) -> bool:
    import pyarrow.compute as compute

    return bool(compute.any(compute.and_(compute.starts_with(cells, "0"), compute.greater(compute.binary_length(cells), 1))).as_py())


def _has_padding(path: Path, delimiter: str) -> bool:
    """Whether any field begins with a zero and another digit; what stands at the border of two chunks is seen from both."""
    pattern = re.compile(
        rb"(?:^|[\n\r\"" + re.escape(delimiter.encode()) + rb"])[ ]*0\d+[ ]*(?:$|[\n\r\"" + re.escape(delimiter.encode()) + rb"])"
    )
    with path.open("rb") as file:
        tail = b""
        while chunk := file.read(_CHUNK):
            if pattern.search(tail + chunk):
                return True
            tail = chunk[-64:]
    return False


def _loses_digits(column: pa.ChunkedArray) -> bool:
    """Whether a number is so large that it may have been a whole number with more digits than a float keeps."""
    import pyarrow as pa
    import pyarrow.compute as compute

    if not pa.types.is_floating(column.type):
        return False
    largest = compute.max(compute.abs(column)).as_py()
    return largest is not None and EXACT_AS_FLOAT < largest < 1e22


def _cells(column: pa.ChunkedArray) -> Any:
    """Cells as pandas holds them; equal texts are one object, missing ones NaN."""
    import pyarrow as pa

    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    if not pa.types.is_dictionary(column.type):
        return column.to_pandas()
    whole = column.unify_dictionaries()
    values = np.append(np.array(whole.chunk(0).dictionary.to_pylist(), dtype=object), np.nan) if whole.num_chunks else np.array([np.nan])
    codes = [chunk.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False) for chunk in whole.chunks]
    return values[np.concatenate(codes)] if codes else np.empty(0, dtype=object)
