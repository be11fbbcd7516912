"""A domain from a table: kinds, ranges, missing shares, and what a person should look at before trusting it.

Nothing is guessed that changes a result: protected columns, the favourable outcome and constraints are proposed, not set.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.domain.columns import LARGEST_EXACT_INTEGER, Column, Value, listing
from evenhand.domain.frames import as_frame, read_table, suspected_missing
from evenhand.domain.suggestions import Suggestion, suggest_constraints
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.domain.twins import Comparison
from evenhand.errors import DataError, DomainError, UnknownName

if TYPE_CHECKING:
    import pandas as pd

MOST_CLASSES = 100
FEWEST_IDENTIFIED = 20
"""Tables with fewer rows have no columns that could be told to be identifiers."""
MOST_CATEGORIES = 2_000
LONG_TEXT = 60
_PROTECTED = re.compile(
    r"(^|[^a-z])(sex|gender|race|age|dob|birth\w*|ethnic\w*|religio\w*|disab\w*|national\w*|native\w*|citizen\w*|foreign\w*|marital\w*|"
    r"orientation|pregnan\w*|veteran\w*|skin\w*|colou?r|caste|language|statussex)([^a-z]|$)"
)
_IDENTIFIER = re.compile(r"(^|[^a-z])(id|uuid|guid|key|index|idx|nr|no|number|ssn|row|record|unnamed: 0)$")


class InferenceWarning(UserWarning):
    """Something about a table that a person should know before the inferred domain is used."""


@dataclass(frozen=True)
class Proposal:
    """An inferred domain, and what a person should decide: nothing of it is in force until it is written into the domain."""

    domain: TabularDomain
    left_out: dict[str, str]  # column: why
    notes: tuple[str, ...]
    protected_candidates: tuple[str, ...]
    constraints: tuple[Suggestion, ...]


@dataclass(frozen=True)
class InferWishes:
    """What the caller already knows: the label, its favourable value(s), protected columns, columns to keep at any rate."""

    label: str | None = None
    favourable: object = None
    protected: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()


def infer(
    table: object, *, label: str | None = None, favourable: object = None, protected: Sequence[str] = (), keep: Sequence[str] = ()
) -> TabularDomain:
    """The domain of a table (pandas, polars, or the path of one); warns about columns that it leaves out."""
    proposal = propose(table, InferWishes(label, favourable, _names(protected, "protected"), _names(keep, "keep")), suggestions=False)
    for name, why in proposal.left_out.items():
        warnings.warn(f"column {name!r} is left out: {why}; name it in keep=[...] to use it", InferenceWarning, stacklevel=2)
    return proposal.domain


def _names(names: Sequence[str], argument: str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(_checked_names(names, argument))


def _checked_names(names: Sequence[str], argument: str) -> Sequence[str]:
    for name in names:
        if not isinstance(name, str):
            raise DomainError(f"{argument}={list(names)!r} must be a list of column names")
    return names


def propose(table: object, wishes: InferWishes | None = None, *, suggestions: bool = True) -> Proposal:
    """The domain of a table together with notes, protected candidates and constraints that the data suggests."""
    wishes = wishes or InferWishes()
    frame = read_table(table) if isinstance(table, str | Path) else as_frame(table)
    _check_frame(frame, wishes)
    chosen = _label(frame, wishes) if wishes.label is not None else None
    inputs = [name for name in frame.columns if name != wishes.label]
    left_out = {name: why for name in inputs if name not in (*wishes.keep, *wishes.protected) and (why := _useless(frame[name]))}
    columns = tuple(infer_column(frame[name]) for name in inputs if name not in left_out)
    if not columns:
        reasons = "; ".join(f"{name!r}: {why}" for name, why in left_out.items())
        raise DataError(f"no column is left to test: {reasons or 'there is only the label'}")
    bins = {name: edges for name in wishes.protected if (edges := _bins(frame[name], next(c for c in columns if c.name == name)))}
    domain = TabularDomain(columns, wishes.protected, chosen, comparisons=bins)
    found = suggest_constraints(domain, domain.encode(frame)) if suggestions else ()
    candidates = tuple(name for name in domain.names if _PROTECTED.search(_words(name)))
    return Proposal(domain, left_out, _notes(frame, domain, wishes), candidates, found)


def _check_frame(frame: pd.DataFrame, wishes: InferWishes) -> None:
    for name in frame.columns:
        if not isinstance(name, str):
            raise DataError(f"column name {name!r} is not text; rename the columns (frame.columns = frame.columns.map(str))")
    if frame.columns.duplicated().any():
        raise DataError(f"the table has two columns called {frame.columns[frame.columns.duplicated()][0]!r}; rename one of them")
    if not len(frame):
        raise DataError("the table has no rows; ranges and values cannot be inferred from it")
    labels = () if wishes.label is None else (wishes.label,)
    for what, names in (("label", labels), ("protected column", wishes.protected), ("column", wishes.keep)):
        for name in names:
            if name not in frame.columns:
                raise UnknownName(what, name, frame.columns)
    for name in wishes.protected:
        if name == wishes.label:
            raise DomainError(f"protected column {name!r} is the label; protect an input")
        if frame[name].nunique(dropna=True) < 2:
            raise DomainError(f"protected column {name!r} has a single value in the data: there is nobody to compare with")


def _label(frame: pd.DataFrame, wishes: InferWishes) -> Label:
    cells = frame[wishes.label].dropna()
    values = tuple(_values(cells))
    if len(values) > MOST_CLASSES:
        raise DomainError(f"label {wishes.label!r} has {len(values):,} different values; cut it into classes first")
    wanted = wishes.favourable
    favourable = () if wanted is None else tuple(wanted) if isinstance(wanted, list | tuple | set) else (wanted,)
    return Label(str(wishes.label), values, favourable)


def _useless(cells: pd.Series) -> str:
    """Why a column says nothing about a person that a test could use; empty when it does."""
    present = cells.dropna()
    is_protected = bool(_PROTECTED.search(_words(str(cells.name))))
    if len(present) < FEWEST_IDENTIFIED or is_protected or _is_float(cells) or isinstance(present.iloc[0], bool | np.bool_):
        return ""
    distinct = _distinct_count(present)
    is_named = bool(_IDENTIFIER.search(_words(str(cells.name))))
    if _is_whole(cells):
        values = present.to_numpy(dtype=object)
        is_sequence = int(max(values)) - int(min(values)) + 1 == len(values)
        return "every row has its own value, as an identifier has" if distinct == len(present) and (is_named or is_sequence) else ""
    if distinct == len(present) or (is_named and distinct > 0.9 * len(present)):
        return "every row has its own value, as an identifier or free text has"
    if distinct > MOST_CATEGORIES or (distinct > 0.5 * len(present) and distinct > 50):
        return f"it has {distinct:,} different texts in {len(present):,} rows, as free text has"
    return ""


def _distinct_count(present: pd.Series) -> int:
    return len({(type(value).__name__, value) for value in present}) if present.dtype == object else int(present.nunique())


def infer_column(cells: pd.Series) -> Column:
    """The column that fits all of these cells, so that they come back exactly."""
    import pandas as pd

    name, dtype = str(cells.name), _dtype_name(cells)
    missing = float(cells.isna().mean())
    present = cells.dropna()
    if _is_time(cells):
        raise DataError(
            f"column {name!r} holds dates or times; turn them into numbers first (such as the year, or days since a fixed day), "
            "or drop the column"
        )
    if isinstance(cells.dtype, pd.CategoricalDtype):
        values = [_plain_value(name, value) for value in cells.cat.categories]
        return Column(name, "ordinal" if cells.cat.ordered else "category", tuple(values), missing=missing, dtype=dtype)
    if not len(present):
        return Column(name, "category", (), missing=1.0, dtype=dtype)
    if pd.api.types.is_bool_dtype(cells.dtype) or all(type(value) is bool for value in present):
        return Column(name, "boolean", (False, True), missing=missing, dtype=dtype)
    if _is_whole(cells):
        return _whole_column(present, missing, dtype)
    if _is_float(cells):
        return _real_column(present, missing, dtype)
    return Column(name, "category", tuple(_values(present)), missing=missing, dtype=dtype)


def _whole_column(present: pd.Series, missing: float, dtype: str) -> Column:
    name = str(present.name)
    low, high = int(present.min()), int(present.max())
    if max(abs(low), abs(high)) <= LARGEST_EXACT_INTEGER:
        return Column(name, "integer", low=low, high=high, missing=missing, dtype=dtype)
    return Column(name, "ordinal", tuple(_values(present)), missing=missing, dtype=dtype)


def _real_column(present: pd.Series, missing: float, dtype: str) -> Column:
    name = str(present.name)
    numbers = present.to_numpy(dtype=np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise DataError(f"column {name!r} holds infinity (present row {row}); replace it by a number or by a missing cell")
    low, high = float(numbers.min()), float(numbers.max())
    is_whole = (numbers == np.rint(numbers)).all() and max(abs(low), abs(high)) <= LARGEST_EXACT_INTEGER
    if is_whole and dtype != "object":  # a column of Python floats comes back as floats only when it is real
        return Column(name, "integer", low=int(low), high=int(high), missing=missing, dtype=dtype)
    return Column(name, "real", low=low, high=high, missing=missing, dtype=dtype)


def _dtype_name(cells: pd.Series) -> str:
    """The dtype as a text that pandas reads back to the same dtype."""
    import pandas as pd

    if isinstance(cells.dtype, pd.CategoricalDtype):
        inner = cells.cat.categories.dtype
        return "category" if pd.Index(list(cells.cat.categories)).dtype == inner else f"category[{inner}]"
    if isinstance(cells.dtype, pd.StringDtype) and str(cells.dtype) == "string":
        return f"string[{cells.dtype.storage}]"
    return str(cells.dtype)


def _is_time(cells: pd.Series) -> bool:
    import datetime as dt

    import pandas as pd

    inner = cells.cat.categories.dtype if isinstance(cells.dtype, pd.CategoricalDtype) else cells.dtype
    if getattr(inner, "kind", "O") in "mM" or isinstance(inner, pd.PeriodDtype):
        return True
    times = (dt.date, dt.time, dt.timedelta)
    return getattr(inner, "kind", "") == "O" and any(isinstance(value, times) for value in cells.dropna().head(1_000))


def _is_whole(cells: pd.Series) -> bool:
    import pandas as pd

    if cells.dtype == object:
        return len(cells) > 0 and all(type(value) is int or isinstance(value, np.integer) for value in cells.dropna())
    return bool(pd.api.types.is_integer_dtype(cells.dtype))


def _is_float(cells: pd.Series) -> bool:
    import pandas as pd

    if cells.dtype == object:
        return len(cells) > 0 and all(isinstance(value, float | np.floating) for value in cells.dropna())
    return bool(pd.api.types.is_float_dtype(cells.dtype))


def _values(present: pd.Series) -> list[Value]:
    """The distinct cells in order: numbers by size, texts by alphabet, a mixture by type first."""
    if hasattr(present, "cat"):
        return [_plain_value(str(present.name), value) for value in present.cat.categories if (present == value).any()]
    distinct = {}
    for value in present.unique() if present.dtype != object else present:
        plain = _plain_value(str(present.name), value)
        distinct[type(plain).__name__, plain] = plain
    return [distinct[key] for key in sorted(distinct)]


def _plain_value(name: str, value: Any) -> Value:
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | int | float):
        kind = type(plain).__name__
        raise DataError(f"column {name!r} holds {kind} cells such as {plain!r}; turn them into text or numbers, or drop the column")
    return plain


def _bins(cells: pd.Series, column: Column) -> Comparison | None:
    """Quartile bins for protected real numbers: comparing every real number is impossible."""
    if column.is_integral:
        return None
    edges = np.unique(np.quantile(cells.dropna().to_numpy(dtype=np.float64), [0, 0.25, 0.5, 0.75, 1]))
    return Comparison(edges=tuple(map(float, edges))) if len(edges) >= 3 else None


def _notes(frame: pd.DataFrame, domain: TabularDomain, wishes: InferWishes) -> tuple[str, ...]:
    notes = [
        f"{mark!r} is kept as an answer in {listing(names)}; if it means missing, read the table with missing_values=['', {mark!r}]"
        for mark, names in suspected_missing(frame).items()
    ]
    for column in domain.columns:
        if column.missing == 1.0:
            notes.append(f"column {column.name!r} has only missing cells")
        elif column.lowest == column.highest:
            notes.append(f"column {column.name!r} has a single value, {column.value(column.lowest)!r}")
    if domain.label is not None:
        if not domain.label.favourable:
            choices = listing(domain.label.values)
            notes.append(f"the favourable value of label {domain.label.column!r} is not declared; it is one of {choices}")
        if gaps := int(frame[wishes.label].isna().sum()):
            notes.append(f"label {domain.label.column!r} is missing in {gaps:,} rows; leave them out before labels are used")
    return tuple(notes)


def _words(name: str) -> str:
    """A column name in lower case, camelCase taken apart."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
