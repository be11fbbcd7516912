"""Taking objects out of a picture: the hole that they leave, what stands around it, what would be bitten into, and how it is filled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.errors import require
from evenhand.media.operators.parts.cast_shadow import cast_shadow
from evenhand.media.operators.parts.fill import SPECK, USUAL_SIDE, fill
from evenhand.media.operators.parts.mutated import Inpainter
from evenhand.media.operators.parts.seams import noise_ratio, seam_ratio
from evenhand.media.scene import GROUND_REGIONS, UNKNOWN, Instance, Picture, Scene, Stencil, union

NO_BACKGROUND = "the picture has no free background that would fill its place"
LEFT_BEHIND = "something that it holds, wears or rides would be left in the air"
REVEALED = "another object behind it would have to be completed"
SMALL = 250  # pixels of a picture of the usual size; what a smaller object bites out of another one is not noticed
MOST_REVEALED = 0.22  # of an object's outline
MOST_TOUCHED = 0.1  # of an object's outline
TRUST = 1.0  # of the marks: a learned inpainter is taken unless its seams are worse by more; it continues edges, which marks do not see


def hole_for(scene: Scene, gone: Sequence[Instance]) -> Stencil:
    """The objects' pixels, dilated, with their shadows, without the pixels of any other object."""
    cv2 = require("cv2", "image")
    mask = union(gone, scene.shape) if not scene.is_rough else _generous(scene, gone)
    tall = max(one.height for one in gone)
    unit = max(1.0, min(scene.shape) / USUAL_SIDE)
    reach = round(float(np.clip(2 * unit + 0.02 * tall, 2 * unit, 5 * unit)))
    hole = cv2.dilate(mask.astype(np.uint8), cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1,) * 2)).astype(bool)
    for one in gone:
        hole |= cast_shadow(scene, one)
    removed = {id(one) for one in gone}
    others = union([one for one in scene.instances if id(one) not in removed], scene.shape)
    return np.asarray(hole & ~others, bool)


def _generous(scene: Scene, gone: Sequence[Instance]) -> Stencil:
    """The objects' boxes with rounded corners and a little room: of a rough mask it is not known where the object ends."""
    cv2 = require("cv2", "image")
    canvas = union(gone, scene.shape).astype(np.uint8)
    for one in gone:
        left, top, right, bottom = one.box.grown(max(2, round(0.03 * one.height)), scene.shape)
        down, over = np.mgrid[0 : bottom - top, 0 : right - left]
        half = np.array([(bottom - top) / 2, (right - left) / 2])
        round_box = (np.abs(down + 0.5 - half[0]) / half[0]) ** 4 + (np.abs(over + 0.5 - half[1]) / half[1]) ** 4 <= 1
        canvas[top:bottom, left:right] |= round_box.astype(np.uint8)
    return np.asarray(cv2.morphologyEx(canvas, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8)), bool)


def structure(scene: Scene, hole: Stencil) -> float:
    """By how many levels what stands around a hole, ground apart, differs from its neighbourhood: the most of all pieces of the hole."""
    cv2 = require("cv2", "image")
    unit = max(1.0, min(scene.shape) / USUAL_SIDE)
    grey = cv2.cvtColor(scene.picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    detail = (grey - cv2.GaussianBlur(grey, (0, 0), 4.0 * unit)) ** 2
    free = ~scene.occupied & ~hole
    if scene.regions is not None:
        free &= ~np.isin(scene.regions, GROUND_REGIONS)
    count, pieces = cv2.connectedComponents(hole.astype(np.uint8))
    side = 2 * round(12 * unit) + 1
    found = [0.0]
    for piece in (pieces == k for k in range(1, count)):
        ring = (cv2.dilate(piece.astype(np.uint8), np.ones((side, side), np.uint8)) > 0) & free
        if piece.sum() >= SPECK * unit**2 and ring.sum() >= SPECK:
            found.append(float(np.sqrt(detail[ring].mean())))
    return max(found)


def reveals(scene: Scene, one: Instance, gone: Sequence[Instance]) -> bool:
    """Whether an object that stays lies behind a good part of this one's outline: background in its place would bite a piece out of it."""
    if one.area < SMALL * max(1.0, min(scene.shape) / USUAL_SIDE) ** 2:
        return False
    return revealed(scene, one, gone) > MOST_REVEALED


def revealed(scene: Scene, one: Instance, gone: Sequence[Instance]) -> float:
    """The share of an object's outline along which others lie that stay behind it."""
    return _bordered(scene, one, [other for other in _staying(scene, gone) if not other.nearer_than(one.foot, one.depth)])


def borders_nearer(scene: Scene, one: Instance, gone: Sequence[Instance]) -> bool:
    """Whether an object that stays lies before a part of this one's outline: a mask that nobody drew takes some of it along."""
    return _bordered(scene, one, [other for other in _staying(scene, gone) if other.nearer_than(one.foot, one.depth)]) > MOST_TOUCHED


def _staying(scene: Scene, gone: Sequence[Instance]) -> list[Instance]:
    removed = {id(other) for other in gone}
    return [other for other in scene.instances if id(other) not in removed]


def _bordered(scene: Scene, one: Instance, others: Sequence[Instance]) -> float:
    """The share of an object's outline along which these others lie."""
    cv2 = require("cv2", "image")
    left, top, right, bottom = one.box.grown(4, scene.shape)
    mask = one.mask(scene.shape)[top:bottom, left:right].astype(np.uint8)
    ring = cv2.dilate(mask, np.ones((7, 7), np.uint8)) > mask
    return float((union(others, scene.shape)[top:bottom, left:right] & ring).sum() / max(1, ring.sum()))


def emptied(
    scene: Scene, gone: Sequence[Instance], hole: Stencil, inpainter: Inpainter | None, is_covered: bool = False
) -> tuple[Picture, str] | None:
    """The picture without these objects, and which way of filling was the better one by its region's marks; None when neither works."""
    removed = {id(one) for one in gone}
    others = union([one for one in scene.instances if id(one) not in removed], scene.shape)
    unknown = np.full(scene.shape, UNKNOWN, np.uint8) if scene.is_rough and scene.regions is None else None  # anything may stand behind it
    cloned = fill(scene.picture, hole, others, scene.regions if unknown is None else unknown, is_covered)
    if inpainter is None:
        return None if cloned is None else (cloned, "shifted clone")
    learned = np.where(hole[..., None], inpainter(scene.picture, hole), scene.picture).astype(np.uint8)
    if cloned is None:
        return learned, "learned inpainter (no background to clone)"
    first, second = _mark(cloned, hole), _mark(learned, hole)
    if second < first + TRUST:
        return learned, f"learned inpainter (mark {second:.2f} against {first:.2f} of the shifted clone)"
    return cloned, f"shifted clone (mark {first:.2f} against {second:.2f} of the learned inpainter)"


def _mark(picture: Picture, hole: Stencil) -> float:
    """How far the seam and the grain of a filled region are from those of its surroundings; 0 is not at all."""
    return sum(abs(float(np.log(max(ratio(picture, hole), 1e-3)))) for ratio in (seam_ratio, noise_ratio))
