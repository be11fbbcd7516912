"""An object cut out of its picture: clean edges, its light, and how it is set into another place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.scene import Instance, Picture, Scene, Stencil

Floats = NDArray[np.float32]
MARGIN = 3
LIGHT_SHARE = 0.6  # how much of the difference in light is taken over
SHADOW = 0.42
BRIGHTEST = 245.0  # level to which the lights of an object are brought
SOFT = 0.8  # pixels over which a cover fades
LOOK_AROUND, EDGE_DEPTH = 8, 0.025  # pixels outside of a mask, and share of its height inside, between which its edge is judged
GRAIN_TAIL = 2.0  # times the usual grain: what is larger is an edge of something, and on dark clothes it would be a speck
BRIGHT = 64.0  # grey level from which on a picture has all of its grain; darker things have less, in proportion
TOLD_APART, CLEARLY = 35.0, 0.6  # levels between inside and outside, and how much nearer to the one than to the other a colour must be


@dataclass(frozen=True, eq=False)
class Cutout:
    """Pixels as they are, what is behind their soft edge, how far the object covers each, and the brightness of the ground below it."""

    label: str
    colour: Floats  # (height, width, 3)
    behind: Floats  # (height, width, 3): the old background, carried on behind the object
    cover: Floats  # (height, width)
    ground: float  # lightness below the feet, 0..255
    origin: str

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        height, width = self.cover.shape
        return height, width

    def scaled(self, factor: float) -> Cutout:
        """The same object at another size."""
        cv2 = require("cv2", "image")
        if abs(factor - 1) < 0.02:
            return self
        size = max(3, round(self.cover.shape[1] * factor)), max(3, round(self.cover.shape[0] * factor))
        how = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
        cover = np.clip(cv2.resize(self.cover, size, interpolation=how), 0, 1)
        colour, behind = (np.clip(cv2.resize(part, size, interpolation=how), 0, 255) for part in (self.colour, self.behind))
        return replace(self, colour=colour, behind=behind, cover=cover)

    def turned(self, degrees: float) -> Cutout:
        """The same object turned about its middle, at the same size."""
        cv2 = require("cv2", "image")
        height, width = self.cover.shape
        side = int(np.ceil(np.hypot(height, width))) + 2
        turn = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
        turn[:, 2] += (side - width) / 2, (side - height) / 2
        cover = cv2.warpAffine(self.cover, turn, (side, side), flags=cv2.INTER_LINEAR)
        colour, behind = (
            cv2.warpAffine(part, turn, (side, side), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
            for part in (self.colour, self.behind)
        )
        rows, columns = np.flatnonzero(cover.max(axis=1) > 0.05), np.flatnonzero(cover.max(axis=0) > 0.05)
        tight = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
        return replace(self, colour=np.clip(colour[tight], 0, 255), behind=np.clip(behind[tight], 0, 255), cover=cover[tight])


def cut(scene: Scene, instance: Instance, erode: bool = True) -> Cutout:
    """Cut an object out with a soft edge; a hand-drawn mask is eroded by one pixel, an exact one would only lose thin parts."""
    cv2 = require("cv2", "image")
    left, top, right, bottom = box = instance.box.grown(MARGIN, scene.shape)
    mask = instance.mask(scene.shape)[top:bottom, left:right]
    colour = scene.picture[top:bottom, left:right].astype(np.float32)
    solid = mask.astype(np.uint8)
    if erode and scene.depth is None and min(instance.width, instance.height) > 22:
        solid = cv2.erode(solid, np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.uint8))
    free = ~cv2.dilate(mask.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
    cover = np.clip(cv2.GaussianBlur(solid.astype(np.float32), (0, 0), SOFT), 0, 1)
    light = ground_light(scene.picture, scene.occupied, (left, bottom, right))
    return Cutout(instance.label, colour, carried_on(cv2, colour, free), cover, light, f"{scene.name}:{tuple(box)}")


def carried_on(cv2: Any, colour: Floats, free: Stencil) -> Floats:
    """The free pixels' colours, spread smoothly over the others: from near ones where there are any, else from far ones."""
    total, mass = np.zeros_like(colour), np.zeros(free.shape, np.float32)
    for reach, trust in ((1.5, 1.0), (4.0, 0.05), (16.0, 0.002)):
        weight = cv2.GaussianBlur(free.astype(np.float32), (0, 0), reach) * np.float32(trust)
        total += cv2.GaussianBlur(colour * free[..., None], (0, 0), reach) * np.float32(trust)
        mass += weight
    return np.asarray(np.where(mass[..., None] > 1e-7, total / np.maximum(mass, 1e-7)[..., None], colour), np.float32)


