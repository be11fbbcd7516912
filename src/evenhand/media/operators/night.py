"""Night: little light, less colour, a blue tint, and the noise of a sensor that has to amplify."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.whole_picture import seen_through

LIGHT = (0.16, 0.34)
TINT = np.array([0.86, 0.95, 1.16], np.float32)
NOISE = 2.2  # levels


@dataclass(frozen=True)
class Night:
    """Dusk to night, as a camera without a flash sees it."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = True
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene with an eighth to a third of its light."""
        left = float(rng.uniform(*LIGHT))
        linear = (order.scene.picture.astype(np.float32) / 255) ** 2.2
        grey = linear.mean(axis=2, keepdims=True)
        dark = 255 * ((0.55 * linear + 0.45 * grey) * TINT * left) ** (1 / 2.2)
        noise = rng.normal(0, NOISE, order.scene.shape)[..., None] + rng.normal(0, NOISE / 2, order.scene.picture.shape)
        return seen_through("night", order.scene, dark + noise, f"{left:.0%} of the light")
