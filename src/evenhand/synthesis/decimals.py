"""How many decimals a column's numbers have, and numbers rounded to them inside their range."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Reals

MOST_DECIMALS = 9


def decimals_of(values: Reals) -> int | None:
    """The fewest decimals that all values can be written with, or None where that takes more than nine."""
    return next((decimals for decimals in range(MOST_DECIMALS + 1) if np.array_equal(np.round(values, decimals), values)), None)


def rounded(values: Reals, low: Reals | float, high: Reals | float, decimals: int | None) -> Reals:
    """Values with as many decimals; one that rounding would take out of its range stays as it is."""
    if decimals is None:
        return values
    found = np.round(values, decimals)
    return np.where((found < low) | (found > high), values, found)
