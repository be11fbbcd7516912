"""Tables: a pandas or polars frame, or a CSV or Parquet file.  What a column may be is inferred from its cells."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from evenhand.contract import DataWishes
from evenhand.datasets.dataset import Dataset, from_frame
from evenhand.domain.csv_sample import sample_csv
from evenhand.domain.frames import PARQUET, TextFormat, as_frame, read_table
from evenhand.domain.infer import infer
from evenhand.domain.parquet_sample import sample_parquet
from evenhand.limits import Count, check_limits

ENDINGS = (".csv", ".tsv", ".txt", ".data", ".parquet", ".pq")


@dataclass(frozen=True)
class TableFiles:
    """Reads a table; `delimiter` is found out where none is given; of a file at most `most_rows`, drawn evenly with `seed`."""

    kind: ClassVar[str] = "table"

    delimiter: str = ""
    encoding: str = "utf-8"
    most_rows: Count | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_limits(self)

    def claims(self, source: object) -> int:
        """A frame for sure, a file by its ending."""
        if isinstance(source, str | Path):
            return 1 if Path(source).suffix.lower() in ENDINGS else 0
        if type(source).__module__.split(".")[0] == "polars":
            return 2 if hasattr(source, "collect") or hasattr(source, "to_pandas") else 0
        return 2 if hasattr(source, "columns") and hasattr(source, "__len__") else 0

    def load(self, source: object, wishes: DataWishes) -> Dataset:
        """The table in the domain that its cells show."""
        is_file = isinstance(source, str | Path)
        frame = self._read(Path(source)) if isinstance(source, str | Path) else as_frame(source)
        favourable = wishes.favourable if len(wishes.favourable) != 1 else wishes.favourable[0]
        domain = infer(frame, label=wishes.label, favourable=favourable or None, protected=wishes.protected_names)
        return from_frame(frame, domain, Path(str(source)).stem if is_file else "data")

    def _read(self, path: Path) -> object:
        if self.most_rows is not None and path.suffix.lower() in PARQUET:
            return sample_parquet(path, self.most_rows, np.random.default_rng(self.seed)).frame
        if self.most_rows is not None:
            form = TextFormat(self.delimiter or None, self.encoding)
            return sample_csv(path, self.most_rows, np.random.default_rng(self.seed), form).frame
        return read_table(path, delimiter=self.delimiter or None, encoding=self.encoding)
