"""A screen before an expensive question: a few cheap trees guess which rows are unfair, from the verdicts so far.

Screening alone would bend the sample towards what the trees know.  Acceptance is therefore delayed: what the screen favoured when a
question was chosen, it disfavours by as much when the walk decides whether to go there, so that the limit of the walk stays what it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals
from evenhand.domain.tabular import TabularDomain
from evenhand.methods.parts.move_shares import FAVOUR
from evenhand.synthesis.links import Copies

TREES = 6
"""More trees guess hardly better and cost as much as the question that they save."""

LEAST = 0.01
"""The weight of a row that the trees think impossible, so that nothing is ruled out."""


class Screen:
    """Collects verdicts, and weighs rows once there are enough of both kinds.

    first: how many verdicts the trees are grown from at first, again whenever they have doubled, and from ten times as many at most
    """

    def __init__(self, domain: TabularDomain, first: int) -> None:
        self._first = first
        self._places = np.array(domain.free_places, dtype=np.intp)
        self._copies: list[Copies] = []
        self._unfair: list[Mask] = []
        self._size, self._learnt_at, self._fits = 0, 0, 0
        self._trees: list[tuple[Any, NDArray[np.float32]]] = []
        self._pace = 0.0  # new findings for each question of late

    @property
    def is_ready(self) -> bool:
        """Whether it can tell rows apart."""
        return bool(self._trees)

    def learn(self, copies: Copies, unfair: Mask) -> bool:
        """Remember verdicts; says whether the trees were grown again."""
        self._copies.append(np.ascontiguousarray(copies[:, self._places]))
        self._unfair.append(unfair)
        self._size += len(unfair)
        share = float(unfair.mean()) if len(unfair) else 0.0
        self._pace = share if not self._pace else 0.95 * self._pace + 0.05 * share
        if self._size < max(self._first, 2 * self._learnt_at):
            return False
        return self._grow()

    def weights(self, copies: Copies) -> Reals:
        """How readily each row is asked about, above 0 and up to 1."""
        chances = np.zeros(len(copies), dtype=np.float32)
        readable = np.ascontiguousarray(copies[:, self._places])
        for tree, share in self._trees:
            chances += share[tree.apply(readable)]
        weights: Reals = np.clip((chances / max(self._pace, LEAST)) ** FAVOUR, LEAST, 1.0)
        return weights

    def _grow(self) -> bool:
        from sklearn.ensemble import ExtraTreesClassifier

        self._learnt_at = self._size
        latest = slice(-10 * self._first, None)
        copies, unfair = np.concatenate(self._copies)[latest], np.concatenate(self._unfair)[latest]
        self._copies, self._unfair = [copies], [unfair]
        if unfair.all() or not unfair.any() or not self._places.size:
            return False
        grown = ExtraTreesClassifier(TREES, random_state=self._fits).fit(copies, unfair)
        self._fits += 1
        self._trees = [(each.tree_, _shares(each.tree_)) for each in grown.estimators_]
        return True


def _shares(tree: Any) -> NDArray[np.float32]:
    """At every node, the share of unfair rows, divided by the number of trees."""
    share: NDArray[np.float32] = (tree.value[:, 0, 1] / tree.value[:, 0].sum(axis=1) / TREES).astype(np.float32)
    return share


def asked_first(here: Reals, there: Reals, rng: np.random.Generator) -> Mask:
    """Which proposals pass the screen."""
    passed: Mask = rng.random(len(here)) * here < there
    return passed


def accepted_then(here: Reals, there: Reals, rng: np.random.Generator) -> Mask:
    """Which of the unfair ones the walk goes to, so that the screen changes nothing in the long run."""
    accepted: Mask = rng.random(len(here)) * there < here
    return accepted
