"""Nearer or farther: one object walks or drives along the ground, larger where it comes nearer, smaller where it goes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.errors import require
from evenhand.media.operators.parts.cutout import MARGIN, Cutout, cut
from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.perspective import fit_law, stands
from evenhand.media.operators.parts.removal import NO_BACKGROUND, emptied, hole_for
from evenhand.media.operators.parts.set_down import Lifted, chosen_place, set_down
from evenhand.media.operators.parts.standing import allowed
from evenhand.media.operators.parts.upright import is_at_angle
from evenhand.media.scene import Instance, Picture, Scene, Stencil

LEAST_STANDING = 2  # without regions: one alone may be on a table or in water
MOVE = "move"
SCALES = (0.72, 0.85, 1.1, 1.2)
LEAST = 0.1  # of the picture's height
MOSTLY = 0.51  # of the emptied place, by which the object covers it again
LEAST_GROUND = 0.9  # of the strip below its feet must be ground


@dataclass(frozen=True)
class FootPoint:
    """Where an object stands: its middle column and its lowest row."""

    column: int
    row: int


@dataclass(frozen=True)
class Move:
    """Moves one object towards the camera or away from it, at the size that the ground asks for."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = False
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene with one object nearer or farther."""
        scene = order.scene
        if not stands(order.label, order.bank.labels):
            return Skipped(MOVE, order.label, scene.name, "objects of this class do not stand on the ground")
        place = chosen_place(MOVE, order, LEAST * scene.shape[0], rng)
        if isinstance(place, Skipped):
            return place
        one = scene.instances[place]
        if one.width > one.height and is_at_angle(one) and not scene.is_drawn:
            return Skipped(MOVE, order.label, scene.name, "it is seen at an angle, and its wheels would leave the ground elsewhere")
        horizon = fit_law(scene, order.bank.labels, order.bank.prior).horizon
        for scale in rng.permutation(SCALES):
            spot = _spot(order, place, float(scale), horizon)
            if spot is not None:
                return _moved(order, place, float(scale), spot)
        return Skipped(MOVE, order.label, scene.name, "no free ground nearer or farther")


def _spot(order: ChangeOrder, place: int, scale: float, horizon: float) -> FootPoint | None:
    """Where it stands at the new size, where that is free ground; None where it is not."""
    scene, one = order.scene, order.scene.instances[place]
    row = round(horizon + (one.foot - horizon) * scale)
    column = round(scene.shape[1] / 2 + (one.box.middle[0] - scene.shape[1] / 2) * scale)
    half, tall = round(one.width * scale / 2), round(one.height * scale)
    if row - tall < 2 or row > scene.shape[0] - 3 or column - half < 2 or column + half > scene.shape[1] - 3:
        return None
    ground = allowed(scene, order.label, order.bank.labels, LEAST_STANDING) | one.mask(scene.shape)
    strip = ground[max(0, row - max(2, tall // 14)) : row + 1, column - half : column + half + 1]
    spot = FootPoint(column, row)
    return spot if strip.size and strip.mean() >= LEAST_GROUND and not _crowded(scene, place, spot, half) else None


def _crowded(scene: Scene, place: int, spot: FootPoint, half: int) -> bool:
    """Whether somebody stands there already."""
    near = [other for k, other in enumerate(scene.instances) if k != place and abs(other.foot - spot.row) < 0.25 * other.height + 3]
    return any(other.box.left < spot.column + half and other.box.right > spot.column - half for other in near)


def _covered_again(shape: tuple[int, int], cutout: Cutout, corner: tuple[int, int]) -> Stencil:
    """The pixels that the object hides at its new place, without its soft edge."""
    cv2 = require("cv2", "image")
    left, top = max(0, corner[0]), max(0, corner[1])
    again = np.zeros(shape, bool)
    part = again[top : top + cutout.shape[0], left : left + cutout.shape[1]]
    solid = cv2.erode((cutout.cover > 0.95).astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
    part[:] = solid[: part.shape[0], : part.shape[1]]
    return again


def _left_bare(order: ChangeOrder, one: Instance, again: Stencil) -> tuple[Picture, str] | None:
    """The picture without the object: shifted pieces fill only what stays bare, a net whatever the object hid.

    Drawn streets are plain enough for shifted pieces to be taken as they come, where most of them is covered again.
    """
    scene, hole = order.scene, hole_for(order.scene, [one])
    if order.inpainter is None and scene.is_drawn:
        return emptied(scene, [one], hole, None, is_covered=bool((hole & again).sum() >= MOSTLY * hole.sum()))
    if order.inpainter is None:
        return emptied(scene, (), hole & ~again, None)
    return emptied(scene, [one], hole, order.inpainter)


def _moved(order: ChangeOrder, place: int, scale: float, spot: FootPoint) -> Mutation | Skipped:
    scene, one = order.scene, order.scene.instances[place]
    cutout = cut(scene, one).scaled(scale)
    height, width = cutout.shape
    corner = (spot.column - width // 2, spot.row - height + max(1, round(MARGIN * scale)))
    filled = _left_bare(order, one, _covered_again(scene.shape, cutout, corner))
    if filled is None:
        return Skipped(MOVE, one.label, scene.name, NO_BACKGROUND)
    made = set_down(MOVE, Lifted(replace(scene, depth=None), place, filled[0]), cutout, corner)
    how = f"{'nearer' if scale > 1 else 'farther'}, {scale:.2f} times the size; place filled by {filled[1]}"
    return made if isinstance(made, Skipped) else replace(made, before=scene, how=how)
