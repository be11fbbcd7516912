"""Tables larger than memory: Parquet, CSV or Arrow files and folders of them, a DuckDB file, or a database by its URL, read in batches."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from evenhand.contract import DataWishes
from evenhand.datasets.large_dataset import SAMPLE_ROWS, LargeDataset, is_large
from evenhand.datasets.merged_columns import look_through, widened
from evenhand.datasets.table_streams import stream_of
from evenhand.domain.databases import is_database
from evenhand.domain.infer import infer
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, check_limits


@dataclass(frozen=True)
class StreamedTables:
    """`sample_rows` rows, drawn evenly with `seed`, stand for the table in memory; ranges and values are those of all rows."""

    kind: ClassVar[str] = "large_table"

    sample_rows: Count = SAMPLE_ROWS
    seed: int = 0

    def __post_init__(self) -> None:
        check_limits(self)

    def claims(self, source: object) -> int:
        """A database for sure; a file or folder where it is large or only Arrow reads it."""
        if is_database(source):
            return 3
        return 2 if isinstance(source, str | Path) and Path(source).exists() and is_large(Path(source)) else 0

    def load(self, source: object, wishes: DataWishes) -> LargeDataset:
        """One pass over all rows; nothing is kept of it but the columns' facts and the drawn rows."""
        if not isinstance(source, str | Path):
            raise InvalidArgument(f"source is a {type(source).__name__}; expected a path or a database's URL with #table")
        stream = stream_of(source)
        looked = look_through(stream, self.sample_rows, np.random.default_rng(self.seed))
        favourable = wishes.favourable if len(wishes.favourable) != 1 else wishes.favourable[0]
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            domain = infer(looked.frame, label=wishes.label, favourable=favourable or None, protected=wishes.protected_names)
        return LargeDataset(stream.name, looked.frame, widened(domain, looked.columns), stream=stream, total=looked.rows)
