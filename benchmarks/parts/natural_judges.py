"""Three judges of naturalness of different kinds, learnt from the half of the real rows that no method sees.

density: chained trees (kin of what `evenhand` and `chains` draw from).  neighbours: the mean distance to the five nearest real rows.
classifier: boosted trees that tell real rows from rows with shuffled columns and from the domain.  To each, natural is what it finds at
least as usual as all but a twentieth of the real rows that it has not learnt from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Mask, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.chained_trees import ChainedTrees

LEFT_OUT = 0.05
NEAREST = 5
MOST_NEIGHBOURS = 12_000
KIN = ("density",)
"""Judges that are of the same kind as what a method may draw from."""


@dataclass(frozen=True)
class Judge:
    """A score, larger for what is more usual, and the score from which on a row is natural."""

    score: Callable[[Rows], Reals]
    least: float

    @classmethod
    def of(cls, score: Callable[[Rows], Reals], unseen: Rows) -> Judge:
        """Natural is what lies above the lowest twentieth of these rows."""
        return cls(score, float(np.quantile(score(unseen), LEFT_OUT)))

    def natural(self, rows: Rows) -> Mask:
        """Which rows are."""
        return np.asarray(self.score(rows) >= self.least)


def judges(rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> dict[str, Judge]:
    """All three, learnt from one half of these rows, their limits from the other."""
    order = rng.permutation(len(rows))
    learnt, unseen = rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]][:4_000]
    trees = ChainedTrees.fit(learnt, domain, rng)
    return {
        "density": Judge.of(trees.log_density, unseen),
        "neighbours": Judge.of(Neighbours(learnt[:MOST_NEIGHBOURS], domain), unseen),
        "classifier": Judge.of(RealOrShuffled(learnt, domain, rng), unseen),
    }


class Neighbours:
    """Minus the mean distance to the nearest real rows: numbers by their ranks, categories by 0 and 1."""

    def __init__(self, rows: Rows, domain: TabularDomain) -> None:
        from sklearn.neighbors import NearestNeighbors

        self.domain = domain
        self._sorted = [np.sort(rows[:, at][~np.isnan(rows[:, at])]) for at in range(rows.shape[1])]
        self._nearest = NearestNeighbors(n_neighbors=NEAREST, algorithm="brute", metric="euclidean").fit(self._embedded(rows))

    def __call__(self, rows: Rows) -> Reals:
        """The nearer, the larger."""
        distances: Reals = self._nearest.kneighbors(self._embedded(rows))[0].mean(axis=1)
        return -distances

    def _embedded(self, rows: Rows) -> Any:
        parts = [self._column(rows[:, at], at) for at in range(rows.shape[1])]
        return np.hstack(parts).astype(np.float32)

    def _column(self, codes: Reals, at: int) -> Rows:
        column = self.domain.columns[at]
        missing = np.isnan(codes).astype(float)[:, None] * np.sqrt(0.5)
        if column.kind == "category":
            places = np.nan_to_num(codes, nan=0).astype(int) - int(column.lowest)
            return np.hstack([np.eye(int(column.highest - column.lowest) + 1)[places] * np.sqrt(0.5), missing])
        known = self._sorted[at]
        first, last = (np.searchsorted(known, np.nan_to_num(codes), side=side) for side in ("left", "right"))
        rank = np.where(np.isnan(codes), 0.5, (first + last) / 2 / max(1, len(known)))
        return np.hstack([rank[:, None], missing])


class RealOrShuffled:
    """The log-odds that a row is real and not put together from cells of different rows, or drawn from the domain.

    Cells are drawn with replacement: a table whose columns are only permuted has exactly the real one's shares in every column, so that no
    first split of a tree gains anything and nothing is learnt.
    """

    def __init__(self, rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        n = len(rows)
        shuffled = np.column_stack([rows[rng.integers(n, size=n), at] for at in range(rows.shape[1])])
        shuffled[: n // 3] = domain.sample(n // 3, rng)
        told = np.r_[np.ones(n), np.zeros(n)]
        self._model = HistGradientBoostingClassifier(max_iter=150, random_state=0).fit(np.vstack([rows, shuffled]), told)
        assert len(np.unique(self._model.decision_function(rows[:500]))) > 1, "the classifier has learnt nothing"

    def __call__(self, rows: Rows) -> Reals:
        """The more real, the larger."""
        odds: Reals = self._model.decision_function(rows)
        return odds


def sample_auc(sample: Rows, real: Rows, places: list[int], rng: np.random.Generator, most: int = 2_000) -> float | None:
    """How well a classifier tells a sample from real findings, of as many each; None where there are too few real ones."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    n = min(len(sample), len(real), most)
    if n < 60:
        return None
    cells = np.vstack([each[rng.permutation(len(each))[:n]][:, places] for each in (sample, real)])
    told = np.r_[np.ones(n), np.zeros(n)]
    guess = cross_val_predict(
        HistGradientBoostingClassifier(max_iter=60, random_state=0), cells, told, cv=StratifiedKFold(3, shuffle=True, random_state=0),
        method="predict_proba",
    )  # fmt: skip
    return float(roc_auc_score(told, guess[:, 1]))
