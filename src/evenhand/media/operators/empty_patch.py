"""Null change: a patch of background in the shape of an object is filled.  What that shakes loose is the filling's own doing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.errors import require
from evenhand.media.operators.parts.mutated import EMPTY_PATCH, Became, Inpainter, Mutation, Skipped, finished
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.removal import emptied
from evenhand.media.scene import PixelBox, Scene

TRIES = 60


@dataclass(frozen=True)
class EmptyPatch:
    """Fills background with background."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = True
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = False
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene with a filled patch where nothing was."""
        return empty_patch(order.scene, order.label, rng, order.inpainter)


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
        top = int(np.clip(one.box.top + rng.integers(-20, 21), 2, scene.shape[0] - tall - 2))
        left = int(rng.integers(2, max(3, scene.shape[1] - wide - 2)))
        patch = np.zeros(scene.shape, bool)
        patch[top : top + tall, left : left + wide] = one.stencil
        if not (patch & busy).any():
            hole = cv2.dilate(patch.astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool)
            filled = emptied(scene, (), hole, inpainter)
            if filled is None:
                continue
            made = finished(EMPTY_PATCH, label, scene, Became(filled[0], scene.instances))
            return replace(made, boxes=(PixelBox(left, top, left + wide, top + tall),), how=f"background filled by {filled[1]}")
    return Skipped(EMPTY_PATCH, label, scene.name, "no free background of this shape")