def spilled(scene: Scene, instance: Instance) -> float:
    """The share of a mask's edge that has the colour of what is around the object: a loose mask brings its old background along.

    Where inside and outside look alike nothing can be said, and nothing would be seen.
    """
    cv2 = require("cv2", "image")
    left, top, right, bottom = instance.box.grown(LOOK_AROUND, scene.shape)
    mask = instance.mask(scene.shape)[top:bottom, left:right].astype(np.uint8)
    colour = scene.picture[top:bottom, left:right].astype(np.float32)
    deep = max(2, round(EDGE_DEPTH * instance.height))
    core = cv2.erode(mask, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * deep + 1, 2 * deep + 1))).astype(bool)
    free = ~cv2.dilate(mask, np.ones((5, 5), np.uint8)).astype(bool)
    edge = cv2.erode(mask, np.ones((3, 3), np.uint8)).astype(bool) & ~core
    if not core.any() or not free.any():
        return 0.0
    outside, inside = carried_on(cv2, colour, free), carried_on(cv2, colour, core)
    edge &= np.linalg.norm(outside - inside, axis=2) > TOLD_APART
    is_outside = np.linalg.norm(colour - outside, axis=2) < CLEARLY * np.linalg.norm(colour - inside, axis=2)
    return float(is_outside[edge].mean()) if edge.any() else 0.0


def told_apart(scene: Scene, instance: Instance) -> float:
    """The share of an object's outline along which it differs clearly from what is around it: elsewhere somebody had to guess its mask."""
    cv2 = require("cv2", "image")
    left, top, right, bottom = instance.box.grown(LOOK_AROUND, scene.shape)
    mask = instance.mask(scene.shape)[top:bottom, left:right].astype(np.uint8)
    colour = scene.picture[top:bottom, left:right].astype(np.float32)
    inner, outer = (change(mask, np.ones((3, 3), np.uint8)).astype(bool) for change in (cv2.erode, cv2.dilate))
    if not inner.any() or outer.all():
        return 1.0
    differs = np.linalg.norm(carried_on(cv2, colour, inner) - carried_on(cv2, colour, ~outer), axis=2) > TOLD_APART
    return float(differs[outer & ~inner].mean())


