"""The plausible part of a population: people whose cells are not too rare, and go together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask
from evenhand.synthesis.level_chain import LevelChain, LevelMove, LevelStates


class Demanding(Protocol):
    """What says who is plausible: how many draws are looked at, and which shares of them are left out."""

    @property
    def seeds(self) -> int:
        """Draws that say where the unlikeliest begin."""

    @property
    def too_rare(self) -> float:
        """The unlikeliest share of the population."""

    @property
    def too_odd(self) -> float:
        """The share whose cells go together least."""


@dataclass(frozen=True)
class PlausibleSet:
    """A chain, and what a person must have at least to count as plausible: cells that are not too rare, and that go together."""

    chain: LevelChain
    least_density: float
    least_lift: float

    @classmethod
    def drawn(cls, chain: LevelChain, demands: Demanding, rng: np.random.Generator) -> PlausibleSet:
        """Without the unlikeliest share of the population, and without the share whose cells go together least."""
        told = chain.drawn(demands.seeds, rng).likelihood
        return cls(chain, float(np.quantile(told.density, demands.too_rare)), float(np.quantile(told.lift, demands.too_odd)))

    def wider(self, demands: Demanding, factor: float, rng: np.random.Generator) -> PlausibleSet:
        """The same chain with only this part of what was left out still left out."""
        told = self.chain.drawn(demands.seeds, rng).likelihood
        rare, odd = factor * demands.too_rare, factor * demands.too_odd
        return replace(self, least_density=float(np.quantile(told.density, rare)), least_lift=float(np.quantile(told.lift, odd)))

    def everything(self) -> PlausibleSet:
        """The same chain with everybody plausible."""
        return replace(self, least_density=-np.inf, least_lift=-np.inf)

    def kept(self, states: LevelStates, exempt: Mask | None = None) -> PlausibleStates:
        """The plausible ones inside the domain, and the exempt ones there."""
        told = states.likelihood
        good = (told.density >= self.least_density) & (told.lift >= self.least_lift)
        chosen = np.flatnonzero(good if exempt is None else good | exempt)
        if self.chain.domain.constraints:
            chosen = chosen[self.chain.domain.keeps_constraints(states.rows[chosen])]
        left = states[chosen] if len(chosen) < len(states) else states
        return PlausibleStates(chosen, left, self._of_twins(left))

    def fresh(self, n: int, rng: np.random.Generator) -> LevelStates:
        """Of n draws, the plausible ones."""
        return self.kept(self.chain.drawn(n, rng)).states

    def moved(self, states: LevelStates, move: LevelMove, free: int, rng: np.random.Generator) -> PlausibleStates:
        """The states that a move changes into plausible ones, and what they become; the first `free` may become anybody."""
        changed, there = self.chain.moved(states, move, rng)
        kept = self.kept(there, changed < free)
        return replace(kept, places=changed[kept.places])

    def preferred(self, states: LevelStates) -> LevelStates:
        """The plausible ones, or all where none is."""
        kept = self.kept(states)
        return kept.states if len(kept.states) else states

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
