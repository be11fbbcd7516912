"""Retraining on the training data and on all twins of the findings, every twin with the label that the vote gave the person.

Beyond the papers, which add the finding alone: only its twins say that the protected value must not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Trainable
from evenhand.repairs.parts.augmentation import Choice, Selection
from evenhand.repairs.parts.case import Case, Mended, Role
from evenhand.repairs.parts.retraining import retrained


@dataclass(frozen=True)
class RetrainTwins:
    """A new model of the same kind.  share: findings per training row."""

    share: float = 0.3
    select: Selection = "random"

    needs: ClassVar[type] = Trainable
    role: ClassVar[Role] = "repair"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Add the twins and fit again."""
        return retrained(case, Choice(self.share, self.select), "twins", rng)
