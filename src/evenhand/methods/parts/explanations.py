"""Linear explanations for whole batches: how much each column moves the model's scores around each of many rows.

LIME as ExpGA's authors call it (discretize_continuous=False): every column is a number, perturbed rows are normal with the data's means and
deviations, and a ridge regression on standardised cells is weighted by exp(-d^2 / (2 width^2)), width .75 sqrt(columns).
As the perturbed rows do not depend on the row that is explained, one set of them serves all rows, and all regressions come out of
one matrix product.  `coverage.lime` is the other kind, for quartiles and categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows, Scores
from evenhand.domain.tabular import TabularDomain

_RIDGE = 1.0
_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class ColumnScale:
    """What a cell is measured by: its column's mean and deviation; a missing cell counts as the mean."""

    mean: Reals
    deviation: Reals

    @classmethod
    def of(cls, rows: Rows) -> ColumnScale:
        """Means and deviations of the cells that are there; 1 for a column that does not vary."""
        there = ~np.isnan(rows)
        count = np.maximum(there.sum(axis=0), 1)
        mean = np.where(there, rows, 0.0).sum(axis=0) / count
        deviation = np.sqrt((np.where(there, rows - mean, 0.0) ** 2).sum(axis=0) / count)
        return cls(mean, np.where(deviation > 0, deviation, 1.0))

    def perturbed(self, n: int, domain: TabularDomain, rng: np.random.Generator) -> Rows:
        """Normal rows, every cell at the nearest code of its column; constraints are not kept, since nobody reports these rows."""
        return domain.clip(self.mean + self.deviation * rng.standard_normal((n, len(self.mean))))

    def standardised(self, rows: Rows) -> NDArray[np.float32]:
        """Cells in deviations from the mean."""
        return np.nan_to_num((rows - self.mean) / self.deviation, nan=0.0).astype(np.float32)


@dataclass(frozen=True)
class Explainer:
    """Perturbed rows with the model's scores, ready to explain any row."""

    scale: ColumnScale
    rows: Rows  # (perturbed, columns)
    scores: Scores  # (perturbed, classes)

    def weights(self, rows: Rows) -> Rows:
        """The size of every column's slope, added up over the classes, (n, columns)."""
        near, mine = self.scale.standardised(self.rows), self.scale.standardised(rows)
        features = np.hstack([np.ones((len(near), 1), np.float32), near])
        return np.concatenate([self._weights(mine[some], near, features) for some in _slices(len(mine), features.shape[1] ** 2)])

    def _weights(self, mine: NDArray[np.float32], near: NDArray[np.float32], features: NDArray[np.float32]) -> Rows:
        """Of a few rows, or their sums of products would fill the memory where columns are many."""
        total: Any = 0.0
        for part in _slices(len(near), features.shape[1] ** 2 + len(mine)):
            total = total + self._kernel(mine, near, part) @ _products(features[part], self.scores[part])
        return _slopes(np.asarray(total, dtype=np.float64), features.shape[1])

    def ranks(self, rows: Rows, watched: Index) -> Index:
        """The place of the best watched column among all columns, by the size of the slopes; 0 for the first."""
        weights = self.weights(rows)
        best = weights[:, watched].max(axis=1, keepdims=True)
        ranks: Index = (weights > best).sum(axis=1)
        return ranks

    def _kernel(self, mine: NDArray[np.float32], near: NDArray[np.float32], part: slice) -> NDArray[np.float32]:
        """How much each perturbed row counts for each explained one; the nearest imaginable one counts 1."""
        width = 0.75 * np.sqrt(mine.shape[1])
        distance = (mine**2).sum(axis=1)[:, None] + (near[part] ** 2).sum(axis=1) - 2.0 * mine @ near[part].T
        kernel: NDArray[np.float32] = np.exp(-np.maximum(distance, 0.0) / np.float32(2 * width**2))
        return kernel


def _slices(n: int, cells: int) -> list[slice]:
    step = max(1, _CELLS_AT_ONCE // cells)
    return [slice(at, at + step) for at in range(0, n, step)]


def _products(features: NDArray[np.float32], scores: Scores) -> NDArray[np.float32]:
    """Every product of two features, then every product of a feature and a score, flat."""
    both = np.hstack([features, scores.astype(np.float32)])
    return (features[:, :, None] * both[:, None, :]).reshape(len(features), -1)


def _slopes(total: Rows, features: int) -> Rows:
    """Ridge regressions from their weighted sums; the intercept is not held back."""
    sums = total.reshape(len(total), features, -1)
    gram, moment = sums[:, :, :features], sums[:, :, features:]
    # Far from all perturbed rows every weight is nearly 0, and then so is every slope, as in the authors' regression.
    held = np.diag([1e-9, *([_RIDGE] * (features - 1))])
    slopes: Rows = np.abs(np.linalg.solve(gram + held, moment)[:, 1:, :]).sum(axis=2)
    return slopes
