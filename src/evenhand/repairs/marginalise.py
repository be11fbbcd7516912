"""The same model asked about all twins of a person, and the mean of its answers: zero flips by construction, nothing is trained.

Trivial, and hard to beat: it needs one model row per protected combination at every prediction, and group differences that go through
other columns stay.  Twins are weighted as common as their protected values are among the training rows, or all alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from evenhand.contract import Model
from evenhand.errors import InvalidArgument
from evenhand.models.composed import Marginalised
from evenhand.repairs.parts.case import Case, Mended, Role


@dataclass(frozen=True)
class Marginalise:
    """weights: "data" or "alike"."""

    weights: Literal["data", "alike"] = "data"

    needs: ClassVar[type] = Model
    role: ClassVar[Role] = "baseline"

    def __post_init__(self) -> None:
        if self.weights not in ("data", "alike"):
            raise InvalidArgument(f"weights={self.weights!r} must be 'data' or 'alike'")

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:  # noqa: ARG002 - nothing here is random
        """Average over the protected combinations."""
        combinations = len(case.domain.combinations)
        weights = np.full(combinations, 1.0 / combinations)
        if self.weights == "data":
            own = case.domain.own_combination(case.rows)
            counts = np.bincount(own[own >= 0], minlength=combinations).astype(np.float64)
            weights = counts / counts.sum() if counts.any() else weights
        return Mended(Marginalised(case.model, case.domain, weights), {"model_rows_per_prediction": combinations})
