"""How much every column tells about every other: mutual information of coarse groups of codes, all pairs in few products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Rows

GROUPS = 8
ROWS = 5_000
"""Rows that associations are read off; a pair worth splitting on shows in far fewer."""

MOST_CELLS = 3_000_000
"""Of a wide table, counts of so many pairs of groups are made at once."""


def associations(rows: Rows, rng: np.random.Generator) -> Rows:
    """Mutual information in nats (columns, columns), less what chance alone would show; 0 on the diagonal."""
    chosen = rows[np.sort(rng.permutation(len(rows))[:ROWS])]
    groups = np.stack([grouped(chosen[:, at]) for at in range(rows.shape[1])], axis=1)
    sizes = groups.max(axis=0) + 1
    found = np.concatenate([_of_block(groups, sizes, block) for block in _blocks(sizes, len(chosen))])
    # Twice the rows times the information of unrelated columns is chi-squared with this many degrees of freedom on average.
    chance = (sizes[:, None] - 1) * (sizes - 1) / (2 * len(chosen))
    np.fill_diagonal(found, 0.0)
    less: Rows = np.maximum(found - chance * (1 - np.eye(len(sizes))), 0.0)
    return less


def _blocks(sizes: Index, rows: int) -> list[Index]:
    """The columns in stretches, so that neither marks nor counts of one stretch against all take more than a bounded number of cells."""
    most = max(1, MOST_CELLS // max(int(sizes.sum()), rows))
    ends = np.cumsum(sizes) // most
    return np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(ends)) + 1)


def _of_block(groups: NDArray[np.intp], sizes: Index, block: Index) -> Rows:
    """The information of some columns about all, (block, columns)."""
    together = np.concatenate([_counts(groups, sizes, block, others) for others in _blocks(sizes, len(groups))], axis=1)
    every = np.concatenate([np.bincount(groups[:, at], minlength=sizes[at]) for at in range(len(sizes))]).astype(np.float64)
    starts = np.cumsum(sizes) - sizes
    alone = every[starts[block[0]] : starts[block[-1]] + sizes[block[-1]]]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(together > 0, together * np.log(together * len(groups) / (alone[:, None] * every)), 0.0) / len(groups)
    information: Rows = np.add.reduceat(np.add.reduceat(terms, starts[block] - starts[block[0]], axis=0), starts, axis=1)
    return information


def _counts(groups: NDArray[np.intp], sizes: Index, block: Index, others: Index) -> Rows:
    """How often every group of the one columns meets every group of the others."""
    marks = [_marked(groups[:, some], sizes[some]) for some in (block, others)]
    return (marks[0].T @ marks[1]).astype(np.float64)


def _marked(groups: NDArray[np.intp], sizes: Index) -> NDArray[np.float32]:
    """One column of zeros and ones for every group of every column."""
    spread = np.zeros((len(groups), int(sizes.sum())), dtype=np.float32)
    np.put_along_axis(spread, groups + np.cumsum(sizes) - sizes, 1.0, axis=1)
    return spread


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
