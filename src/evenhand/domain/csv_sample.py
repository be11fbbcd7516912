"""Some rows of a text table, drawn evenly over it without holding the file in memory; only they are read, by the reader in `frames`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Index
from evenhand.disk import write_whole
from evenhand.domain.frames import TextFormat, read_formatted
from evenhand.domain.parquet_sample import SampledTable
from evenhand.errors import DataError
from evenhand.limits import Count, check_argument

if TYPE_CHECKING:
    import pandas as pd

LINE_BY_LINE = ("utf8", "utf8sig", "ascii", "latin1", "cp1252", "iso88591")
"""Encodings in which a line ends with the byte of a line break and nowhere else."""


def sample_csv(path: Path, most: int, rng: np.random.Generator, form: TextFormat | None = None) -> SampledTable:
    """At most so many rows, each set of them as likely as any other; all rows where there are no more.

    >>> import tempfile, numpy as np, pandas as pd
    >>> from pathlib import Path
    >>> from evenhand.domain.csv_sample import sample_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     pd.DataFrame({"age": range(1_000)}).to_csv(path, index=False)
    ...     drawn = sample_csv(path, 10, np.random.default_rng(0))
    >>> len(drawn.frame), drawn.rows_in_file, drawn.is_whole
    (10, 1000, False)
    """
    check_argument(Count, most_rows=most)
    form = form or TextFormat()
    if not path.is_file() or form.encoding.lower().replace("-", "").replace("_", "") not in LINE_BY_LINE:
        return _whole(path, form)
    total = sum(1 for _ in _records(path)) - 1  # the first names the columns
    if total <= most:
        return _whole(path, form)
    try:
        return SampledTable(_read(path, np.sort(rng.permutation(total)[:most]), form), total)
    except DataError:
        return _whole(path, form)  # which names the line at fault


def _whole(path: Path, form: TextFormat) -> SampledTable:
    frame = read_formatted(path, form)
    return SampledTable(frame, len(frame))


def _read(path: Path, chosen: Index, form: TextFormat) -> pd.DataFrame:
    """The chosen records under the file's header, through a small file of their own."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / path.name
        write_whole(small, b"".join(_picked_records(path, chosen)), private=True)
        return read_formatted(small, form)


def _picked_records(path: Path, chosen: Index) -> Iterator[bytes]:
    """The header, and the records at ascending places after it, each with its line break."""
    records, wanted = _records(path), set(chosen.tolist())
    yield next(records)
    yield from (record.rstrip(b"\r\n") + b"\n" for place, record in enumerate(records) if place in wanted)


def _records(path: Path) -> Iterator[bytes]:
    """The file's records: lines, several of them where a quoted cell holds a line break; empty lines are none."""
    with path.open("rb") as file:
        record, is_open = b"", False
        for line in file:
            record += line
            is_open ^= bool(line.count(b'"') % 2)
            if is_open:
                continue
            if record.strip():
                yield record
            record = b""
        if record:
            yield record
