"""Rain: duller light, wet air, and fine streaks that are brighter where it is dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.errors import require
from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.whole_picture import Floats, far_away, is_outdoors, seen_through
from evenhand.media.scene import Scene

STRENGTH = (0.5, 1.0)
DROPS = 0.0012  # streaks for each pixel


@dataclass(frozen=True)
class Rain:
    """Streaks of one slant over a duller picture."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = True
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene in rain of a strength by chance."""
        if not is_outdoors(order.scene):
            return Skipped("rain", "", order.scene.name, "nothing tells that it is outdoors")
        strength = float(rng.uniform(*STRENGTH))
        picture = order.scene.picture.astype(np.float32)
        grey = picture.mean(axis=2, keepdims=True)
        dull = (0.75 * picture + 0.25 * grey) * (1 - 0.18 * strength)
        clear = np.exp(-0.35 * strength * far_away(order.scene))[..., None]
        wet = dull * clear + min(float(np.quantile(grey, 0.8)), 190.0) * (1 - clear)
        streaks = _streaks(order.scene, strength, rng)[..., None]
        return seen_through("rain", order.scene, wet + streaks * (215.0 - wet), f"rain of strength {strength:.2f}")


def _streaks(scene: Scene, strength: float, rng: np.random.Generator) -> Floats:
    """How much light each pixel takes from drops that fall through it, (height, width)."""
    cv2 = require("cv2", "image")
    height, width = scene.shape
    long = max(5, round(0.035 * height))
    slant = float(rng.uniform(-0.35, 0.35))
    falls = rng.random((height, width)) < DROPS * strength * 480 / height
    drops = falls.astype(np.float32) * rng.random((height, width)).astype(np.float32)
    kernel = np.zeros((long, long), np.float32)
    middle = long / 2
    start, end = (round(middle - slant * middle), 0), (round(middle + slant * middle), long - 1)
    cv2.line(kernel, start, end, 1.0, 1, cv2.LINE_AA)
    falling = cv2.GaussianBlur(cv2.filter2D(drops, -1, kernel), (0, 0), max(0.5, height / 900))
    return np.asarray(np.clip(0.55 * falling, 0, 0.4), np.float32)
