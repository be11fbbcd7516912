"""What every row of a long table says about its columns, merged exactly from batch to batch, and rows drawn evenly on the way.

Counts, smallest and largest values are exact; so are the distinct values of a column, up to as many as a category may have.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.datasets.table_streams import TableStream
from evenhand.domain.columns import Column, Value
from evenhand.domain.infer import MOST_CATEGORIES
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class MergedColumn:
    """One column of all batches so far; `distinct` is None once it has too many values for a category."""

    rows: int = 0
    missing: int = 0
    low: Any = None
    high: Any = None
    distinct: set[Any] | None = field(default_factory=set)

    def add(self, cells: Any) -> None:
        """One more batch of cells."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_floating(cells.type):
            cells = pc.if_else(pc.is_nan(cells), None, cells)
        self.rows += len(cells)
        self.missing += cells.null_count
        if self.distinct is not None:
            self.distinct |= set(pc.unique(cells).to_pylist()) - {None}
            self.distinct = self.distinct if len(self.distinct) <= MOST_CATEGORIES else None
        if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):
            ends = pc.min_max(cells).as_py()
            self.low = ends["min"] if self.low is None else self.low if ends["min"] is None else min(self.low, ends["min"])
            self.high = ends["max"] if self.high is None else self.high if ends["max"] is None else max(self.high, ends["max"])

    @property
    def missing_share(self) -> float:
        """Of all rows."""
        return self.missing / self.rows if self.rows else 0.0


@dataclass(frozen=True, eq=False)
class LookedThrough:
    """What one pass over a table leaves: rows drawn evenly in the table's order, all columns, and how many rows there are."""

    frame: pd.DataFrame
    columns: dict[str, MergedColumn]
    rows: int


def look_through(stream: TableStream, most: int, rng: np.random.Generator) -> LookedThrough:
    """One pass: exact facts of every column, and at most so many rows, each set of them as likely as any other."""
    import pyarrow as pa

    left, wanted, parts = stream.rows, min(most, stream.rows), []
    columns: dict[str, MergedColumn] = {}
    for batch in stream.batches():
        for name, cells in zip(batch.schema.names, batch.columns, strict=True):
            columns.setdefault(name, MergedColumn()).add(cells)
        chosen = len(batch) if wanted >= left else int(rng.hypergeometric(len(batch), left - len(batch), wanted))
        left, wanted = left - len(batch), wanted - chosen
        parts.append(batch.take(pa.array(np.sort(rng.permutation(len(batch))[:chosen]))))
    if not parts:
        raise DataError(f"{stream.name} has no rows; ranges and values cannot be inferred from it")
    frame = pa.Table.from_batches(parts, schema=parts[0].schema).to_pandas().reset_index(drop=True)
    return LookedThrough(frame, columns, next(iter(columns.values())).rows)


def widened(domain: TabularDomain, columns: dict[str, MergedColumn]) -> TabularDomain:
    """A domain that was inferred from some rows, with the ranges, values and missing shares of all rows."""
    wide = tuple(_column(each, columns[each.name]) for each in domain.columns)
    return replace(domain, columns=wide, label=_label(domain.label, columns))


def _column(column: Column, seen: MergedColumn) -> Column:
    known = replace(column, missing=seen.missing_share)
    if column.is_listed:
        if seen.distinct is None:
            raise DataError(
                f"column {column.name!r} looks like a {column.kind} in a sample, but has more than {MOST_CATEGORIES:,} different values in "
                "all rows; name it in numbers=[...] where it is a number, or leave it out"
            )
        return replace(known, values=_joined(column.values, seen.distinct))
    if column.is_moment or seen.low is None:
        return known
    whole = column.kind == "integer"
    return replace(known, low=int(seen.low) if whole else float(seen.low), high=int(seen.high) if whole else float(seen.high))


def _joined(values: tuple[Value, ...], seen: set[Any]) -> tuple[Value, ...]:
    """Further values behind the known ones; all of them in order where the known ones were."""
    further = [value for value in seen if value not in set(values)]
    try:
        return tuple(sorted([*values, *further])) if list(values) == sorted(values) else (*values, *sorted(further))
    except TypeError:
        return (*values, *sorted(further, key=repr))


def _label(label: Label | None, columns: dict[str, MergedColumn]) -> Label | None:
    if label is None or label.is_amount or label.column not in columns:
        return label
    seen = columns[label.column].distinct
    return label if seen is None else replace(label, values=_joined(tuple(label.values), seen))
