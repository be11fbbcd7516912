"""Which column fits a series of cells, so that they come back exactly; and why, where the answer is not what the dtype says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.domain import moments
from evenhand.domain.code_texts import MOST_DIFFERENT, is_named_postcode, kind_of_codes
from evenhand.domain.columns import LARGEST_EXACT_INTEGER, SPELLINGS, Column, Value, listing, truth_of
from evenhand.domain.protected_words import plain_words
from evenhand.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MOST_CODES = 20
"""Whole numbers with more different values than this are counted or measured, not codes of something."""
ROWS_PER_CODE = 10
FEWEST_FOR_CODES = 50
FIRST_CELLS = 1_000
"""By which texts are told from other cells."""
_COUNTED = re.compile(
    r"\b(num|number|count|counts|amount|years?|months?|weeks?|days?|hours?|minutes?|age|size|level|grade|score|rank|rating|points|times|"
    r"how many|quantity|qty|children|kids|dependents|people|persons|members|rooms|cars|loans|accounts|credits|visits|calls|items|stars|"
    r"anzahl|jahre|monate|alter|kinder|personen|nombre|ans|mois|enfants|cantidad|edad|hijos|meses|anos|idade|numero|eta|figli|aantal)\b"
)


@dataclass(frozen=True)
class KindGuess:
    """A column, and what a person should know about the choice; empty where there was none to make."""

    column: Column
    reason: str = ""


def guess(cells: pd.Series, as_number: bool = False) -> KindGuess:
    """The column of these cells; `as_number` keeps few-valued whole numbers numbers."""
    import pandas as pd

    name, dtype = str(cells.name), dtype_name(cells)
    missing, present = _present(cells)
    if _is_moment(present if cells.dtype == object else cells):
        return KindGuess(_moments(present, missing, dtype, moments.kind_of(present)))
    if isinstance(cells.dtype, pd.CategoricalDtype):
        values = tuple(plain_value(name, value) for value in cells.cat.categories)
        return KindGuess(Column(name, "ordinal" if cells.cat.ordered else "category", values, missing=missing, dtype=dtype))
    if not len(present):
        return KindGuess(Column(name, "category", (), missing=1.0, dtype=dtype))
    if pd.api.types.is_bool_dtype(cells.dtype) or type_of(present) == "boolean":
        return KindGuess(Column(name, "boolean", (False, True), missing=missing, dtype=dtype))
    if is_whole(present) or is_float(present):
        return _of_numbers(present, missing, dtype, as_number)
    return _of_texts(present, missing, dtype)


def _present(cells: pd.Series) -> tuple[float, pd.Series]:
    """The share of missing cells, and the others; texts once each, for how often they appear says nothing about their kind."""
    import pandas as pd

    if cells.dtype == object and isinstance(next(iter(cells.head(FIRST_CELLS).dropna()), None), str):
        distinct = pd.Series(cells.unique(), name=cells.name, dtype=object)
        texts = distinct.dropna()
        if type_of(texts) == "string":
            return 0.0 if len(texts) == len(distinct) else float(cells.isna().mean()), texts
    missing = float(cells.isna().mean())
    return missing, cells.dropna() if missing else cells


def _of_numbers(present: pd.Series, missing: float, dtype: str, as_number: bool) -> KindGuess:
    column = _whole_column(present, missing, dtype) if is_whole(present) else _real_column(present, missing, dtype)
    is_usual = dtype == ("float64" if missing else "int64")  # as a file gives them
    if column.kind == "integer" and is_usual and not as_number and moments.is_packed(present):
        dates = _moments(present, missing, moments.NUMBER + moments.PACKED, "date")
        form = f"whole numbers in the form {moments.PACKED}"
        return KindGuess(dates, f"{form}, read as a date; if they are amounts or counts, say so with numbers: {column.name}")
    codes = () if as_number or column.kind != "integer" else _codes(present)
    if not codes and not as_number and column.kind == "integer" and is_named_postcode(column.name):
        return _of_postcodes(present, column)
    if not codes:
        return KindGuess(column)
    if codes == (0, 1):
        return KindGuess(Column(column.name, "boolean", codes, missing=missing, dtype=dtype))
    reason = (
        f"{len(codes)} different whole numbers in {len(present):,} rows, read as the codes of a category; "
        f"if they are amounts or counts, say so with numbers: {column.name}"
    )
    return KindGuess(Column(column.name, "category", codes, missing=missing, dtype=dtype), reason)


def _of_postcodes(present: pd.Series, column: Column) -> KindGuess:
    """Whole numbers that are called postcodes: a category, as long as they are not too many to be listed."""
    distinct = np.unique(present.to_numpy(dtype=np.float64))
    if len(distinct) > MOST_DIFFERENT:
        return KindGuess(column)
    values = tuple(int(value) for value in distinct)
    reason = (
        f"{len(values):,} different postcodes, read as a category and not as numbers; if they are amounts or counts, say so with "
        f"numbers: {column.name}"
    )
    return KindGuess(Column(column.name, "category", values, missing=column.missing, dtype=column.dtype), reason)


def _codes(present: pd.Series) -> tuple[Value, ...]:
    """The values of a column that holds codes; nothing where they are rather counted or measured."""
    if len(present) < FEWEST_FOR_CODES or _COUNTED.search(plain_words(str(present.name))):
        return ()
    distinct = np.unique(present.to_numpy(dtype=np.float64)[: FEWEST_FOR_CODES * 20])
    if len(distinct) <= MOST_CODES:
        distinct = np.sort(present.unique().astype(np.float64))
    if not 2 <= len(distinct) <= min(MOST_CODES, len(present) // ROWS_PER_CODE):
        return ()
    return tuple(int(value) for value in distinct)


def _of_texts(present: pd.Series, missing: float, dtype: str) -> KindGuess:
    name = str(present.name)
    values = values_of(present)
    if pair := _spelled(values):
        return KindGuess(Column(name, "boolean", pair, missing=missing, dtype=dtype))
    found = moments.format_of(present) if _looks_like_moments(values) else None
    if found:
        kind, form = found
        return KindGuess(_moments(present, missing, moments.TEXT + form, kind), f"texts in the form {form}, read as a {kind}")
    codes = kind_of_codes(name, values)
    reason = f"{len(values):,} different {codes}, kept as the texts that they are" if codes else ""
    return KindGuess(Column(name, "category", tuple(values), missing=missing, dtype=dtype), reason)


def moments_in(present: pd.Series) -> bool:
    """Whether the cells are dates or times, also as texts: they may all differ and are no identifiers."""
    if _is_moment(present):
        return True
    head = [value for value in present.head(20) if isinstance(value, str)]
    return _looks_like_moments(head) and type_of(present) in ("string", "") and moments.format_of(present) is not None  # type: ignore[arg-type]


def _looks_like_moments(values: list[Value]) -> bool:
    head = values[:20]
    return len(values) > 2 and all(isinstance(value, str) and re.match(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}", value) for value in head)


def _spelled(values: list[Value]) -> tuple[Value, Value] | None:
    """Two texts that say no and yes, in this order."""
    if len(values) != 2 or not all(isinstance(value, str) for value in values):
        return None
    by_word = {plain_words(str(value)) or str(value).strip(): value for value in values}
    return next(((by_word[no], by_word[yes]) for no, yes in SPELLINGS if {no, yes} == set(by_word)), None)


def same_answer(wanted: object, values: tuple[Value, ...]) -> Value | None:
    """The value that a person means: itself, or the only one that reads the same, as 1 for "1" or Y for yes."""
    if any(type(wanted) is type(value) and wanted == value for value in values):
        return wanted  # type: ignore[return-value]
    alike = [value for value in values if str(value).strip().lower() == str(wanted).strip().lower() or _equal_numbers(wanted, value)]
    if len(alike) == 1:
        return alike[0]
    side = truth_of(wanted)
    spelled = [value for value in values if side is not None and truth_of(value) == side]
    return spelled[0] if len(values) == 2 and len(spelled) == 1 else None


def _equal_numbers(first: object, second: object) -> bool:
    try:
        return float(str(first)) == float(str(second))
    except ValueError:
        return False


def _moments(present: pd.Series, missing: float, dtype: str, kind: moments.MomentKind) -> Column:
    codes = moments.encode(present, np.zeros(len(present), dtype=bool), kind, dtype)
    return Column(str(present.name), kind, low=int(codes.min()), high=int(codes.max()), missing=missing, dtype=dtype)


def _whole_column(present: pd.Series, missing: float, dtype: str) -> Column:
    name = str(present.name)
    low, high = int(present.min()), int(present.max())
    if max(abs(low), abs(high)) <= LARGEST_EXACT_INTEGER:
        return Column(name, "integer", low=low, high=high, missing=missing, dtype=dtype)
    return Column(name, "ordinal", tuple(values_of(present)), missing=missing, dtype=dtype)


def _real_column(present: pd.Series, missing: float, dtype: str) -> Column:
    name = str(present.name)
    numbers = present.to_numpy(dtype=np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise DataError(f"column {name!r} holds infinity (present row {row}); replace it by a number or by a missing cell")
    low, high = float(numbers.min()), float(numbers.max())
    is_all_whole = (numbers == np.rint(numbers)).all() and max(abs(low), abs(high)) <= LARGEST_EXACT_INTEGER
    if is_all_whole and dtype != "object":  # a column of Python floats comes back as floats only when it is real
        return Column(name, "integer", low=int(low), high=int(high), missing=missing, dtype=dtype)
    return Column(name, "real", low=low, high=high, missing=missing, dtype=dtype)


def dtype_name(cells: pd.Series) -> str:
    """The dtype as a text that pandas reads back to the same dtype."""
    import pandas as pd

    if isinstance(cells.dtype, pd.CategoricalDtype):
        inner = cells.cat.categories.dtype
        return "category" if pd.Index(list(cells.cat.categories)).dtype == inner else f"category[{inner}]"
    if isinstance(cells.dtype, pd.StringDtype) and str(cells.dtype) == "string":
        return f"string[{cells.dtype.storage}]"
    return str(cells.dtype)


def type_of(cells: pd.Series) -> str:
    """What the cells of an object column are, in pandas' words; empty for other columns."""
    import pandas as pd

    return pd.api.types.infer_dtype(cells, skipna=True) if cells.dtype == object else ""


