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
from evenhand.synthesis.pilot_rows import PilotRows
from evenhand.synthesis.tree_growth import _group_borders
from evenhand.synthesis.tree_settings import TreeSettings


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


@pytest.fixture(scope="module")
def drawn(trees) -> Rows:
    return trees.sample(800_000, np.random.default_rng(5))  # the smallest groups' gap is then told to a hundredth of its spread


def share_repeated(rows: Rows) -> float:
    return float(np.isin(hash_cells(rows), hash_cells(LEARNT)).mean())


def test_as_many_drawn_rows_repeat_a_learnt_one_as_fresh_rows_do(trees):
    rng = np.random.default_rng(3)
    fresh, free = share_repeated(people(20_000, 2)), share_repeated(replace(trees, copies=None).sample(20_000, rng))
    assert free > fresh + 0.01  # else there is nothing to thin
    assert fresh - 0.02 < share_repeated(trees.sample(20_000, rng)) < fresh + 0.01


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
def test_groups_are_as_far_apart_as_in_the_data(drawn, column, first, second, outcome):
    def gap(rows: Rows) -> float:
        return float(rows[rows[:, column] == first, outcome].mean() - rows[rows[:, column] == second, outcome].mean())

    spread = LEARNT[:, outcome].std()
    assert abs(gap(drawn) - gap(LEARNT)) < 0.02 * spread


def test_groups_that_differ_by_chance_alone_are_drawn_alike():
    rng = np.random.default_rng(6)
    rows = np.column_stack([rng.integers(0, 2, 2_000), rng.integers(0, 10, 2_000), rng.random(2_000)])
    columns = (Column("sex", "category", ("m", "f")), Column("digit", "integer", low=0, high=9), Column("last", "real", low=0.0, high=1.0))
    domain = TabularDomain(columns, ("sex",))
    drawn = ChainedTrees.fit(rows, domain, rng, TreeSettings(leaf_rows=2_000)).sample(100_000, rng)
    shares = [np.bincount(drawn[drawn[:, 0] == sex, 1].astype(int), minlength=10) / (drawn[:, 0] == sex).sum() for sex in (0, 1)]
    real = [np.bincount(rows[rows[:, 0] == sex, 1].astype(int), minlength=10) / (rows[:, 0] == sex).sum() for sex in (0, 1)]
    assert np.abs(shares[0] - shares[1]).sum() < 0.6 * np.abs(real[0] - real[1]).sum()


def test_pilot_rows_hold_small_groups_more_often_and_weigh_them_less():
    rng = np.random.default_rng(7)
    learnt = np.column_stack([(rng.random(20_000) < 0.01), rng.random(20_000)]).astype(np.float64)
    groups = learnt[:, 0].astype(np.intp)
    pilot = PilotRows.begun(learnt, learnt.astype(np.float32), (0,), {0: groups}, rng)
    small = pilot.rows[:, 0] == 1
    assert small.mean() > 0.05
    assert pilot.weights[small].sum() / pilot.weights.sum() == pytest.approx(groups.mean(), abs=0.0005)


def hired(n: int, seed: int) -> Rows:
    """Eight races, the smallest a fiftieth; what they differ in beyond age, grade and hours is less than any split of a tree tells."""
    rng = np.random.default_rng(seed)
    race = rng.choice(8, n, p=[0.6, 0.02, 0.15, 0.02, 0.1, 0.03, 0.05, 0.03])
    age = np.clip(np.round(rng.gamma(9, 4.5, n)), 17, 90)
    grade = np.clip(np.round(rng.normal(8, 3, n)), 0, 16)
    hours = np.clip(np.round(np.where(rng.random(n) < 0.45, 40, rng.normal(40, 11, n))), 1, 99)
    weight = np.round(np.exp(rng.normal(12, 0.5, n)))
    odds = 0.3 * (grade - 9) + 0.04 * (age - 45) + 0.04 * (hours - 40) + np.array([0, 0.8, 0, -0.8, 0.3, 0.8, -0.4, 0.5])[race]
    return np.column_stack([race, age, grade, hours, weight, rng.random(n) < 1 / (1 + np.exp(-odds))]).astype(np.float64)


def test_eight_groups_of_a_protected_column_keep_their_rates_though_a_column_of_distinct_numbers_is_drawn_last():
    rows = hired(12_000, 8)
    numbers = ("age", 17, 90), ("grade", 0, 16), ("hours", 1, 99), ("weight", 0, int(rows[:, 4].max()))
    columns = [Column(name, "integer", low=low, high=high) for name, low, high in numbers]
    domain = TabularDomain((Column("race", "category", tuple("abcdefgh")), *columns, Column("hired", "boolean", (0, 1))), ("race",))
    trees = ChainedTrees.fit(rows, domain, np.random.default_rng(0))
    assert trees.order[-1] == 4  # the outcome is not the last column drawn
    drawn = trees.sample(400_000, np.random.default_rng(1))
    apart = [drawn[drawn[:, 0] == group, 5].mean() - rows[rows[:, 0] == group, 5].mean() for group in range(8)]
    assert np.abs(apart).max() < 0.02


@pytest.mark.parametrize(("values", "thin", "groups"), [(8, 2, 6), (8, 0, 8), (30, 0, 12)])
def test_every_value_of_a_protected_category_is_a_group_unless_it_is_thin_or_one_of_very_many(values, thin, groups):
    codes = np.repeat(np.arange(values), [10] * thin + [100] * (values - thin)).astype(np.float32)
    assert len(_group_borders(codes, is_listed=True)) + 1 == groups
