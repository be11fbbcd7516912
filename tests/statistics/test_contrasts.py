"""Bounds of many differences against a margin: as far away as chance and the dependence between them ask for, and no farther."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.statistics.contrasts import Contrasts, reaches

ROWS = 400


def contrasts(parts: np.ndarray, estimate: float | np.ndarray = 0.0) -> Contrasts:
    error = np.sqrt((parts**2).sum(axis=0))
    return Contrasts(np.broadcast_to(np.asarray(estimate, float), error.shape).copy(), error, parts.astype(np.float32))


def parts(columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.02 / np.sqrt(ROWS), (ROWS, columns))


@pytest.mark.parametrize(
    ("given", "margin", "expected"),
    [
        (parts(1), 0.05, 1.645),  # a margin that is large beside the error is passed to one side only
        (parts(1), 0.0, 1.960),  # without a margin, to both
        (np.repeat(parts(1), 12, axis=1), 0.05, 1.645),  # twelve times the same question is one question
        (parts(12), 0.05, 2.632),  # twelve independent ones: the quantile of .95 ** (1 / 12)
    ],
)
def test_bounds_are_as_far_away_as_the_questions_ask_for(given: np.ndarray, margin: float, expected: float) -> None:
    reach = reaches(contrasts(given), margin, 0.95, np.random.default_rng(1))
    assert reach == pytest.approx(np.full(given.shape[1], expected), abs=0.12)


def test_what_is_shown_no_longer_counts_among_the_rest() -> None:
    estimate = np.array([0.4] * 11 + [0.07])
    reach = reaches(contrasts(parts(12), estimate), 0.05, 0.95, np.random.default_rng(1))
    assert reach[0] == pytest.approx(2.63, abs=0.12)
    assert reach[-1] == pytest.approx(1.645, abs=0.12)


def test_errors_beyond_what_rows_show_are_drawn_too() -> None:
    """Shares of 0 or 1 vary in no row, and are not known exactly for that."""
    still = Contrasts(np.zeros(1), np.array([0.02]), np.zeros((ROWS, 1), np.float32))
    assert reaches(still, 0.05, 0.95, np.random.default_rng(1))[0] == pytest.approx(1.645, abs=0.12)


def test_nothing_to_compare() -> None:
    assert reaches(Contrasts(np.zeros(0), np.zeros(0), np.zeros((5, 0), np.float32)), 0.05, 0.95, np.random.default_rng(1)).shape == (0,)


@pytest.mark.slow
def test_differences_at_the_margin_are_called_beyond_it_in_one_of_twenty_cases() -> None:
    rng, wrong, runs = np.random.default_rng(4), 0, 400
    group = np.repeat([0, 1], 400)
    for _ in range(runs):
        common = rng.random(800)  # the same pictures under six changes
        hits = np.stack([0.5 * common + 0.5 * rng.random(800) < np.where(group == 0, 0.386, 0.354) for _ in range(6)], axis=1)
        sizes, shares = np.array([400, 400]), np.stack([hits[group == g].mean(axis=0) for g in (0, 1)])
        added = (hits - shares[group]) / sizes[group][:, None]
        found = Contrasts(
            shares[0] - shares[1],
            np.sqrt((shares * (1 - shares) / 400).sum(axis=0)),
            np.where(group[:, None] == 0, added, -added).astype(np.float32),
        )
        true = 0.5 * (2 * 0.386) ** 2 - 0.5 * (2 * 0.354) ** 2
        wrong += bool(found.beyond(reaches(found, true, 0.95, rng), true).any())
    assert 0.02 <= wrong / runs <= 0.08
