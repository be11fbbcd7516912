"""Rows of a domain as a Hypothesis strategy, so that a user's own property tests draw valid people and shrink them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.relations import under_relations
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import require
from evenhand.synthesis.derivations import Following

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.datasets.dataset import Dataset

RELATIONS_SEED = 0
"""Which rows of a large table relations are looked for in."""


def strategies(source: TabularDomain | Dataset) -> SearchStrategy[dict[str, Any]]:
    """A strategy of rows as dictionaries of cells by column: inside every range, every rule kept, missing cells where they are allowed.

    Of an opened table (`eh.open`) the rows also keep the relations that all its rows keep, such as total == a + b.
    Needs the extra `hypothesis`.  Rows shrink towards first values and small numbers.

    >>> import evenhand as eh
    >>> from hypothesis import given, settings
    >>> domain = eh.TabularDomain((eh.Column("sex", "category", ("f", "m")), eh.Column("age", "integer", low=18, high=90)))
    >>> @settings(max_examples=20)
    ... @given(eh.strategies(domain))
    ... def is_an_adult(person):
    ...     assert person["age"] >= 18 and person["sex"] in ("f", "m")
    >>> is_an_adult()
    """
    st: Any = require("hypothesis.strategies", "hypothesis")
    if isinstance(source, TabularDomain):
        domain, real = source, np.empty((0, len(source.columns)))
    else:
        domain, real = under_relations(source.rows, source.domain, np.random.default_rng(RELATIONS_SEED)), source.rows
    codes = st.tuples(*(_codes(column, st) for column in domain.columns))
    rows = codes.map(lambda row: np.array([row], dtype=np.float64))
    if domain.constraints:
        follows = Following.of(domain, real)
        rows = rows.map(lambda row: _put_right(row, domain, follows)).filter(lambda row: domain.contains(row).all())
    found: SearchStrategy[dict[str, Any]] = rows.map(lambda row: _cells(row[0], domain))
    return found


def _put_right(row: Rows, domain: TabularDomain, follows: Following) -> Rows:
    """The row with what follows computed, or the nearest that keeps the rules; as it is where neither helps."""
    if domain.contains(row).all():
        return row
    computed = follows.computed(row)
    for tried in (computed, follows.computed(domain.project(computed)), domain.project(row)):
        if domain.contains(tried).all():
            return tried
    return row


def _codes(column: Column, st: Any) -> Any:
    """The codes of one column."""
    if column.missing == 1.0:
        return st.just(np.nan)
    if column.is_integral:
        present = st.integers(int(column.lowest), int(column.highest)).map(float)
    else:
        present = st.floats(column.lowest, column.highest, allow_nan=False)
    return st.one_of(present, st.just(np.nan)) if column.missing > 0 else present


def _cells(row: np.ndarray[tuple[int], np.dtype[np.float64]], domain: TabularDomain) -> dict[str, Any]:
    return {column.name: column.value(float(code)) for column, code in zip(domain.columns, row, strict=True)}
