"""Trees that are cut to larger leaves, how many copies each size would make, and tilts worked into leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.keys import hash_cells
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.associations import associations
from evenhand.synthesis.chained_trees import ChainedTrees, tree_copies
from evenhand.synthesis.coarse_parents import BINS, FEW_VALUES, coarse, in_numbers
from evenhand.synthesis.leaf_sizes import LeafSizes
from evenhand.synthesis.leaves import node_shares
from evenhand.synthesis.links import parted
from evenhand.synthesis.tree_growth import Grown, TreeGrowth
from evenhand.synthesis.tree_settings import TreeSettings


def people(n: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    sex, job = rng.integers(0, 2, n), rng.integers(0, 6, n)
    age = np.clip(rng.normal(40 + 2 * job, 9, n), 18, 70).round()
    hours = np.clip(rng.normal(30 + job + 4 * sex, 6, n), 10, 60).round()
    return np.column_stack([sex, job, age, hours])


DOMAIN = TabularDomain(
    (
        Column("sex", "category", ("f", "m")),
        Column("job", "category", tuple("abcdef")),
        Column("age", "integer", low=18, high=70),
        Column("hours", "integer", low=10, high=60),
    ),
    ("sex",),
)
LEARNT = people(3_000, 0)
SETTINGS = TreeSettings(relations=False, held_out=0.0)


@pytest.fixture(scope="module")
def growth() -> TreeGrowth:
    rng = np.random.default_rng(1)
    every, nothing = np.arange(len(LEARNT)), np.arange(0)
    copies = tree_copies(LEARNT, DOMAIN)
    return TreeGrowth(LEARNT, DOMAIN, copies, DOMAIN.low, every, nothing, associations(LEARNT, rng), SETTINGS)


@pytest.fixture(scope="module")
def hours(growth: TreeGrowth) -> Grown:
    return growth.grown((0, 1, 2, 3), 3, np.random.default_rng(2))


def test_a_cut_tree_answers_as_the_node_does_that_it_ends_in(hours: Grown) -> None:
    smaller = hours.cut(60)
    assert 1 < len(smaller.branches.leaves) < len(hours.branches.leaves) / 2
    assert np.array_equal(smaller.nodes, smaller.tree.apply(hours.copies[:, hours.parents]))
    again = replace(smaller)  # without what was taken over from the larger tree
    every = np.arange(len(smaller.branches.left))
    np.testing.assert_allclose(again.shares.of(every), smaller.shares.of(every), rtol=1e-3, atol=1e-7)
    inner = smaller.branches.left >= 0
    assert (smaller.branches.rows[inner] >= 120).all()


def test_a_size_that_no_node_is_too_small_for_cuts_nothing(hours: Grown) -> None:
    assert hours.cut(2) is hours


def test_a_tree_that_is_cut_to_its_root_is_one_leaf(hours: Grown) -> None:
    alone = hours.cut(10_000)
    assert alone.tree is None
    assert alone.link().share.shape == (1, 51)


@pytest.mark.parametrize("size", [5, 40])
def test_the_share_of_copies_is_known_before_any_row_is_drawn(growth: TreeGrowth, size: int) -> None:
    rng = np.random.default_rng(3)
    sizes = LeafSizes.of(LEARNT, (size, size), rng)
    columns = [growth.grown((0, 1, 2, 3), step, rng) for step in range(4)]
    for grown in columns:
        sizes.hear(grown)
    trees = ChainedTrees(DOMAIN, (0, 1, 2, 3), tuple(grown.cut(size).link() for grown in columns))
    drawn = np.isin(hash_cells(trees.sample(20_000, rng)), hash_cells(LEARNT)).mean()
    assert sizes.copies[0] == pytest.approx(drawn, abs=0.015)


def test_larger_leaves_make_fewer_copies(growth: TreeGrowth) -> None:
    sizes = LeafSizes.of(LEARNT, (5, 20, 80), np.random.default_rng(4))
    for step in range(4):
        sizes.hear(growth.grown((0, 1, 2, 3), step, np.random.default_rng(5)))
    assert (np.diff(sizes.copies) < 0).all()


def test_a_parted_link_says_what_its_tilts_said(growth: TreeGrowth, hours: Grown) -> None:
    rng = np.random.default_rng(6)
    tilted = growth._tilted(hours, (0, 1, 2), rng)
    assert tilted.tilts
    plain = parted(tilted, 10**7)
    assert plain.is_plain
    assert len(plain.share) == 2 * len(tilted.share)
    copies, codes = tree_copies(LEARNT, DOMAIN), LEARNT[:, 3]
    np.testing.assert_allclose(plain.log_share(codes, copies), tilted.log_share(codes, copies), atol=1e-6)
    levels = rng.random(len(LEARNT))
    assert np.array_equal(plain.codes(levels, copies), tilted.codes(levels, copies))
    assert parted(tilted, plain.share.size - 1) is tilted


@pytest.mark.parametrize(("cells", "has_missing", "is_number"), [(40, False, True), (33, True, True), (5, False, False)])
def test_frequencies_of_nodes_add_up_and_say_the_same_cell_by_cell(hours: Grown, cells: int, has_missing: bool, is_number: bool) -> None:
    rng = np.random.default_rng(0)
    places = np.minimum(rng.integers(0, cells, len(hours.nodes)), rng.integers(0, cells, len(hours.nodes)))
    leaves = hours.branches.leaf_of_node()[hours.nodes]
    counts = np.bincount(leaves * cells + places, minlength=len(hours.branches.leaves) * cells).reshape(-1, cells).astype(float)
    found, every = node_shares(hours.branches, counts, is_number, has_missing), np.arange(len(hours.branches.left))
    whole = found.of(every)
    assert whole.shape == (len(every), cells)
    assert (whole > 0).all()
    np.testing.assert_allclose(whole.sum(axis=1), 1.0)
    np.testing.assert_allclose(whole[0], counts.sum(axis=0) / counts.sum(), atol=1e-3)  # the root is the whole column
    for cell in range(cells):
        np.testing.assert_allclose(found.at(every, np.full(len(every), cell)), whole[:, cell], atol=1e-12)


def test_a_tree_grown_on_few_codes_splits_the_numbers_between_them() -> None:
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(1)
    cells = np.where(rng.random(3_000) < 0.4, 0.0, np.exp(rng.normal(3, 1, 3_000))).astype(np.float32)
    column = coarse(cells)
    assert column is not None
    assert len(column.borders) < 2 * BINS
    assert set(cells[column.codes == column.codes[cells == 0][0]]) == {0.0}  # a frequent value stands alone
    assert np.array_equal(np.searchsorted(column.borders, cells), column.codes)
    grown = DecisionTreeRegressor(min_samples_leaf=20).fit(column.codes[:, None], np.log1p(cells)).tree_
    same = in_numbers(grown, {0: column})
    assert np.array_equal(same.apply(cells[:, None]), grown.apply(column.codes[:, None]))


def test_few_values_are_no_coarser_than_they_are() -> None:
    assert coarse(np.arange(FEW_VALUES, dtype=np.float32)) is None
