"""Null change: one object is cut out, its place filled, and the object set back.  What that shakes loose is the operators' own doing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.media.operators.parts.cutout import MARGIN, contact_shadow, cut, paste
from evenhand.media.operators.parts.donors import is_whole
from evenhand.media.operators.parts.mutated import PUT_BACK, Became, Inpainter, Mutation, Skipped, finished
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.removal import NO_BACKGROUND, emptied, hole_for
from evenhand.media.operators.parts.set_down import ROUGH_MASKS
from evenhand.media.scene import Scene, union


@dataclass(frozen=True)
class PutBack:
    """Sets an object back where it was."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = True
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = False
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene with the operators' marks, and nothing changed."""
        return put_back(order.scene, order.label, rng, order.inpainter)


def put_back(scene: Scene, label: str, rng: np.random.Generator, inpainter: Inpainter | None = None) -> Mutation | Skipped:
    """Cut one object out, fill its place, and set it back where it was."""
    if scene.is_rough:
        return Skipped(PUT_BACK, label, scene.name, ROUGH_MASKS)
    places = [place for place in scene.of(label) if is_whole(scene, place) and scene.instances[place].height >= 20]
    if not places:
        return Skipped(PUT_BACK, label, scene.name, "no whole object of this class")
    one = scene.instances[int(rng.choice(places))]
    cutout = cut(scene, one)
    filled = emptied(scene, [one], hole_for(scene, [one]), inpainter, is_covered=True)
    if filled is None:
        return Skipped(PUT_BACK, label, scene.name, NO_BACKGROUND)
    picture, how = filled[0].copy(), filled[1]
    front = union([other for other in scene.instances if other is not one and other.nearer_than(one.foot, one.depth)], scene.shape)
    left, top, _, _ = one.box.grown(MARGIN, scene.shape)
    contact_shadow(picture, cutout, (left, top), front)
    paste(picture, cutout, (left, top), front)
    made = finished(PUT_BACK, label, scene, Became(picture, scene.instances))
    return replace(made, boxes=(one.box,), how=f"place filled by {how}, then the object set back")
