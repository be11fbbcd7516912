"""The other person as the world would have made them: what descends from the protected cells is drawn again for the other group.

A row keeps its own chance: where it stands among people like it (its quantile, given the cells before) it stands among the like
people of the other group.  The chance of a cell that says less than a quantile is drawn from a hash of the row, so that a
row always meets the same other person.  Without a causal graph, every column may descend from the protected ones, along the chain that
the trees learn; that is association, not cause, and a user's graph replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.domain.causal_graph import CausalGraph
from evenhand.domain.keys import hash_cells
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.chained_trees import ChainedTrees


class RowChance:
    """Stands in for a random generator: its draws are fixed by the rows, one list for each time it is asked."""

    def __init__(self, rows: Rows, seed: int) -> None:
        self._rows, self._seed, self._asked = rows, seed, 0

    def random(self, n: int) -> Reals:
        """Numbers between 0 and 1 that only the rows, the seed and the count of questions decide."""
        self._asked += 1
        # The first seed adds no column of its own, so that its draws are those of a hash of the row alone.
        turn = [np.full(n, float(each)) for each in ((self._asked, self._seed) if self._seed else (self._asked,))]
        keys = hash_cells(np.column_stack([self._rows, *turn]))
        chances: Reals = (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return chances


@dataclass(frozen=True)
class ResampledChain:
    """The learned way: every column given those before it, the protected ones first."""

    population: ChainedTrees
    seed: int = 0

    @classmethod
    def learn(cls, rows: Rows, domain: TabularDomain, rng: np.random.Generator, seed: int = 0) -> ResampledChain:
        """Fit chained trees to real rows."""
        return cls(ChainedTrees.fit(rows, domain, rng), seed)

    def under(self, rows: Rows, domain: TabularDomain) -> Rows:
        """Every row decoded again from its own latent, with other protected cells."""
        domain = _without_constraints(domain)
        latents = self.population.encode(rows, cast(Any, RowChance(rows, self.seed)))
        made = [self.population.decode(latents, _fixed(domain, codes, len(rows))) for codes in domain.combinations]
        return np.stack(made)


@dataclass(frozen=True)
class CausalStep:
    """One descendant, its causes, and the small chain that draws it from them."""

    name: str
    causes: tuple[str, ...]
    chain: ChainedTrees


@dataclass(frozen=True)
class ResampledGraph:
    """The declared way: only descendants of the protected columns change, each given its causes."""

    steps: tuple[CausalStep, ...]
    seed: int = 0

    @classmethod
    def learn(cls, rows: Rows, domain: TabularDomain, graph: CausalGraph, rng: np.random.Generator, seed: int = 0) -> ResampledGraph:
        """Fit one small chain, causes first, for every descendant."""
        steps = []
        for name in graph.descendants(domain):
            causes = graph.parents[name]
            places = [domain.place(each) for each in (*causes, name)]
            part = TabularDomain(tuple(domain.columns[place] for place in places))
            steps.append(CausalStep(name, causes, ChainedTrees.fit(rows[:, places], part, rng, first=causes)))
        return cls(tuple(steps), seed)

    def under(self, rows: Rows, domain: TabularDomain) -> Rows:
        """Every row with its descendants drawn again in causal order."""
        made = np.repeat(rows[None], len(domain.combinations), axis=0)
        made[:, :, list(domain.protected_places)] = domain.combinations[:, None, :]
        for step in self.steps:
            places = [domain.place(each) for each in (*step.causes, step.name)]
            latents = step.chain.encode(rows[:, places], cast(Any, RowChance(rows, self.seed)))
            for other in made:
                fixed = {cause: other[:, domain.place(cause)] for cause in step.causes}
                other[:, places[-1]] = step.chain.decode(latents, fixed)[:, -1]
        return made


def _without_constraints(domain: TabularDomain) -> TabularDomain:
    """Whether a made person may exist is asked afterwards."""
    return replace(domain, constraints=()) if domain.constraints else domain


def _fixed(domain: TabularDomain, codes: Sequence[float], n: int) -> dict[str, Any]:
    return {name: np.full(n, float(code)) for name, code in zip(domain.protected, codes, strict=True)}
