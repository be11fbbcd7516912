"""Retraining on the training data and on findings as they stand, each with the label of the vote.

Paper: Xiao, Liu, Li, Liu, "Latent Imitator", ISSTA 2023, Table 4 (30 % of the data size); Zhang et al., "EIDIG", ISSTA 2021 (5 %).
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
class RetrainAlone:
    """A new model of the same kind.  share: findings per training row."""

    share: float = 0.3
    select: Selection = "random"

    needs: ClassVar[type] = Trainable
    role: ClassVar[Role] = "repair"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Add the findings and fit again."""
        return retrained(case, Choice(self.share, self.select), "alone", rng)
