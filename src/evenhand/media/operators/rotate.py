"""Rotation: one unobstructed object is lifted out, its place filled, and the object put back at an angle, at the same size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.media.operators.delete import LEFT_BEHIND, NO_BACKGROUND, REVEALED, carries, emptied, hole_for, reveals
from evenhand.media.operators.parts.cutout import MARGIN, contact_shadow, cut, paste
from evenhand.media.operators.parts.donors import is_whole
from evenhand.media.operators.parts.mutated import HIDDEN, ROTATE, Became, Inpainter, Mutation, Skipped, covered, finished
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.upright import is_upright
from evenhand.media.scene import Instance, Scene, union
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
    places = [place for place in scene.of(label) if scene.instances[place].height >= least and is_whole(scene, place)]
    places = [place for place in places if is_upright(scene.instances[place])]
    if not places:
        return Skipped(ROTATE, label, scene.name, f"no whole, unobstructed object of this class that is at least {least} pixels high")
    if inpainter is None:
        places = [place for place in places if not reveals(scene, scene.instances[place], [scene.instances[place]])]
    if not places:
        return Skipped(ROTATE, label, scene.name, REVEALED)
    places = [place for place in places if not carries(scene, scene.instances[place])]
    if not places:
        return Skipped(ROTATE, label, scene.name, LEFT_BEHIND)
    place = int(rng.choice(places))
    degrees = float(rng.uniform(*ANGLES) * rng.choice([-1.0, 1.0]))
    return turned(scene, place, degrees, inpainter)


def turned(scene: Scene, place: int, degrees: float, inpainter: Inpainter | None = None) -> Mutation | Skipped:
    """Turn this object by this angle."""
    one = scene.instances[place]
    cutout = cut(scene, one)
    filled = emptied(scene, [one], hole_for(scene, [one]), inpainter)
    if filled is None:
        return Skipped(ROTATE, one.label, scene.name, NO_BACKGROUND)
    picture, how = filled
    leaning = cutout.turned(degrees)
    height, width = leaning.shape
    left = round((one.box[0] + one.box[2]) / 2 - width / 2)
    top = one.foot + 1 - height
    left = int(np.clip(left, 0, max(0, scene.shape[1] - width)))
    if top < 0 or width > scene.shape[1]:
        return Skipped(ROTATE, one.label, scene.name, "the turned object would leave the picture")
    is_front = [other.nearer_than(one.foot, one.depth) and other is not one for other in scene.instances]
    front = union([other for other, flag in zip(scene.instances, is_front, strict=True) if flag], scene.shape)
    picture = picture.copy()
    contact_shadow(picture, leaning, (left, top + MARGIN - 1), front)
    owned = paste(picture, leaning, (left, top), front)
    if not owned.any():
        return Skipped(ROTATE, one.label, scene.name, "the turned object would be hidden")
    old: list[Instance | None] = covered(scene.instances, owned, [not flag for flag in is_front])
    if any(
        now is None or now.area < HIDDEN * was.area for was, now in zip(scene.instances, old, strict=True) if was is not one and was.counted
    ):
        return Skipped(ROTATE, one.label, scene.name, "the turned object would hide another one")
    old[place] = None
    fresh = Instance.from_mask(one.label, owned, one.depth)
    made = finished(ROTATE, one.label, scene, Became(picture, old, [fresh]))
    return replace(made, how=f"{degrees:+.0f} degrees; place filled by {how}")
