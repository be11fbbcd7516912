"""LIME for whole batches: which columns matter for the model's label around each of many rows.

Paper: Ribeiro, Singh, Guestrin, "Why Should I Trust You?", KDD 2016 (tabular: quartiles, exponential kernel, ridge regression).

Agrees with the authors' code: perturbed rows take every cell from the data's own frequencies, a column is "on" where the perturbed cell
falls into the same quartile (or equals the same category) as the explained row's, the kernel is exp(-d^2 / width^2) with width
.75 sqrt(columns), and a weighted ridge regression explains the score of the row's own label.

Differs: as the perturbed rows do not depend on the row that is explained, one set of them serves all rows: the model is asked once, and
all regressions are solved together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Labels, Mask, Reals, Rows, Scores
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import Count, TwoOrMore, check_argument

_RIDGE = 1.0
_ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class Lime:
    """Perturbed rows with the model's scores, ready to explain any row."""

    domain: TabularDomain
    rows: Rows  # (perturbed, columns)
    scores: Scores  # (perturbed, classes)
    borders: tuple[Reals, ...]  # quartiles of every number; empty for categories

    @classmethod
    def prepare(cls, data: Rows, n: int, domain: TabularDomain, rng: np.random.Generator) -> Lime:
        """Perturbed rows from the data's frequencies, column by column; the scores are still to be asked."""
        check_argument(TwoOrMore, n=n)
        check_argument(Count, rows_of_data=len(data))
        rows = perturbed(data, n, rng)
        borders = tuple(
            np.empty(0) if column.is_listed else np.unique(np.nanquantile(data[:, at], [0.25, 0.5, 0.75]))
            for at, column in enumerate(domain.columns)
        )
        return cls(domain, rows, np.empty((0, 0)), borders)

    def answered(self, scores: Scores) -> Lime:
        """The same rows with the model's scores."""
        return Lime(self.domain, self.rows, scores, self.borders)

    def weights(self, rows: Rows, labels: Labels) -> Rows:
        """How much every column speaks for the label of every row, (n, columns)."""
        known = self._places(self.rows)
        mine = self._places(rows)
        found = np.empty(rows.shape)
        for begin in range(0, len(rows), _ROWS_AT_ONCE):
            span = slice(begin, begin + _ROWS_AT_ONCE)
            found[span] = self._explain(mine[span], known, labels[span])
        return found

    def _places(self, rows: Rows) -> Rows:
        """Quartile or category of every cell; -1 for a missing one."""
        places = np.where(np.isnan(rows), -1.0, rows)
        for at, borders in enumerate(self.borders):
            if len(borders):
                places[:, at] = np.where(np.isnan(rows[:, at]), -1, np.searchsorted(borders, rows[:, at], side="left"))
        return places

    def _explain(self, mine: Rows, known: Rows, labels: Labels) -> Rows:
        on = (mine[:, None, :] == known[None, :, :]).astype(np.float32)  # (rows, perturbed, columns)
        columns = on.shape[2]
        width = 0.75 * np.sqrt(columns)
        kernel = np.exp(-(columns - on.sum(axis=2)) / width**2)  # the squared distance counts the columns that are off
        target = self.scores[:, labels].T.astype(np.float32)
        total = kernel.sum(axis=1, keepdims=True)
        centred = on - np.einsum("rp,rpc->rc", kernel, on)[:, None, :] / total[:, :, None]
        aim = target - (kernel * target).sum(axis=1, keepdims=True) / total
        weighted = centred * kernel[:, :, None]
        gram = weighted.transpose(0, 2, 1) @ centred + _RIDGE * np.eye(columns, dtype=np.float32)
        moment = weighted.transpose(0, 2, 1) @ aim[:, :, None]
        return np.linalg.solve(gram.astype(np.float64), moment.astype(np.float64))[:, :, 0]


def perturbed(data: Rows, n: int, rng: np.random.Generator) -> Rows:
    """Rows whose every cell is drawn from its column of the data by itself."""
    return np.column_stack([rng.choice(data[:, at], n) for at in range(data.shape[1])])


def top_columns(weights: Rows, share: float, barred: Mask) -> Mask:
    """The columns with the largest weights, a share of all that are not barred and at least one, (n, columns)."""
    size = np.where(barred, -1.0, np.abs(weights))
    count = max(1, int(np.ceil(share * int((~barred).sum()))))
    order = np.argsort(-size, axis=1, kind="stable")[:, :count]
    chosen = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen & ~barred
