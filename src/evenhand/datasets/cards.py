"""Reads an embedded table and its card, and makes the domain that the card declares."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evenhand.datasets.dataset import Dataset
from evenhand.domain.columns import Column, Kind, Value
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.domain.twins import Comparison, Implied
from evenhand.errors import DataError, UnknownName

if TYPE_CHECKING:
    import pandas as pd

TABLES = Path(__file__).parent / "tables"


@dataclass(frozen=True)
class ColumnCard:
    """One declared column: `codes` translate the cells of the table column `of`; a missing code becomes a missing cell."""

    kind: Kind
    meaning: str
    of: str = ""
    values: tuple[Value, ...] = ()
    codes: Mapping[Value, Value] = field(default_factory=dict)
    missing_codes: tuple[Value, ...] = ()

    def read(self, name: str, table: pd.DataFrame) -> pd.Series:
        """The cells that a reader sees."""
        cells = table[self.of or name].rename(name)
        if self.codes:
            return translate(cells, self.codes)
        return cells.mask(cells.isin(self.missing_codes)) if self.missing_codes else cells

    def column(self, cells: pd.Series) -> Column:
        """What such a cell may be: declared values or those of the data, its range, its share of missing cells."""
        shape: dict[str, Any] = {"missing": float(cells.isna().mean()), "dtype": str(cells.dtype)}
        known = cells.dropna()
        if self.kind in ("integer", "real"):
            number = int if self.kind == "integer" else float
            shape |= {"low": number(known.min()), "high": number(known.max())}
        else:
            declared = self.values or tuple(dict.fromkeys(self.codes.values()))
            shape["values"] = declared or tuple(sorted(known.unique().tolist()))
        return Column(str(cells.name), self.kind, **shape)


@dataclass(frozen=True)
class Card:
    """Everything that is declared of one embedded table."""

    name: str
    title: str
    rows: int
    sha256: str
    package: str
    source: str
    licence: str
    citation: str
    notes: str
    label: Mapping[str, Any]
    protected: tuple[str, ...]
    protectable: tuple[str, ...]
    compare: Mapping[str, Comparison]
    implied: tuple[Implied, ...]
    constraints: tuple[str, ...]
    columns: Mapping[str, ColumnCard]
    aside: Mapping[str, str]

    @property
    def path(self) -> Path:
        """The Parquet file."""
        return TABLES / f"{self.name}.parquet"

    def table(self) -> pd.DataFrame:
        """The embedded table as it is stored, with the columns that are set aside."""
        import pandas as pd

        table = pd.read_parquet(self.path)
        # Parquet gives back None; every other missing cell in pandas is NaN.
        for name in table.columns:
            if pd.api.types.is_object_dtype(table[name]):
                table[name] = table[name].where(table[name].notna(), float("nan"))
        return table

    def intact(self) -> bool:
        """Whether the Parquet file is the one that the card was written for."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest() == self.sha256


def names() -> tuple[str, ...]:
    """The embedded tables."""
    return tuple(sorted(path.stem for path in TABLES.glob("*.parquet")))


@cache
def card(name: str) -> Card:
    """The card of one embedded table."""
    if name not in names():
        raise UnknownName("data set", name, names())
    facts = read_yaml(f"{name}.yaml")
    return Card(
        name=name,
        **{key: facts[key] for key in ("title", "rows", "sha256", "package", "source", "licence", "citation", "notes", "label")},
        protected=tuple(facts["protected"]),
        protectable=tuple(facts["protectable"]),
        compare={column: Comparison(edges=tuple(how["bins"])) for column, how in facts.get("compare", {}).items()},
        implied=tuple(Implied(rule["column"], rule["from"], rule["to"], rule["changes"]) for rule in facts.get("implied", ())),
        constraints=tuple(facts["constraints"]),
        columns={column: _column_card(entry) for column, entry in facts["columns"].items()},
        aside=facts.get("aside", {}),
    )


def read_yaml(file: str) -> dict[str, Any]:
    """One of the YAML files beside the tables."""
    import yaml

    return cast("dict[str, Any]", yaml.safe_load((TABLES / file).read_text(encoding="utf-8")))


def _column_card(entry: Mapping[str, Any]) -> ColumnCard:
    facts = dict(entry)
    for key in ("values", "missing_codes"):
        facts[key] = tuple(entry.get(key, ()))
    return ColumnCard(**facts)


def translate(cells: pd.Series, codes: Mapping[Value, Value]) -> pd.Series:
    """Cells by their codes; a cell without one raises, a missing cell stays missing."""
    found = cells.map(dict(codes))
    unknown = found.isna() & cells.notna()
    if unknown.any():
        row = int(unknown.to_numpy().argmax())
        raise DataError(f"column {cells.name!r}, row {row}: {cells.iloc[row]!r} is not one of {list(codes)}")
    return found


def dataset(name: str) -> Dataset:
    """One embedded table in readable cells, with the domain that its card declares."""
    import pandas as pd

    facts = card(name)
    table = facts.table()
    cells = {column: entry.read(column, table) for column, entry in facts.columns.items()}
    columns = tuple(entry.column(cells[column]) for column, entry in facts.columns.items())
    outcome, label = _label(facts.label, table)
    frame = pd.DataFrame({**cells, label.column: outcome})
    domain = TabularDomain(columns, facts.protected, label, (), facts.compare, facts.implied)
    domain = _constrained(domain, facts.constraints, frame)
    return Dataset(name, frame, domain, facts.source, facts.licence, facts.citation, facts.notes, facts.protectable)


def _label(facts: Mapping[str, Any], table: pd.DataFrame) -> tuple[pd.Series, Label]:
    codes = facts.get("codes", {})
    cells = table[facts["column"]]
    values = tuple(facts.get("values") or codes.values())
    return translate(cells, codes) if codes else cells, Label(facts["column"], values, tuple(facts["favourable"]))


def _constrained(domain: TabularDomain, constraints: Sequence[str], frame: pd.DataFrame) -> TabularDomain:
    if not constraints:
        return domain
    from evenhand.domain.constraints import compile_constraints

    return replace(domain, constraints=compile_constraints(constraints, domain.columns, domain.encode(frame)))
