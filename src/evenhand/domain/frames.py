"""Tables at the border: pandas, polars, CSV and Parquet in, pandas out.  What cells mean is the domain's business."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.domain.bulk_csv import SMALLEST_BULK, BulkFile, read_bulk
from evenhand.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = (",", ";", "\t", "|")
MISSING_VALUES = ("", "NaN", "nan")
"""CSV cells that are missing unless the caller says otherwise; '?', 'NA' and the like may be real answers."""
PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv", ".txt", ".data", "")
_SNIFFED_LINES = 50
_COMMA_NUMBER = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?")


@dataclass(frozen=True)
class TextFormat:
    """How a text file is read: delimiter (None: found out), encoding, the cells that are missing, and columns known to be numbers."""

    delimiter: str | None = None
    encoding: str = "utf-8"
    missing_values: tuple[str, ...] = MISSING_VALUES
    numbers: tuple[str, ...] = ()


MOST_UNFOLDED = 200 << 20
UNFOLDED_TIMES = 100
"""A Parquet file may unfold to so many bytes, or to so many times its size on disk."""


def as_frame(table: object) -> pd.DataFrame:
    """A pandas or polars table as pandas."""
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if type(table).__module__.split(".")[0] == "polars":
        collected = table.collect() if hasattr(table, "collect") else table
        if hasattr(collected, "to_pandas") and hasattr(collected, "columns"):
            return _from_polars(collected)
    raise DataError(f"expected a pandas or polars table, got {type(table).__module__}.{type(table).__name__}")


def _from_polars(table: Any) -> pd.DataFrame:
    """Whole numbers and truth values with missing cells stay what they are: as floats, large ones would lose digits."""
    import pandas as pd

    frame: pd.DataFrame = table.to_pandas()
    for name in table.columns:
        cells = table[name]
        if cells.null_count() and cells.dtype.is_integer():
            dtype = "UInt64" if str(cells.dtype).startswith("UInt") else "Int64"
            frame[name] = pd.array(cells.to_list(), dtype=dtype)
        elif cells.null_count() and str(cells.dtype) == "Boolean":
            frame[name] = pd.array(cells.to_list(), dtype="boolean")
    return frame


def read_table(
    path: str | Path, *, delimiter: str | None = None, encoding: str = "utf-8", missing_values: Sequence[str] = MISSING_VALUES
) -> pd.DataFrame:
    """A CSV or Parquet file as a pandas table, or a DataError that names the line at fault and the cure."""
    if not (isinstance(missing_values, Sequence) and not isinstance(missing_values, str)):
        raise DataError(f"missing_values={missing_values!r} must be a list of texts, such as ['', '?']")
    return read_formatted(Path(path), TextFormat(delimiter, encoding, tuple(missing_values)))


def read_formatted(path: Path, form: TextFormat) -> pd.DataFrame:
    """The same, all that is known of a text file in one."""
    _check_exists(path)
    if path.suffix.lower() in PARQUET:
        return _read_parquet(path)
    if path.suffix.lower() not in TEXT:
        raise DataError(f"{path}: files ending in {path.suffix!r} cannot be read; expected .csv, .tsv, .txt, .data or .parquet")
    return _read_text(path, form)


def _check_exists(path: Path) -> None:
    if path.is_dir():
        raise DataError(f"{path} is a folder; name the table file in it")
    if path.exists():
        return
    folder = path.parent
    beside = [file.name for file in folder.iterdir() if file.is_file()] if folder.is_dir() else []
    close = difflib.get_close_matches(path.name, beside, n=1)
    hint = f"did you mean {str(folder / close[0])!r}?" if close else "check the path" if folder.is_dir() else f"there is no folder {folder}"
    raise DataError(f"there is no file {path}; {hint}")


def _read_parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    with checked_parquet(path):
        return pd.read_parquet(path)


@contextmanager
def checked_parquet(path: Path) -> Iterator[Any]:
    """An open Parquet file, or a DataError that says what is wrong with it; faults of what is read from it are told alike."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    _check_exists(path)
    try:
        _check_parquet(path)
        with parquet.ParquetFile(path) as file:
            yield file
    except (OSError, ValueError, TypeError, KeyError, MemoryError, pa.ArrowException) as fault:
        told = " ".join(str(fault).split())[:300] or type(fault).__name__
        raise DataError(f"{path} is not a readable Parquet file: {told}") from fault


