"""Severity: gaps with bounds that hold, outcomes that are counted, and columns that only count together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.contract import Verdict
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.measures.severity import SeveritySample, quantile_interval, severity
from evenhand.oracles.flip import LabelFlip

DOMAIN = TabularDomain(
    (Column("sex", "category", ("f", "m")), Column("race", "category", ("a", "b", "c")), Column("x", "integer", low=0, high=99)),
    protected=("sex", "race"),
    label=Label("loan", ("no", "later", "yes"), ("yes",)),
)


@dataclass(frozen=True)
class Together:
    """Only women of race c are treated otherwise where x is small; everybody of race b is where x is large."""

    classes: tuple[Any, ...] = ("no", "later", "yes")
    is_hard: bool = False
    batch_rows: int = 8192

    def scores(self, rows: np.ndarray) -> np.ndarray:
        sex, race, x = rows.T
        label = np.where((sex == 0) & (race == 2) & (x < 30), 0, np.where((race == 1) & (x >= 80), 1, 2))
        return np.eye(3)[label] * 0.6 + 0.2

    def fingerprint(self) -> str:
        return "together"


def told(rows: np.ndarray, is_whole: bool = False):
    return severity(SeveritySample(rows, LabelFlip().judge(rows, DOMAIN, Together()), "made", is_whole), DOMAIN)


def test_people_whom_only_two_columns_together_change_are_counted_by_these_columns():
    rows = np.array([[1, 0, 5.0]] * 30 + [[0, 0, 5.0]] * 10 + [[1, 0, 90.0]] * 20 + [[0, 0, 50.0]] * 40)
    found = told(rows)
    assert (found.judged, found.affected) == (100, 60)
    assert dict(found.columns) == {"sex and race": 30}  # a man of race a becomes a woman of race c; a woman only changes her race
    assert found.together is not None
    assert found.together.estimate == pytest.approx(0.5)
    assert any("sex and race (30 of them)" in sentence for sentence in found.sentences)


def test_one_protected_column_has_nothing_together():
    alone = DOMAIN.protect("race")
    rows = alone.sample(200, np.random.default_rng(0))
    found = severity(SeveritySample(rows, LabelFlip().judge(rows, alone, Together()), "made"), alone)
    assert found.together is None
    assert not found.columns


def test_different_outcomes_are_counted_and_impossible_twins_are_none():
    labels = np.array([[0, 1, 2], [0, 0, 1], [-1, 0, 1], [-1, 2, 2]], dtype=np.int16)
    verdict = Verdict(np.array([True, True, True, False]), np.array([0.9, 0.2, 0.3, 0.0]), labels)
    found = severity(SeveritySample(np.zeros((4, 3)), verdict, "made"), DOMAIN.protect("race"))
    assert dict(found.outcomes) == {2: 2, 3: 1}
    assert found.widest == 0.9
    assert found.middle is None  # three people are too few for a quantile
    assert any("1 get 3" in sentence for sentence in found.sentences)


def test_a_wider_gap_is_ruled_out_only_where_everybody_was_asked():
    rows = DOMAIN.sample(300, np.random.default_rng(1))
    assert told(rows, is_whole=True).wider_at_most == 0.0
    assert 0.005 < told(rows).wider_at_most < 0.02


def test_nobody_affected_says_nothing():
    found = told(np.array([[0, 0, 50.0]] * 5))
    assert found.affected == 0
    assert found.sentences == []
    assert found.as_dict()["outcomes"] == {}


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_bounds_of_a_quantile_hold(share):
    rng, true, held = np.random.default_rng(2), share, []
    for _ in range(400):
        bounds = quantile_interval(rng.random(100), share, 0.95)
        assert bounds is not None
        held.append(true in bounds)
    assert np.mean(held) > 0.93
    assert quantile_interval(rng.random(60), 0.95, 0.95) is None  # even the largest of sixty may lie below it


def test_a_measurement_tells_severity_too():
    data = eh.open("credit", protected=["age"])
    model = eh.wrap(lambda frame: 150 - frame["age"] - frame["duration"], data, returns="score", threshold=90)
    options = eh.MeasureOptions(rate_rows=300, draws=99, null_draws=0, compare_rows=0, natural_candidates=0)
    result = eh.measure(model, data, seed=3, options=options)
    body = result.as_dict()["body"]["severity"]
    assert body["affected"] == result.individual[0].rate.unfair > 0
    assert body["sentences"][0] in result.summary()
    alone = eh.measure(model, data, seed=3, options=eh.MeasureOptions(groups_only=True))
    assert alone.as_dict()["body"]["severity"] is None


def test_a_scan_tells_severity_and_ranks_findings_by_plausibility():
    data = eh.open("credit", protected=["age"])
    model = eh.wrap(lambda frame: 150 - frame["age"] - frame["duration"], data, returns="score", threshold=90)
    result = eh.scan(model, data, budget=eh.Budget(candidates=500), seed=7)
    body = result.as_dict()["body"]["severity"]
    assert body["affected"] == result.rate.unfair > 0
    assert body["sentences"][0] in result.summary()
    ranked = result.frame()["evenhand.plausibility"].to_numpy()
    assert len(ranked) == len(result.findings)
    assert (ranked[1:] <= ranked[:-1]).all()  # those that nobody would believe in come last, at minus infinity
