"""Fog: everything fades towards the colour of the air, the farther away the more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.whole_picture import far_away, is_outdoors, seen_through

THICKNESS = (0.5, 1.3)  # how much of the light a haze at the farthest distance takes, as an exponent
NEAR = 0.12  # of that, what even the nearest thing loses


@dataclass(frozen=True)
class Fog:
    """A light to a thick haze."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = True
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene in a haze of a thickness by chance."""
        if not is_outdoors(order.scene):
            return Skipped("fog", "", order.scene.name, "nothing tells that it is outdoors")
        thick = float(rng.uniform(*THICKNESS))
        clear = np.exp(-thick * (NEAR + (1 - NEAR) * far_away(order.scene)))[..., None]
        picture = order.scene.picture.astype(np.float32)
        light = float(np.quantile(picture.mean(axis=2), 0.9))
        air = np.array([0.98, 1.0, 1.02], np.float32) * min(light, 225.0)
        return seen_through("fog", order.scene, picture * clear + air * (1 - clear), f"haze of thickness {thick:.2f}")
