"""Which twin a gradient search looks at beside a row, when there is more than one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Index, Rows
from evenhand.contract import labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.models.meter import Meter


@dataclass(frozen=True)
class Partners:
    """Rows and the twin chosen for each: the one with the largest difference of scores, another label counting for most."""

    domain: TabularDomain
    model: Meter

    @property
    def is_single(self) -> bool:
        """Whether every row has one other twin, which is always possible: the pair then is all that an oracle compares."""
        return len(self.domain.combinations) == 2 and not self.domain.constraints

    def choose(self, rows: Rows) -> Index:
        """The protected combination of every row's partner; all twins are asked in one batch unless there is only one."""
        own = self.domain.own_combination(rows)
        combinations = len(self.domain.combinations)
        if combinations == 2:
            return np.where(own == 0, 1, 0)
        twins = self.domain.twins(rows)
        line = np.arange(len(rows))
        asked = np.concatenate([twins.rows, rows[None]])
        scores = self.model.scores(asked.reshape(-1, rows.shape[1])).reshape(combinations + 1, len(rows), -1)
        label = labels_of(scores[-1])
        watched = scores[:, line, label]  # (combinations + 1, n): the score of the row's own label
        differs = scores[:-1].argmax(axis=2) != label
        worth = np.abs(watched[:-1] - watched[-1]) + differs
        worth = np.where(twins.valid, worth, -1.0)
        seated = own >= 0
        worth[own[seated], line[seated]] = -2.0
        return np.asarray(worth.argmax(axis=0), dtype=np.intp)

    def twins(self, rows: Rows, chosen: Index) -> Rows:
        """Every row under its chosen combination."""
        if self.domain.implied:
            return self.domain.twins(rows).rows[chosen, np.arange(len(rows))]
        twins = rows.copy()
        for at, place in enumerate(self.domain.protected_places):
            twins[:, place] = self.domain.combinations[chosen, at]
        return twins
