"""The integer codings that the published methods were measured on, computed from the embedded tables.

adult, credit and bank follow the code books of ADF, which NeuronFair, EIDIG, ExpGA and LIMI share: every column an integer,
'?' the code 100.  The bounds are those of the code books, so a row with the code 100, and a few rows with codes that the books
forgot (a sampling weight from 800,000 on, a capital loss from 4,000 on, one country), lie outside the domain: the frame holds
them, `rows` does not, `left_out` counts them.  credit is the sample of 300 good and 300 bad credits.

compas is AIF360's one-hot coding: people screened within 30 days of arrest and with a known charge, sex 1 for female, race 1
for Caucasian.  meps is LIMI's: categories numbered in the order in which the table first shows them, scores truncated.  For
these two no bounds are published; the bounds are the extremes of the coded data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.datasets.cards import card, read_yaml, translate
from evenhand.datasets.dataset import Dataset
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import UnknownName

if TYPE_CHECKING:
    import pandas as pd

MEPS_NUMBERS = {"AGE", "RACE", "PCS42", "MCS42", "K6SUM42"}
"""Columns that LIMI takes as they are, the scores without their decimals."""

COMPAS_NUMBERS = ["sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"]
COMPAS_CATEGORIES = ["age_cat", "c_charge_degree", "c_charge_desc"]


@dataclass(frozen=True)
class Coded:
    """A coded table before it becomes a data set."""

    frame: pd.DataFrame
    bounds: Mapping[str, tuple[int, int]]
    label: Label
    protected: tuple[str, ...]
    protectable: tuple[str, ...]


def dataset(name: str, table: pd.DataFrame | None = None) -> Dataset:
    """A data set in the papers' coding; a `table` given instead of the embedded one has its columns and is coded whole."""
    coders = _coders()
    if name not in coders:
        raise UnknownName("data set in the papers' coding", name, coders)
    facts = card(name)
    coded = coders[name](_sample(name, facts.table()) if table is None else table.reset_index(drop=True))
    columns = tuple(Column(column, "integer", low=low, high=high, dtype="int64") for column, (low, high) in coded.bounds.items())
    domain = TabularDomain(columns, coded.protected, coded.label)
    return Dataset(
        name, coded.frame, domain, facts.source, facts.licence, facts.citation, facts.notes, protectable=coded.protectable, coding="papers"
    )


def names() -> tuple[str, ...]:
    """The data sets that the papers code."""
    return tuple(sorted(_coders()))


def _coders() -> dict[str, Callable[[pd.DataFrame], Coded]]:
    booked: dict[str, Callable[[pd.DataFrame], Coded]] = {name: _by_book(name) for name in _books()}
    return booked | {"compas": _compas, "meps": _meps}


@cache
def _books() -> dict[str, Any]:
    return read_yaml("codings.yaml")


def _by_book(name: str) -> Callable[[pd.DataFrame], Coded]:
    def code(table: pd.DataFrame) -> Coded:
        import pandas as pd

        book = _books()[name]
        rules, outcome = book["columns"], book["label"]
        cells = {column: _codes(table[rule.get("of", column)], rule) for column, rule in rules.items()}
        cells[outcome["column"]] = translate(table[outcome["column"]], outcome["codes"]).astype("int64")
        bounds = {column: (rule["low"], rule["high"]) for column, rule in rules.items()}
        label = Label(outcome["column"], (0, 1), tuple(outcome["favourable"]))
        return Coded(pd.DataFrame(cells), bounds, label, tuple(book["protected"]), tuple(book["protectable"]))

    return code


def _sample(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The rows that the papers use, in their order."""
    if name == "compas":
        table = table[table["days_b_screening_arrest"].between(-30, 30) & table["c_charge_desc"].notna()]
    book = _books().get(name, {})
    chosen = book.get("row_numbers") or np.arange(book.get("first_rows", len(table)))
    return table.iloc[chosen].reset_index(drop=True)


def _codes(cells: pd.Series, rule: Mapping[str, Any]) -> pd.Series:
    if "otherwise" in rule:
        coded = cells.map(rule["codes"]).fillna(rule["otherwise"])
    elif "codes" in rule:
        coded = translate(cells, rule["codes"])
    else:
        coded = cells // rule.get("divide", 1)
    if "missing" in rule:
        coded = coded.fillna(rule["missing"])
    return coded.astype("int64").clip(*rule.get("clip", (None, None)))


def _compas(table: pd.DataFrame) -> Coded:
    import pandas as pd

    numbers = table[COMPAS_NUMBERS].assign(
        sex=(table["sex"] == "Female").astype("int64"), race=(table["race"] == "Caucasian").astype("int64")
    )
    flags = pd.get_dummies(table[COMPAS_CATEGORIES], prefix_sep="=", dtype="int64")
    frame = pd.concat([numbers, flags, table["two_year_recid"]], axis=1)
    return Coded(frame, _extremes(frame.iloc[:, :-1]), Label("two_year_recid", (0, 1), (0,)), ("race",), ("race", "sex", "age"))


def _meps(table: pd.DataFrame) -> Coded:
    import pandas as pd

    columns = [name for name in card("meps").columns if name != "HIBPDX"]
    cells = {name: _first_seen(table[name]) if name not in MEPS_NUMBERS else table[name].astype("int64") for name in columns}
    frame = pd.DataFrame({**cells, "UTILIZATION": table["UTILIZATION"]})
    return Coded(frame, _extremes(frame[columns]), Label("UTILIZATION", (0, 1), (1,)), ("SEX",), ("SEX", "RACE", "AGE"))


def _first_seen(cells: pd.Series) -> np.ndarray[Any, np.dtype[np.int64]]:
    import pandas as pd

    return pd.factorize(cells)[0].astype(np.int64)


def _extremes(frame: pd.DataFrame) -> dict[str, tuple[int, int]]:
    low, high = frame.min(), frame.max()
    return {str(name): (int(low[name]), int(high[name])) for name in frame.columns}
