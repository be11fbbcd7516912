"""The trivial baseline for a model that cannot be fitted again: it is always told the most common protected values.

No protected value can change its answer, but columns that stand in for it still can, and nothing in the model has changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Model
from evenhand.models.composed import Masked
from evenhand.repairs.parts.case import Case, Mended, Role


@dataclass(frozen=True)
class HideProtected:
    """The same model behind a screen."""

    needs: ClassVar[type] = Model
    role: ClassVar[Role] = "baseline"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:  # noqa: ARG002 - nothing here is random
        """Hold the protected cells."""
        codes = common_codes(case)
        return Mended(Masked(case.model, case.domain.protected_places, codes), told(case, codes))


def common_codes(case: Case) -> tuple[float, ...]:
    """The most common combination of protected codes among the training rows."""
    cells = case.rows[:, list(case.domain.protected_places)]
    present = cells[~np.isnan(cells).any(axis=1)]
    if not len(present):
        return tuple(float(code) for code in case.domain.combinations[0])
    distinct, counts = np.unique(present, axis=0, return_counts=True)
    return tuple(float(code) for code in distinct[counts.argmax()])


def told(case: Case, codes: tuple[float, ...]) -> dict[str, object]:
    """What the model is always told, in the data's words."""
    columns = [case.domain.columns[place] for place in case.domain.protected_places]
    return {"always_told": {column.name: column.value(code) for column, code in zip(columns, codes, strict=True)}}
