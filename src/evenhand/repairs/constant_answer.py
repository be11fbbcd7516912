"""The trivial baseline that passes every test of fairness: one answer for everybody.  A comparison that it wins measures too little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Model
from evenhand.models.composed import ConstantModel
from evenhand.repairs.parts.case import Case, Mended, Role


@dataclass(frozen=True)
class ConstantAnswer:
    """Says what is most common among the training rows."""

    needs: ClassVar[type] = Model
    role: ClassVar[Role] = "baseline"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:  # noqa: ARG002 - nothing here is random
        """The shares of the classes as scores; of amounts their mean."""
        if case.is_amount:
            mean = float(np.mean(case.labels))
            return Mended(ConstantModel(case.model.classes, np.array([mean])), {"answer": f"{mean:.6g}"})
        counts = np.bincount(case.labels, minlength=len(case.model.classes))
        return Mended(ConstantModel(case.model.classes, counts / counts.sum()), {"answer": str(case.model.classes[int(counts.argmax())])})
