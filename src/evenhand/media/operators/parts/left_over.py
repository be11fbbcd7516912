"""Masks that miss: a foot that was not marked would stay behind where the object turns or goes, and background would come along."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand.errors import require
from evenhand.media.operators.parts.cutout import CLEARLY, carried_on
from evenhand.media.operators.parts.fill import USUAL_SIDE
from evenhand.media.scene import Instance, Picture, Scene, Stencil

LOWEST, AROUND, ROOM = 0.25, 0.15, 12.0  # of the object's height: where feet are, and how far around; and so many units more
FROM, JOINED, BEYOND = 6.0, 2.5, 2.0  # units from the mask: where ground is sure, where a foot begins, and where it is no rim any more
ODD, STEADY = 5.0, 4.0  # times the ground's spread by which a foot differs from it, and levels that are added to that spread
LEAST_GROUND = 30  # pixels
EDGE, SEEN = 0.06, 35.0  # of the object's height, how deep background reaches into a mask; levels by which it differs from a new place
HUNDREDTHS = 100.0


def left_over(scene: Scene, one: Instance) -> float:
    """How much at an object's feet sticks out from the ground and is joined to it, outside of its mask, in 1/100 of its width squared."""
    cv2 = require("cv2", "image")
    unit = max(1.0, min(scene.shape) / USUAL_SIDE)
    box = one.box.grown(round(AROUND * one.height) + round(ROOM * unit), scene.shape)
    body, taken = one.mask(scene.shape)[box.pixels], scene.occupied[box.pixels]
    lab = cv2.cvtColor(cv2.GaussianBlur(scene.picture[box.pixels], (0, 0), 0.8 * unit), cv2.COLOR_RGB2LAB).astype(np.float32)
    free = ~taken
    free[: max(0, one.foot - box.top - round(LOWEST * one.height))] = False
    away = cv2.distanceTransform((~body).astype(np.uint8), cv2.DIST_L2, 5)
    ground = free & (away > FROM * unit)
    if ground.sum() < LEAST_GROUND:
        return 0.0
    middle = np.median(lab[ground], axis=0)
    spread = np.median(np.abs(lab[ground] - middle), axis=0) + STEADY
    odd = (free & ((np.abs(lab - middle) / spread).max(axis=2) > ODD)).astype(np.uint8)
    _, pieces = cv2.connectedComponents(cv2.morphologyEx(odd, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)))
    joined = np.setdiff1d(np.unique(pieces[away <= JOINED * unit]), [0])
    found = np.isin(pieces, joined) & (away > BEYOND * unit)
    return float(HUNDREDTHS * found.sum() / one.width**2)


def brought_along(scene: Scene, one: Instance, after: Picture) -> float:
    """The share of a mirrored object that is background from where it was, and is seen as such on the picture afterwards."""
    cv2 = require("cv2", "image")
    box = one.box.grown(round(AROUND * one.height) + round(ROOM), scene.shape)
    before, now = (cv2.GaussianBlur(picture[box.pixels], (0, 0), 1.0).astype(np.float32) for picture in (scene.picture, after))
    body = one.mask(scene.shape)[box.pixels]
    core = _changed(cv2.erode, body, max(3, round(EDGE * one.height)))
    if not core.any():
        return 0.0
    inside, outside = carried_on(cv2, before, core), carried_on(cv2, before, ~_changed(cv2.dilate, body, 2))
    is_background = body & ~core & (np.linalg.norm(before - outside, axis=2) < CLEARLY * np.linalg.norm(before - inside, axis=2))
    turned, turned_body = (_turned(part, one, box.left, box.top) for part in (is_background, body))
    around = carried_on(cv2, now, ~_changed(cv2.dilate, turned_body, 2))
    shown = turned & (np.linalg.norm(now - around, axis=2) > SEEN)
    return float(cv2.morphologyEx(shown.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)).sum() / one.area)


def _changed(how: Callable[[Stencil, Stencil], Stencil], mask: Stencil, reach: int) -> Stencil:
    """A mask made wider or narrower."""
    cv2 = require("cv2", "image")
    return how(mask.astype(np.uint8), cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1,) * 2)) > 0


def _turned(part: Stencil, one: Instance, left: int, top: int) -> Stencil:
    """A part of an object, on a window that begins there, turned about the object's upright axis."""
    result = np.zeros_like(part)
    rows, columns = slice(one.box.top - top, one.box.bottom - top), slice(one.box.left - left, one.box.right - left)
    result[rows, columns] = part[rows, columns][:, ::-1]
    return result
