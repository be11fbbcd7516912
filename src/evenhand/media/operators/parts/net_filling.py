"""Which holes a learned inpainter fills believably: small, amid little detail, away from what is nearer, and told twice in the same way.

A net that knows what a hole hides fills the mirror image of a picture with the mirror image of its filling; where it makes something up,
it makes up something else.  It does not see other objects near the hole, of which it would make ghosts.  What copies of the same picture
may fill is told in `fill`, but for the depth in a wall.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.errors import require
from evenhand.media.operators.parts.fill import USUAL_SIDE
from evenhand.media.operators.parts.mutated import Inpainter
from evenhand.media.operators.parts.removal import borders_nearer, revealed, structure
from evenhand.media.operators.parts.seams import strangeness
from evenhand.media.scene import GROUND_REGIONS, SAID_BY, SKY, UNKNOWN, Instance, Picture, Scene, Stencil, box_of, union

MOST_LEARNED = 0.12  # of the picture: larger fillings were seen to be smears
MOST_STRUCTURE = 36.0  # levels: amid more detail a filling is a smear (at 37 and 45; at 36 it was believable)
MOST_REVEALED = 0.15  # of an object's outline: the net does not complete what is hidden behind it
MOSTLY = 0.35  # of a hole that hides wall, and not ground or sky; of an object that lies in the hole
# Levels, root mean square, by which the fillings of a picture and of its mirror image may differ, at a blur of so many units.  Of 62
# fillings of the first 26 street frames, bare, 7 were too deep (none believable), 29 of the 36 below were believable as they were chosen,
# and of the 19 above 5 on both sides and 9 on one.
MOST_APART, BLUR = 10.0, 3.0
# The same where most is covered again, so that only a rim along an outline is seen: on the first half of coco128, masks and bare, 12 of
# 12 fillings below were believable and 3 of 4 above were not.
MOST_APART_RIM = 14.0
HIDDEN_REACH, HIDDEN_RIM = 0.5, 3.0  # of the hole's longer side, within which others are hidden from the net; units of their rim
DEEPEST_LEARNED, PLAIN_AROUND = 21.0, 18.0  # units from anything known, and levels around a deeper hole: amid more, 7 of 7 were smears
DEEPEST = 14.0  # units from anything known: deeper in a wall, 11 of 14 fillings were smears or things that the net made up


def suits_net(scene: Scene, gone: Sequence[Instance], hole: Stencil) -> bool:
    """Whether a learned inpainter may be asked to fill the place of these objects."""
    if is_beyond_net(scene, hole, structure(scene, hole)):
        return False
    return not any(borders_nearer(scene, one, gone) or revealed(scene, one, gone) > MOST_REVEALED for one in gone)


def is_beyond_net(scene: Scene, hole: Stencil, around: float) -> bool:
    """Whether a hole is too large for a net, too deep, or amid too much detail; `around` is how much there is."""
    if hole.mean() > MOST_LEARNED or around > MOST_STRUCTURE:
        return True
    return around > PLAIN_AROUND and depth(hole) > DEEPEST_LEARNED * unit_of(scene)


def unit_of(scene: Scene) -> float:
    """Pixels for what is one pixel in a picture of the usual size; no less than one."""
    return float(max(1.0, min(scene.shape) / USUAL_SIDE))


def depth(hole: Stencil) -> float:
    """How far from its rim a hole reaches, in pixels."""
    cv2 = require("cv2", "image")
    return float(cv2.distanceTransform(hole.astype(np.uint8), cv2.DIST_L2, 5).max())


def agreed_filling(scene: Scene, hole: Stencil, inpainter: Inpainter, seen: Stencil | None = None) -> Picture | None:
    """The picture as a net fills it, where it fills the mirror image alike; None where it does not, since it made something up.

    Of the two fillings the one whose colours are less strange to what is around the hole.  `seen` is the part of the hole that is not
    covered again afterwards.
    """
    cv2 = require("cv2", "image")
    shown = hole if seen is None else hole & seen
    if not shown.any():
        return None
    asked = hole | _others_near(scene, hole)
    straight = inpainter(scene.picture, asked)
    turned = inpainter(np.ascontiguousarray(scene.picture[:, ::-1]), np.ascontiguousarray(asked[:, ::-1]))[:, ::-1]
    fillings = [np.where(hole[..., None], filled, scene.picture).astype(np.uint8) for filled in (straight, turned)]
    first, second = (filled.astype(np.float32) for filled in fillings)
    apart = cv2.GaussianBlur(first - second, (0, 0), BLUR * unit_of(scene))[shown]
    if float(np.sqrt((apart**2).mean())) > (MOST_APART if seen is None else MOST_APART_RIM):
        return None
    return min(fillings, key=lambda filled: strangeness(filled, shown, ~scene.occupied, unit_of(scene)))


def _others_near(scene: Scene, hole: Stencil) -> Stencil:
    """The objects around a hole, with a rim, as far as the net would take their colours from there; those in the hole are going anyway."""
    cv2 = require("cv2", "image")
    box = box_of(hole)
    assert box is not None
    near = np.zeros(scene.shape, bool)
    window = box.grown(round(HIDDEN_REACH * max(box.width, box.height)), scene.shape).pixels
    side = 2 * round(HIDDEN_RIM * unit_of(scene)) + 1
    staying = union([one for one in scene.instances if not hole[one.mask(scene.shape)].mean() > MOSTLY], scene.shape)
    rim = cv2.dilate(staying.astype(np.uint8), cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side)))
    near[window] = rim[window] > 0
    return near


def is_deep_in_wall(scene: Scene, hole: Stencil) -> bool:
    """Whether a photographed wall would have to be made up: copies of other places are not believed there either (0 of 2)."""
    return not scene.is_drawn and depth_in_wall(scene, hole) > DEEPEST * max(1.0, min(scene.shape) / USUAL_SIDE)


def depth_in_wall(scene: Scene, hole: Stencil) -> float:
    """How far from anything known a hole reaches where it mostly hides walls, plants and the like; 0 where it does not, or nobody knows.

    Where a segmenter was asked for the ground alone, everything else counts as wall.
    """
    if scene.regions is None or not hole.any():
        return 0.0
    cv2 = require("cv2", "image")
    is_told = (scene.regions != UNKNOWN) | (SAID_BY in scene.facts)
    known = ~scene.occupied & ~hole & is_told
    if not known.any():
        return 0.0
    _, nearest = cv2.distanceTransformWithLabels((~known).astype(np.uint8), cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    kinds = np.zeros(int(nearest.max()) + 1, np.uint8)
    kinds[nearest[known]] = scene.regions[known]
    wall = hole & ~np.isin(kinds[nearest], (*GROUND_REGIONS, SKY))
    if wall.sum() < MOSTLY * hole.sum():
        return 0.0
    return float(cv2.distanceTransform(hole.astype(np.uint8), cv2.DIST_L2, 5)[wall].max())