def _check_parquet(path: Path) -> None:
    """Refuse a file that says it unfolds to far more than it takes on disk."""
    import pyarrow.parquet as parquet

    head = parquet.read_metadata(path)
    cells = head.num_rows * head.num_columns
    unfolded = sum(head.row_group(place).total_byte_size for place in range(head.num_row_groups))
    most = max(MOST_UNFOLDED, UNFOLDED_TIMES * path.stat().st_size)
    if max(unfolded, cells) > most:
        raise DataError(f"{path} unfolds to {max(unfolded, cells):,} bytes; a table of its size may unfold to {most:,}")


def _read_text(path: Path, form: TextFormat) -> pd.DataFrame:
    return quick if (quick := _quickly(path, form)) is not None else _carefully(path, form)


def _quickly(path: Path, form: TextFormat) -> pd.DataFrame | None:
    """A large file read in bulk; None for small ones and for everything out of the ordinary, which the careful reader explains."""
    if path.stat().st_size < SMALLEST_BULK or _codec(form.encoding) != "utf-8-sig":
        return None
    with path.open("rb") as file:
        head = file.read(200_000).decode("utf-8-sig", errors="replace")
    delimiter = form.delimiter or delimiter_of(head)
    _, header = next(_records(head, delimiter), (1, [""]))
    names = [name.strip() for name in header]
    if len(names) == 1 or len(set(names)) < len(names) or names != header or _spaced(head, delimiter) or not all(names):
        return None
    if delimiter != "," and re.search(r"\d,\d", head):
        return None  # decimal commas, perhaps
    return read_bulk(BulkFile(path, delimiter, form.missing_values, form.numbers))


def _carefully(path: Path, form: TextFormat) -> pd.DataFrame:
    import pandas as pd

    text = _decoded(path, form.encoding)
    if not text.strip():
        raise DataError(f"{path} is empty; expected a header line and data lines")
    delimiter = form.delimiter or delimiter_of(text)
    _check_lines(path, text, delimiter, form.delimiter is not None)
    dialect: dict[str, Any] = {"sep": delimiter, "skipinitialspace": _spaced(text, delimiter)}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):  # later ones read every digit without being asked
        dialect["float_precision"] = "round_trip"
    dialect |= {"encoding": _codec(form.encoding), "keep_default_na": False, "na_values": list(form.missing_values)}
    dialect |= {"low_memory": False, "index_col": False}
    try:
        frame: pd.DataFrame = pd.read_csv(path, **dialect)
        frame = frame if delimiter == "," else _with_decimal_commas(frame)
        return _with_leading_zeros(path, frame, dialect) if re.search(r"(^|\W)0\d", text) else frame
    except (pd.errors.ParserError, ValueError) as fault:
        raise DataError(f"{path} cannot be read as a table: {fault}") from fault


