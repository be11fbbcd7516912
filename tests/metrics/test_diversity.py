"""Diversity, success and agreement against small examples worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from diversity import generation_diversity
from rank_agreement import agreement, spearman
from scipy import stats
from success import findings_by_phase, generation_success_rate, seconds_per_thousand

from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument

DOMAIN = TabularDomain((Column("sex", "integer", low=0, high=1), *(Column(name, "integer", low=0, high=9) for name in "ab")), ("sex",))


def rows(*points):
    return np.array([[0, *point] for point in points], dtype=np.float64)


def test_a_set_that_covers_more_of_the_other_is_more_diverse():
    ours, others = rows((1, 0), (1, 1), (0, 1)), rows((1, 1), (2, 2))
    found = generation_diversity(ours, others, DOMAIN, [0.0, 0.3])
    assert (found[0].covers, found[0].covered) == (1.0, pytest.approx(1 / 3))
    assert found[0].ratio == pytest.approx(3.0)
    # At 45 degrees the cosine distance is .29: with that radius everybody is covered.
    assert found[1].ratio == 1.0


def test_diversity_of_a_set_against_itself_is_one_at_every_radius():
    sample = DOMAIN.sample(3_000, np.random.default_rng(0))
    assert [each.ratio for each in generation_diversity(sample, sample, DOMAIN, np.linspace(0, 0.3, 7))] == [1.0] * 7


def test_protected_cells_do_not_count():
    ours, others = rows((3, 4)), rows((3, 4))
    others[:, 0] = 1
    assert generation_diversity(ours, others, DOMAIN, [0.0])[0].covers == 1.0


def test_nothing_covered_is_infinite_and_neither_is_not_a_number():
    assert math.isnan(generation_diversity(rows((1, 0)), rows((0, 1)), DOMAIN, [0.1])[0].ratio)
    with pytest.raises(InvalidArgument, match="0 rows"):
        generation_diversity(rows((1, 0)), rows((1, 0))[:0], DOMAIN, [0.1])
    with pytest.raises(InvalidArgument, match="radius"):
        generation_diversity(rows((1, 0)), rows((1, 0)), DOMAIN, [-0.1])


def test_success_counts_distinct_candidates_only():
    rate = generation_success_rate(30, candidates=120, duplicates=20)
    assert rate.estimate == 0.3
    assert 0.2 < rate.low < 0.3 < rate.high < 0.41
    with pytest.raises(InvalidArgument, match="duplicates"):
        generation_success_rate(1, 10, 11)


def test_seconds_per_thousand():
    assert seconds_per_thousand(2_000, 5.0) == 2.5
    assert seconds_per_thousand(0, 5.0) == math.inf


def test_findings_by_phase():
    assert findings_by_phase(np.array(["global", "local", "local"], dtype=object)) == {"global": 1, "local": 2}


def test_spearman_agrees_with_scipy_also_with_ties():
    rng = np.random.default_rng(0)
    for _ in range(20):
        first, second = rng.integers(0, 6, 12), rng.integers(0, 6, 12)
        assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)


def test_agreement_says_which_measure_spreads_more():
    found = agreement([0.8, 0.5, 0.2], [0.03, 0.02, 0.01])
    assert found.spearman == pytest.approx(1.0)
    assert found.significance == pytest.approx(30.0)
    assert math.isnan(agreement([1.0, 2.0], [1.0, 1.0]).spearman)
