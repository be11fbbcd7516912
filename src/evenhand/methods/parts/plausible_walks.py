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
    """A chain, and what a person must have at least to count as plausible; a twin must have no less."""

    chain: LevelChain
    least: Least

    @classmethod
    def drawn(cls, chain: LevelChain, demands: Demanding, rng: np.random.Generator) -> PlausibleSet:
        """Without the unlikeliest share of the population, and without the share whose cells go together least."""
        return cls(chain, Least.of(chain.drawn(demands.seeds, rng).likelihood, demands.too_rare))

    @property
    def is_everything(self) -> bool:
        """Whether everybody counts as plausible."""
        return self.least == ANYBODY

    def everything(self) -> PlausibleSet:
        """The same chain with everybody plausible."""
        return replace(self, least=ANYBODY)

    def drawn_people(self, n: int, rng: np.random.Generator) -> PlausibleStates:
        """Fresh people of the population, plausible or not; those who break a rule are left out."""
        states = self.chain.drawn(n, rng)
        if self.chain.domain.constraints:
            states = states[self.chain.domain.keeps_constraints(states.rows)]
        return PlausibleStates(states, self.of_twins(states))

    def real(self, rows: Rows, rng: np.random.Generator) -> PlausibleStates:
        """Real people, who are plausible whatever their cells are; their twins may not be."""
        states = self.chain.encoded(rows, rng)
        return PlausibleStates(states, self.of_twins(states))

    def fresh(self, n: int, rng: np.random.Generator) -> PlausibleStates:
        """Of n draws, the plausible ones who have a plausible twin."""
        told = self.drawn_people(n, rng)
        paired = has_pair(told.likelihood)
        return told if paired.all() else told[np.flatnonzero(paired)]

    def moved(self, walks: LevelWalks, move: LevelMove, wants_pairs: bool, rng: np.random.Generator) -> PlausibleStep:
        """The walks that a move changes, and into what; of plausible pairs alone where these are wanted."""
        step = walks.step(move, rng)
        if wants_pairs:
            step = step.only(step.base.density >= self.least.density)  # nobody is likelier than without a part
        if self.chain.domain.constraints:
            step = step.only(self.chain.domain.keeps_constraints(step.rows))
        told = self.chain.others_by_copies(step.copies, step.base) if self.chain.twins_are_plain else self.chain.others(step.states)
        there = PlausibleStep(step, self._believed(told))
        return there.only(has_pair(there.likelihood)) if wants_pairs else there

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
    """Where some walks would go, and how likely each of them is then under every protected combination."""

    step: LevelStep
    likelihood: NDArray[np.float32]

    @property
    def places(self) -> Index:
        """Which walks."""
        return self.step.places

    def only(self, wanted: Mask) -> PlausibleStep:
        """Those that are wanted."""
        return self if wanted.all() else self[np.flatnonzero(wanted)]

    def __getitem__(self, chosen: Any) -> PlausibleStep:
        return PlausibleStep(self.step[chosen], self.likelihood[chosen])


def has_pair(likelihood: NDArray[np.float32]) -> Mask:
    """Who is plausible under two protected combinations or more."""
    if likelihood.shape[1] == 2:
        return np.asarray(np.isfinite(likelihood[:, 0]) & np.isfinite(likelihood[:, 1]))
    enough: Mask = np.isfinite(likelihood).sum(axis=1) >= 2
    return enough


def _least(told: NDArray[np.float32], left_out: float) -> float:
    """What a plausible person has at least."""
    return float(min(np.quantile(told, left_out), np.median(told) - ORDINARY))
