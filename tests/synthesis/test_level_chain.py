"""Walking a chain by its levels: what is moved is what would be decoded, and every probability is the chain's own."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import datasets
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.level_chain import LevelChain, LevelMove, LevelStates, same_codes

TABLES = {"adult": "sex", "bank": "age", "compas": "race"}  # implied changes, relations, several groups


@pytest.fixture(scope="module", params=TABLES)
def chain(request):
    data = datasets.load(request.param).protect(TABLES[request.param])
    return LevelChain.fit(data.rows[:: max(1, len(data.rows) // 1500)], data.domain, np.random.default_rng(0))


def decoded(chain: LevelChain, states: LevelStates) -> LevelStates:
    again = chain.encoded(states.rows, np.random.default_rng(1))
    again.levels = states.levels.copy()
    for position in range(len(chain.trees.order)):
        chain._decode(again, position)
    return again


@pytest.mark.parametrize("move", [LevelMove(5, False), LevelMove(6, False, 0.1), LevelMove(1, True)], ids=str)
def test_moved_rows_are_what_their_levels_decode_to(chain, move):
    rng = np.random.default_rng(2)
    states = chain.drawn(300, rng)
    changed, there = chain.moved(states, move, rng)
    assert len(changed)
    assert same_codes(decoded(chain, there).rows, there.rows).all()
    free = list(chain.domain.free_places)
    if not move.is_suffix:
        assert not same_codes(there.rows[:, free], states.rows[changed][:, free]).all(axis=1).any()


def test_real_people_are_decoded_from_their_levels_and_are_as_likely_as_the_chain_says(chain):
    rng = np.random.default_rng(3)
    rows = chain.drawn(200, rng).rows
    states = chain.encoded(rows, rng)
    assert same_codes(decoded(chain, states).rows, rows).all()
    np.testing.assert_allclose(states.likelihood.density, chain.trees.log_density(rows), rtol=1e-5)


def test_twins_are_as_likely_as_the_chain_says_implied_changes_included(chain):
    states = chain.drawn(200, np.random.default_rng(4))
    told = chain.others(states).density
    for which, twins in enumerate(chain.domain.twins(states.rows).rows):
        np.testing.assert_allclose(told[:, which], chain.trees.log_density(twins), rtol=1e-4, atol=1e-4)


def test_moves_leave_the_population_as_it_is(chain):
    rng = np.random.default_rng(5)
    states = chain.drawn(6000, rng)
    before = states.rows.copy()
    for position in range(chain.free):
        changed, there = chain.moved(states, LevelMove(position, False, 0.1 if position % 2 else 1.0), rng)
        states.put(changed, there, np.arange(len(changed)))
    for at in chain.domain.free_places:
        first, second = (np.nan_to_num(rows[:, at], nan=-1.0) for rows in (before, states.rows))
        spread = max(first.std(), 0.3)
        assert abs(first.mean() - second.mean()) < 0.12 * spread


@pytest.mark.parametrize("goes_along", [False, True])
def test_a_protected_column_gets_a_tree_only_where_one_tells_of_rows_that_it_has_not_seen(goes_along):
    rng = np.random.default_rng(5)
    columns = (Column("band", "integer", low=1, high=9), *(Column(f"f{at}", "integer", low=0, high=9) for at in range(4)))
    rows = np.column_stack([rng.integers(1, 10, 800), rng.integers(0, 10, (800, 4))]).astype(float)
    if goes_along:
        rows[:, 0] = np.clip(rows[:, 1] + rng.integers(0, 2, 800), 1, 9)
    chain = LevelChain.fit(rows, TabularDomain(columns, ("band",)), rng)
    assert (len(chain.trees.links[-1].share) > 1) == goes_along


def test_a_protected_column_of_a_small_table_gets_no_tree_that_is_sure_of_itself_by_chance():
    rng = np.random.default_rng(5)
    columns = (Column("sex", "category", ("f", "m")), *(Column(f"f{at}", "integer", low=0, high=9) for at in range(4)))
    rows = np.column_stack([rng.integers(0, 2, 150), rng.integers(0, 10, (150, 4))]).astype(float)
    assert len(LevelChain.fit(rows, TabularDomain(columns, ("sex",)), rng).trees.links[-1].share) == 1


def test_cells_that_follow_are_told_without_a_look_into_the_tree_as_with_one():
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 20, (2, 600)).astype(float)
    columns = (Column("sex", "category", ("f", "m")), Column("a", "integer", low=0, high=19), Column("b", "integer", low=0, high=19),
               Column("sum", "integer", low=0, high=38))  # fmt: skip
    rows = np.column_stack([rng.integers(0, 2, 600), first, second, first + second])
    chain = LevelChain.fit(rows, TabularDomain(columns, ("sex",)), rng)
    (at, guide), states = next(iter(chain.trees.guides.items())), chain.drawn(400, rng)
    link = chain.trees.links[chain.trees.order.index(at)]
    levels = np.concatenate([rng.random(200), 2e-5 * rng.random(200)])  # of the lowest ones some cells break the relation
    bound = guide.bound(link, states.rows)
    codes = bound.codes(levels, states.copies)
    np.testing.assert_array_equal(codes, bound._any_codes(levels, states.copies))
    np.testing.assert_allclose(bound.log_share(codes, states.copies), bound._any_log_share(codes, states.copies))
