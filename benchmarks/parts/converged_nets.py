"""CTGAN and TVAE trained to convergence: until what is looked at on rows that they never saw has stopped falling.

TVAE is looked at by its own loss on held-out rows.  A GAN's loss says nothing about how far it is, so CTGAN is looked at by how far the
second moments of its samples are from those of the held-out rows.  The best state that was seen is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.ctgan import CtganSettings
from evenhand.synthesis.ctgan_training import CtganLearner
from evenhand.synthesis.learning import Schedule, one_thread, train
from evenhand.synthesis.normalisation import Normaliser, Vectors
from evenhand.synthesis.tvae import TvaeLearner, TvaeSettings

HELD_OUT = 0.2
PATIENCE = 5
"""Looks in a row without anything gained, after which the training is over."""
STEPS_BETWEEN_LOOKS = 50
"""At least; and never less than an epoch, so that every row was seen between two looks."""
LOOKED_AT = 5_000
"""Rows that a GAN draws to be looked at."""


@dataclass(frozen=True)
class Converged:
    """A trained net, how many steps it took, and whether it ended by itself."""

    space: Any
    steps: int
    is_converged: bool

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows of the best state."""
        made: Rows = self.space.sample(n, rng)
        return made


@dataclass
class Validated:
    """A training that is looked at on rows which it never saw."""

    learner: Any
    held: Vectors
    seed: int

    def epoch(self, number: int) -> dict[str, float]:
        """As the learner has it."""
        losses: dict[str, float] = self.learner.epoch(number)
        return losses

    def state(self) -> dict[str, NDArray[Any]]:
        """As the learner has it."""
        state: dict[str, NDArray[Any]] = self.learner.state()
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """As the learner does it."""
        self.learner.restore(state)

    def distance(self) -> float:
        """The loss on held-out rows, or how far samples are from them; the same noise at every look."""
        if isinstance(self.learner, TvaeLearner):
            torch = self.learner.torch
            with one_thread(torch), torch.no_grad():
                return float(self.learner._loss(torch.from_numpy(self.held), torch.Generator().manual_seed(self.seed % 2**31)))
        rng = np.random.default_rng([self.seed, 5])
        normaliser = self.learner.normaliser
        made = normaliser.vectors(*normaliser.slots(self.learner.space().sample(LOOKED_AT, rng), rng))
        return float(np.abs(self.held.T @ self.held / len(self.held) - made.T @ made / len(made)).mean())


def converged(kind: str, rows: Rows, domain: TabularDomain, rng: np.random.Generator, most_steps: int) -> Converged:
    """A CTGAN or a TVAE with its published settings, for at most so many steps of 500 rows."""
    seed = int(rng.integers(2**62))
    order = np.random.default_rng([seed, 6]).permutation(len(rows))
    held, seen = np.split(order, [max(1, int(HELD_OUT * len(order)))])
    normaliser = Normaliser.fit(rows[seen], domain, np.random.default_rng([seed, 1]), None)
    settings = CtganSettings() if kind == "CTGAN" else TvaeSettings()
    learner: Any = (CtganLearner if kind == "CTGAN" else TvaeLearner)(normaliser, settings, rows[seen], seed)  # type: ignore[arg-type]
    validated = Validated(learner, normaliser.vectors(*normaliser.slots(rows[held], np.random.default_rng([seed, 2]))), seed)
    steps = max(1, len(seen) // settings.batch)  # of an epoch
    between = max(1, -(-STEPS_BETWEEN_LOOKS // steps))
    epochs = max(1, most_steps // steps)
    taken = train(validated, epochs, Schedule(patience=PATIENCE, look_every=between), {})
    return Converged(learner.space(), taken * steps, taken < epochs)
