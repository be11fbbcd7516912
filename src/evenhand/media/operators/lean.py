"""Leaning: what can lean, a bicycle, an animal or a sign, is turned a little; nothing else is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.set_down import chosen_place
from evenhand.media.operators.rotate import turned

LEAN = "lean"
CAN_LEAN = frozenset({"bicycle", "motorcycle", "cyclist", "rider", "dog", "cat", "bird", "horse", "cow", "sheep", "sign", "stop sign"})
ANGLES = (6.0, 16.0)
LEAST = 0.09  # of the picture's height: a smaller object's lean is not seen


@dataclass(frozen=True)
class Lean:
    """Turns one object by a few degrees, as it may stand or ride."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = False
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene with one object leaning."""
        if order.bank.labels.canonical(order.label) not in CAN_LEAN:
            return Skipped(LEAN, order.label, order.scene.name, "objects of this class do not lean")
        place = chosen_place(LEAN, order, LEAST * order.scene.shape[0], rng)
        if isinstance(place, Skipped):
            return place
        degrees = float(rng.uniform(*ANGLES) * rng.choice([-1.0, 1.0]))
        return turned(order.scene, place, degrees, order.inpainter, LEAN)
