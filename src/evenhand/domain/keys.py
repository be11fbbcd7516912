"""One 64-bit key per row, so that duplicates are found without comparing rows.

Where the columns' cardinalities multiply to less than 2**63 the key is a mixed-radix number and exact.  Elsewhere (real
numbers, wide tables) it is a 64-bit hash of the cells' bits: two of a million different rows share a key with a
probability of about 3e-8.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from evenhand.arrays import Keys, Rows
from evenhand.domain.columns import Column

_EXACT_AS_FLOAT = 2**53


def row_keys(rows: Rows, columns: Sequence[Column], places: Sequence[int]) -> Keys:
    """Keys of the cells at `places`; rows must lie inside the columns' ranges."""
    plan = _radix(tuple(columns), tuple(places))
    if plan is None:
        return hash_cells(rows[:, list(places)])
    weights, offset, total, missing = plan
    if missing is None and total < _EXACT_AS_FLOAT:
        return (rows @ weights - offset).astype(np.int64).view(np.uint64)
    keys = np.zeros(len(rows), dtype=np.uint64)
    for place in places:
        column = columns[place]
        cells = rows[:, place] - column.lowest
        if column.missing > 0:
            cells = np.where(np.isnan(cells), column.highest - column.lowest + 1, cells)
        keys = keys * np.uint64(column.cardinality or 1) + cells.astype(np.uint64)
    return keys


@lru_cache(maxsize=64)
def _radix(columns: tuple[Column, ...], places: tuple[int, ...]) -> tuple[Rows, float, int, bool | None] | None:
    """Weights so that one matrix product packs a row; None where no exact packing exists."""
    total = 1
    weights = np.zeros(len(columns))
    offset = 0.0
    for place in reversed(places):
        cardinality = columns[place].cardinality
        if cardinality is None:
            return None
        weights[place] = total
        offset += total * columns[place].lowest
        total *= cardinality
        if total >= 2**63:
            return None
    # No partial sum of the product is larger than this, so that below 2**53 every one of them is exact.
    largest = sum(weights[p] * max(abs(columns[p].lowest), abs(columns[p].highest)) for p in places)
    needs_loop = any(columns[p].missing > 0 for p in places) or largest >= _EXACT_AS_FLOAT
    return weights, offset, total, True if needs_loop else None


def hash_cells(cells: Rows) -> Keys:
    """A multiply-xor-shift hash over the bits of the cells, -0.0 and every NaN made alike."""
    canonical = cells + 0.0
    canonical[np.isnan(canonical)] = np.nan
    bits = np.ascontiguousarray(canonical).view(np.uint64)
    keys = np.full(len(cells), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for place in range(bits.shape[1]):
        keys ^= bits[:, place] + np.uint64(0x9E3779B97F4A7C15) + (keys << np.uint64(6)) + (keys >> np.uint64(2))
        keys *= np.uint64(0xBF58476D1CE4E5B9)
        keys ^= keys >> np.uint64(29)
    return keys