def _is_moment(cells: pd.Series) -> bool:
    import pandas as pd

    inner = cells.cat.categories.dtype if isinstance(cells.dtype, pd.CategoricalDtype) else cells.dtype
    if getattr(inner, "kind", "O") == "m" or isinstance(inner, pd.PeriodDtype) or type_of(cells) in ("time", "timedelta", "period"):
        raise DataError(
            f"column {str(cells.name)!r} holds periods or durations; turn them into numbers first (such as days), or drop the column"
        )
    return getattr(inner, "kind", "O") == "M" or type_of(cells) in ("date", "datetime", "datetime64")


def is_whole(cells: pd.Series) -> bool:
    """Whether every cell is a whole number by its type."""
    import pandas as pd

    return type_of(cells) == "integer" if cells.dtype == object else bool(pd.api.types.is_integer_dtype(cells.dtype))


def is_float(cells: pd.Series) -> bool:
    """Whether every cell is a float by its type."""
    import pandas as pd

    return type_of(cells) == "floating" if cells.dtype == object else bool(pd.api.types.is_float_dtype(cells.dtype))


def values_of(present: pd.Series) -> list[Value]:
    """The distinct cells in order: numbers by size, texts by alphabet, a mixture by type first."""
    if hasattr(present, "cat"):
        return [plain_value(str(present.name), value) for value in present.cat.categories if (present == value).any()]
    distinct = {}
    for value in present.unique() if _is_of_one_type(present) else present:
        plain = plain_value(str(present.name), value)
        distinct[type(plain).__name__, plain] = plain
    return [distinct[key] for key in sorted(distinct)]


def distinct_count(present: pd.Series) -> int:
    """How many different cells there are; 1, 1.0 and True are three."""
    return int(present.nunique()) if _is_of_one_type(present) else len({(type(value).__name__, value) for value in present})


def _is_of_one_type(present: pd.Series) -> bool:
    return present.dtype != object or type_of(present) == "string"


def plain_value(name: str, value: Any) -> Value:
    """A cell as the Python value that a YAML file would hold."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | int | float):
        kind = type(plain).__name__
        raise DataError(
            f"column {name!r} holds {kind} cells such as {listing([plain])[1:-1]}; turn them into text or numbers, or drop the column"
        )
    return plain
