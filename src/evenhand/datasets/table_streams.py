"""Tables that are read a batch at a time, never whole: Parquet, CSV and Arrow files or folders of them, DuckDB, any database by its URL.

Databases are read only, and only one table or query of them, which stands behind a `#`: `duckdb:///loans.duckdb#loans`,
`postgresql://host/bank#select * from loans`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from evenhand.domain.databases import database_file, is_database
from evenhand.domain.frames import MISSING_VALUES
from evenhand.errors import DataError, InvalidArgument, require

BATCH_ROWS = 131_072
FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}


class TableStream(Protocol):
    """A table that can be gone through again and again."""

    @property
    def name(self) -> str:
        """What a reader calls it."""

    @property
    def rows(self) -> int:
        """How many there are."""

    def batches(self) -> Iterator[Any]:
        """All rows in their order, as Arrow's record batches."""


@dataclass(frozen=True)
class FileStream:
    """A file, or a folder of files of one format."""

    path: Path

    @cached_property
    def _dataset(self) -> Any:
        import pyarrow as pa
        import pyarrow.csv as csv
        import pyarrow.dataset as sets

        ending = format_of(self.path)
        told: Any = FORMATS.get(ending or "")
        if told == "csv":
            nulls = csv.ConvertOptions(null_values=list(MISSING_VALUES), strings_can_be_null=True)
            told = sets.CsvFileFormat(convert_options=nulls)
        try:
            files = sorted(str(file) for file in self.path.rglob(f"*{ending}")) if self.path.is_dir() else str(self.path)
            return sets.dataset(files, format=told)
        except (pa.ArrowException, OSError) as fault:
            raise DataError(f"{self.path} cannot be read as {ending} data: {fault}") from fault

    @property
    def name(self) -> str:
        """The file's or folder's name."""
        return self.path.stem

    @cached_property
    def rows(self) -> int:
        """Counted by Arrow; of Parquet from the files' footers."""
        return int(self._dataset.count_rows())

    def batches(self) -> Iterator[Any]:
        """Batches of one size, a few of them read ahead."""
        import pyarrow as pa

        scanned = self._dataset.scanner(batch_size=BATCH_ROWS, batch_readahead=2, fragment_readahead=1, use_threads=False)
        try:
            yield from (batch for batch in scanned.to_batches() if len(batch))
        except (pa.ArrowException, OSError) as fault:
            raise DataError(f"{self.path} cannot be read to its end: {fault}") from fault


@dataclass(frozen=True)
class DuckStream:
    """A table or a query of a DuckDB file, opened read-only."""

    path: Path
    query: str

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.stem

    def _asked(self, told: str) -> Any:
        duckdb: Any = require("duckdb", "databases")
        if not self.path.exists():
            raise DataError(f"{self.path} does not exist")
        try:
            return duckdb.connect(str(self.path), read_only=True).sql(told)
        except duckdb.Error as fault:
            raise DataError(f"{self.path}: DuckDB says: {str(fault).splitlines()[0]}") from fault

    @cached_property
    def rows(self) -> int:
        """Counted by DuckDB."""
        return int(self._asked(f"select count(*) from ({_selected(self.query)})").fetchall()[0][0])  # noqa: S608 - the user's own query

    def batches(self) -> Iterator[Any]:
        """As DuckDB hands them over."""
        found = self._asked(_selected(self.query))
        reader = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader  # its name before DuckDB 2
        yield from (batch for batch in reader(BATCH_ROWS) if len(batch))


@dataclass(frozen=True)
class SqlStream:
    """A table or a query of a database by its SQLAlchemy URL; nothing is ever written, and the transaction is rolled back."""

    url: str
    query: str

    @property
    def name(self) -> str:
        """The database's name."""
        return Path(self.url.partition("?")[0]).stem or "database"

    @cached_property
    def rows(self) -> int:
        """Counted by the database."""
        (counted,) = next(self._read(f"select count(*) from ({_selected(self.query)}) as counted", 1))  # noqa: S608 - the user's own query
        return int(counted[0])

    def batches(self) -> Iterator[Any]:
        """Rows by a cursor of the server, where it has one."""
        import pyarrow as pa

        schema = None
        for names, rows in self._pages():
            columns = [[row[at] for row in rows] for at in range(len(names))]
            batch = pa.RecordBatch.from_arrays([pa.array(cells) for cells in columns], names=names)
            schema = schema or batch.schema
            yield batch if batch.schema == schema else pa.Table.from_batches([batch]).cast(schema).combine_chunks().to_batches()[0]

    def _pages(self) -> Iterator[Any]:
        alchemy: Any = require("sqlalchemy", "databases")
        try:
            with alchemy.create_engine(self.url).connect() as connection:
                found = connection.execution_options(stream_results=True).execute(alchemy.text(_selected(self.query)))
                names = list(found.keys())
                for rows in found.partitions(BATCH_ROWS):
                    yield names, rows
                connection.rollback()
        except alchemy.exc.SQLAlchemyError as fault:
            raise DataError(f"the database says: {str(fault).splitlines()[0]}") from fault

    def _read(self, told: str, at_once: int) -> Iterator[Any]:
        alchemy: Any = require("sqlalchemy", "databases")
        try:
            with alchemy.create_engine(self.url).connect() as connection:
                yield from connection.execute(alchemy.text(told)).partitions(at_once)
        except alchemy.exc.SQLAlchemyError as fault:
            raise DataError(f"the database says: {str(fault).splitlines()[0]}") from fault


def _selected(query: str) -> str:
    """A table's name as a query; a query as it is, where it only reads."""
    if query.replace("_", "").replace(".", "").isalnum():
        return f"select * from {query}"  # noqa: S608 - a name of letters and digits
    if not query.lower().lstrip().startswith(("select", "with")) or ";" in query:
        raise InvalidArgument(f"the query {query!r} must be a table's name or a single select: databases are only read")
    return query


def format_of(path: Path) -> str | None:
    """The ending of a file that can be streamed, or the one that all data files of a folder share; None where there is none."""
    if not path.is_dir():
        return path.suffix.lower() if path.suffix.lower() in FORMATS else None
    endings = {file.suffix.lower() for file in path.rglob("*") if file.is_file() and not file.name.startswith((".", "_"))}
    return endings.pop() if len(endings) == 1 and endings <= set(FORMATS) else None


def stream_of(source: str | Path) -> TableStream:
    """The stream of a file, a folder or a database."""
    if isinstance(source, str) and is_database(source):
        url, _, query = source.partition("#")
        return DuckStream(database_file(source), query) if url.startswith("duckdb:") else SqlStream(url, query)
    return FileStream(Path(source))
