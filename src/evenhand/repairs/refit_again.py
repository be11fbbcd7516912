"""A control: the same kind of model fitted to the same rows with another seed; what chance in the training alone does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Trainable
from evenhand.repairs.parts.case import Case, Mended, Role
from evenhand.repairs.parts.retraining import trainable


@dataclass(frozen=True)
class RefitAgain:
    """A model of the same kind fitted to the same rows with another seed."""

    needs: ClassVar[type] = Trainable
    role: ClassVar[Role] = "control"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Fit again, with nothing added."""
        return Mended(trainable(case.model).refit(case.rows, case.labels, rng))
