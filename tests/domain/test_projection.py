"""Projection and sampling under constraints: always valid, nearest, and never moving what is already valid."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.domain import projection
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.parts import split, spread
from evenhand.domain.tabular import TabularDomain, satisfiable
from evenhand.errors import ConstraintError

EDUCATION = tuple(f"e{i}" for i in range(8))
COLUMNS = (
    Column("age", "integer", low=0, high=100),
    Column("sex", "category", ("Male", "Female")),
    Column("relation", "category", ("Husband", "Wife", "Own"), missing=0.2),
    Column("education", "ordinal", EDUCATION),
    Column("years", "integer", low=1, high=8, missing=0.1),
    Column("start", "real", low=0.2, high=9.7),
    Column("end", "real", low=0.2, high=9.7, missing=0.1),
    Column("a", "integer", low=0, high=1000),
    Column("b", "integer", low=0, high=1000),
    Column("total", "integer", low=0, high=2000),
    Column("city", "category", tuple(f"c{i}" for i in range(90))),
    Column("state", "category", ("s0", "s1", "s2")),
)
RULES = [
    'relation == "Husband" => sex == "Male"',
    'relation == "Wife" => sex == "Female"',
    "age >= 18 or relation is missing",
    {"columns": ["education"], "determines": "years", "map": {name: place + 1 for place, name in enumerate(EDUCATION)}},
    "years >= 5 => age > 30",
    "start < end",
    "end - start <= 2.5",
    "total == a + b",
    "a <= b",
    "a not in [0, 500, 1000]",
    {"columns": ["city"], "determines": "state", "map": {f"c{i}": f"s{i % 3}" for i in range(90)}},
    {"columns": ["sex", "education", "state"], "allowed": [["Male", "e0", "s0"], ["Female", "e1", "s1"], ["Female", "e7", "s2"]]},
    {"columns": ["sex", "state"], "forbidden": [["Male", "s2"]]},
    "relation is not missing",
]


def domain_with(rules: list[object], protected: tuple[str, ...] = ("sex",)) -> TabularDomain:
    return TabularDomain(COLUMNS, protected, constraints=compile_constraints(rules, COLUMNS))


def same(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return (first == second) | (np.isnan(first) & np.isnan(second))


@st.composite
def rows_of(draw: st.DrawFn, n: int = 6) -> np.ndarray:
    """Rows inside and outside the ranges, with fractions, infinities and missing cells."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = TabularDomain(COLUMNS).sample(n, rng)
    wild = rng.random(rows.shape) < draw(st.sampled_from([0.0, 0.1, 0.5]))
    rows[wild] = rng.choice([-np.inf, np.inf, np.nan, -3.7, 2.5, 1e9], size=int(wild.sum()))
    return rows


@given(rules=st.lists(st.sampled_from(RULES), max_size=6, unique_by=str), rows=rows_of(), seed=st.integers(0, 1000))
@settings(max_examples=80, deadline=None)
def test_projection_is_valid_idempotent_and_leaves_valid_rows_alone(rules, rows, seed):
    domain = domain_with(rules)
    projected = domain.project(rows)
    assert domain.contains(projected).all()
    assert same(domain.project(projected), projected).all()
    valid = domain.sample(5, np.random.default_rng(seed))
    assert domain.contains(valid).all()
    assert same(domain.project(valid), valid).all()


@given(rules=st.lists(st.sampled_from(RULES), min_size=1, max_size=6, unique_by=str), rows=rows_of(5))
@settings(max_examples=30, deadline=None)
def test_a_row_is_projected_alike_alone_and_in_a_batch(rules, rows):
    domain = domain_with(rules)
    together = domain.project(rows)
    alone = np.vstack([domain.project(row[None]) for row in rows])
    assert same(together, alone).all()


SMALL = (
    Column("x", "integer", low=0, high=4),
    Column("y", "integer", low=0, high=4, missing=0.3),
    Column("c", "category", ("p", "q", "r")),
    Column("g", "category", ("m", "f")),
)
SMALL_RULES = [
    "x < y",
    "x + y == 4",
    'c == "p" => x > 2',
    "y is missing => x == 0",
    'g == "m" => c != "q"',
    "x * y < 9",
    "x != 2",
    {"columns": ["c", "g"], "allowed": [["p", "m"], ["q", "f"], ["r", "f"]]},
    {"columns": ["c"], "determines": "x", "map": {"p": 1, "q": 4}},
]


