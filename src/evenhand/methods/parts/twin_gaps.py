"""How far apart the scores of an input's twins are: what a search climbs before the label flips."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.methods.parts.patience import PatientKnown
from evenhand.models.meter import Meter


class WeighedKnown(PatientKnown):
    """Remembers the verdicts with their gaps."""

    def gaps(self, rows: Rows) -> Reals:
        """The largest difference of scores between two twins of each row that was judged before."""
        return self._heard.recall(self._heard.find(self.domain.keys(rows))).gap


def summed_gaps(rows: Rows, domain: TabularDomain, model: Meter) -> Reals:
    """For every row, the sum over its own possible twins of |f(x) - f(x')|, f being the scores: half their absolute differences.

    For two classes that is the difference of the second class's score.
    """
    twins = domain.twins(rows)
    combinations, n, width = twins.rows.shape
    asked = np.concatenate([twins.rows.reshape(-1, width), rows])
    scores = model.scores(asked).reshape(combinations + 1, n, -1)
    apart = np.abs(scores[:-1] - scores[-1]).sum(axis=2) / 2  # (combinations, n): every twin beside the row that it is a twin of
    summed: Reals = np.where(twins.valid, apart, 0.0).sum(axis=0)
    return summed
