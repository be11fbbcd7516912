"""Mirroring: one unobstructed object looks the other way, where it stands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.errors import require
from evenhand.media.operators.parts.cast_shadow import shadow_beside
from evenhand.media.operators.parts.cutout import MARGIN, Cutout, cut, spilled
from evenhand.media.operators.parts.donors import MOST_SPILLED
from evenhand.media.operators.parts.left_over import brought_along, left_over
from evenhand.media.operators.parts.mutated import Inpainter, Mutation, Skipped
from evenhand.media.operators.parts.net_filling import agreed_filling
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.removal import NO_BACKGROUND, emptied
from evenhand.media.operators.parts.set_down import Lifted, chosen_place, set_down
from evenhand.media.operators.parts.standing import GRAZING, footing, has_feet, is_guessed
from evenhand.media.operators.parts.upright import is_at_angle
from evenhand.media.scene import Instance, Picture, Scene, Stencil, union

MIRROR = "mirror"
LEAST = 0.08  # of the picture's height
LETTERED = ("bus", "truck", "airplane", "train", "boat")  # what is written on them is read by everybody, on a licence plate by few
LIVING = (*GRAZING, "dog", "cat", "bird")  # stand any way round
SLENDER = 1.9  # least height over width of somebody in a photograph: arms that are stretched out hold something, or lean on it
MOST_BROUGHT = 0.035  # of its pixels: a lamb with a patch of the wall at its muzzle had .052, six believable ones at most .020
# Where nobody marked the ground: of ten objects of the first half of coco128 those that failed had 1.1, .04 and .047 (.018 by a segmenter's
# mask), the others 0, .47 and .005 at most or at least.
MOST_LEFT_OVER, LEAST_FOOTING, MOST_SHADOW = 0.5, 0.25, 0.01
HOLDS = "it reaches out for something, or leans on it"
LOOSE = "its mask brings some of its background along"
UNMARKED = "a part of it lies outside of its mask and would stay behind"
CUT_BELOW = "something without a name hides its feet"
ITS_SHADOW = "its shadow falls to one side, and would begin beside its feet"
REVERSED = "what is written on it would be reversed"
AT_AN_ANGLE = "it is seen at an angle, and would stand askew the other way round"


@dataclass(frozen=True)
class Mirror:
    """Turns one object about its upright axis; what it uncovers is filled, its shadow stays."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = False
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene with one object mirrored."""
        place = chosen_place(MIRROR, order, LEAST * order.scene.shape[0], rng)
        return place if isinstance(place, Skipped) else mirrored(order.scene, place, order.inpainter)


def mirrored(scene: Scene, place: int, inpainter: Inpainter | None = None) -> Mutation | Skipped:
    """Mirror this object."""
    one = scene.instances[place]
    if one.label in LETTERED and not scene.is_drawn:
        return Skipped(MIRROR, one.label, scene.name, REVERSED)
    if one.label not in LIVING and is_at_angle(one):
        return Skipped(MIRROR, one.label, scene.name, AT_AN_ANGLE)
    if not scene.is_drawn and one.label == "person" and one.height < SLENDER * one.width:
        return Skipped(MIRROR, one.label, scene.name, HOLDS)
    if not scene.is_drawn and spilled(scene, one) > MOST_SPILLED:
        return Skipped(MIRROR, one.label, scene.name, LOOSE)
    objection = _on_guessed_ground(scene, one) if is_guessed(scene) and not scene.is_drawn else None
    if objection is not None:
        return Skipped(MIRROR, one.label, scene.name, objection)
    cutout = flipped(cut(scene, one))
    left, top, _, _ = one.box.grown(MARGIN, scene.shape)
    # A net has to see no object at all; shifted pieces need only fill what is bare, and must not come from the object.
    filled = emptied(scene, (), _bare(scene, place, cutout), None) if inpainter is None else None
    filled = filled or _filled(scene, place, cutout, inpainter)
    if filled is None:
        return Skipped(MIRROR, one.label, scene.name, NO_BACKGROUND)
    made = set_down(MIRROR, Lifted(scene, place, filled[0]), cutout, (left, top), shadow=False)
    if isinstance(made, Skipped):
        return made
    if is_guessed(scene) and not scene.is_drawn and brought_along(scene, one, made.after.picture) > MOST_BROUGHT:
        return Skipped(MIRROR, one.label, scene.name, LOOSE)
    return replace(made, how=f"mirrored; the rest filled by {filled[1]}")


def _on_guessed_ground(scene: Scene, one: Instance) -> str | None:
    """Why it had better stay as it is where nobody marked the ground, so that what is at its feet must be looked at."""
    if not has_feet(one) or (one.label in LIVING and footing(one) < LEAST_FOOTING):
        return CUT_BELOW
    if shadow_beside(scene, one) > MOST_SHADOW:
        return ITS_SHADOW
    return UNMARKED if left_over(scene, one) > MOST_LEFT_OVER else None


def flipped(cutout: Cutout) -> Cutout:
    """The same object seen from behind a mirror."""
    colour, behind, cover = (np.ascontiguousarray(layer[:, ::-1]) for layer in (cutout.colour, cutout.behind, cutout.cover))
    return replace(cutout, colour=colour, behind=behind, cover=cover)


def _filled(scene: Scene, place: int, cutout: Cutout, inpainter: Inpainter | None) -> tuple[Picture, str] | None:
    """The picture without the object: by a net where it is sure of what stays bare, or by copies where no net is there."""
    hole, bare = _bare(scene, place, None), _bare(scene, place, cutout)
    if inpainter is None or not bare.any():
        return emptied(scene, [scene.instances[place]], hole, None)
    learned = agreed_filling(scene, hole, inpainter, bare)
    return None if learned is None else (learned, "learned inpainter")


def _bare(scene: Scene, place: int, cutout: Cutout | None) -> Stencil:
    """The object's pixels with their rim, without other objects, and without what the mirrored cutout covers again."""
    cv2 = require("cv2", "image")
    one = scene.instances[place]
    reach = max(2, round(0.02 * one.height))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1,) * 2)
    hole = cv2.dilate(one.mask(scene.shape).astype(np.uint8), kernel).astype(bool)
    if cutout is not None:
        left, top, right, bottom = one.box.grown(MARGIN, scene.shape)
        hole[top:bottom, left:right] &= ~cv2.erode((cutout.cover > 0.95).astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool)
    others = union([other for other in scene.instances if other is not one], scene.shape)
    return np.asarray(hole & ~others, bool)
