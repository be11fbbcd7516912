"""Where a gradient search starts: rows taken from K-means clusters in turn, so that every region of the data is visited."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Index, Rows
from evenhand.contract import Task
from evenhand.limits import Count, check_argument

ROUNDS = 50
"""Lloyd's iteration stops here at the latest; on the papers' tables it settles within twenty."""
FITTING_ROWS = 8_192
"""The centres are fitted to at most this many rows; every row is then assigned."""


def clustered_seeds(task: Task, count: int, clusters: int, rng: np.random.Generator) -> Rows:
    """Distinct rows of the data, one from each cluster in turn; of the domain where there is no data."""
    pool = task.rows if task.rows is not None and len(task.rows) else task.domain.sample(8 * count, rng)
    _, first = np.unique(task.domain.keys(pool), return_index=True)
    pool = pool[np.sort(first)]
    return pool[in_turn(cluster(pool, clusters, rng), rng)[:count]]


def in_turn(labels: Index, rng: np.random.Generator) -> Index:
    """Positions in random order within each cluster, the clusters taking turns until each is used up."""
    shuffled = rng.permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    sizes = np.bincount(labels)
    turn = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[np.lexsort((labels[order], turn))]


def cluster(rows: Rows, clusters: int, rng: np.random.Generator) -> Index:
    """The nearest of `clusters` K-means centres for every row; a missing cell counts as its column's mean."""
    check_argument(Count, clusters=clusters)
    filled = np.where(np.isnan(rows), _means(rows), rows)
    fitted = filled if len(filled) <= FITTING_ROWS else filled[rng.choice(len(filled), FITTING_ROWS, replace=False)]
    centres = _spread(fitted, min(clusters, len(fitted)), rng)
    labels = _nearest(fitted, centres)
    for _ in range(ROUNDS):
        for place in np.unique(labels):
            centres[place] = fitted[labels == place].mean(axis=0)
        before, labels = labels, _nearest(fitted, centres)
        if np.array_equal(before, labels):
            break
    return _nearest(filled, centres)


def _means(rows: Rows) -> Rows:
    known = ~np.isnan(rows)
    total: Rows = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return total


def _spread(rows: Rows, clusters: int, rng: np.random.Generator) -> Rows:
    """First centres by k-means++: each drawn with a probability that grows with the distance to those before."""
    centres = rows[rng.integers(len(rows), size=1)]
    while len(centres) < clusters:
        near = _distances(rows, centres).min(axis=1)
        total = near.sum()
        chosen = rng.choice(len(rows), p=near / total) if total > 0 else rng.integers(len(rows))
        centres = np.vstack([centres, rows[chosen]])
    return centres


def _distances(rows: Rows, centres: Rows) -> Rows:
    """Squared distances, (n, clusters)."""
    squared: Rows = (rows**2).sum(axis=1)[:, None] - 2.0 * rows @ centres.T + (centres**2).sum(axis=1)
    return np.maximum(squared, 0.0)


def _nearest(rows: Rows, centres: Rows) -> Index:
    return np.asarray(_distances(rows, centres).argmin(axis=1), dtype=np.intp)
