"""THEMIS measures what is planted, stops when it knows enough, and its interval holds at that moment."""

import numpy as np
import pytest

from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import InvalidArgument
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.planted import shapes
from evenhand.statistics.intervals import SequentialShare, clopper_pearson

SHAPES = shapes()


def themis(planted, method, candidates=20_000, seed=0, rows=None):
    return run(method, Subject(planted.domain, planted.model, rows), Plan(seed, Budget(candidates=candidates)))


@pytest.mark.parametrize("name", SHAPES)
def test_the_interval_contains_the_planted_rate(name):
    facts = themis(SHAPES[name], Themis(margin=0.0)).facts["causal_discrimination"]
    assert facts["low"] <= float(SHAPES[name].rate) <= facts["high"]
    assert facts["n"] == 20_000
    assert facts["population"] == "domain"


def test_it_stops_when_the_margin_is_reached():
    done = themis(SHAPES["wide_band"], Themis(confidence=0.95, margin=0.02, batch=500), candidates=1_000_000)
    facts = done.facts["causal_discrimination"]
    assert done.ended == "method finished"
    assert done.ledger.candidates < 20_000
    assert facts["high"] - facts["low"] <= 0.04


def test_wide_tables_are_drawn_in_smaller_batches(monkeypatch):
    monkeypatch.setattr("evenhand.methods.themis.CELLS_AT_ONCE", 100 * len(SHAPES["wide_band"].domain.columns))
    asked = []
    monkeypatch.setattr(TabularDomain, "sample", lambda domain, n, rng, draw=TabularDomain.sample: asked.append(n) or draw(domain, n, rng))
    themis(SHAPES["wide_band"], Themis(margin=0.0), candidates=450)
    assert max(asked) == 100


def test_the_population_of_the_data_is_another_one():
    planted = SHAPES["wide_band"]
    rows = planted.domain.sample(3_000, np.random.default_rng(1))
    rows = rows[rows[:, 1:].sum(axis=1) < 20]  # nobody near the threshold
    facts = themis(planted, Themis(population="data", margin=0.0), rows=rows).facts["causal_discrimination"]
    assert facts["population"] == "data"
    assert facts["estimate"] == 0.0


def test_a_synthesiser_can_be_the_population():
    planted = SHAPES["wide_band"]
    rows = planted.domain.sample(3_000, np.random.default_rng(1))
    facts = themis(planted, Themis(population="chained trees", margin=0.0), rows=rows).facts["causal_discrimination"]
    assert facts["population"] == "chained trees"
    assert facts["estimate"] == pytest.approx(float(planted.rate), abs=0.05)


def test_an_unknown_population_is_named():
    with pytest.raises(InvalidArgument, match="population='nobody' must be one of domain, data, chained trees"):
        themis(SHAPES["fair"], Themis(population="nobody"))


def test_group_discrimination_is_the_gap_between_groups():
    planted = SHAPES["wide_band"]
    facts = themis(planted, Themis(margin=0.0)).facts["group_discrimination"]
    # In a band the second group is granted and the first refused: the gap of the groups is the band.
    assert facts["low"] <= float(planted.rate) <= facts["high"]
    assert (facts["best"], facts["worst"]) == ({"group": "b"}, {"group": "a"})


@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_sequential_looks_keep_their_promise_when_stopping_as_soon_as_it_looks_good(rate):
    rng = np.random.default_rng(7)
    missed, runs = 0, 400
    for _ in range(runs):
        share = SequentialShare(0.9)
        for _ in range(12):
            share.add(rng.binomial(50, rate), 50)
            interval = share.look()
            if rate not in interval:  # the worst possible moment to stop
                missed += 1
                break
    assert missed / runs < 0.1


@pytest.mark.parametrize(("successes", "n", "low", "high"), [(0, 20, 0.0, 0.16843), (5, 50, 0.03328, 0.21814), (20, 20, 0.83157, 1.0)])
def test_clopper_pearson_equals_the_published_table(successes, n, low, high):
    interval = clopper_pearson(successes, n)
    assert interval.low == pytest.approx(low, abs=1e-5)
    assert interval.high == pytest.approx(high, abs=1e-5)


def test_no_trials_say_nothing():
    interval = clopper_pearson(0, 0)
    assert (interval.low, interval.high) == (0.0, 1.0)
    assert np.isnan(interval.estimate)
