"""Rare shares: told right where plain draws see hardly anybody, never narrower than what is known, and the same for one seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.measures.rare_rate import RareRateSettings, nearness, rare_rate
from evenhand.synthesis.level_chain import LevelChain

DOMAIN = TabularDomain(
    (Column("sex", "category", ("f", "m")), *(Column(f"x{at}", "real", low=0.0, high=1.0) for at in range(4))),
    protected=("sex",),
    label=Label("loan", ("no", "yes"), ("yes",)),
)


@dataclass(frozen=True)
class Band:
    """Refuses below a sum that is higher for one group by `width`; of three uniform cells the share between is width times 3/4."""

    width: float
    classes: tuple[Any, ...] = ("no", "yes")
    is_hard: bool = False
    batch_rows: int = 32_768

    def scores(self, rows: np.ndarray) -> np.ndarray:
        odds = rows[:, 1] + rows[:, 2] + rows[:, 3] - 1.5 + self.width * (rows[:, 0] - 0.5)
        share = 1 / (1 + np.exp(-8 * odds))
        return np.stack([1 - share, share], axis=1)

    def fingerprint(self) -> str:
        return f"band {self.width}"


@dataclass(frozen=True)
class Stairs(Band):
    """Answers in steps of two columns, a tenth of which are at the border; a third, in two hundred periods, smooths them a little."""

    def scores(self, rows: np.ndarray) -> np.ndarray:
        steps = np.floor(rows[:, 1] * 5) + 5 * np.floor(rows[:, 2] * 4)
        odds = np.where(np.isin(steps, (7, 16)), 0.0, np.where(steps % 2, 2.0, -2.0)) + 0.4 * (rows[:, 3] * 200 % 1 - 0.5)
        share = 1 / (1 + np.exp(-odds - self.width * (rows[:, 0] - 0.5)))
        return np.stack([1 - share, share], axis=1)


@pytest.fixture(scope="module")
def chain() -> LevelChain:
    rng = np.random.default_rng(0)
    return LevelChain.fit(DOMAIN.sample(800, rng), DOMAIN, rng)


@pytest.mark.parametrize("rate", [5e-2, 2e-4])
def test_planted_shares_are_inside_the_interval(chain, rate):
    true, model = rate, Band(rate / 0.75)
    told = [rare_rate(chain, model, np.random.default_rng(seed), RareRateSettings(people=60_000)) for seed in range(3)]
    assert all(0.6 * true < each.interval.high and each.interval.low < 1.6 * true for each in told)
    assert all((each.levels > 0) == (rate < 1e-3) for each in told)
    assert np.mean([abs(np.log(each.interval.estimate / true)) for each in told]) < 0.6


def test_moves_that_stay_near_are_found_where_answers_come_in_steps(chain):
    """On the deepest level only the shortest moves of one column lead anywhere; islands that stood still would be unlike each other."""
    rate = 1e-5
    told = [rare_rate(chain, Stairs(4 * rate), np.random.default_rng(seed), RareRateSettings(people=300_000)) for seed in range(6)]
    assert all(each.interval.low <= rate <= each.interval.high for each in told)
    assert all(each.levels > 1 for each in told)
    assert np.mean([each.island_error for each in told]) < 0.17
    assert np.mean([abs(each.interval.estimate / rate - 1) for each in told]) < 0.3


def test_a_fair_model_has_an_upper_bound_only(chain):
    told = rare_rate(chain, Band(0.0), np.random.default_rng(1), RareRateSettings(people=30_000))
    assert told.interval.low == told.affected == told.levels == 0
    assert told.interval.high < 1e-3


def test_one_seed_says_one_thing(chain):
    first, second = (rare_rate(chain, Band(1e-4), np.random.default_rng(5), RareRateSettings(people=30_000)) for _ in range(2))
    assert first == second
    assert "plain draws" in first.sentence


def test_nearer_to_the_border_is_nearer(chain):
    rows = np.array([[0, 0.5, 0.5, 0.9, 0.1], [0, 0.5, 0.5, 0.6, 0.1], [0, 0.5, 0.5, 0.5, 0.1]])
    far, near, over = nearness(rows, DOMAIN, Band(0.01))
    assert far < near < over == np.inf
