"""Which holes a learned inpainter fills believably: small, amid little detail, away from what is nearer, and told twice in the same way.

A net that knows what a hole hides fills the mirror image of a picture with the mirror image of its filling; where it makes something up,
it makes up something else.  What copies of the same picture may fill is told in `fill`, but for the depth in a wall.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.errors import require
from evenhand.media.operators.parts.fill import USUAL_SIDE
from evenhand.media.operators.parts.mutated import Inpainter
from evenhand.media.operators.parts.removal import borders_nearer, revealed, structure
from evenhand.media.scene import GROUND_REGIONS, SAID_BY, SKY, UNKNOWN, Instance, Picture, Scene, Stencil

MOST_LEARNED = 0.12  # of the picture: larger fillings were seen to be smears
MOST_STRUCTURE = 36.0  # levels: amid more detail a filling is a smear (at 37 and 45; at 36 it was believable)
MOST_REVEALED = 0.15  # of an object's outline: the net does not complete what is hidden behind it
MOSTLY = 0.35  # of a hole that hides wall, and not ground or sky
# Levels, root mean square, by which the fillings of a picture and of its mirror image may differ, at a blur of so many units.  Of 52
# fillings of the first 26 street frames, bare, 13 of the 19 below were believable (13 of 14 with a known outline), and 4 of the 33 above.
MOST_APART, BLUR = 7.5, 3.0
DEEPEST = 14.0  # units from anything known: deeper in a wall, 11 of 14 fillings were smears or things that the net made up


def suits_net(scene: Scene, gone: Sequence[Instance], hole: Stencil) -> bool:
    """Whether a learned inpainter may be asked to fill the place of these objects."""
    if hole.mean() > MOST_LEARNED or structure(scene, hole) > MOST_STRUCTURE:
        return False
    return not any(borders_nearer(scene, one, gone) or revealed(scene, one, gone) > MOST_REVEALED for one in gone)


def agreed_filling(scene: Scene, hole: Stencil, inpainter: Inpainter) -> Picture | None:
    """The picture as a net fills it, where it fills the mirror image alike; None where it does not, since it made something up."""
    cv2 = require("cv2", "image")
    first = np.where(hole[..., None], inpainter(scene.picture, hole), scene.picture).astype(np.uint8)
    turned = inpainter(np.ascontiguousarray(scene.picture[:, ::-1]), np.ascontiguousarray(hole[:, ::-1]))[:, ::-1]
    second = np.where(hole[..., None], turned, scene.picture).astype(np.float32)
    blur = BLUR * max(1.0, min(scene.shape) / USUAL_SIDE)
    apart = cv2.GaussianBlur(first.astype(np.float32) - second, (0, 0), blur)[hole]
    return first if apart.size and float(np.sqrt((apart**2).mean())) <= MOST_APART else None


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
