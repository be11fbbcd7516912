"""Controls: what happens to the figures when nothing is repaired, when a model is merely fitted again, and when chance rows are added.

A repair that is not better than these has shown nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Model, Trainable
from evenhand.repairs.augmentation import Spread, lesson
from evenhand.repairs.case import Case, Mended, Role
from evenhand.repairs.retraining import trainable


@dataclass(frozen=True)
class NoChange:
    """The model as it is."""

    needs: ClassVar[type] = Model
    role: ClassVar[Role] = "control"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:  # noqa: ARG002 - nothing here is random
        """Nothing."""
        return Mended(case.model)


@dataclass(frozen=True)
class RefitAgain:
    """A model of the same kind fitted to the same rows with another seed."""

    needs: ClassVar[type] = Trainable
    role: ClassVar[Role] = "control"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Fit again, with nothing added."""
        return Mended(trainable(case.model).refit(case.rows, case.labels, rng))


@dataclass(frozen=True)
class AddRandomRows:
    """As many rows drawn from the domain by chance as a repair would add findings, labelled by the same vote, with all their twins."""

    share: float = 0.3
    spread: Spread = "twins"

    needs: ClassVar[type] = Trainable
    role: ClassVar[Role] = "control"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Add chance rows and fit anew."""
        people = case.domain.sample(max(1, round(self.share * len(case.rows))), rng)
        added = lesson(case, people, self.spread, rng)
        return Mended(trainable(case.model).refit(*added.joined(case), rng), added.facts(case))
