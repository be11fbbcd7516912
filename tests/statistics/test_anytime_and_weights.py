"""Bounds hold at every moment, and weighted draws tell the rate of the population that they are weighed for."""

import numpy as np
import pytest

from evenhand.errors import InvalidArgument
from evenhand.statistics.anytime import AnytimeShare, beta_mixture_bounds
from evenhand.statistics.intervals import clopper_pearson
from evenhand.statistics.weighted import Draws, weighted_interval, weights_of


@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_bounds_hold_at_all_moments_together(rate):
    rng = np.random.default_rng(0)
    hits = (rng.random((200, 400)) < rate).cumsum(axis=1)
    low, high = beta_mixture_bounds(hits, np.arange(1, 401))
    assert ((low <= rate) & (rate <= high)).all(axis=1).mean() >= 0.95
    fixed = [clopper_pearson(int(k), n) for k, n in zip(hits[0], range(1, 401), strict=True)]
    assert all(high[0, n] - low[0, n] >= 0.8 * each.width for n, each in enumerate(fixed))


def test_bounds_narrow_and_never_widen():
    share, widths = AnytimeShare(), []
    rng = np.random.default_rng(1)
    for _ in range(50):
        widths.append(share.add(int((rng.random(40) < 0.2).sum()), 40).width)
    assert widths == sorted(widths, reverse=True)
    assert 0.2 in share.interval()
    assert share.interval().width < 0.1


def test_nothing_seen_and_everything_seen():
    assert AnytimeShare().interval().width == 1
    low, high = beta_mixture_bounds([0, 0, 100], [0, 100, 100])
    assert (low[0], high[0], low[1], high[2]) == (0, 1, 0, 1)
    assert 0 < high[1] < 0.1
    assert 0.9 < low[2] < 1
    with pytest.raises(InvalidArgument, match="between 0 and 2, the number of trials"):
        AnytimeShare().add(3, 2)


def planted(rate, n, rng):
    unfair = np.where(rng.random(n) < 0.5, rng.random(n) < rate, rng.random(n) < 0.9)
    target = np.where(unfair, rate, 1 - rate)
    return Draws(target / (0.5 * target + 0.5 * np.where(unfair, 0.9, 0.1)), unfair, 2.0)


@pytest.mark.slow
def test_weighted_draws_cover_the_rate_and_beat_plain_ones():
    rng = np.random.default_rng(2)
    intervals = [weighted_interval(planted(0.05, 1_000, rng)) for _ in range(60)]
    assert np.mean([0.05 in each for each in intervals]) >= 0.95
    assert np.mean([each.estimate for each in intervals]) == pytest.approx(0.05, abs=0.003)
    assert np.mean([each.width for each in intervals]) < clopper_pearson(50, 1_000).width


def test_few_heavy_draws_are_warned_of():
    weights = np.full(1_000, 1e-6)
    weights[:3] = 1.0
    heavy = Draws(weights, np.arange(1_000) < 2)
    assert heavy.effective_size == pytest.approx(3, abs=0.1)
    assert "worth only 3 plain ones" in heavy.warning
    assert weighted_interval(heavy).width > 0.5
    assert not Draws(np.ones(500), np.zeros(500, bool)).warning


def test_weights_come_from_exact_densities():
    assert weights_of(np.log([0.2, 0.0001]), np.log([0.1, 0.1])) == pytest.approx([2.0, 0.001])
    with np.errstate(divide="ignore"):
        assert weights_of(np.log([0.0]), np.log([0.5])) == [0.0]
    for broken in (lambda: Draws(np.array([1.0, np.nan]), np.array([True, False])), lambda: Draws(np.ones(2), np.ones(2, bool), 0.5)):
        with pytest.raises(InvalidArgument):
            broken()
