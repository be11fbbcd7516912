"""Retraining with a second loss: twins of training rows and of findings should get the same logits.

Paper: Garg et al., "Counterfactual Fairness in Text Classification through Robustness", AIES 2019 (logit pairing), with squared distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Consistent
from evenhand.repairs.parts.augmentation import Choice, Selection
from evenhand.repairs.parts.case import Case, Mended, Role
from evenhand.repairs.parts.retraining import CONSISTENCY_WEIGHT, made_consistent


@dataclass(frozen=True)
class RetrainConsistently:
    """A new model of the same kind.  weight: what a unit of squared distance counts beside the cross-entropy."""

    share: float = 0.3
    select: Selection = "random"
    weight: float = CONSISTENCY_WEIGHT

    needs: ClassVar[type] = Consistent
    role: ClassVar[Role] = "repair"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Fit again; works without findings too, on the twins of the rows alone."""
        case.check_classes("the second loss is held against the cross-entropy of classes")
        return made_consistent(case, Choice(self.share, self.select), self.weight, rng)
