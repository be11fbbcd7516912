"""Column-wise arithmetic on narrow matrices, in strips of many rows.

NumPy's inner loop runs along the last axis; with a dozen columns it is all overhead.  Seen as (n / 64, 64 x columns), the same memory
gives loops long enough for vector instructions.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Reals, Rows

_STRIP = 64


def in_strips(operation: np.ufunc, rows: Rows, by: Reals) -> None:
    """`rows = operation(rows, by)` in place, `by` having one entry per column; rows must be contiguous."""
    whole = len(rows) - len(rows) % _STRIP
    strips = rows[:whole].reshape(-1, _STRIP * rows.shape[1])
    operation(strips, np.tile(by, _STRIP), out=strips)
    operation(rows[whole:], by, out=rows[whole:])


def column_extremes(rows: Rows) -> tuple[Reals, Reals]:
    """The smallest and the largest cell of every column; NaN where a column has a NaN."""
    whole = len(rows) - len(rows) % _STRIP if rows.flags.c_contiguous else 0
    strips = rows[:whole].reshape(-1, _STRIP * rows.shape[1])
    ends = []
    for extreme, start in ((np.minimum, np.inf), (np.maximum, -np.inf)):
        wide = extreme.reduce(strips, axis=0, initial=start).reshape(_STRIP, rows.shape[1])
        rest = extreme.reduce(rows[whole:], axis=0, initial=start)
        ends.append(extreme(extreme.reduce(wide, axis=0), rest))
    return ends[0], ends[1]
