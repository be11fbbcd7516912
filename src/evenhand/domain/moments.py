"""Dates and times as whole numbers and back: how a column of them is written, and the exact way between cells and codes."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arrays import Mask, Reals
from evenhand.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MomentKind = Literal["date", "datetime"]
SECONDS: dict[str, int] = {"date": 86_400, "datetime": 1}
"""How many seconds one code stands for; code 0 is the beginning of 1970."""

ISO = {"date": "%Y-%m-%d", "datetime": "%Y-%m-%dT%H:%M:%S"}
DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
TIMES = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M")
TEXT = "text:"
"""A dtype that begins so is text in the format that follows."""
NUMBER = "number:"
"""A dtype that begins so is a whole number whose digits are in the format that follows."""
PACKED = "%Y%m%d"
_PACKED_RANGE = (18_000_101, 22_001_231)


def is_packed(numbers: pd.Series) -> bool:
    """Whether whole numbers, several different ones, are all dates such as 20240331."""
    import pandas as pd

    if not len(numbers) or int(numbers.min()) < _PACKED_RANGE[0] or int(numbers.max()) > _PACKED_RANGE[1]:
        return False
    distinct = pd.Series(numbers.unique()).astype("int64")
    return len(distinct) > 2 and bool(pd.to_datetime(distinct.astype(str), format=PACKED, errors="coerce").notna().all())


def format_of(texts: pd.Series) -> tuple[MomentKind, str] | None:
    """The one format that reads every text and writes it back the same; None where none does, or more than one."""
    import pandas as pd

    distinct = pd.Series(texts.unique(), dtype=object)
    fitting = [form for form in (*DATES, *TIMES) if _writes_back(distinct.head(20), form) and _writes_back(distinct, form)]
    if len(fitting) != 1:
        return None
    return ("date" if fitting[0] in DATES else "datetime"), fitting[0]


def _writes_back(texts: pd.Series, form: str) -> bool:
    import pandas as pd

    read = pd.to_datetime(texts, format=form, errors="coerce")
    return bool(read.notna().all() and (read.dt.strftime(form) == texts).all())


def kind_of(cells: pd.Series) -> MomentKind:
    """Whole days are dates; anything finer is a time."""
    return "date" if (_seconds(cells.dropna(), "") % SECONDS["date"] == 0).all() else "datetime"


def encode(cells: pd.Series, missing: Mask, kind: str, dtype: str) -> Reals:
    """Cells to codes; raises a DataError where a cell is no date."""
    codes = np.full(len(cells), np.nan)
    try:
        codes[~missing] = _seconds(cells[~missing], dtype) // SECONDS[kind]
    except (ValueError, TypeError, OverflowError) as fault:
        raise DataError(f"column {cells.name!r}: a cell is not a {kind} ({fault})") from None
    return codes


def _seconds(cells: pd.Series, dtype: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    import pandas as pd

    form = dtype.removeprefix(TEXT) if dtype.startswith(TEXT) else None
    if dtype.startswith(NUMBER):
        form, cells = dtype.removeprefix(NUMBER), cells.astype("int64").astype(str)
    read = cells if cells.dtype.kind == "M" else pd.to_datetime(cells, format=form or "ISO8601")
    if getattr(read.dtype, "tz", None) is not None:
        read = read.dt.tz_convert("UTC").dt.tz_localize(None)
    return read.to_numpy(dtype="datetime64[s]").astype(np.int64)


def decode(codes: Reals, kind: str, dtype: str, name: str) -> pd.Series:
    """Codes to cells as the table had them: text or digits in their format, datetime64, or Python's own dates."""
    import pandas as pd

    missing = np.isnan(codes)
    whole = (np.where(missing, 0, codes) * SECONDS[kind]).astype(np.int64).astype("datetime64[s]")
    moments = pd.Series(whole, name=name).mask(missing)
    if dtype.startswith(TEXT):
        return moments.dt.strftime(dtype.removeprefix(TEXT)).astype(object).mask(missing, np.nan)
    if dtype.startswith(NUMBER):
        digits = moments.dt.strftime(dtype.removeprefix(NUMBER))
        return digits.astype("float64" if missing.any() else "int64")
    if dtype == "object":
        own = moments.dt.date if kind == "date" else pd.Series(moments.dt.to_pydatetime(), dtype=object, name=name)
        return own.astype(object).mask(missing, np.nan)
    if not dtype:
        return moments
    return moments.dt.tz_localize("UTC").astype(dtype) if "," in dtype else moments.astype(dtype)  # type: ignore[call-overload, no-any-return]


def code_of(value: object, kind: str, name: str) -> float:
    """The code of one cell: a text in ISO form, or a date of Python's."""
    if isinstance(value, dt.datetime):
        value = value.isoformat()
    try:
        text = value.isoformat() if isinstance(value, dt.date) else str(value)
        seconds = int(np.datetime64(text.removesuffix("Z"), "s").astype(np.int64))
    except ValueError:
        raise DataError(f"column {name!r}: {value!r} is not a {kind}; write it as {_example(kind)}") from None
    return float(seconds // SECONDS[kind])


def text_of(code: float, kind: str) -> str:
    """A code as a text in ISO form."""
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=int(code) * SECONDS[kind])
    return moment.strftime(ISO[kind])


def _example(kind: str) -> str:
    return "2024-03-31" if kind == "date" else "2024-03-31T14:30:00"
