"""The bandit: what brings more per cost is made more often, within bounds, and one poor try tells about its whole kind."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.methods.parts.arms import Arms, Move

STEPS = [Move("step", at, 1.0, 2.0) for at in range(8)]
BALANCES = [Move("balance", at, 1.0, 2.0) for at in range(8)]
SCOUT = Move("scout", 0, 1.0, 2.0)
NOBODY = np.empty(0, dtype=np.intp)


def shares(arms: Arms, n: int = 40_000) -> np.ndarray:
    return np.bincount(arms.draw(n, np.random.default_rng(0), alike=False), minlength=len(arms.moves)) / n


def book(arms: Arms, arm: int, tries: int, found: int) -> None:
    arms.pay(np.full(tries, arm), (np.arange(tries), np.arange(found)), asking=2.0)


def test_an_arm_that_brings_more_is_drawn_more_often_but_not_always():
    arms = Arms([*STEPS, SCOUT], 0.9, 0.0)
    for arm in range(len(arms.moves)):
        book(arms, arm, 1000, 600 if arm == 3 else 100)
    drawn = shares(arms)
    assert drawn[3] == drawn[:-1].max()
    assert drawn[3] > 2 * np.median(drawn)
    assert drawn[3] < 0.9


def test_one_poor_try_lowers_the_hope_in_its_whole_kind():
    arms = Arms([*STEPS, *BALANCES, SCOUT], 0.9, 0.0)
    before = shares(arms)
    book(arms, 0, 1000, 400)
    book(arms, 8, 1000, 4)
    after = shares(arms)
    untried_steps, untried_balances = slice(1, 8), slice(9, 16)
    assert before[untried_balances].sum() == pytest.approx(before[untried_steps].sum(), abs=0.02)
    assert after[untried_steps].sum() > 5 * after[untried_balances].sum()


def test_the_last_arm_keeps_its_least_share_however_little_it_brings():
    arms = Arms([*STEPS, SCOUT], 1.0, 0.25)
    for arm in range(8):
        book(arms, arm, 1000, 500)
    book(arms, 8, 1000, 0)
    assert shares(arms)[-1] == pytest.approx(0.25 / 1.25, abs=0.02)


def test_nothing_found_anywhere_still_leaves_every_arm_a_chance():
    arms = Arms([*STEPS, SCOUT], 0.9, 0.0)
    for arm in range(len(arms.moves)):
        arms.pay(np.full(100, arm), (NOBODY, NOBODY), asking=2.0)
    assert (shares(arms) > 0.01).all()


def test_alike_draws_one_arm_for_everybody():
    arms = Arms([*STEPS, SCOUT], 0.9, 0.0)
    assert len(np.unique(arms.draw(500, np.random.default_rng(1), alike=True))) == 1
