"""Rotation as the paper has it: one unobstructed object is lifted out, its place filled, and the object put back at an angle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.media.operators.parts.cutout import cut
from evenhand.media.operators.parts.mutated import ROTATE, Inpainter, Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.removal import NO_BACKGROUND, emptied, hole_for
from evenhand.media.operators.parts.set_down import Lifted, movable, set_down
from evenhand.media.scene import Scene
from evenhand.media.scene_clusters import orientation_bin

LEAST_HEIGHT = 50
ANGLES = (10.0, 60.0)
TRIES = 4  # angles, until one is new to the cluster


@dataclass(frozen=True)
class Rotate:
    """Turns one object to an angle that the class does not show in the cluster."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = False
    is_usual: ClassVar[bool] = False

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene with one object turned."""
        for _ in range(TRIES):
            made = rotate(order.scene, order.label, rng, order.inpainter)
            if isinstance(made, Skipped) or orientation_bin(made.after.instances[-1]) not in order.usual.orientations:
                return made
        return Skipped(ROTATE, order.label, order.scene.name, "the class already shows these orientations")


def rotate(
    scene: Scene, label: str, rng: np.random.Generator, inpainter: Inpainter | None = None, least: int = LEAST_HEIGHT
) -> Mutation | Skipped:
    """Turn one object of a class by 10 to 60 degrees either way, or skip and say why."""
    places = movable(scene, label, least, inpainter)
    if isinstance(places, str):
        return Skipped(ROTATE, label, scene.name, places)
    place = int(rng.choice(places))
    return turned(scene, place, float(rng.uniform(*ANGLES) * rng.choice([-1.0, 1.0])), inpainter)


def turned(scene: Scene, place: int, degrees: float, inpainter: Inpainter | None = None, operator: str = ROTATE) -> Mutation | Skipped:
    """Turn this object by this angle."""
    one = scene.instances[place]
    leaning = cut(scene, one).turned(degrees)
    height, width = leaning.shape
    if one.foot + 1 - height < 0 or width > scene.shape[1]:
        return Skipped(operator, one.label, scene.name, "the turned object would leave the picture")
    filled = emptied(scene, [one], hole_for(scene, [one]), inpainter, is_covered=True)
    if filled is None:
        return Skipped(operator, one.label, scene.name, NO_BACKGROUND)
    picture, how = filled
    left = int(np.clip(round(one.box.middle[0] - width / 2), 0, max(0, scene.shape[1] - width)))
    made = set_down(operator, Lifted(scene, place, picture), leaning, (left, one.foot + 1 - height))
    return made if isinstance(made, Skipped) else replace(made, how=f"{degrees:+.0f} degrees; place filled by {how}")
