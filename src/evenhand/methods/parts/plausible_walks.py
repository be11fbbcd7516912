"""The plausible part of a population: people whose cells are not too rare, and go together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index
from evenhand.synthesis.level_chain import LevelChain, LevelMove, LevelStates

DRAWS = 2_000
"""Draws that say where the unlikeliest begin."""

FEWEST_SEEDS = 16
"""So many plausible findings, and the walks begin with them alone."""


@dataclass(frozen=True)
class PlausibleSet:
    """A chain, and what a person must have at least to count as plausible: cells that are not too rare, and that go together."""

    chain: LevelChain
    least_density: float
    least_lift: float

    @classmethod
    def drawn(cls, chain: LevelChain, too_rare: float, too_odd: float, rng: np.random.Generator) -> PlausibleSet:
        """Without the unlikeliest share of the population, and without the share whose cells go together least."""
        told = chain.drawn(DRAWS, rng).likelihood
        return cls(chain, float(np.quantile(told.density, too_rare)), float(np.quantile(told.lift, too_odd)))

    def everything(self) -> PlausibleSet:
        """The same chain with everybody plausible."""
        return replace(self, least_density=-np.inf, least_lift=-np.inf)

    def kept(self, states: LevelStates) -> PlausibleStates:
        """The plausible ones inside the domain."""
        told = states.likelihood
        chosen = np.flatnonzero((told.density >= self.least_density) & (told.lift >= self.least_lift))
        if self.chain.domain.constraints:
            chosen = chosen[self.chain.domain.keeps_constraints(states.rows[chosen])]
        left = states[chosen] if len(chosen) < len(states) else states
        return PlausibleStates(chosen, left, self._of_twins(left))

    def fresh(self, n: int, rng: np.random.Generator) -> LevelStates:
        """Of n draws, the plausible ones."""
        return self.kept(self.chain.drawn(n, rng)).states

    def moved(self, states: LevelStates, move: LevelMove, rng: np.random.Generator) -> PlausibleStates:
        """The states that a move changes into plausible ones, and what they become."""
        changed, there = self.chain.moved(states, move, rng)
        kept = self.kept(there)
        return replace(kept, places=changed[kept.places])

    def preferred(self, states: LevelStates) -> LevelStates:
        """The plausible ones where there are a few, else all."""
        kept = self.kept(states)
        return kept.states if len(kept.states) >= FEWEST_SEEDS else states

    def _of_twins(self, states: LevelStates) -> NDArray[np.float32] | None:
        """How likely everybody is under every protected combination; not needed where there is only one twin to show."""
        return None if len(self.chain.domain.combinations) == 2 else self.chain.others(states).density


@dataclass(frozen=True)
class PlausibleStates:
    """Which of some states are plausible, by place; these; and how likely each is under every protected combination."""

    places: Index
    states: LevelStates
    likelihood: NDArray[np.float32] | None

    def __getitem__(self, chosen: Any) -> PlausibleStates:
        likelihood = None if self.likelihood is None else self.likelihood[chosen]
        return PlausibleStates(self.places[chosen], self.states[chosen], likelihood)
