"""The plausible part of a population: people whose cells are not too rare, and go together, and who have a twin of that kind.

Twins are judged as the people are: nobody would believe in a pair of whom one cannot be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Rows
from evenhand.domain.shown_twins import LEAST_LIKELY
from evenhand.synthesis.level_chain import LevelChain, LevelMove, LevelStates, Likelihood

ORDINARY = 3.0
"""Who falls short of the middle of the population by less, in nats, is plausible whatever the shares: where all people are nearly alike,
nobody is odd."""


class Demanding(Protocol):
    """What says who is plausible: how many draws are looked at, and which shares of them are left out."""

    @property
    def seeds(self) -> int:
        """Draws that say where the unlikeliest begin."""

    @property
    def too_rare(self) -> float:
        """The unlikeliest share of the population, and as large a share whose cells go together least."""


@dataclass(frozen=True)
class PlausibleSet:
    """A chain, and what a person must have at least to count as plausible, the twin as well as the one that was drawn."""

    chain: LevelChain
    least_density: float
    least_lift: float

    @classmethod
    def drawn(cls, chain: LevelChain, demands: Demanding, rng: np.random.Generator) -> PlausibleSet:
        """Without the unlikeliest share of the population, and without the share whose cells go together least."""
        told = chain.drawn(demands.seeds, rng).likelihood
        return cls(chain, *(_least(each, demands.too_rare) for each in (told.density, told.lift)))

    @property
    def is_everything(self) -> bool:
        """Whether everybody counts as plausible."""
        return self.least_density == self.least_lift == -np.inf

    def everything(self) -> PlausibleSet:
        """The same chain with everybody plausible."""
        return replace(self, least_density=-np.inf, least_lift=-np.inf)

    def kept(self, states: LevelStates, exempt: Mask | None = None) -> PlausibleStates:
        """Those inside the domain who are plausible and have a plausible twin, and the exempt ones there."""
        own = self._good(states.likelihood)
        chosen = np.flatnonzero(own if exempt is None else own | exempt)
        if self.chain.domain.constraints:
            chosen = chosen[self.chain.domain.keeps_constraints(states.rows[chosen])]
        told = PlausibleStates(chosen, states[chosen] if len(chosen) < len(states) else states, self.of_twins(states[chosen], own[chosen]))
        paired = told.is_paired if exempt is None else told.is_paired | exempt[chosen]
        return told if paired.all() else told[np.flatnonzero(paired)]

    def real(self, rows: Rows, rng: np.random.Generator) -> PlausibleStates:
        """Real people, who are plausible whatever their cells are; their twins may not be."""
        states = self.chain.encoded(rows, rng)
        return PlausibleStates(np.arange(len(rows)), states, self.of_twins(states, np.ones(len(rows), dtype=bool)))

    def fresh(self, n: int, rng: np.random.Generator) -> PlausibleStates:
        """Of n draws, the plausible ones."""
        return self.kept(self.chain.drawn(n, rng))

    def moved(self, states: LevelStates, move: LevelMove, free: int, rng: np.random.Generator) -> PlausibleStates:
        """The states that a move changes into plausible ones, and what they become; the first `free` may become anybody."""
        changed, there = self.chain.moved(states, move, rng)
        kept = self.kept(there, changed < free)
        return replace(kept, places=changed[kept.places])

    def of_twins(self, states: LevelStates, own: Mask) -> NDArray[np.float32]:
        """(n, combinations): how likely everybody is under every protected combination; minus infinity for whom nobody would believe in: a
        twin that is not plausible, and every twin of a person who is not (`own`)."""
        told = self.chain.others(states)
        good = self._good(told) & own[:, None]
        return np.where(good, np.maximum(told.density, LEAST_LIKELY), -np.inf).astype(np.float32)

    def _good(self, told: Likelihood) -> Mask:
        good: Mask = (told.density >= self.least_density) & (told.lift >= self.least_lift)
        return good


@dataclass(frozen=True)
class PlausibleStates:
    """Which of some states are plausible, by place; these; and how likely each is under every protected combination."""

    places: Index
    states: LevelStates
    likelihood: NDArray[np.float32]

    @property
    def is_paired(self) -> Mask:
        """Who is plausible under two protected combinations or more."""
        paired: Mask = np.isfinite(self.likelihood).sum(axis=1) >= 2
        return paired

    def __getitem__(self, chosen: Any) -> PlausibleStates:
        return PlausibleStates(self.places[chosen], self.states[chosen], self.likelihood[chosen])


def _least(told: NDArray[np.float32], left_out: float) -> float:
    """What a plausible person has at least."""
    return float(min(np.quantile(told, left_out), np.median(told) - ORDINARY))
