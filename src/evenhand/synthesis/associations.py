"""How much every column tells about every other: mutual information of coarse groups of codes, all pairs in one product."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Index, Rows

GROUPS = 8
ROWS = 5_000
"""Rows that associations are read off; a pair worth splitting on shows in far fewer."""


def associations(rows: Rows, rng: np.random.Generator) -> Rows:
    """Mutual information in nats (columns, columns), less what chance alone would show; 0 on the diagonal."""
    chosen = rows[np.sort(rng.permutation(len(rows))[:ROWS])]
    groups = np.stack([grouped(chosen[:, at]) for at in range(rows.shape[1])], axis=1)
    sizes = groups.max(axis=0) + 1
    starts = np.cumsum(sizes) - sizes
    spread = np.zeros((len(chosen), int(sizes.sum())), dtype=np.float32)
    np.put_along_axis(spread, groups + starts, 1.0, axis=1)
    together = (spread.T @ spread).astype(np.float64)  # counts of every pair of groups of every pair of columns
    alone = together.diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(together > 0, together * np.log(together * len(chosen) / (alone[:, None] * alone)), 0.0) / len(chosen)
    found: Rows = np.add.reduceat(np.add.reduceat(terms, starts, axis=0), starts, axis=1)
    # Twice the rows times the information of unrelated columns is chi-squared with this many degrees of freedom on average.
    chance = (sizes[:, None] - 1) * (sizes - 1) / (2 * len(chosen))
    np.fill_diagonal(found, 0.0)
    less: Rows = np.maximum(found - chance * (1 - np.eye(len(sizes))), 0.0)
    return less


def grouped(cells: Rows) -> Index:
    """Codes as few groups of about equal weight, frequent codes by themselves, missing cells a group of their own."""
    missing = np.isnan(cells)
    distinct, place = np.unique(cells[~missing], return_inverse=True)
    counts = np.bincount(place, minlength=len(distinct))
    middle = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1)
    by_weight = np.arange(len(distinct)) if len(distinct) <= GROUPS else np.minimum((middle * GROUPS).astype(np.intp), GROUPS - 1)
    groups = np.zeros(len(cells), dtype=np.intp)
    groups[~missing] = by_weight[place] + 1
    return np.unique(groups, return_inverse=True)[1].astype(np.intp)
