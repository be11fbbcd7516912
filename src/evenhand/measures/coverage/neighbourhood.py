"""AITEST's perturbation: one prominent cell at a time takes every category, or every step within a few units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain


@dataclass(frozen=True)
class NeighbourRows:
    """Changed rows and which row each comes from."""

    rows: Rows
    origin: Index


def neighbours(rows: Rows, chosen: Mask, domain: TabularDomain, reach: float = 3.0) -> NeighbourRows:
    """All valid neighbours of all rows; `chosen` (n, columns) says which cells may change."""
    parts, origins = [np.empty((0, rows.shape[1]))], [np.empty(0, dtype=np.intp)]
    for at, column in enumerate(domain.columns):
        which = np.flatnonzero(chosen[:, at])
        if not which.size:
            continue
        values = _values(rows[which, at], column, reach)  # (rows, values), NaN where there is none
        fresh = np.repeat(rows[which], values.shape[1], axis=0)
        fresh[:, at] = values.ravel()
        real = ~np.isnan(fresh[:, at]) & (fresh[:, at] != np.repeat(rows[which, at], values.shape[1]))
        parts.append(fresh[real])
        origins.append(np.repeat(which, values.shape[1])[real])
    found, origin = np.vstack(parts), np.concatenate(origins)
    valid = domain.contains(found)
    order = np.argsort(origin[valid], kind="stable")
    return NeighbourRows(found[valid][order], origin[valid][order])


def _values(cells: Rows, column: Column, reach: float) -> Rows:
    """The codes that each cell is tried with; a missing number has none."""
    if column.is_listed:
        return np.tile(np.arange(len(column.values), dtype=np.float64), (len(cells), 1))
    if column.is_integral:
        steps = np.arange(-np.floor(reach), np.floor(reach) + 1)
        values = cells[:, None] + steps[None, :]
        return np.where((values >= column.lowest) & (values <= column.highest), values, np.nan)
    low, high = np.maximum(cells - reach, column.lowest), np.minimum(cells + reach, column.highest)
    return np.asarray(low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 2 * int(np.ceil(reach)) + 1)[None, :])
