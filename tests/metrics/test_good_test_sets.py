"""Measures of a good test set mean what they say."""

import numpy as np
import pytest

from evenhand.errors import InvalidArgument
from evenhand.measures.partition import LeafPairs, LeafRules, Pool, PoolJudge
from evenhand.measures.plausible import Plausibility
from evenhand.measures.unseen import good_turing, spread
from evenhand.models.meter import Meter
from evenhand.oracles.flip import LabelFlip
from evenhand.planted import shapes

PLANTED = shapes()["pocket"]
RNG = np.random.default_rng


@pytest.fixture(scope="module")
def plausibility():
    rows = PLANTED.domain.sample(4_000, RNG(0))
    rows[:, 1] = rows[:, 2]  # in real rows f1 equals f2
    return Plausibility.fit(rows, PLANTED.domain, RNG(1))


@pytest.fixture(scope="module")
def pool():
    return Pool.draw(6_000, Uniform(), PoolJudge(PLANTED.domain, Meter(PLANTED.model), LabelFlip()), RNG(2))


class Uniform:
    name = "uniform"

    def sample(self, n, rng):
        rows = PLANTED.domain.sample(n, rng)
        half = n // 2
        rows[:half, 1:4] = np.array([8.0, 8.0, 0.0]) + rng.integers(0, 2, (half, 3))  # half of them in the unfair box
        return rows


def test_about_one_real_row_in_twenty_is_not_natural(plausibility):
    rows = PLANTED.domain.sample(4_000, RNG(5))
    rows[:, 1] = rows[:, 2]
    assert plausibility.natural(rows).mean() == pytest.approx(0.95, abs=0.02)


def test_rows_that_break_what_real_rows_keep_are_not_natural(plausibility):
    rows = PLANTED.domain.sample(4_000, RNG(5))
    rows[:, 1] = (rows[:, 2] + 5) % 10
    assert plausibility.natural(rows).mean() < 0.1
    assert len(plausibility.natural(rows[:0])) == 0


def test_naturalness_needs_real_rows():
    with pytest.raises(InvalidArgument, match="rows=3 must be a whole number of at least 20: naturalness is learned from real rows"):
        Plausibility.fit(PLANTED.domain.sample(3, RNG(0)), PLANTED.domain, RNG(0))


def test_rules_are_the_unfair_leaves_and_need_three_findings(pool):
    rules = LeafRules.of(pool, PLANTED.domain)
    unfair = pool.rows[pool.verdict.unfair]
    leaf = rules.tree.leaves(unfair)
    assert rules.is_rule[leaf].all()
    one = unfair[leaf == np.bincount(leaf).argmax()]
    assert [rules.found(one[:n]) for n in (0, 2, 3)] == [0, 0, 1]
    assert rules.found(unfair) <= rules.is_rule.sum()
    fair = pool.rows[~pool.verdict.unfair & ~rules.is_rule[rules.tree.leaves(pool.rows)]]
    assert rules.found(fair) == 0


def test_rules_do_not_look_at_protected_columns(pool):
    rules = LeafRules.of(pool, PLANTED.domain)
    twins = PLANTED.domain.twins(pool.rows).rows
    assert (rules.tree.leaves(twins[0]) == rules.tree.leaves(twins[1])).all()


def test_a_fair_model_has_no_rules_and_no_pairs():
    fair = shapes()["fair"]
    judged = Pool.draw(1_000, Uniform(), PoolJudge(fair.domain, Meter(fair.model), LabelFlip()), RNG(2))
    assert LeafRules.of(judged, fair.domain).is_rule.sum() == 0
    pairs = LeafPairs.of(judged, fair.domain, RNG(3))
    twins = fair.domain.twins(judged.rows).rows
    assert pairs.joined(twins[0], twins[1]) <= pairs.possible


def test_findings_join_pairs_of_leaves_of_opposite_label(pool):
    pairs = LeafPairs.of(pool, PLANTED.domain, RNG(3))
    orbit = PLANTED.domain.twins(pool.rows[pool.verdict.unfair]).rows
    assert 0 < pairs.joined(orbit[0], orbit[1]) <= pairs.possible
    assert pairs.joined(orbit[0], orbit[0]) == 0
    assert pairs.joined(orbit[0][:0], orbit[1][:0]) == 0


def test_good_and_turing_count_what_was_seen_once():
    assert good_turing([1, 1, 2, 3, 3, 4]) == pytest.approx(2 / 6)
    assert good_turing([5, 5]) == 0.0
    assert good_turing([]) is None


def test_spread_is_zero_for_equal_rows_and_a_third_for_uniform_numbers():
    rows = PLANTED.domain.sample(3_000, RNG(0))
    assert spread(np.repeat(rows[:1], 5, axis=0), PLANTED.domain, RNG(0)) == 0.0
    assert spread(rows, PLANTED.domain, RNG(0)) == pytest.approx(99 / 270, abs=0.02)  # uniform digits: E|a - b| / 9
    assert spread(rows[:1], PLANTED.domain, RNG(0)) is None
