"""Any number of rows to a Parquet or CSV file, a batch at a time, so that memory does not grow with the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Headway, Watch
from evenhand.disk import whole_file
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, check_argument
from evenhand.shared_work import AnswerShelf

BATCH_ROWS = 100_000


class Source(Protocol):
    """A population that says which domain its rows live in."""

    @property
    def domain(self) -> TabularDomain:
        """The domain."""

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows."""


@runtime_checkable
class Balanced(Source, Protocol):
    """A population whose draws can mind each other, so that wished shares hold over all of them together."""

    def balanced(self) -> Source:
        """The same population, with a memory."""


@dataclass(frozen=True)
class Written:
    """What a stream did."""

    rows: int
    path: Path
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Stream:
    """Where rows go: a .parquet or .csv file, without the columns that are left out; `watch` hears how many are done.

    complete: what is done to every batch of decoded rows before it is written.
    shelf: where finished batches of a long stream are kept, so that it goes on after an interruption with the same rows.
    """

    path: Path
    left_out: Sequence[str] = ()
    watch: Watch | None = None
    complete: Callable[[Any], Any] = lambda frame: frame
    shelf: AnswerShelf | None = None

    def __post_init__(self) -> None:
        if self.path.suffix not in (".parquet", ".csv"):
            raise InvalidArgument(f"{self.path} must end in .parquet or .csv")


def write_rows(source: Source, n: int, stream: Stream, rng: np.random.Generator) -> Written:
    """Draw n rows and write their decoded cells; the file appears whole or not at all, and shares hold over all batches together."""
    check_argument(Count, rows=n)
    source = source.balanced() if isinstance(source, Balanced) else source
    columns = tuple(name for name in source.domain.names if name not in stream.left_out)
    stream.path.parent.mkdir(parents=True, exist_ok=True)
    drawing = _Drawing(source, columns, stream.complete, rng, stream.shelf if n > BATCH_ROWS else None)
    with whole_file(stream.path) as path:
        write = _Parquet(path) if path.suffix == ".parquet" else _Csv(path)
        try:
            for place, begin in enumerate(range(0, n, BATCH_ROWS)):
                step = min(BATCH_ROWS, n - begin)
                write.add(drawing.batch(place, step))
                if stream.watch:
                    stream.watch(Headway("rows", begin + step, n))
        finally:
            write.close()
    if drawing.shelf is not None:
        drawing.shelf.forget()
    return Written(n, stream.path, columns)


@dataclass(frozen=True)
class DrawnBatch:
    """Rows that were drawn, and where the drawing stood after them."""

    frame: Any
    rng: np.random.Generator
    complete: Callable[[Any], Any]
    source: Source | None  # only where its draws mind each other


@dataclass
class _Drawing:
    """One batch after the other; those that were kept are not drawn again."""

    source: Source
    columns: tuple[str, ...]
    complete: Callable[[Any], Any]
    rng: np.random.Generator
    shelf: AnswerShelf | None

    def batch(self, place: int, rows: int) -> Any:
        kept: DrawnBatch | None = self.shelf.kept(place) if self.shelf is not None else None
        if kept is not None:
            self.rng, self.complete, self.source = kept.rng, kept.complete, kept.source or self.source
            return kept.frame
        frame = self.complete(self.source.domain.decode(self.source.sample(rows, self.rng))[list(self.columns)])
        if self.shelf is not None:
            minding = self.source if hasattr(self.source, "balanced") else None
            self.shelf.keep(place, DrawnBatch(frame, self.rng, self.complete, minding))
        return frame


def write_frame(frame: Any, path: Path) -> Path:
    """A table that is in memory, as .parquet or .csv, whole or not at all."""
    Stream(path)  # checks the name
    with whole_file(path) as new:
        write = _Parquet(new) if path.suffix == ".parquet" else _Csv(new)
        try:
            write.add(frame)
        finally:
            write.close()
    return path


class _Parquet:
    """One file, one row group per batch; the first batch settles the types."""

    def __init__(self, path: Path) -> None:
        self.path, self.writer = path, None  # type: tuple[Path, Any]

    def add(self, frame: Any) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self.writer is None:
            schema = pa.schema([_nullable(field) for field in pa.Schema.from_pandas(frame, preserve_index=False)])
            self.writer = pq.ParquetWriter(self.path, schema, write_page_checksum=True)
        self.writer.write_table(pa.Table.from_pandas(frame, schema=self.writer.schema, preserve_index=False, safe=False))

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def _nullable(field: Any) -> Any:
    """A column that happens to be all missing in the first batch still gets a type that later cells fit."""
    import pyarrow as pa

    return field.with_type(pa.string()) if pa.types.is_null(field.type) else field


class _Csv:
    def __init__(self, path: Path) -> None:
        self.path, self.begun = path, False

    def add(self, frame: Any) -> None:
        frame.to_csv(self.path, mode="a" if self.begun else "w", header=not self.begun, index=False)
        self.begun = True

    def close(self) -> None:
        """Nothing is held open."""
