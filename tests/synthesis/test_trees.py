"""What chained trees promise: the way back, the density, the order, and constraints that hold in every row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.arrays import Mask, Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError, DataError, InvalidArgument
from evenhand.synthesis import chained_trees, links
from evenhand.synthesis.cells import cut
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.tree_settings import TreeSettings


@dataclass(frozen=True)
class Rule:
    text: str
    below: float

    def holds(self, rows: Rows) -> Mask:
        return rows[:, 1] + 10 * rows[:, 0] < self.below


def mixed_domain() -> TabularDomain:
    return TabularDomain(
        (
            Column("city", "category", tuple(f"city {i}" for i in range(900))),
            Column("age", "integer", low=18, high=90),
            Column("sex", "category", ("f", "m")),
            Column("income", "integer", low=0, high=2_000_000, missing=0.1),
            Column("ratio", "real", low=-1.0, high=3.0),
            Column("price", "real", low=0.0, high=99.99, missing=0.05),
        ),
        protected=("sex",),
    )


def mixed_rows(n: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n).astype(float)
    age = np.clip(np.rint(40 + 12 * rng.normal(size=n) - 4 * sex), 18, 90)
    income = np.rint(np.exp(9 + age / 50 + rng.normal(size=n) * 0.5)).clip(0, 2_000_000)
    income[rng.random(n) < 0.3] = 0
    income[rng.random(n) < 0.1] = np.nan
    price = np.round(rng.random(n) * 99.99, 2)
    price[rng.random(n) < 0.05] = np.nan
    city = np.floor(900 * rng.random(n) ** 3)
    return np.column_stack([city, age, sex, income, np.clip(rng.normal(size=n), -1, 3), price])


@pytest.fixture(scope="module")
def trees() -> ChainedTrees:
    return ChainedTrees.fit(mixed_rows(6_000, 1), mixed_domain(), np.random.default_rng(2))


def test_every_training_row_is_decoded_from_its_own_latent(trees):
    rows = mixed_rows(6_000, 1)
    np.testing.assert_array_equal(trees.decode(trees.encode(rows, np.random.default_rng(3))), rows)


def test_every_unseen_row_is_decoded_from_its_own_latent(trees):
    rows = mixed_rows(3_000, 9)
    decoded = trees.decode(trees.encode(rows, np.random.default_rng(3)))
    np.testing.assert_array_equal(decoded[:, [0, 1, 2, 3, 5]], rows[:, [0, 1, 2, 3, 5]])
    np.testing.assert_allclose(decoded[:, 4], rows[:, 4], atol=1e-8)  # doubles with 53 random bits exceed a latent's own precision


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_latent_decodes_to_a_valid_row_that_finds_its_way_back(trees, seed):
    rng = np.random.default_rng(seed)
    rows = trees.decode(rng.normal(size=(50, 6)) * rng.choice([1, 3, 20]))
    assert trees.domain.contains(rows).all()
    np.testing.assert_allclose(trees.decode(trees.encode(rows, rng)), rows, rtol=0, atol=1e-8)


def test_latents_of_samples_are_standard_normal(trees):
    rng = np.random.default_rng(4)
    latents = trees.encode(trees.sample(20_000, rng), rng)
    assert np.abs(latents.mean(axis=0)).max() < 0.05
    assert np.abs(latents.std(axis=0) - 1).max() < 0.05
    assert np.abs(np.corrcoef(latents.T) - np.eye(6)).max() < 0.05


def test_the_probabilities_of_all_rows_sum_to_one():
    domain = TabularDomain((Column("a", "integer", low=0, high=5, missing=0.1), Column("b", "category", ("x", "y", "z"))))
    rng = np.random.default_rng(0)
    trees = ChainedTrees.fit(domain.sample(500, rng), domain, rng)
    everything = np.array([[a, b] for a in [*range(6), np.nan] for b in range(3)])
    assert np.exp(trees.log_density(everything)).sum() == pytest.approx(1.0, abs=1e-9)


def test_the_density_of_a_real_column_integrates_to_one():
    domain = TabularDomain((Column("x", "real", low=-2.0, high=3.0),))
    rng = np.random.default_rng(0)
    trees = ChainedTrees.fit(np.clip(rng.normal(size=(4_000, 1)), -2, 3), domain, rng, TreeSettings(cells=20))
    grid = np.linspace(-2, 3, 200_001)[1:-1, None] + 1e-7
    continuous = np.exp(trees.log_density(grid)).sum() * 5 / 200_000
    singles = np.exp(trees.log_density(np.array([[-2.0], [3.0]]))).sum()
    assert continuous + singles == pytest.approx(1.0, abs=2e-3)


def test_unseen_rows_keep_a_finite_likelihood_and_impossible_ones_do_not(trees):
    assert np.isfinite(trees.log_density(trees.domain.sample(2_000, np.random.default_rng(0)))).all()
    outside = mixed_rows(1, 1)
    outside[0, 1] = 91
    assert trees.log_density(outside)[0] == -np.inf
    with pytest.raises(DataError, match="age"):
        trees.encode(outside, np.random.default_rng(0))


def test_protected_columns_lead_so_that_descendants_can_be_drawn_given_them(trees):
    assert trees.order[0] == 2
    rng = np.random.default_rng(0)
    women, men = (trees.sample(30_000, rng, fixed={"sex": value}) for value in ("f", "m"))
    assert set(women[:, 2]) == {0.0}
    assert set(men[:, 2]) == {1.0}
    real = mixed_rows(6_000, 1)
    assert women[:, 1].mean() == pytest.approx(real[real[:, 2] == 0, 1].mean(), abs=0.5)
    assert men[:, 1].mean() == pytest.approx(real[real[:, 2] == 1, 1].mean(), abs=0.5)


def test_resampling_keeps_what_it_was_told_to_keep(trees):
    rows = mixed_rows(500, 5)
    again = trees.resample(rows, ["sex", "city"], np.random.default_rng(0))
    np.testing.assert_array_equal(again[:, [0, 2]], rows[:, [0, 2]])
    assert (again[:, 1] != rows[:, 1]).mean() > 0.5


def test_the_same_generator_gives_the_same_rows(trees):
    np.testing.assert_array_equal(trees.sample(100, np.random.default_rng(1)), trees.sample(100, np.random.default_rng(1)))


@pytest.mark.parametrize("below", [80.0, 45.0, 21.0])
def test_constraints_hold_in_every_row_however_rare(below):
    columns = (Column("young", "integer", low=0, high=9), Column("age", "integer", low=18, high=90))
    domain = TabularDomain(columns, constraints=(Rule(f"age + 10 * young < {below}", below),))
    rng = np.random.default_rng(0)
    free = TabularDomain(columns)
    trees = ChainedTrees.fit(free.sample(3_000, rng), domain, rng)
    rows = trees.sample(2_000, rng)
    assert len(rows) == 2_000
    assert domain.contains(rows).all()


def test_an_impossible_constraint_is_named():
    columns = (Column("young", "integer", low=0, high=9), Column("age", "integer", low=18, high=90))
    domain = TabularDomain(columns, constraints=(Rule("age below zero", 0.0),))
    rng = np.random.default_rng(0)
    trees = ChainedTrees.fit(TabularDomain(columns).sample(300, rng), domain, rng)
    with pytest.raises(ConstraintError, match="age below zero"):
        trees.sample(50, rng)


def test_faults_of_the_caller_are_named(trees):
    with pytest.raises(DataError, match="shape"):
        ChainedTrees.fit(np.empty((0, 6)), mixed_domain(), np.random.default_rng(0))
    with pytest.raises(DataError, match="'age', row 0"):
        ChainedTrees.fit(mixed_rows(5, 1) * [1, 100, 1, 1, 1, 1], mixed_domain(), np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="'sex'"):
        trees.sample(5, np.random.default_rng(0), fixed={"sex": np.array([0.0, 1.0])})
    with pytest.raises(InvalidArgument, match="held_out"):
        TreeSettings(held_out=1.0)


@pytest.mark.parametrize("rows", [1, 2, 30])
def test_tiny_tables_are_enough(rows):
    rng = np.random.default_rng(0)
    trees = ChainedTrees.fit(mixed_rows(rows, 1), mixed_domain(), rng)
    assert trees.domain.contains(trees.sample(200, rng)).all()


def test_a_column_of_missing_cells_only_stays_missing() -> None:
    domain = TabularDomain((Column("empty", "category", (), missing=1.0), Column("x", "integer", low=0, high=5)))
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.full(300, np.nan), rng.integers(0, 6, 300)])
    trees = ChainedTrees.fit(rows, domain, rng)
    drawn = trees.sample(100, rng)
    assert np.isnan(drawn[:, 0]).all()
    assert np.array_equal(trees.decode(trees.encode(rows, rng)), rows, equal_nan=True)
    assert np.isfinite(trees.log_density(rows)).all()


def test_cells_are_found_by_halving_a_leaf_as_by_searching_all_leaves():
    rng = np.random.default_rng(0)
    codes = np.concatenate([rng.integers(0, 5_000, 900), np.full(100, 7)]).astype(np.float64)
    rows = np.column_stack([rng.integers(0, 2, 1_000), codes])
    domain = TabularDomain((Column("sex", "category", ("m", "f")), Column("amount", "integer", low=0, high=5_000)), ("sex",))
    link = ChainedTrees.fit(rows, domain, rng).links[1]
    leaves, levels = rng.integers(0, len(link.share), 5_000), rng.random(5_000)
    levels[:1_000] = link.before.ravel()[rng.integers(0, link.before.size, 1_000)]  # on the very borders
    first = leaves * link.cells.count
    searched = np.searchsorted(link.ends, levels + leaves, side="right") - first
    assert np.array_equal(link._halved_to(levels + leaves, first) - first, np.clip(searched, 0, link.cells.count - 1))


def test_rows_are_the_same_whether_they_are_sorted_on_their_way_or_not(trees: ChainedTrees, monkeypatch: pytest.MonkeyPatch) -> None:
    latents = trees.latents(5_000, np.random.default_rng(6))
    monkeypatch.setattr(chained_trees, "_WORTH_SORTING", 10**9)
    plain = trees.decode(latents), trees.decode(latents, {"age": latents[:, 0] * 0 + 40})
    monkeypatch.setattr(chained_trees, "_WORTH_SORTING", 10)
    monkeypatch.setattr(chained_trees, "_LARGE_TREE", 4)
    again = replace(trees)
    assert 0 < again._sorted_from < len(again.order) - 1
    assert np.array_equal(again.decode(latents), plain[0], equal_nan=True)
    assert np.array_equal(again.decode(latents, {"age": latents[:, 0] * 0 + 40}), plain[1], equal_nan=True)


def test_the_likeliest_cell_is_found_as_any_other(trees: ChainedTrees) -> None:
    rng = np.random.default_rng(7)
    looked_at = [replace(link) for link in trees.links if link._likeliest is not None]
    assert looked_at
    for link in looked_at:
        leaves = rng.integers(0, len(link.share), 10_000)
        levels = np.where(rng.random(10_000) < 0.2, link.before[leaves, rng.integers(0, link.cells.count, 10_000)], rng.random(10_000))
        levels = np.minimum(levels, links.BELOW_ONE)
        assert link._guide  # the table of bins is there from now on
        found = link._place(levels, leaves, leaves * link.cells.count)
        wanted = np.searchsorted(link.ends, levels + leaves, side="right")
        assert np.array_equal(
            np.minimum(found, (leaves + 1) * link.cells.count - 1), np.minimum(wanted, (leaves + 1) * link.cells.count - 1)
        )


def test_cells_that_are_whole_numbers_in_a_row_are_counted_off_as_they_are_looked_up():
    column = Column("c", "integer", low=-3, high=40, missing=0.2)
    cells = cut(column, np.array([np.nan, -3.0, 4.0, 40.0]), 256)
    looked_up = replace(cells)
    looked_up.__dict__["_is_run"] = False
    odd = np.array([np.nan, np.inf, -np.inf, 0.5, 1e300, -0.0, -4.0, -3.0, 40.0, 41.0, 7.0])
    assert np.array_equal(cells.locate(odd), looked_up.locate(odd))


def test_a_tree_asks_a_column_that_tells_something_beside_others_only_and_none_that_tells_nothing():
    rng = np.random.default_rng(11)
    hidden, error = rng.normal(size=(2, 4_000))
    telling = [hidden + 2 * rng.normal(size=4_000) for _ in range(4)]
    noise = [rng.normal(size=4_000) for _ in range(3)]
    cells = np.round(np.column_stack([error, *telling, hidden + error, *noise, hidden]), 3)
    columns = tuple(Column(f"n{at}", "real", low=float(each.min()), high=float(each.max())) for at, each in enumerate(cells.T))
    trees = ChainedTrees.fit(cells, TabularDomain(columns), rng, TreeSettings(relations=False))
    asked = set(trees.links[trees.order.index(9)].parents.tolist())
    assert 0 in asked  # it says what is wrong about the sixth column, and nothing about the last one by itself
    assert not asked & {6, 7, 8}
