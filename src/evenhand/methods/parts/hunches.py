"""A hunch whether a row is unfair, from the verdicts so far: one decision tree, grown again whenever the verdicts have doubled."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.tabular import TabularDomain

FEWEST = 500
GROWTH = 2.0
MOST = 60_000
"""Verdicts that a tree is grown from at most, the latest ones."""

SMALLEST_LEAF = 10
BELOW_EVERYTHING = -1e30
"""A missing cell, as the tree reads it."""


class Hunches:
    """Collects verdicts; answers once there are enough of both kinds."""

    def __init__(self, domain: TabularDomain) -> None:
        self._places = np.array(domain.free_places, dtype=np.intp)
        self._rows: list[Rows] = []
        self._unfair: list[Mask] = []
        self._size, self._learnt_at = 0, 0
        self._tree: Any = None
        self._chances: Reals = np.empty(0)

    def learn(self, rows: Rows, unfair: Mask) -> None:
        """Remember verdicts, and grow the tree again when it is time."""
        self._rows.append(rows[:, self._places])
        self._unfair.append(unfair)
        self._size += len(rows)
        if self._size >= max(FEWEST, GROWTH * self._learnt_at):
            self._grow()

    def __call__(self, rows: Rows) -> Reals | None:
        """The chance that each row is unfair; None before anything is learnt."""
        if self._tree is None:
            return None
        chances: Reals = self._chances[self._tree.apply(readable(rows[:, self._places]))]
        return chances

    def _grow(self) -> None:
        from sklearn.tree import DecisionTreeClassifier

        self._learnt_at = self._size
        rows, unfair = np.concatenate(self._rows)[-MOST:], np.concatenate(self._unfair)[-MOST:]
        self._rows, self._unfair = [rows], [unfair]
        if unfair.all() or not unfair.any() or not self._places.size:
            return
        self._tree = DecisionTreeClassifier(min_samples_leaf=SMALLEST_LEAF, random_state=0).fit(readable(rows), unfair).tree_
        self._chances = self._tree.value[:, 0, 1] / self._tree.value[:, 0].sum(axis=1)


def readable(rows: Rows) -> Any:
    """Rows as a tree reads them."""
    return np.where(np.isnan(rows), BELOW_EVERYTHING, rows).astype(np.float32)


LUCK = 0.1
"""How much chance may add to a row's chances, so that others than the expected ones are let through too."""


FAIR_CHANCE = 0.5


def best_places(chances: Reals, n: int, rng: np.random.Generator) -> Index:
    """The places of the n most promising rows at most, in order of place; none whose chance is below half of the others' mean."""
    wanted = chances + LUCK * rng.random(len(chances))
    best = np.argpartition(-wanted, n - 1)[:n] if n < len(chances) else np.arange(len(chances))
    kept = best[wanted[best] >= FAIR_CHANCE * wanted[best].mean()]
    return np.sort(kept)
