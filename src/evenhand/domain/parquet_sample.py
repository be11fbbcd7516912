"""Some rows of a Parquet file, drawn evenly over it and read a batch at a time, so that memory does not grow with the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.domain.frames import checked_parquet
from evenhand.limits import Count, check_argument

if TYPE_CHECKING:
    import pandas as pd

BATCH_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class SampledTable:
    """The rows that were drawn, in the file's order, and how many the file has."""

    frame: pd.DataFrame
    rows_in_file: int

    @property
    def is_whole(self) -> bool:
        """Whether every row was taken."""
        return len(self.frame) == self.rows_in_file


def sample_parquet(path: Path, most: int, rng: np.random.Generator) -> SampledTable:
    """At most so many rows, each set of them as likely as any other; all rows where there are no more.

    >>> import tempfile, numpy as np, pandas as pd
    >>> from pathlib import Path
    >>> from evenhand.domain.parquet_sample import sample_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.parquet"
    ...     pd.DataFrame({"age": range(1_000)}).to_parquet(path)
    ...     drawn = sample_parquet(path, 10, np.random.default_rng(0))
    >>> len(drawn.frame), drawn.rows_in_file, drawn.is_whole
    (10, 1000, False)
    """
    check_argument(Count, most_rows=most)
    with checked_parquet(path) as file:
        left = total = file.metadata.num_rows
        wanted, parts = min(most, total), []
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            chosen = _share(wanted, len(batch), left, rng)
            left, wanted = left - len(batch), wanted - chosen
            parts.append(_picked(batch, chosen, rng))
        return SampledTable(_frame(parts, file), total)


def _share(wanted: int, here: int, left: int, rng: np.random.Generator) -> int:
    """How many of the wanted rows lie in this batch, of all rows that are left: as chance would have it."""
    return here if wanted >= left else int(rng.hypergeometric(here, left - here, wanted))


def _picked(batch: Any, count: int, rng: np.random.Generator) -> Any:
    import pyarrow as pa

    return batch if count == len(batch) else batch.take(pa.array(np.sort(rng.permutation(len(batch))[:count])))


def _frame(parts: list[Any], file: Any) -> pd.DataFrame:
    import pyarrow as pa

    frame: pd.DataFrame = pa.Table.from_batches(parts, schema=file.schema_arrow).to_pandas()
    return frame.reset_index(drop=True)
