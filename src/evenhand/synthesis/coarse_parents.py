"""Numbers as few codes while a tree is grown on them: where to split a column that tells little is found as well among few borders.

A tree of a few thousand rows cannot use more than a few dozen borders of each of many columns, and pays for every one that it tries.
A column that tells much about the one to be learnt keeps all of its numbers, and so do all columns where few are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Reals
from evenhand.synthesis.links import Copies

BINS = 64
"""Codes of a number, beside those of its frequent values."""
FEW_VALUES = 4 * BINS
"""Values up to which a column is left as it is: it is fast enough, and each of them may mean something."""
MANY_PARENTS = 16
"""Columns asked from which on some are asked by few borders; with fewer, a tree is cheap and has leaves enough for finer ones."""
FEWEST_COARSE = 6
"""Such columns among the parents from which on it pays to ask them by few borders."""
FINE_TOLD = 0.3
"""Nats that a column tells from which on it keeps all of its numbers; two normal ones with a correlation of .7 tell as much."""


@dataclass(frozen=True, eq=False)
class CoarseColumn:
    """One column by the number of the stretch that each cell lies in."""

    codes: Copies
    borders: Reals  # between the stretches, one fewer than there are


def coarse(cells: Copies) -> CoarseColumn | None:
    """Stretches of about equal weight, frequent values by themselves; None where the values are few anyway."""
    values, place, counts = np.unique(cells, return_inverse=True, return_counts=True)
    if len(values) <= FEW_VALUES:
        return None
    even = len(cells) / BINS
    weight = np.minimum(counts, even)
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    is_frequent = counts >= even
    begins = (np.diff((middle * BINS).astype(np.intp)) > 0) | is_frequent[1:] | is_frequent[:-1]
    stretch = np.append(0, np.cumsum(begins))
    lows, highs = values[:-1][begins].astype(np.float64), values[1:][begins].astype(np.float64)
    return CoarseColumn(stretch[place].astype(np.float32), lows + (highs - lows) / 2)


def in_numbers(tree: Any, columns: Mapping[int, CoarseColumn]) -> Any:
    """One of scikit-learn's trees, grown on these of its columns by their codes, as it splits their numbers."""
    make, given, state = tree.__reduce__()
    nodes = state["nodes"].copy()
    for turn, column in columns.items():
        mine = np.flatnonzero((nodes["feature"] == turn) & (nodes["left_child"] >= 0))
        nodes["threshold"][mine] = column.borders[nodes["threshold"][mine].astype(np.intp)]
    same = make(*given)
    same.__setstate__(state | {"nodes": nodes})
    return same


def visible(copies: Copies, parents: Sequence[int], columns: Mapping[int, CoarseColumn]) -> Copies:
    """What a tree is grown on: the parents, those among `columns`, by their turn, as codes."""
    seen = np.empty((len(copies), len(parents)), dtype=np.float32)
    for turn, place in enumerate(parents):
        seen[:, turn] = columns[turn].codes if turn in columns else copies[:, place]
    return seen
