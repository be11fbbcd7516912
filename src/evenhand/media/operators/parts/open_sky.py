"""The open sky of a picture, and what flies in it: nothing has to stand, and hardly anything can be at the wrong size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.scene import SAID_BY, SKY, Instance, PixelBox, Scene, Stencil

Colour = NDArray[np.float64]  # lightness, green to red, blue to yellow

FLYING = frozenset({"airplane", "bird", "kite", "helicopter"})
LEAST_SKY = 0.08  # of the picture: less is a gap between roofs
LEAST_TOP = 0.5  # of the uppermost row must be sky
SMOOTH = 2.7  # logarithm of the edge strength, averaged over some pixels: clouds have less, trees and waves more
LEAST_BLUE = 3.0  # levels by which a sky is bluer than red: a wall or a ceiling mostly is not
LEAST_OPEN = 0.98  # of the surroundings of what flies
MOST_UNLIKE = np.array([34.0, 12.0, 18.0])  # of two skies in which the same thing may fly
FARTHEST, LEAST_WIDE = 0.12, 20  # of its size to which something is moved away, and pixels; it is never brought nearer
MOST_SPAN = 0.5  # of the picture, for its width and its height
TRIES = 200


def open_sky(scene: Scene) -> Stencil:
    """Where nothing but sky is seen: as the regions say, else what is smooth, bluish and joined to the upper edge."""
    if scene.regions is not None and SAID_BY not in scene.facts:  # of a bare picture nothing but the ground is asked
        return np.asarray((scene.regions == SKY) & ~scene.occupied, bool)
    cv2 = require("cv2", "image")
    smooth = (_roughness(scene) < SMOOTH) & ~scene.occupied
    calm = cv2.GaussianBlur(scene.picture, (0, 0), 6.0).astype(np.int16)
    sky = cv2.morphologyEx(
        (smooth & (calm[..., 2] - calm[..., 0] >= LEAST_BLUE)).astype(np.uint8), cv2.MORPH_OPEN, np.ones((5, 5), np.uint8)
    )
    _, pieces = cv2.connectedComponents(sky)
    joined = np.isin(pieces, np.unique(pieces[3][sky[3] > 0])) & (sky > 0)
    is_sky = joined[3].mean() >= LEAST_TOP and joined.mean() >= LEAST_SKY
    return np.asarray(joined if is_sky else np.zeros_like(joined), bool)


def _roughness(scene: Scene) -> NDArray[np.float32]:
    cv2 = require("cv2", "image")
    grey = cv2.cvtColor(scene.picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    slope = np.log1p(np.abs(cv2.Sobel(grey, cv2.CV_32F, 1, 0)) + np.abs(cv2.Sobel(grey, cv2.CV_32F, 0, 1)))
    # What is taken out of the mean is not what is rough: the outline of an object must not make the sky around it rough.
    free = cv2.erode((~scene.occupied).astype(np.uint8), np.ones((5, 5), np.uint8)).astype(np.float32)
    spread = 4.0
    return np.asarray(cv2.GaussianBlur(slope * free, (0, 0), spread) / np.maximum(cv2.GaussianBlur(free, (0, 0), spread), 1e-3), np.float32)


def flies(one: Instance, sky: Stencil) -> bool:
    """Whether an object has nothing but sky around it."""
    left, top, right, bottom = one.box.grown(max(5, max(one.height, one.width) // 6), (sky.shape[0], sky.shape[1]))
    free = ~one.mask((sky.shape[0], sky.shape[1]))[top:bottom, left:right]
    cv2 = require("cv2", "image")
    free = cv2.erode(free.astype(np.uint8), np.ones((7, 7), np.uint8)).astype(bool)
    return bool(free.any() and sky[top:bottom, left:right][free].mean() >= LEAST_OPEN)


def sky_colour(scene: Scene, box: PixelBox, sky: Stencil) -> Colour | None:
    """Mean colour of the sky in a rectangle; None where there is none."""
    cv2 = require("cv2", "image")
    left, top, right, bottom = box.grown(6, scene.shape)
    part = sky[top:bottom, left:right]
    if not part.any():
        return None
    lab = cv2.cvtColor(scene.picture[top:bottom, left:right], cv2.COLOR_RGB2LAB)
    return np.asarray(lab[part].mean(axis=0), np.float64)


@dataclass(frozen=True)
class Flight:
    """Where something flies: the upper left corner of its box, and the scale."""

    left: int
    top: int
    scale: float


def found_flight(scene: Scene, sky: Stencil, size: tuple[int, int], colour: Colour, rng: np.random.Generator) -> Flight | None:
    """A place amid a sky of like colour for something of this height and width, at its own size or farther away; None without one."""
    height, width = scene.shape
    for scale in np.exp(rng.uniform(np.log(FARTHEST), 0.0, TRIES)):
        tall, wide = (max(3, round(side * float(scale))) for side in size)
        if tall > MOST_SPAN * height or wide > MOST_SPAN * width or wide < min(LEAST_WIDE, size[1]):
            continue
        room = max(6, max(tall, wide) // 4)
        left, top = int(rng.integers(0, width - wide)), int(rng.integers(0, height - tall))
        box = PixelBox(left, top, left + wide, top + tall)
        x0, y0, x1, y1 = box.grown(room, scene.shape)
        if left < 4 or top < 4 or left + wide > width - 4 or not sky[max(y0, 4) : y1, max(x0, 4) : min(x1, width - 4)].all():
            continue
        here = sky_colour(scene, box, sky)
        if here is not None and (np.abs(here - colour) <= MOST_UNLIKE).all():
            return Flight(left, top, float(scale))
    return None
