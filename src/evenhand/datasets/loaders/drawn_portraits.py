"""Portraits drawn from factors: nothing is read, every row is drawn when it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import DataWishes
from evenhand.datasets.dataset import Dataset
from evenhand.errors import InvalidArgument
from evenhand.media.portrait_medium import PortraitMedium
from evenhand.media.portraits.factors import draw_factors


@dataclass(frozen=True)
class DrawnPortraits:
    """Draws the factors of `count` portraits of `size` pixels."""

    kind: ClassVar[str] = "portraits"

    count: int = 400
    size: int = 64
    seed: int = 0

    def claims(self, source: object) -> int:
        """Its own name, for there is nothing to read."""
        return 2 if isinstance(source, str) and source == self.kind else 0

    def load(self, source: object, wishes: DataWishes) -> Dataset:  # noqa: ARG002 - portraits come from no source
        """One row for every portrait; tone is protected unless something else is named."""
        if wishes.label is not None:
            raise InvalidArgument(f"label={wishes.label!r}: drawn portraits have no label; the model says its classes itself")
        medium = PortraitMedium(wishes.protected_names or ("tone",), size=self.size)
        rows = draw_factors(self.count, np.random.default_rng(self.seed))
        return Dataset("drawn portraits", medium.domain.decode(rows), medium.domain, shown_by=medium)
