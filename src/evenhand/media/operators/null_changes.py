"""Null mutations: the operators' own marks without any change of content.  What they shake loose is not the mutation's doing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand.errors import require
from evenhand.media.operators.cutout import MARGIN, contact_shadow, cut, paste
from evenhand.media.operators.delete import NO_BACKGROUND, Inpainter, emptied, hole_for
from evenhand.media.operators.donors import is_whole
from evenhand.media.operators.mutated import EMPTY_PATCH, PUT_BACK, Became, Mutation, Skipped, finished
from evenhand.media.scene import Scene, grown, union

TRIES = 60


def put_back(scene: Scene, label: str, rng: np.random.Generator, inpainter: Inpainter | None = None) -> Mutation | Skipped:
    """Cut one object out, fill its place, and set it back where it was."""
    places = [place for place in scene.of(label) if is_whole(scene, place) and scene.instances[place].height >= 20]
    if not places:
        return Skipped(PUT_BACK, label, scene.name, "no whole object of this class")
    one = scene.instances[int(rng.choice(places))]
    cutout = cut(scene, one)
    filled = emptied(scene, [one], hole_for(scene, [one]), inpainter)
    if filled is None:
        return Skipped(PUT_BACK, label, scene.name, NO_BACKGROUND)
    picture, how = filled[0].copy(), filled[1]
    front = union([other for other in scene.instances if other is not one and other.nearer_than(one.foot, one.depth)], scene.shape)
    left, top, _, _ = grown(one.box, MARGIN, scene.shape)
    contact_shadow(picture, cutout, (left, top), front)
    paste(picture, cutout, (left, top), front)
    made = finished(PUT_BACK, label, scene, Became(picture, scene.instances))
    return replace(made, boxes=(one.box,), how=f"place filled by {how}, then the object set back")


def empty_patch(scene: Scene, label: str, rng: np.random.Generator, inpainter: Inpainter | None = None) -> Mutation | Skipped:
    """Fill a patch of background in the shape of one of the scene's objects."""
    cv2 = require("cv2", "image")
    shapes = [one for one in scene.instances if one.counted and 12 <= one.height < scene.shape[0] // 2]
    if not shapes:
        return Skipped(EMPTY_PATCH, label, scene.name, "no object whose shape could be borrowed")
    one = shapes[int(rng.integers(len(shapes)))]
    busy = cv2.dilate(scene.occupied.astype(np.uint8), np.ones((7, 7), np.uint8)).astype(bool)
    tall, wide = one.stencil.shape
    for _ in range(TRIES):
        top = int(np.clip(one.box[1] + rng.integers(-20, 21), 2, scene.shape[0] - tall - 2))
        left = int(rng.integers(2, max(3, scene.shape[1] - wide - 2)))
        patch = np.zeros(scene.shape, bool)
        patch[top : top + tall, left : left + wide] = one.stencil
        if not (patch & busy).any():
            hole = cv2.dilate(patch.astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool)
            filled = emptied(scene, (), hole, inpainter)
            if filled is None:
                continue
            made = finished(EMPTY_PATCH, label, scene, Became(filled[0], scene.instances))
            return replace(made, boxes=((left, top, left + wide, top + tall),), how=f"background filled by {filled[1]}")
    return Skipped(EMPTY_PATCH, label, scene.name, "no free background of this shape")