def _with_decimal_commas(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns whose every cell is a number in the way of much of Europe, 1.234,50, as numbers; some cell must have decimals."""
    changed = {}
    for name in frame.select_dtypes("object").columns if frame.columns.is_unique else ():
        present = frame[name].dropna()
        are_numbers = all(isinstance(cell, str) and _COMMA_NUMBER.fullmatch(cell.strip()) for cell in present)
        if len(present) and are_numbers and present.str.contains(",", regex=False).any():
            plain = frame[name].str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
            changed[name] = plain.astype("float64")
    return frame.assign(**changed) if changed else frame


def _with_leading_zeros(path: Path, frame: pd.DataFrame, dialect: Mapping[str, Any]) -> pd.DataFrame:
    """Columns such as postal codes as the text that they are: 04109 is not the number 4109."""
    import pandas as pd

    numbers = [name for name in frame.columns if pd.api.types.is_numeric_dtype(frame[name])]
    if not numbers:
        return frame
    texts = pd.read_csv(path, **dialect, usecols=numbers, dtype=str)
    codes = [name for name in numbers if texts[name].str.fullmatch(r"\s*0\d+\s*").any()]
    return frame.assign(**{name: texts[name] for name in codes})


def _codec(encoding: str) -> str:
    return "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding


def _decoded(path: Path, encoding: str) -> str:
    raw = path.read_bytes()
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff") and "16" not in encoding:
        raise DataError(f"{path} is written in UTF-16; pass encoding='utf-16'")
    try:
        text = raw.decode(_codec(encoding))
    except LookupError:
        raise DataError(f"encoding={encoding!r} is unknown; the usual ones are 'utf-8', 'latin-1', 'cp1252', 'utf-16'") from None
    except UnicodeDecodeError as fault:
        line = raw[: fault.start].count(b"\n") + 1
        raise DataError(
            f"{path}:{line}: byte {raw[fault.start]:#04x} is not {encoding}; save the file as UTF-8, or pass encoding='latin-1' or 'cp1252'"
        ) from None
    if "\0" in text:
        raise DataError(f"{path}:{text[: text.index(chr(0))].count(chr(10)) + 1}: a zero byte; this is not a text table")
    return text


def _records(text: str, delimiter: str, most: int | None = None) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line it begins on; blank lines are skipped, as pandas skips them."""
    reader = csv.reader(islice(io.StringIO(text, newline=""), most), delimiter=delimiter)
    begins = 1
    for record in reader:
        if record:
            yield begins, record
        begins = reader.line_num + 1


def delimiter_of(text: str) -> str:
    """The delimiter that gives the first lines equally many fields, and the most of them."""
    best, most = ",", 1
    head = text[:200_000]
    for delimiter in DELIMITERS:
        widths = [len(record) for _, record in _records(head, delimiter, _SNIFFED_LINES)]
        # The last line of the head may be cut, and a ragged line is better reported than taken for another delimiter.
        steady = sum(width == widths[0] for width in widths) >= 0.7 * len(widths)
        if widths and steady and widths[0] > most:
            best, most = delimiter, widths[0]
    return best


def _spaced(text: str, delimiter: str) -> bool:
    """Whether every field of the first lines but the first begins with a space, as in the UCI files."""
    fields = [field for _, record in _records(text[:20_000], delimiter, 20) for field in record[1:]]
    return bool(fields) and all(field.startswith(" ") for field in fields[:-1])


def _check_lines(path: Path, text: str, delimiter: str, is_chosen: bool) -> None:
    records = _records(text, delimiter)
    try:
        _, header = next(records)
        if len(header) == 1:
            _check_single(path, text, header[0], delimiter, is_chosen)
        names = [name.strip() for name in header]
        if twice := [name for place, name in enumerate(names) if name in names[:place]]:
            raise DataError(f"{path}:1: the header names {twice[0]!r} twice; rename one of the columns")
        ragged = [(line, len(record)) for line, record in records if len(record) != len(header)]
    except csv.Error as fault:
        raise DataError(f"{path} is not a readable CSV file: {fault}") from fault
    if ragged:
        lines = ", ".join(f"line {line} has {width}" for line, width in ragged[:3]) + (", ..." if len(ragged) > 3 else "")
        raise DataError(
            f"{path}:{ragged[0][0]}: {len(ragged)} line{'s' * (len(ragged) > 1)} without {len(header)} fields as in the header ({lines}); "
            "quote cells that contain the delimiter, or mend the lines"
        )


def _check_single(path: Path, text: str, header: str, delimiter: str, is_chosen: bool) -> None:
    other = delimiter_of(text)
    if is_chosen and other != delimiter and len(next(_records(text, other))[1]) > 1:
        raise DataError(f"{path}: delimiter={delimiter!r} gives the single column {header!r}; the file looks separated by {other!r}")
    found = [mark for mark in (*DELIMITERS, ":", " ") if mark in header.strip()]
    if found and header.strip().count(found[0]) >= 2:
        raise DataError(f"{path}: read as the single column {header!r}; pass the delimiter, such as delimiter={found[0]!r}")


SUSPECTS = ("?", "NA", "N/A", "null", "None", "-")


def suspected_missing(frame: pd.DataFrame, values: Mapping[str, Sequence[Any]] | None = None) -> dict[str, list[str]]:
    """Cells that look like missing ones but are kept as answers: the columns that hold each mark.  `values`: of columns that are known."""
    found: dict[str, list[str]] = {}
    for name in frame.columns:
        cells = frame[name]
        if cells.dtype.kind == "O":
            known = (values or {}).get(name)
            present = {value for value in (cells.dropna().unique() if known is None else known) if isinstance(value, str)}
            for mark in SUSPECTS:
                if mark in present:
                    found.setdefault(mark, []).append(str(name))
    return found
