"""Light: the same scene exposed too long or too short, or lit warmer or colder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.whole_picture import seen_through

STOPS = (0.5, 1.3)
WARMTH = 0.09


@dataclass(frozen=True)
class Exposure:
    """Half to one and a half stops more or less, with another white."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = True
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene in another light."""
        stops = float(rng.uniform(*STOPS) * rng.choice([-1.0, 1.0]))
        warm = float(rng.uniform(-WARMTH, WARMTH))
        linear = (order.scene.picture.astype(np.float32) / 255) ** 2.2 * 2.0**stops * np.array([1 + warm, 1.0, 1 - warm], np.float32)
        # Bright parts wash out softly, as on film.
        shoulder = np.where(linear > 0.7, 0.7 + 0.3 * (1 - np.exp(-(linear - 0.7) / 0.3)), linear)
        return seen_through("exposure", order.scene, 255 * np.clip(shoulder, 0, 1) ** (1 / 2.2), f"{stops:+.1f} stops")
