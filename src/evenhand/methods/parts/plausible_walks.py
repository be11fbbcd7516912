"""The plausible part of a population: people whose cells are not too rare, and go together, and who have a twin of that kind.

Twins are judged as well, less strictly: nobody would believe in a pair of whom one cannot be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Rows
from evenhand.domain.shown_twins import LEAST_LIKELY
from evenhand.synthesis.level_chain import LevelChain, LevelMove, LevelStates, Likelihood
from evenhand.synthesis.level_walks import LevelStep, LevelWalks

ORDINARY = 3.0
"""Who falls short of the middle of the population by less, in nats, is plausible whatever the shares: where all people are nearly alike,
nobody is odd."""


PAIR, PERSON, NOBODY = 2, 1, 0
"""How many plausible people a walk wants where it goes: somebody with a twin, somebody whose twin may be anything, or none."""

ALONE = 0.25
"""Somebody whose twin may be anything is held against this part of the shares: real people lie there too, and nothing is told of a pair."""


class Demanding(Protocol):
    """What says who is plausible: how many draws are looked at, and which shares of them are left out."""

    @property
    def seeds(self) -> int:
        """Draws that say where the unlikeliest begin."""

    @property
    def too_rare(self) -> float:
        """The unlikeliest share of the population, and as large a share whose cells go together least."""


@dataclass(frozen=True)
class Least:
    """What somebody must have at least."""

    density: float
    lift: float

    @classmethod
    def of(cls, told: Likelihood, left_out: float) -> Least:
        """All but such a share of some draws have it, in either respect."""
        return cls(_least(told.density, left_out), _least(told.lift, left_out))

    def passed(self, told: Likelihood) -> Mask:
        """Who has it."""
        passed: Mask = (told.density >= self.density) & (told.lift >= self.lift)
        return passed


ANYBODY = Least(-np.inf, -np.inf)


@dataclass(frozen=True)
class PlausibleSet:
    """A chain, and what a person must have at least to count as plausible; a twin must have no less.  Less is asked of people alone."""

    chain: LevelChain
    least: Least
    alone: Least

    @classmethod
    def drawn(cls, chain: LevelChain, demands: Demanding, rng: np.random.Generator) -> PlausibleSet:
        """Without the unlikeliest share of the population, and without the share whose cells go together least."""
        told = chain.drawn(demands.seeds, rng).likelihood
        return cls(chain, Least.of(told, demands.too_rare), Least.of(told, ALONE * demands.too_rare))

    @property
    def is_everything(self) -> bool:
        """Whether everybody counts as plausible."""
        return self.least == ANYBODY

    def everything(self) -> PlausibleSet:
        """The same chain with everybody plausible."""
        return replace(self, least=ANYBODY, alone=ANYBODY)

    def kept(self, states: LevelStates) -> PlausibleStates:
        """Those inside the domain who are plausible and have a plausible twin."""
        if self.chain.domain.constraints:
            states = states[self.chain.domain.keeps_constraints(states.rows)]
        told = PlausibleStates(states, self.of_twins(states))
        paired = has_plausible(told.likelihood, PAIR)
        return told if paired.all() else told[np.flatnonzero(paired)]

    def real(self, rows: Rows, rng: np.random.Generator) -> PlausibleStates:
        """Real people, who are plausible whatever their cells are; their twins may not be."""
        states = self.chain.encoded(rows, rng)
        return PlausibleStates(states, self.of_twins(states))

    def fresh(self, n: int, rng: np.random.Generator) -> PlausibleStates:
        """Of n draws, the plausible ones."""
        return self.kept(self.chain.drawn(n, rng))

    def moved(self, walks: LevelWalks, move: LevelMove, wanted: int, rng: np.random.Generator) -> PlausibleStep:
        """The walks that a move leads to where so many are plausible, of the people who differ in the protected values alone; and where."""
        step = walks.step(move, rng)
        if wanted:
            least = self.least if wanted == PAIR else self.alone
            step = step.only(step.base.density >= least.density)  # nobody is likelier than without a part
        if self.chain.domain.constraints:
            step = step.only(self.chain.domain.keeps_constraints(step.rows))
        told = self.chain.others_by_copies(step.copies, step.base) if self.chain.twins_are_plain else self.chain.others(step.states)
        somebody: Mask = np.ones(len(step), dtype=bool) if wanted else np.asarray(self.alone.passed(told).any(axis=1))
        return PlausibleStep(step, self._believed(told), somebody).only(self._wanted(told, wanted))

    def among(self, states: LevelStates, wanted: int) -> LevelStates:
        """Those of whom so many are plausible."""
        return states[np.flatnonzero(self._wanted(self.chain.others(states), wanted))]

    def _wanted(self, told: Likelihood, wanted: int) -> Mask:
        if wanted == PERSON:
            return np.asarray(self.alone.passed(told).any(axis=1))
        return has_plausible(self._believed(told), wanted)

    def likeliest(self, rows: Rows, likelihood: NDArray[np.float32]) -> Rows:
        """The same people, of every pair the likelier one; where constraints speak of protected values, as they are."""
        domain = self.chain.domain
        if domain.constraints or not len(rows):
            return rows
        believed: Mask = np.asarray(np.isfinite(likelihood).any(axis=1))
        which = likelihood.argmax(axis=1)
        return np.where(believed[:, None], domain.twin(rows, which), rows)

    def of_twins(self, states: LevelStates) -> NDArray[np.float32]:
        """(n, combinations): how likely everybody is under every protected combination; minus infinity for whom nobody would believe in."""
        return self._believed(self.chain.others(states))

    def _believed(self, told: Likelihood) -> NDArray[np.float32]:
        return np.where(self.least.passed(told), np.maximum(told.density, LEAST_LIKELY), np.float32(-np.inf)).astype(np.float32, copy=False)


@dataclass(frozen=True)
class PlausibleStates:
    """States, and how likely each is under every protected combination."""

    states: LevelStates
    likelihood: NDArray[np.float32]

    def __getitem__(self, chosen: Any) -> PlausibleStates:
        return PlausibleStates(self.states[chosen], self.likelihood[chosen])


@dataclass(frozen=True)
class PlausibleStep:
    """Where some walks would go, how likely each of them is then under every protected combination, and whether one is plausible alone."""

    step: LevelStep
    likelihood: NDArray[np.float32]
    has_somebody: Mask

    @property
    def places(self) -> Index:
        """Which walks."""
        return self.step.places

    def only(self, wanted: Mask) -> PlausibleStep:
        """Those that are wanted."""
        return self if wanted.all() else self[np.flatnonzero(wanted)]

    def __getitem__(self, chosen: Any) -> PlausibleStep:
        return PlausibleStep(self.step[chosen], self.likelihood[chosen], self.has_somebody[chosen])


def has_plausible(likelihood: NDArray[np.float32], wanted: int) -> Mask:
    """Who is plausible under so many protected combinations or more."""
    if likelihood.shape[1] == 2 and wanted == PAIR:
        return np.asarray(np.isfinite(likelihood[:, 0]) & np.isfinite(likelihood[:, 1]))
    enough: Mask = np.isfinite(likelihood).sum(axis=1) >= wanted
    return enough


def _least(told: NDArray[np.float32], left_out: float) -> float:
    """What a plausible person has at least."""
    return float(min(np.quantile(told, left_out), np.median(told) - ORDINARY))
