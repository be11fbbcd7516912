"""The report on a fit: a good synthesiser passes, and one that hides a gap between groups is told of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.measures.synthesis_quality import synthesis_quality
from evenhand.synthesis.chained_trees import ChainedTrees

DOMAIN = TabularDomain(
    (Column("sex", "category", ("f", "m")), Column("pay", "integer", low=0, high=99), Column("twice", "integer", low=0, high=198)),
    ("sex",),
    Label("hired", ("no", "yes"), ("yes",)),
)


def _table(n: int) -> tuple[Rows, np.ndarray]:
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, n)
    pay = np.clip(np.rint(rng.normal(45 + 8 * sex, 12, n)), 0, 99)
    return np.column_stack([sex, pay, 2 * pay]).astype(float), (rng.random(n) < 0.2 + 0.3 * sex + 0.003 * pay).astype(np.intp)


class Shuffled:
    """Every column by itself: all that relates columns is lost."""

    def __init__(self, rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> None:
        del domain, rng
        self.rows = rows

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        return np.column_stack([rng.choice(cells, n) for cells in self.rows.T])


def _quality(fit: Any) -> Any:
    rows, labels = _table(6_000)
    return synthesis_quality(fit, rows, labels, DOMAIN, np.random.default_rng(1))


def test_a_good_fit_keeps_gaps_and_relations() -> None:
    quality = _quality(ChainedTrees.fit)
    assert quality.auc < 0.55
    assert quality.auc_low < quality.auc < quality.auc_high
    assert not quality.warnings
    assert dict(quality.relations)["twice == 2 * pay"] == 1.0
    assert quality.accuracy_synthetic > quality.accuracy_real - 0.04


def test_a_hidden_gap_and_a_lost_relation_are_told() -> None:
    quality = _quality(Shuffled)
    assert quality.auc > 0.9
    assert quality.gaps[0].is_lost
    assert "the gap by sex" in quality.warnings[0]
    assert dict(quality.relations)["twice == 2 * pay"] < 0.1
    assert "gaps shrunk by sex" in quality.sentence()
    assert quality.gaps[0].synthetic_low < 0 < quality.gaps[0].synthetic_high < quality.gaps[0].low  # shuffled rows have no gap


def test_rows_that_hide_a_gap_are_no_pass() -> None:
    rng = np.random.default_rng(6)
    sex, pay = rng.choice(["f", "m"], 1_200), rng.normal(30, 8, 1_200).round(1)
    granted = np.where(pay + np.where(sex == "m", 12, 0) * (pay > 30) > 36, "yes", "no")
    data = eh.open(pd.DataFrame({"sex": sex, "pay": pay, "granted": granted}), label="granted", protected=["sex"])
    hidden = replace(eh.synth(data, 50), fit=Shuffled)
    honest = replace(hidden, fit=ChainedTrees.fit)
    assert hidden.quality is not None
    assert hidden.quality.warnings
    assert hidden.outcome == "inconclusive"
    assert (honest.outcome == "pass") == (not honest.quality.warnings)
    assert honest.outcome == "pass"


def test_worst_columns_and_pairs_stand_beside_what_real_halves_show() -> None:
    good, bad = _quality(ChainedTrees.fit), _quality(Shuffled)
    name, other, score, of_halves = bad.pairs[0]
    assert {name, other} == {"pay", "twice"}
    assert score < of_halves - 0.2
    assert all(score > of_halves - 0.08 for *_, score, of_halves in (*good.columns, *good.pairs))


def test_of_several_labels_the_one_whose_shares_are_farthest_apart_is_told():
    rng, n = np.random.default_rng(4), 4_000
    domain = TabularDomain(DOMAIN.columns, DOMAIN.protected, Label("rank", ("low", "mid", "high"), ("high",)))
    sex, pay = rng.integers(0, 2, n), rng.integers(0, 100, n)
    labels = np.where(sex == 1, rng.choice(3, n, p=(0.2, 0.3, 0.5)), rng.choice(3, n, p=(0.3, 0.6, 0.1))).astype(np.intp)
    told = synthesis_quality(Shuffled, np.column_stack([sex, pay, 2 * pay]).astype(float), labels, domain, rng)
    gap = told.gaps[0]
    assert (gap.label, gap.groups) == ("high", ("m", "f"))
    assert abs(gap.real - 0.4) < 0.05
    assert abs(gap.synthetic) < 0.05
