"""The meter counts, keeps budgets, and never asks a costly model twice."""

import numpy as np
import pytest

from evenhand.errors import BudgetSpent
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter


class Counting:
    classes, is_hard, batch_rows = ("no", "yes"), False, 8

    def __init__(self, is_costly):
        self.is_costly, self.asked, self.largest = is_costly, 0, 0

    def scores(self, rows):
        self.asked += len(rows)
        self.largest = max(self.largest, len(rows))
        p = 1 / (1 + np.exp(-rows.sum(axis=1)))
        return np.stack([1 - p, p], axis=1)

    def fingerprint(self):
        return "counting"


ROWS = np.random.default_rng(0).normal(size=(50, 3))


def test_batches_have_a_fitting_size_and_are_counted():
    model = Counting(is_costly=False)
    meter = Meter(model)
    meter.scores(ROWS)
    assert (model.largest, meter.rows_asked, meter.calls) == (8, 50, 7)


def test_a_costly_model_is_asked_once_per_row():
    model = Counting(is_costly=True)
    meter = Meter(model)
    twice = np.vstack([ROWS, ROWS[::-1]])
    np.testing.assert_array_equal(meter.scores(twice), model.scores(twice))
    assert meter.rows_asked == 50
    meter.scores(ROWS[:7])
    assert meter.rows_asked == 50


def test_missing_cells_are_remembered_too():
    rows = ROWS[:4].copy()
    rows[2, 1] = np.nan
    model = Counting(is_costly=True)
    model.scores = lambda rows: np.tile([0.25, 0.75], (len(rows), 1))
    meter = Meter(model)
    meter.scores(rows)
    meter.scores(rows)
    assert meter.rows_asked == 4


def test_a_spent_budget_asks_nothing_and_forgets_nothing():
    model = Counting(is_costly=True)
    meter = Meter(model, Budget(model_rows=50))
    meter.scores(ROWS)
    with pytest.raises(BudgetSpent):
        meter.scores(ROWS + 1)
    assert model.asked == meter.rows_asked == 50
    meter.scores(ROWS)  # known answers cost nothing
    assert model.asked == 50
