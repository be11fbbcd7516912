"""One more object of a class, whatever number of them is usual: for pictures that have little in common, where no range says anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.media.operators.insert import insert
from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder


@dataclass(frozen=True)
class OneMore:
    """Adds one object as insertion does; not tried unless it is named, since the paper leaves the distribution."""

    adds: ClassVar[bool] = True
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = False
    is_usual: ClassVar[bool] = False

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene with one new object."""
        return insert(order.scene, order.label, 1, order.bank, rng)
