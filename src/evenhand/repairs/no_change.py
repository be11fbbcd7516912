"""A control: the model as it is.  What a repair is not better than, it has not repaired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Model
from evenhand.repairs.parts.case import Case, Mended, Role


@dataclass(frozen=True)
class NoChange:
    """The model as it is."""

    needs: ClassVar[type] = Model
    role: ClassVar[Role] = "control"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:  # noqa: ARG002 - nothing here is random
        """Nothing."""
        return Mended(case.model)
