"""A control: chance rows instead of findings are added to the training; what more rows alone do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Trainable
from evenhand.repairs.parts.augmentation import Spread, lesson
from evenhand.repairs.parts.case import Case, Mended, Role
from evenhand.repairs.parts.retraining import trainable


@dataclass(frozen=True)
class AddRandomRows:
    """As many rows drawn from the domain by chance as a repair would add findings, labelled by the same vote, with all their twins."""

    share: float = 0.3
    spread: Spread = "twins"

    needs: ClassVar[type] = Trainable
    role: ClassVar[Role] = "control"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Add chance rows and fit again."""
        people = case.domain.sample(max(1, round(self.share * len(case.rows))), rng)
        added = lesson(case, people, self.spread, rng)
        return Mended(trainable(case.model).refit(*added.joined(case), rng), added.facts(case))
