"""Which rows are natural: at least as likely as all but the unlikeliest real rows.

Chained trees are fitted on one half of the real rows; the other half, which they have not seen, says how likely a real row is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import Limit
from evenhand.synthesis.chained_trees import ChainedTrees

FEWEST = 20
"""Real rows below which nothing can be said about likelihoods."""
ROWS_AT_ONCE = 50_000


@dataclass(frozen=True)
class Plausibility:
    """A population and the log-density from which on a row of it counts as natural."""

    population: ChainedTrees
    threshold: float

    @classmethod
    def fit(cls, rows: Rows, domain: TabularDomain, rng: np.random.Generator, left_out: float = 0.05) -> Plausibility:
        """Natural is what is at least as likely as the given quantile of unseen real rows."""
        Limit(least=FEWEST, whole=True).check("rows", len(rows), hint=": naturalness is learned from real rows")
        order = rng.permutation(len(rows))
        population = ChainedTrees.fit(rows[order[: len(rows) // 2]], domain, rng)
        unseen = population.log_density(rows[order[len(rows) // 2 :]])
        return cls(population, float(np.quantile(unseen, left_out)))

    def natural(self, rows: Rows) -> Mask:
        """Which rows are natural."""
        if not len(rows):
            return np.empty(0, dtype=bool)
        parts = [self.population.log_density(rows[at : at + ROWS_AT_ONCE]) for at in range(0, len(rows), ROWS_AT_ONCE)]
        likely: Mask = np.concatenate(parts) >= self.threshold
        return likely
