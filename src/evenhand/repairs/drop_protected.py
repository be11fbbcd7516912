"""The trivial baseline that everybody tries first: a model fitted without the protected columns.

They are held at one value in training and afterwards, which tells a model as little as leaving them out and works for every
pipeline.  Direct flips are zero by construction; columns that stand in for what is protected go on working.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Trainable
from evenhand.models.composed import Masked, masked
from evenhand.repairs.hide_protected import common_codes, told
from evenhand.repairs.parts.case import Case, Mended, Role
from evenhand.repairs.parts.retraining import trainable


@dataclass(frozen=True)
class DropProtected:
    """A new model of the same kind that never sees a protected value."""

    needs: ClassVar[type] = Trainable
    role: ClassVar[Role] = "baseline"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Fit to rows whose protected cells are all the same."""
        places, codes = case.domain.protected_places, common_codes(case)
        fitted = trainable(case.model).refit(masked(case.rows, places, codes), case.labels, rng)
        return Mended(Masked(fitted, places, codes), told(case, codes))
