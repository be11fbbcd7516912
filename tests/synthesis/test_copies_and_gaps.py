"""Chained trees repeat learnt rows no more often than fresh rows would, and groups stand where the data have them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.keys import hash_cells
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.chained_trees import ChainedTrees


def people(n: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    sex, race = rng.integers(0, 2, n), rng.choice(4, n, p=[0.5, 0.3, 0.12, 0.08])
    age = np.clip(18 + rng.gamma(2, 8, n).astype(int), 18, 60)
    counts = np.minimum(rng.negative_binomial(0.5, 0.15, n) + 2 * (race == 0), 30)
    charge = np.minimum(rng.zipf(1.6, n), 20) - 1
    score = np.clip(np.round(5 + 0.2 * counts - 0.08 * (age - 32) + rng.normal(0, 2.2, n)), 1, 10)
    label = rng.random(n) < 1 / (1 + np.exp(-(0.4 * (score - 5) - 0.5 * sex)))
    return np.column_stack([sex, race, age, counts, charge, score, label]).astype(np.float64)


DOMAIN = TabularDomain(
    (
        Column("sex", "category", ("m", "f")),
        Column("race", "category", tuple("abcd")),
        Column("age", "integer", low=18, high=60),
        Column("counts", "integer", low=0, high=30),
        Column("charge", "category", tuple(f"c{at}" for at in range(20))),
        Column("score", "integer", low=1, high=10),
        Column("label", "category", ("no", "yes")),
    ),
    ("sex", "race"),
)
LEARNT = people(3_000, 1)


@pytest.fixture(scope="module")
def trees() -> ChainedTrees:
    return ChainedTrees.fit(LEARNT, DOMAIN, np.random.default_rng(0))


def share_repeated(rows: Rows) -> float:
    return float(np.isin(hash_cells(rows), hash_cells(LEARNT)).mean())


def test_as_many_drawn_rows_repeat_a_learnt_one_as_fresh_rows_do(trees):
    rng = np.random.default_rng(3)
    fresh, free = share_repeated(people(20_000, 2)), share_repeated(replace(trees, copies=None).sample(20_000, rng))
    assert free > fresh + 0.01  # else there is nothing to thin
    assert fresh - 0.02 < share_repeated(trees.sample(20_000, rng)) < fresh + 0.005


def test_fixed_cells_stay_where_copies_are_drawn_again(trees):
    drawn = trees.sample(2_000, np.random.default_rng(4), {"race": "c", "age": 24})
    assert (drawn[:, 1] == 2).all()
    assert (drawn[:, 2] == 24).all()


def test_a_table_without_surplus_has_no_limit():
    domain = TabularDomain((Column("a", "real", low=0.0, high=1.0), Column("b", "real", low=0.0, high=1.0)))
    rng = np.random.default_rng(0)
    assert ChainedTrees.fit(rng.random((800, 2)), domain, rng).copies is None


@pytest.mark.parametrize(("column", "first", "second"), [(0, 0, 1), (1, 0, 3)])
@pytest.mark.parametrize("outcome", [5, 6])
def test_groups_are_as_far_apart_as_in_the_data(trees, column, first, second, outcome):
    drawn = trees.sample(60_000, np.random.default_rng(5))

    def gap(rows: Rows) -> float:
        return float(rows[rows[:, column] == first, outcome].mean() - rows[rows[:, column] == second, outcome].mean())

    spread = LEARNT[:, outcome].std()
    assert abs(gap(drawn) - gap(LEARNT)) < 0.02 * spread
