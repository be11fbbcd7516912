"""Tables at the border: pandas, polars, CSV and Parquet in, pandas out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def as_frame(table: object) -> pd.DataFrame:
    """A pandas or polars table as pandas."""
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if type(table).__module__.split(".")[0] == "polars" and hasattr(table, "to_pandas"):
        return table.to_pandas()  # type: ignore[no-any-return]
    raise DataError(f"expected a pandas or polars table, got {type(table).__module__}.{type(table).__name__}")
