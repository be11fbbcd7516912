"""Suites of rows for tests: every boundary, every fault, every combination, and strategies for property tests."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import evenhand as eh
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DataError, DomainError, InvalidArgument
from evenhand.synthesis.edge_rows import boundary_rows, negative_frame
from evenhand.synthesis.value_combinations import covering_rows

COLUMNS = (
    Column("sex", "category", ("f", "m")),
    Column("age", "integer", low=0, high=90),
    Column("pension", "category", ("no", "yes")),
    Column("height", "real", low=-1.0, high=2.5, missing=0.1),
    Column("region", "category", tuple("abcde")),
    Column("born", "date", low=10_000, high=19_000),
)
DOMAIN = TabularDomain(COLUMNS, ("sex",), constraints=compile_constraints(["age >= 60 or pension == 'no'"], COLUMNS))
ROWS = DOMAIN.sample(400, np.random.default_rng(0))


def test_every_boundary_has_a_valid_row_of_its_own():
    found = boundary_rows(DOMAIN, ROWS, np.random.default_rng(1))
    assert DOMAIN.contains(found.rows).all()
    assert found.impossible == ()
    assert len(found.rows) == len(found.reasons) == len(set(found.reasons))
    assert {"age = 0 (lowest)", "age = 90 (highest)", "age = 1", "height is missing", "height = 0.0", "region = e"} <= set(found.reasons)
    assert {0.0, 1.0, 89.0, 90.0} <= set(found.rows[:, 1])


def test_a_boundary_that_the_rules_exclude_is_named():
    ruled = TabularDomain(COLUMNS, constraints=compile_constraints(["age <= 70"], COLUMNS))
    assert "age = 90 (highest)" in boundary_rows(ruled, ruled.sample(50, np.random.default_rng(0)), np.random.default_rng(1)).impossible


def test_every_negative_row_is_refused_and_has_one_fault():
    frame = negative_frame(DOMAIN, ROWS, np.random.default_rng(2))
    assert "breaks the rule age >= 60 or pension == 'no'" in set(frame["fault"])
    for at in range(len(frame)):
        line = frame.iloc[[at]].drop(columns="fault")
        with pytest.raises((DataError, DomainError, AssertionError)):
            assert DOMAIN.contains(DOMAIN.encode(line)).all()


@pytest.mark.parametrize("ways", [2, 3])
def test_every_possible_combination_is_held_by_some_row(ways):
    found = covering_rows(DOMAIN, ROWS, np.random.default_rng(3), ways)
    assert DOMAIN.contains(found.rows).all()
    levels = np.stack([codes if at in (0, 2, 4) else np.digitize(codes, [low + 1e-9, high]) for at, (codes, low, high) in enumerate(
        (found.rows[:, at], column.lowest, column.highest) for at, column in enumerate(COLUMNS))], axis=1)  # fmt: skip
    sizes = (2, 3, 2, 3, 5, 3)
    held = sum(len(np.unique(levels[:, list(columns)], axis=0)) for columns in combinations(range(6), ways))
    every = sum(int(np.prod([sizes[at] for at in columns])) for columns in combinations(range(6), ways))
    assert found.combinations == every
    assert held == every - found.impossible
    assert found.impossible == {2: 1, 3: 13}[ways]  # age 0 with a pension, and whatever else stands beside the two
    assert len(found.rows) < {2: 40, 3: 140}[ways]


def test_more_columns_than_there_are_cannot_be_combined():
    with pytest.raises(InvalidArgument, match="ways=7 must be at most the number of columns, 6"):
        covering_rows(DOMAIN, ROWS, np.random.default_rng(3), 7)


@settings(max_examples=40, deadline=None)
@given(eh.strategies(DOMAIN))
def test_drawn_people_are_valid(person):
    row = np.array([[column.code(person[column.name]) for column in COLUMNS]])
    assert DOMAIN.contains(row).all()


def _related() -> tuple[np.ndarray, TabularDomain]:
    """Sums, a flag of three, and dates in order, as rules."""
    rng = np.random.default_rng(5)
    basic, bonus, start = rng.integers(10, 60, 500), rng.integers(0, 20, 500), rng.integers(0, 100, 500)
    flags = np.eye(3)[rng.integers(0, 3, 500)]
    rows = np.column_stack([basic, bonus, basic + bonus, start, start + 1 + rng.integers(0, 50, 500), flags]).astype(float)
    names = ("basic", "bonus", "total", "start", "end")
    numbers = [Column(name, "integer", low=int(c.min()), high=int(c.max())) for name, c in zip(names, rows.T[:5], strict=True)]
    columns = (*numbers, *(Column(f"is_{flag}", "boolean", (0, 1)) for flag in "abc"))
    rules = ["total == basic + bonus", "start < end", "is_a + is_b + is_c == 1"]
    return rows, TabularDomain(columns, constraints=compile_constraints(rules, columns))


def test_boundaries_carry_along_what_follows_from_them():
    rows, domain = _related()
    found = boundary_rows(domain, rows, np.random.default_rng(6))
    assert domain.contains(found.rows).all()
    assert found.impossible == ()
    assert {"basic = 10 (lowest)", f"total = {int(rows[:, 2].min())} (lowest)", "is_a = 1", "is_a = 0"} <= set(found.reasons)


def test_combinations_keep_sums_orders_and_flags():
    rows, domain = _related()
    found = covering_rows(domain, rows, np.random.default_rng(7))
    assert domain.contains(found.rows).all()
    assert 0 < found.impossible < found.combinations / 3


def test_every_relation_is_broken_by_a_row_that_keeps_the_others():
    rows, domain = _related()
    faults = negative_frame(domain, rows, np.random.default_rng(8))["fault"].tolist()
    assert {f"breaks the rule {rule.text}" for rule in domain.constraints} <= set(faults)


def test_a_number_outside_of_its_range_breaks_no_rule_beside():
    """A model that refuses the row refuses it for the range, not because the sum is wrong."""
    parts = np.round(np.random.default_rng(4).uniform([100, 0], [900, 90], (300, 2)), 2)
    frame = pd.DataFrame({"base": parts[:, 0], "bonus": parts[:, 1], "total": np.round(parts.sum(axis=1), 2)})
    opened = eh.open(frame)
    columns = opened.domain.columns
    ruled = TabularDomain(columns, constraints=compile_constraints(["total == base + bonus"], columns))
    told = negative_frame(ruled, opened.rows, np.random.default_rng(9)).set_index("fault")
    outside = told[told.index.str.contains("is below|is above")]
    named = outside.index.str.contains("no row out there keeps the rules")
    sums = (outside["base"] + outside["bonus"] - outside["total"]).astype(float).abs() < 0.005
    assert len(outside) == 6
    assert sums[~named].all()
    assert (~named).sum() >= 5  # only a base above its own range may leave no room for a total
    assert all(len(repr(float(cell)).split(".")[1]) <= 2 for cell in outside.to_numpy().ravel())


PAYS = np.random.default_rng(1).integers(1_000, 9_000, (400, 2))
OPENED = eh.open(
    pd.DataFrame(
        {"base": PAYS[:, 0], "bonus": PAYS[:, 1], "pay": PAYS.sum(axis=1), "sex": ["f", "m"] * 200, "granted": ["no", "yes"] * 200}
    ),
    label="granted",
    protected=["sex"],
)


@settings(max_examples=50, deadline=None)
@given(eh.strategies(OPENED))
def test_strategies_of_an_opened_table_keep_what_its_rows_keep(person):
    assert person["pay"] == person["base"] + person["bonus"]
