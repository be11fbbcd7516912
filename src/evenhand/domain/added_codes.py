"""Whole numbers of few values that add up with others: amounts or counts then, and not the codes of something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenhand.domain.columns import Column
from evenhand.domain.products import Equation, linear_equations

if TYPE_CHECKING:
    import pandas as pd

ROWS_LOOKED_AT = 2_000
FEWEST_PARTS = 2
"""One column alone may be another with its codes written otherwise, which makes neither an amount."""


def added_up(frame: pd.DataFrame, columns: Sequence[Column], wanted: Sequence[str]) -> Mapping[str, str]:
    """Of the wanted columns, which hold codes as far as one can see alone, those that add up with other numbers of the table; with what.

    Only sums, differences and means count: a code that is put together from others, 10 * region + district, stays one.
    """
    names = [column.name for column in columns if column.name in wanted or column.kind in ("integer", "real")]
    if not wanted or len(names) <= FEWEST_PARTS:
        return {}
    rows = frame[names].iloc[:: max(1, len(frame) // ROWS_LOOKED_AT)].to_numpy(dtype=np.float64, na_value=np.nan)
    found: dict[str, str] = {}
    for each in linear_equations(rows, range(len(names))):
        if _is_plain_sum(each):
            text = f"{names[each.target]} = {each.text(lambda at: names[at])}"
            found |= {names[at]: text for at in (each.target, *each.places) if names[at] in wanted}
    return found


def _is_plain_sum(found: Equation) -> bool:
    return len(found.places) >= FEWEST_PARTS and np.ptp(np.abs(found.weights)) < 1e-9 * np.abs(found.weights).max()
