"""What a row may be, and which part of it is protected.  Knows nothing of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from evenhand.arrays import Index, Keys, Labels, Mask, Rows
from evenhand.domain.columns import Column, Kind, Value, listing
from evenhand.domain.keys import row_keys
from evenhand.domain.strips import column_extremes, in_strips
from evenhand.domain.twins import Comparison, Implied, TwinMaker, Twins, check_implied
from evenhand.errors import DataError, DomainError, InvalidArgument, UnknownName
from evenhand.limits import NotNegative, Share, check_limits

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.domain.parts import Part


class Constraint(Protocol):
    """A rule that a possible person keeps, compiled to array operations."""

    @property
    def text(self) -> str:
        """The rule as the user wrote it."""

    def holds(self, rows: Rows) -> Mask:
        """Which rows keep it."""


_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class Label:
    """The column that the model predicts: its classes in order and those a person would hope for, or an amount.

    values, favourable: of a label with classes.
    unit: makes it an amount, such as `EUR`; it may be empty.  tolerance, share: how far two amounts may be apart and still count as the
    same, in that unit, or as a share of the larger one.

    >>> Label("salary", unit="EUR", tolerance=500).is_amount
    True
    """

    column: str
    values: tuple[Value, ...] = ()
    favourable: tuple[Value, ...] = ()
    unit: str | None = None
    tolerance: NotNegative | None = None
    share: Share | None = None

    def __post_init__(self) -> None:
        if self.is_amount:
            self._check_amount()
            return
        if self.tolerance is not None or self.share is not None:
            cure = "leave them out, or the values" if self.values else "give a unit too, which may be empty: unit=''"
            raise DomainError(f"label {self.column!r}: tolerance and share are for amounts; {cure}")
        if len(self.values) < 2:
            raise DomainError(f"label {self.column!r} has only the values {list(self.values)}; a model needs at least two classes")
        for value in self.favourable:
            if value not in self.values:
                raise DomainError(f"label {self.column!r}: favourable value {value!r} is not one of {listing(self.values)}")

    def _check_amount(self) -> None:
        if self.values or self.favourable:
            raise DomainError(f"label {self.column!r} has a unit, so it is an amount and has no values; remove one or the other")
        try:
            check_limits(self)
        except InvalidArgument as fault:
            raise DomainError(f"label {self.column!r}: {fault}") from None

    @property
    def is_amount(self) -> bool:
        """Whether the model predicts a number, and not a class."""
        return self.unit is not None


@dataclass(frozen=True)
class TabularDomain:
    """Columns, constraints and protection: the only authority on what is a valid row.

    >>> import numpy as np
    >>> from evenhand import Column, Label, TabularDomain
    >>> columns = (Column("sex", "category", ("f", "m")), Column("age", "integer", low=18, high=95))
    >>> domain = TabularDomain(columns, ("sex",), Label("granted", ("no", "yes"), ("yes",)))
    >>> domain.sample(3, np.random.default_rng(0)).shape
    (3, 2)
    """

    columns: tuple[Column, ...]
    protected: tuple[str, ...] = ()
    label: Label | None = None
    constraints: tuple[Constraint, ...] = ()
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    implied: tuple[Implied, ...] = ()
    finds_relations: bool = True  # whether a synthesiser may keep relations that it finds, beside the declared ones

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if not names:
            raise DomainError("a domain needs at least one column")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DomainError(f"column {twice!r} is declared twice")
        if self.label and self.label.column in names:
            raise DomainError(f"label {self.label.column!r} is declared as an input column too")
        for name in (*self.protected, *self.comparisons):
            if name not in names:
                raise UnknownName("protected column", name, names)
        check_implied(self.implied, self.columns, self.protected)
        if self.protected:
            self._check_protection()

    def _check_protection(self) -> None:
        if len(set(self.protected)) < len(self.protected):
            raise DomainError(f"protected: {list(self.protected)} names a column twice")
        for name, codes in zip(self.protected, self._maker.compared, strict=True):
            if len(codes) < 2:
                raise DomainError(f"protected column {name!r} has a single value: there is nobody to compare with")

    @property
    def has_classes(self) -> bool:
        """Whether there is a label with classes."""
        return self.label is not None and not self.label.is_amount

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The input columns, in the order of the codes."""
        return tuple(column.name for column in self.columns)

    def place(self, name: str) -> int:
        """The position of a column."""
        if name not in self.names:
            raise UnknownName("column", name, self.names)
        return self.names.index(name)

    def protect(self, *names: str) -> TabularDomain:
        """The same domain with other protected columns."""
        return replace(self, protected=tuple(names))

    @cached_property
    def protected_places(self) -> tuple[int, ...]:
        """Positions of the protected columns."""
        return tuple(self.place(name) for name in self.protected)

    @cached_property
    def free_places(self) -> tuple[int, ...]:
        """Positions of the other columns."""
        return tuple(i for i in range(len(self.columns)) if i not in self.protected_places)

    @cached_property
    def numbers_things(self) -> bool:
        """Whether a column only numbers what a medium shows, so that nothing can be learned from its codes."""
        return any(column.reserve for column in self.columns)

    @cached_property
    def low(self) -> Rows:
        """The smallest code of every column."""
        return np.array([column.lowest for column in self.columns])

    @cached_property
    def high(self) -> Rows:
        """The largest code of every column."""
        return np.array([column.highest for column in self.columns])

    @cached_property
    def integral(self) -> Mask:
        """Which columns have whole codes."""
        return np.array([column.is_integral for column in self.columns])

    @cached_property
    def missing(self) -> Rows:
        """The share of missing cells of every column."""
        return np.array([column.missing for column in self.columns])

    @cached_property
    def _maker(self) -> TwinMaker:
        if not self.protected:
            raise DomainError("no column is protected; name at least one (protected: [...])")
        comparisons = tuple(self.comparisons.get(name, Comparison()) for name in self.protected)
        return TwinMaker(self.columns, self.protected_places, comparisons, self.implied)

    @property
    def combinations(self) -> Rows:
        """Every compared combination of protected codes, one a row."""
        return self._maker.combinations

    def twins(self, rows: Rows) -> Twins:
        """Every row under every protected combination, itself included."""
        orbit = self._maker.orbit(rows)
        if self.constraints:
            valid = self.keeps_constraints(orbit.reshape(-1, rows.shape[1])).reshape(orbit.shape[:2])
        else:
            valid = np.broadcast_to(np.True_, orbit.shape[:2])
        return Twins(orbit, valid)

    def twin(self, rows: Rows, which: Index) -> Rows:
        """Every row under one protected combination each, by its position in `combinations`."""
        return self._maker.twin(rows, which)

    def own_combination(self, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """The combination that each row itself has; -1 when it has none of the compared ones."""
        return self._maker.own(rows)

    def combination_of(self, cells: Rows) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """The same of protected cells alone, in the order of `protected_places`."""
        return self._maker.own_of(cells)

    def keys(self, rows: Rows) -> Keys:
        """One integer per row, equal for rows that are twins of each other.

        Without implied changes that is the non-protected part; with them, the implied cells under every combination belong to it.
        """
        if not self.implied:
            return row_keys(rows, self.columns, self.free_places)
        implied = sorted({self.place(name) for rule in self.implied for name in rule.changes})
        fixed = [place for place in self.free_places if place not in implied]
        orbit = self._maker.orbit(rows)
        cells = np.hstack([rows[:, fixed], *(twins[:, implied] for twins in orbit)])
        columns = [self.columns[p] for p in fixed] + [self.columns[p] for p in implied] * len(orbit)
        return row_keys(cells, columns, range(len(columns)))

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Valid rows, uniform over the domain as far as its constraints allow."""
        rows = self._uniform(n, rng)
        # Constraints that share no column are independent of each other, so each part is drawn again by itself.
        for part in self.parts:
            places = np.array(part.places)
            broken = np.flatnonzero(~part.keeps(rows[:, places]))
            if broken.size:
                rows[np.ix_(broken, places)] = part.sample(broken.size, rng)
        return rows

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The constraints in groups that share no column."""
        from evenhand.domain.parts import split

        return split(self) if self.constraints else ()

    def _uniform(self, n: int, rng: np.random.Generator) -> Rows:
        rows = rng.random((n, len(self.columns)))
        in_strips(np.multiply, rows, self.high - self.low + self.integral)
        if self.integral.all():
            np.floor(rows, out=rows)
        else:
            rows[:, self.integral] = np.floor(rows[:, self.integral])
        in_strips(np.add, rows, self.low)
        # (high - low + 1) * u can round up to the upper border when the span is near 2**53.
        if (self.high - self.low).max() > 2**50 or not self.integral.all():
            np.minimum(rows, self.high, out=rows)
        if (self.missing > 0).any():
            rows[rng.random(rows.shape) < self.missing] = np.nan
        return rows

    def inside(self, rows: Rows) -> Mask:
        """Which rows keep every column's range, constraints aside."""
        lowest, highest = column_extremes(rows)
        # One pass over column extremes settles the usual case; a NaN makes the comparison false.
        if (lowest >= self.low).all() and (highest <= self.high).all() and self._whole(rows):
            return np.ones(len(rows), dtype=bool)
        fine = np.ones(len(rows), dtype=bool)
        for place, column in enumerate(self.columns):
            fine &= column.inside(rows[:, place])
        return fine

    def _whole(self, rows: Rows) -> bool:
        every = bool(self.integral.all())
        for at in range(0, len(rows), _ROWS_AT_ONCE):  # a long table is not copied whole
            part = rows[at : at + _ROWS_AT_ONCE]
            integral = part if every else part[:, self.integral]
            if not (integral == np.rint(integral)).all():
                return False
        return True

    def keeps_constraints(self, rows: Rows) -> Mask:
        """Which rows keep every constraint, ranges aside."""
        fine = np.ones(len(rows), dtype=bool)
        for constraint in self.constraints:
            fine &= constraint.holds(rows)
        return fine

    def contains(self, rows: Rows) -> Mask:
        """Which rows are valid: inside every range and keeping every constraint."""
        return self.inside(rows) & self.keeps_constraints(rows)

    def clip(self, rows: Rows) -> Rows:
        """Every cell moved to the nearest code of its column, constraints aside."""
        clipped = np.where(self.integral, np.rint(rows), rows)
        np.clip(clipped, self.low, self.high, out=clipped)
        if (always_missing := self.high < self.low).any():
            clipped[:, always_missing] = np.nan
        forbidden = np.isnan(clipped) & (self.missing == 0)
        middle = (self.low + self.high) / 2
        return np.where(forbidden, np.where(self.integral, np.floor(middle), middle), clipped) if forbidden.any() else clipped

    def project(self, rows: Rows) -> Rows:
        """The nearest valid rows: cells clipped, then as few and as small changes as keep the constraints."""
        from evenhand.domain.projection import repair

        clipped = self.clip(rows)
        broken = np.flatnonzero(~self.keeps_constraints(clipped))
        if broken.size:
            clipped[broken] = repair(self, clipped[broken])
        return clipped

    def broken_shares(self, rows: Rows) -> dict[str, float]:
        """For every constraint, the share of rows that break it."""
        return {c.text: float(np.mean(~c.holds(rows))) if len(rows) else 0.0 for c in self.constraints}

    def encode(self, frame: object) -> Rows:
        """A table (pandas or polars) to codes; extra columns are ignored, missing ones named."""
        from evenhand.domain.frames import as_frame

        table = as_frame(frame)
        absent = [name for name in self.names if name not in table.columns]
        if absent:
            raise DataError(f"the table lacks the column{'s' * (len(absent) > 1)} {listing(absent)}; it has {listing(list(table.columns))}")
        if table.columns.duplicated().any():
            raise DataError(f"the table has two columns called {table.columns[table.columns.duplicated()][0]!r}")
        rows = np.empty((len(table), len(self.columns)))
        try:
            for at in range(0, len(table), _ROWS_AT_ONCE):  # stretches that stay in the cache
                self._encode_into(rows[at : at + _ROWS_AT_ONCE], table.iloc[at : at + _ROWS_AT_ONCE])
        except DataError:
            self._encode_into(rows, table)  # the same fault, with its row in the whole table
        return rows

    def _encode_into(self, rows: Rows, table: pd.DataFrame) -> None:
        for place, column in enumerate(self.columns):
            rows[:, place] = column.encode(table[column.name])

    def decode(self, rows: Rows) -> pd.DataFrame:
        """Codes back to a pandas table with the columns' own dtypes."""
        import pandas as pd

        rows = np.atleast_2d(rows)
        return pd.DataFrame({column.name: column.decode(rows[:, place]) for place, column in enumerate(self.columns)})

    def encode_labels(self, frame: object) -> Labels:
        """The label column as positions in the label's values; -1 where the cell is missing."""
        from evenhand.domain.frames import as_frame

        if self.label is None:
            raise DomainError("the domain has no label; declare one (label: {column: ..., favourable: ...})")
        if self.label.is_amount:
            raise DomainError(f"label {self.label.column!r} is an amount, so it has no classes to encode")
        table = as_frame(frame)
        if self.label.column not in table.columns:
            raise DataError(f"the table lacks the label column {self.label.column!r}; it has {listing(list(table.columns))}")
        kind: Kind = "boolean" if len(self.label.values) == 2 else "category"  # no and yes may be truth values in the data
        codes = Column(self.label.column, kind, self.label.values, missing=1.0).encode(table[self.label.column])
        return np.where(np.isnan(codes), -1, codes).astype(np.intp)


def describe_combination(domain: TabularDomain, combination: int) -> dict[str, Value | None]:
    """The protected values of one combination, by column name."""
    codes = domain.combinations[combination]
    return {name: domain.columns[p].value(code) for name, p, code in zip(domain.protected, domain.protected_places, codes, strict=True)}


def satisfiable(domain: TabularDomain, rows: Rows | None = None) -> None:
    """Raise, naming the conflicting constraints, when no row keeps them all; a valid row among `rows` settles it at once."""
    if rows is not None and len(rows) and domain.contains(rows).any():
        return
    for part in domain.parts:
        assert len(part.pool)  # an empty one raises
