"""How many decimals a column's numbers have, and numbers rounded to them inside their range."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.domain.tabular import TabularDomain

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


def as_written(rows: Rows, data: Rows, domain: TabularDomain) -> Rows:
    """Rows whose numbers have the decimals of the data's, as far as a row stays valid so: a sum of 0.1 and 0.2 is told as 0.3."""
    found = rows.copy()
    for at, column in enumerate(domain.columns):
        if not column.is_listed:
            known = data[~np.isnan(data[:, at]), at]
            found[:, at] = rounded(rows[:, at], column.lowest, column.highest, decimals_of(known))
    return np.where((domain.contains(found) | ~domain.contains(rows))[:, None], found, rows)
