"""A screen that saves questions and leaves the limit of a walk as it is."""

from __future__ import annotations

import numpy as np

from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.methods.parts.screen import Screen, accepted_then, asked_first

DOMAIN = TabularDomain((Column("sex", "category", ("f", "m")), Column("hours", "integer", low=0, high=99)), ("sex",))


def test_what_the_screen_favours_is_taken_back_when_the_walk_goes_on():
    """Ten places, all findings, with very different weights: after many delayed steps every place is visited as often."""
    rng = np.random.default_rng(0)
    weight = np.linspace(0.05, 1.0, 10)
    here = rng.integers(0, 10, 20_000)
    for _ in range(60):
        there = rng.integers(0, 10, len(here))
        goes = asked_first(weight[here], weight[there], rng) & accepted_then(weight[here], weight[there], rng)
        here = np.where(goes, there, here)
    shares = np.bincount(here, minlength=10) / len(here)
    assert np.abs(shares - 0.1).max() < 0.012


def test_rows_like_findings_are_asked_about_first():
    rng = np.random.default_rng(1)
    rows = DOMAIN.sample(4000, rng).astype(np.float32)
    unfair = (rows[:, 1] > 40) & (rows[:, 1] <= 45)
    screen = Screen(DOMAIN, 2_000)
    assert not screen.is_ready
    assert screen.learn(rows, unfair)
    weights = screen.weights(rows)
    assert weights[unfair].mean() > 10 * weights[~unfair].mean()
    assert weights.min() > 0.0


def test_verdicts_all_alike_teach_nothing():
    rows = DOMAIN.sample(4000, np.random.default_rng(2)).astype(np.float32)
    screen = Screen(DOMAIN, 2_000)
    assert not screen.learn(rows, np.zeros(len(rows), dtype=bool))
    assert not screen.is_ready