def ground_light(picture: Picture, occupied: Stencil, foot: tuple[int, int, int]) -> float:
    """Lightness of the free ground around the feet (left, bottom row, right): its upper quartile, for shadows lie there too."""
    left, bottom, right = foot
    deep = max(4, (right - left) // 5)
    rows = slice(max(0, bottom - deep), min(picture.shape[0], bottom + deep))
    columns = slice(max(0, left - 2 * deep), right + 2 * deep)
    strip = picture[rows, columns].mean(axis=2)[~occupied[rows, columns]]
    return float(np.percentile(strip, 75)) if strip.size else 0.0


def paste(picture: Picture, cutout: Cutout, corner: tuple[int, int], front: Stencil, here: float = 0.0) -> Stencil:
    """Set a cutout in place (left, top), behind `front`, in the light of the ground `here`; returns the pixels that it now owns."""
    left, top = corner
    height, width = cutout.shape
    y0, x0, y1, x1 = max(0, top), max(0, left), min(picture.shape[0], top + height), min(picture.shape[1], left + width)
    rows, columns = slice(y0, y1), slice(x0, x1)
    inner = slice(y0 - top, y1 - top), slice(x0 - left, x1 - left)
    cover = cutout.cover[inner] * ~front[rows, columns]
    gain = min(_gain(cutout.ground, here), _headroom(cutout))
    native, behind = cutout.colour[inner] * gain, cutout.behind[inner] * gain
    part = picture[rows, columns].astype(np.float32)
    # A pixel of the soft edge is cover * object + (1 - cover) * background: only its background is exchanged, so the edge stays as sharp
    # or as soft as the camera drew it.
    edge = native - behind + cover[..., None] * (behind - part)
    blended = part + np.clip(cover / 0.2, 0, 1)[..., None] * edge
    picture[rows, columns] = np.clip(blended + 0.5, 0, 255).astype(np.uint8)
    owned = np.zeros(picture.shape[:2], bool)
    owned[rows, columns] = cover > 0.5
    return owned


def _gain(there: float, here: float) -> float:
    if there < 8 or here < 8:
        return 1.0
    return float(np.clip((here / there) ** LIGHT_SHARE, 0.6, 1.5))


def _headroom(cutout: Cutout) -> float:
    """By how much an object may be brightened until its lights turn white."""
    inside = cutout.colour.max(axis=2)[cutout.cover > 0.5]
    return max(1.0, BRIGHTEST / max(1.0, float(np.percentile(inside, 98)))) if inside.size else 1.0


def contact_shadow(picture: Picture, cutout: Cutout, corner: tuple[int, int], front: Stencil) -> None:
    """Darken the ground below the lowest part, over its whole width, softly."""
    cv2 = require("cv2", "image")
    left, top = corner
    height = cutout.shape[0]
    low = np.flatnonzero(cutout.cover[int(height * 0.86) :].max(axis=0) > 0.3)
    if not low.size:
        return
    first, last = left + int(low[0]), left + int(low[-1]) + 1
    thick = float(np.clip(0.05 * height + 0.04 * (last - first), 1.2, 14))
    bottom = top + height - MARGIN
    rows = slice(max(0, int(bottom - 3 * thick)), min(picture.shape[0], int(bottom + 3 * thick) + 1))
    columns = slice(max(0, int(first - 3 * thick)), min(picture.shape[1], int(last + 3 * thick) + 1))
    canvas = np.zeros((rows.stop - rows.start, columns.stop - columns.start), np.float32)
    if not canvas.size:
        return
    centre = ((first + last) / 2 - columns.start, bottom - 0.4 * thick - rows.start)
    axes = ((last - first) / 2 * 0.98, thick)
    fixed = [round(value * 16) for value in (*centre, *axes)]
    cv2.ellipse(canvas, (fixed[0], fixed[1]), (fixed[2], fixed[3]), 0, 0, 360, SHADOW, -1, cv2.LINE_AA, 4)
    canvas = cv2.GaussianBlur(canvas, (0, 0), max(0.8, thick * 0.5)) * ~front[rows, columns]
    part = picture[rows, columns]
    picture[rows, columns] = (part * (1 - canvas[..., None])).astype(np.uint8)


def grain(picture: Picture) -> Floats:
    """The picture's fine residual, less its large values, which are edges: what its sensor and its storage add everywhere."""
    cv2 = require("cv2", "image")
    grey = picture.mean(axis=2).astype(np.float32)
    residual = grey - cv2.GaussianBlur(grey, (0, 0), 1.0)
    bound = 3 * 1.4826 * float(np.median(np.abs(residual)))
    return np.asarray(np.clip(residual, -bound, bound), np.float32)


def regrained(scaled: Cutout, native: Cutout, texture: Floats, rng: np.random.Generator) -> Cutout:
    """Give back the grain that scaling took away, as much as this object lost and no more than the picture has, from a place of its own."""
    lost = float(np.sqrt(max(0.0, _fineness(native) ** 2 - _fineness(scaled) ** 2)))
    height, width = scaled.shape
    usual = float(np.median(np.abs(texture)))
    if lost < 0.15 or usual <= 0 or height >= texture.shape[0] or width >= texture.shape[1]:
        return scaled
    top, left = int(rng.integers(0, texture.shape[0] - height)), int(rng.integers(0, texture.shape[1] - width))
    bounded = np.clip(texture[top : top + height, left : left + width, None], -GRAIN_TAIL * usual, GRAIN_TAIL * usual)
    share = np.clip(scaled.colour.mean(axis=2, keepdims=True) / BRIGHT, 0, 1) * np.float32(min(1.0, lost / usual))
    return replace(scaled, colour=np.asarray(np.clip(scaled.colour + bounded * share, 0, 255), np.float32))


def _fineness(cutout: Cutout) -> float:
    """Median size of the fine residual inside the object."""
    cv2 = require("cv2", "image")
    grey = cutout.colour.mean(axis=2)
    inside = np.abs(grey - cv2.GaussianBlur(grey, (0, 0), 1.0))[cutout.cover > 0.9]
    return float(np.median(inside)) if inside.size else 0.0