def everything() -> np.ndarray:
    codes = [[*np.arange(column.lowest, column.highest + 1), *([np.nan] if column.missing else [])] for column in SMALL]
    return np.array(list(product(*codes)))


def brute_distance(row: np.ndarray, other: np.ndarray) -> tuple[int, int, float]:
    """Protected cells changed, cells changed, size of change: read off the definition."""
    changed = [not (a == b or (np.isnan(a) and np.isnan(b))) for a, b in zip(row, other, strict=True)]
    size = 0.0
    for place, column in enumerate(SMALL):
        if changed[place]:
            gap = abs(row[place] - other[place]) / (column.highest - column.lowest)
            size += 1.0 if column.kind == "category" or np.isnan(gap) else gap
    return int(changed[3]), sum(changed), round(size, 9)


@given(rules=st.lists(st.sampled_from(SMALL_RULES), min_size=1, max_size=3, unique_by=str), at=st.integers(0, 179))
@settings(max_examples=100, deadline=None)
def test_small_domains_are_projected_to_the_nearest_valid_row(rules, at):
    domain = TabularDomain(SMALL, ("g",), constraints=compile_constraints(rules, SMALL))
    rows = everything()
    valid = rows[domain.contains(rows)]
    if not len(valid):
        with pytest.raises(ConstraintError, match="no row keeps"):
            satisfiable(domain)
        return
    row = rows[at]
    best = min(brute_distance(row, other) for other in valid)
    assert brute_distance(row, domain.project(row[None])[0]) == best


@given(rules=st.lists(st.sampled_from(SMALL_RULES), min_size=1, max_size=3, unique_by=str), at=st.integers(0, 179))
@settings(max_examples=60, deadline=None)
def test_the_search_changes_no_more_cells_than_needed(rules, at):
    """The search of large domains, forced on a small one where the truth is known: protected cells aside, as few cells."""
    domain = TabularDomain(SMALL, (), constraints=compile_constraints(rules, SMALL))
    rows = everything()
    valid = rows[domain.contains(rows)]
    if not len(valid):
        return
    for part in split(domain):
        places = list(part.places)
        mended, solved = projection.search(part, rows[at : at + 1, places])
        assert solved.all()
        counts = (~same(valid[:, places], rows[at, places])).sum(axis=1)
        if part.keeps(rows[at : at + 1, places])[0]:
            continue
        assert (~same(mended[0], rows[at, places])).sum() == counts.min()


def test_protected_cells_are_changed_last():
    domain = domain_with(['relation == "Husband" => sex == "Male"'])
    row = domain.sample(1, np.random.default_rng(1))
    row[0, [1, 2]] = 1.0, 0.0  # a female husband
    mended = domain.project(row)
    assert mended[0, 1] == 1.0, "her sex stays"
    assert mended[0, 2] != 0.0


def test_only_protected_cells_change_where_nothing_else_can():
    domain = domain_with(['sex == "Male"'])
    row = domain.sample(1, np.random.default_rng(1))
    row[0, 1] = 1.0
    assert domain.project(row)[0, 1] == 0.0


@pytest.mark.parametrize(
    ("rules", "named", "unnamed"),
    [
        (["age > 50", "age < 40", "start < end"], ["age > 50", "age < 40"], ["start < end"]),
        (["age > 100"], ["no row keeps this constraint: age > 100"], []),
        (["start < end", "end < start", "start > 1", "end is not missing"], ["start < end", "end < start"], ["start > 1"]),
        (["a > b", "b > total", "total > a", "age > 3"], ["a > b", "b > total", "total > a"], ["age > 3"]),
        (["total > a + b + 2000"], ["total > a + b + 2000"], []),
    ],
)
def test_contradictory_constraints_are_named_and_only_they(rules, named, unnamed):
    domain = domain_with(rules)
    for attempt in (lambda: satisfiable(domain), lambda: domain.sample(3, np.random.default_rng(0))):
        with pytest.raises(ConstraintError) as caught:
            attempt()
        assert all(text in str(caught.value) for text in named)
        assert not any(text in str(caught.value) for text in unnamed)
        assert "loosen" in str(caught.value)


