"""Tests keep their level, bounds hold together, and what cannot be compared is not compared."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from evenhand.errors import InvalidArgument
from evenhand.statistics import gaps
from evenhand.statistics.permutation import NOTHING, Amounts, Stratum, amounts_test, group_against_rest, shares_test, table_test


def stratum(hits, sizes):
    return Stratum(np.array(hits), np.array(sizes))


def test_two_groups_are_enumerated_exactly():
    test = shares_test([stratum([8, 1], [10, 10])], np.random.default_rng(0))
    ways = {k: Fraction(comb(10, k) * comb(10, 9 - k), comb(20, 9)) for k in range(10)}
    assert test.kind == "exact"
    assert test.p_value == pytest.approx(float(sum(chance for k, chance in ways.items() if abs(k - 4.5) >= 3.5)), rel=1e-12)


@pytest.mark.parametrize("groups", [2, 3, 6])
def test_fair_groups_are_rarely_called_different(groups):
    rng = np.random.default_rng(groups)
    convicted = 0
    for _ in range(600):
        sizes = rng.integers(100, 1001, groups)
        convicted += shares_test([stratum(rng.binomial(sizes, 0.3), sizes)], rng, 199).p_value <= 0.05
    assert convicted / 600 <= 0.075  # 0.05 plus two and a half deviations


def test_a_gap_is_noticed():
    assert shares_test([stratum([30, 60, 60], [100, 100, 100])], np.random.default_rng(0)).p_value < 0.01


def test_strata_are_compared_within_themselves():
    """Groups that differ only because they live in different strata do not differ."""
    rng = np.random.default_rng(0)
    apart = [stratum([80, 8], [100, 10]), stratum([1, 10], [10, 100])]
    assert shares_test(apart, rng).p_value > 0.5
    assert shares_test([stratum([81, 18], [110, 110])], rng).p_value < 0.001


@pytest.mark.parametrize(("hits", "sizes"), [([0, 0], [5, 5]), ([5, 5], [5, 5]), ([3, 0], [5, 0]), ([0, 0], [0, 0])])
def test_nothing_to_compare_is_said(hits, sizes):
    assert shares_test([stratum(hits, sizes)], np.random.default_rng(0)) == NOTHING


def test_a_group_is_held_against_all_others():
    p_values = group_against_rest(stratum([50, 10, 10], [100, 100, 100]))
    assert p_values[0] < 1e-6
    assert p_values[1] < 0.05


def test_outcomes_of_many_classes():
    rng = np.random.default_rng(0)
    assert table_test(np.array([[40, 30, 30], [20, 30, 50]]), rng, 999).p_value < 0.02
    assert table_test(np.array([[40, 30, 30], [38, 31, 31]]), rng, 999).p_value > 0.5
    assert table_test(np.array([[40, 30, 30], [0, 0, 0]]), rng, 99) == NOTHING


def test_amounts_of_different_spread_and_like_level_are_not_called_different():
    rng = np.random.default_rng(3)
    convicted = 0
    for _ in range(200):
        values = np.concatenate([rng.normal(0, 5, 30), rng.normal(0, 1, 150)])
        convicted += amounts_test(Amounts(values, np.repeat([0, 1], [30, 150]), 2), rng, 99).p_value <= 0.05
    assert convicted / 200 <= 0.1
    shifted = Amounts(np.concatenate([rng.normal(1, 1, 50), rng.normal(0, 1, 50)]), np.repeat([0, 1], 50), 2)
    assert amounts_test(shifted, rng).p_value < 0.01


def test_amounts_are_shuffled_within_their_strata():
    rng = np.random.default_rng(4)
    strata = np.repeat([0, 1], 200)
    groups = np.concatenate([rng.random(200) < 0.8, rng.random(200) < 0.2]).astype(np.intp)
    values = 5.0 * strata + rng.normal(size=400)
    assert amounts_test(Amounts(values, groups, 2), rng).p_value < 0.01
    assert amounts_test(Amounts(values, groups, 2, None, strata), rng).p_value > 0.05


@pytest.mark.parametrize("groups", [2, 3, 6])
def test_the_gap_of_fair_groups_may_be_zero_and_planted_ones_lie_inside(groups):
    rng = np.random.default_rng(groups)
    fair = inside = 0
    for _ in range(200):
        sizes, rates = rng.integers(50, 500, groups), rng.uniform(0.1, 0.9, groups)
        confidence = gaps.pair_confidence(0.95, groups)
        fair += gaps.pair_gap(gaps.share_bounds(rng.binomial(sizes, 0.3), sizes, confidence)).low == 0
        bounds = gaps.share_bounds(rng.binomial(sizes, rates), sizes, confidence)
        gap, ratio = gaps.pair_gap(bounds), gaps.pair_ratio(bounds)
        inside += gap.low <= np.ptp(rates) <= gap.high and ratio.low <= rates.min() / rates.max() <= ratio.high
    assert min(fair, inside) / 200 >= 0.95


def test_degenerate_groups_have_honest_sizes():
    assert gaps.gap(gaps.share_bounds(np.array([3]), np.array([5]), 0.95)) == gaps.UNKNOWN
    nobody = gaps.pair_ratio(gaps.share_bounds(np.array([0, 0]), np.array([50, 50]), 0.95))
    assert (nobody.estimate, nobody.high) == (1.0, 1.0)
    empty = gaps.share_bounds(np.array([0, 4]), np.array([0, 8]), 0.95)
    assert np.isnan(empty.estimate[0])
    assert (empty.low[0], empty.high[0]) == (0, 1)


def test_the_rows_that_are_needed_give_the_promised_power():
    needed = gaps.rows_needed(0.3, 5_000, 0.1, 0.05)
    rng = np.random.default_rng(0)
    noticed = [
        shares_test([stratum([rng.binomial(needed, 0.4), rng.binomial(5_000, 0.3)], [needed, 5_000])], rng).p_value <= 0.05
        for _ in range(400)
    ]
    assert 0.72 < np.mean(noticed) < 0.88
    assert gaps.rows_needed(0.5, 55, 0.1, 0.05) == 393  # both sides would need as many
    with pytest.raises(InvalidArgument, match="smallest_gap=0"):
        gaps.rows_needed(0.5, 10, 0.0, 0.05)
