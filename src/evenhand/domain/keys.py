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
_CELLS_AT_ONCE = 1 << 17


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
            cells = np.where(np.isnan(cells), column.ceiling - column.lowest + 1, cells)
        keys = keys * np.uint64((column.cardinality or 1) + column.reserve) + cells.astype(np.uint64)
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
        total *= cardinality + columns[place].reserve
        if total >= 2**63:
            return None
    # No partial sum of the product is larger than this, so that below 2**53 every one of them is exact.
    largest = sum(weights[p] * max(abs(columns[p].lowest), abs(columns[p].ceiling)) for p in places)
    needs_loop = any(columns[p].missing > 0 for p in places) or largest >= _EXACT_AS_FLOAT
    return weights, offset, total, True if needs_loop else None


def hash_cells(cells: Rows) -> Keys:
    """Every cell's bits mixed by themselves, then added up with an odd weight for each column; -0.0 and every NaN made alike."""
    weights = _odd_weights(cells.shape[1])
    keys = np.empty(len(cells), dtype=np.uint64)
    step = max(1, _CELLS_AT_ONCE // max(1, cells.shape[1]))
    for at in range(0, len(cells), step):  # a piece stays in the processor's cache
        canonical = np.add(cells[at : at + step], 0.0, order="C", dtype=np.float64)
        canonical[np.isnan(canonical)] = np.nan
        mixed = _mixed(canonical.view(np.uint64))
        mixed *= weights
        mixed.sum(axis=1, dtype=np.uint64, out=keys[at : at + step])
    return _mixed(keys)


def _mixed(bits: Keys) -> Keys:
    """A one-to-one scrambling of 64 bits: every input bit reaches every output bit."""
    mixed = bits ^ (bits >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


@lru_cache(maxsize=64)
def _odd_weights(columns: int) -> Keys:
    return _mixed(np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
