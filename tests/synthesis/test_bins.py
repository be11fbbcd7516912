"""The fast order of a column is the order of its values."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.arrays import Reals
from evenhand.synthesis.bins import ascending

RNG = np.random.default_rng(0)
COLUMNS = {
    "reals of both signs": RNG.normal(0, 1e3, 5_000),
    "values that differ in their last bits": 1e9 + RNG.random(5_000) * 1e-5,
    "ties": RNG.integers(-3, 4, 5_000).astype(float),
    "missing cells": np.where(RNG.random(5_000) < 0.2, np.nan, RNG.normal(size=5_000)),
    "only missing cells": np.full(7, np.nan),
    "negative zeros": np.array([0.0, -0.0, 1.0, -1.0, -0.0]),
    "one": np.array([3.0]),
    "none": np.empty(0),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_the_order_is_that_of_the_values_with_missing_cells_last(column: Reals) -> None:
    order, values = ascending(column)
    assert np.array_equal(np.sort(order), np.arange(len(column)))
    assert np.array_equal(column[order], values, equal_nan=True)
    assert np.array_equal(values, np.sort(column), equal_nan=True)