def test_a_valid_data_row_settles_satisfiability():
    domain = domain_with(["start < end"])
    satisfiable(domain, domain.sample(1, np.random.default_rng(0)))


@pytest.mark.parametrize(
    "rules",
    [["total == a + b"], [RULES[3], RULES[10]], ["start == end"], ["a == 7", "b == a * 3"], pytest.param(RULES, marks=pytest.mark.slow)],
)
def test_sampling_does_not_stall_where_uniform_rows_are_almost_never_valid(rules):
    domain = domain_with(rules)
    started = time.process_time()
    rows = domain.sample(20_000, np.random.default_rng(0))
    assert domain.contains(rows).all()
    assert time.process_time() - started < 20


def test_sampling_is_uniform_over_the_valid_rows_of_enumerable_parts():
    columns = (Column("x", "integer", low=0, high=3), Column("y", "integer", low=0, high=3))
    domain = TabularDomain(columns, constraints=compile_constraints(["x <= y"], columns))
    rows = domain.sample(40_000, np.random.default_rng(0))
    _, counts = np.unique(rows, axis=0, return_counts=True)
    assert len(counts) == 10
    assert abs(counts - 4_000).max() < 5 * np.sqrt(4_000)


def test_sampling_keeps_the_share_of_missing_cells():
    columns = (Column("x", "integer", low=0, high=9, missing=0.3), Column("y", "integer", low=0, high=9))
    domain = TabularDomain(columns, constraints=compile_constraints(["x is missing or y > 4"], columns))
    rows = domain.sample(20_000, np.random.default_rng(0))
    expected = 0.3 / (0.3 + 0.7 * 0.5)
    assert abs(np.isnan(rows[:, 0]).mean() - expected) < 0.02


@pytest.mark.parametrize(
    ("rule", "cells", "step"),
    [
        ("a < b", {"a": 700.0, "b": 700.0}, 1.0),
        ("a != b", {"a": 700.0, "b": 700.0}, 1.0),
        ("a + b < total", {"a": 10.0, "b": 20.0, "total": 30.0}, 1.0),
        ("a not in [499, 500, 501]", {"a": 500.0}, 2.0),
        ("a >= 18", {"a": 3.0}, 15.0),
        ("2 * a >= b", {"a": 10.0, "b": 30.0}, 5.0),
        ("start < end", {"start": 5.0, "end": 5.0}, 1e-12),
    ],
)
def test_large_ranges_are_mended_by_one_smallest_step(rule, cells, step):
    domain = domain_with([rule])
    row = domain.sample(1, np.random.default_rng(0))
    for name, code in cells.items():
        row[0, domain.place(name)] = code
    mended = domain.project(row)
    moved = np.flatnonzero(~same(row, mended)[0])
    assert len(moved) == 1
    assert abs(mended - row)[0, moved[0]] <= step


def test_the_same_seed_gives_the_same_rows():
    domain = domain_with(RULES)
    first, second = (domain.sample(500, np.random.default_rng(3)) for _ in range(2))
    assert same(first, second).all()


def test_independent_constraints_form_parts_of_their_own():
    parts = split(domain_with(["start < end", "a <= b", "b <= total", "age > 3"]))
    assert [[column.name for column in part.columns] for part in parts] == [["age"], ["start", "end"], ["a", "b", "total"]]


def test_a_foreign_constraint_is_kept_too():
    class EvenAge:
        text = "age is even"

        def holds(self, rows):
            return rows[:, 0] % 2 == 0

    domain = replace(domain_with([]), constraints=(EvenAge(),))
    rows = domain.sample(50, np.random.default_rng(0))
    assert (rows[:, 0] % 2 == 0).all()
    rows[:, 0] += 1
    assert domain.contains(domain.project(rows)).all()


def test_spread_rows_are_inside_and_different():
    rows = spread(COLUMNS, 500)
    assert TabularDomain(COLUMNS).inside(rows).all()
    assert len(np.unique(rows[:, 0])) > 50


def test_a_column_of_missing_cells_stays_missing():
    domain = TabularDomain((Column("gone", "category", (), missing=1.0), Column("x", "real", low=0.2, high=0.9)))
    assert np.isnan(domain.sample(3, np.random.default_rng(0))[:, 0]).all()
    projected = domain.project(np.array([[0.0, np.nan], [5.0, 3.0]]))
    assert domain.contains(projected).all()
