"""Amounts moved so that every protected group gets the same on average: for models that say amounts, nothing is trained.

The simplest form of post-processing for regressions: each group's amounts are shifted by the difference between the mean of all training
rows and the mean of the group's.  It narrows differences between groups by looking at the protected value, so that it may treat twins
*more* differently; the comparison shows both.  Groups with fewer than `fewest` rows are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Model
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.limits import Count, check_limits
from evenhand.models.composed import Shifted
from evenhand.models.meter import Meter
from evenhand.repairs.adjust_thresholds import distinct_groups
from evenhand.repairs.parts.case import Case, Mended, Role


@dataclass(frozen=True)
class EqualMeans:
    """The same model with a shift for every group.  fewest: rows that a group must have to be shifted."""

    fewest: Count = 10

    needs: ClassVar[type] = Model
    role: ClassVar[Role] = "repair"

    def __post_init__(self) -> None:
        check_limits(self)

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:  # noqa: ARG002 - nothing here is random
        """Learn the shifts from the training rows."""
        if not case.is_amount:
            raise MissingAbility("means are of amounts, and this model says classes; adjust_thresholds is what does this for classes")
        groups, group = distinct_groups(case)
        said = Meter(case.model).scores(case.rows)[:, 0].astype(np.float64)
        sizes = np.bincount(group, minlength=len(groups))
        large = sizes >= self.fewest
        if large.sum() < 2:
            raise InvalidArgument(f"protected: fewer than two groups have {self.fewest} rows; shifts by group need more data")
        means = np.bincount(group, said, minlength=len(groups)) / np.maximum(sizes, 1)
        shifts = np.where(large, said.mean() - means, 0.0)
        told = {"groups": len(groups), "largest_shift": float(np.abs(shifts).max())}
        return Mended(Shifted(case.model, case.domain.protected_places, groups, shifts), told)
