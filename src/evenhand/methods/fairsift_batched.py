"""FairSIFT in whole batches: the children of a round are made at once.

Paper: Mamman, "Search-Based Fairness Testing for Detecting Individual Discrimination in Machine Learning-Based Software" (thesis, and the
public code SBFTID).

Agrees with `fairsift` in everything but the order of random numbers: every child has the same chances.

Differs from the published code in speed: whole arrays instead of one member after the other, an improvement of ours.

Measured by `benchmarks/search.py`: several times as fast as `fairsift`; it finds more in a second than any other published method here, and
hardly one of its findings is a plausible person.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Rows
from evenhand.methods.fairsift import FairSift
from evenhand.methods.parts.genetics import different
from evenhand.methods.parts.walks import Moves, signs


@dataclass(frozen=True)
class FairSiftBatched(FairSift):
    """One child for every member, in every round, all at once.

    members: rows of the population
    memory: findings that are remembered at most
    recall: how often a child is made from a remembered finding
    columns: cells that a child changes, at least
    columns_share: and at least this share of all columns
    """

    def _children(self, population: Rows, memory: Rows, moves: Moves, rng: np.random.Generator) -> Rows:
        """One child of every member."""
        count = self.count(population.shape[1])
        places = moves.free[different(len(moves.free), count, len(population), rng)]
        recalled = rng.random(len(population)) < self.recall if len(memory) else np.zeros(len(population), dtype=bool)
        steps = np.where(recalled[:, None], rng.integers(-1, 2, places.shape), signs(places.size, rng).reshape(places.shape))
        children = population.copy()
        if recalled.any():
            line = np.arange(len(population))[:, None]
            children[recalled] = memory[rng.integers(len(memory), size=int(recalled.sum()))]
            children[line, places] = population[line, places]
        directions = np.zeros(children.shape)
        np.put_along_axis(directions, places, steps, axis=1)
        return moves.step(children, directions)
