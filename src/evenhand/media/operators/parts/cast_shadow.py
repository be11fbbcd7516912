"""The shadow that an object casts on the ground: where it lies, and how it is taken along to another place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.scene import GROUND_REGIONS, UNKNOWN, Instance, Picture, Scene, Stencil

DARKER = 0.84  # ground darker than this share of its surroundings, next to the feet, is taken for the object's shadow
BELOW, BESIDE, ABOVE = 0.16, 0.3, 0.3  # of an object's height and width: how far from its base a shadow is taken along
DARK, DARKEST = 0.88, 0.25  # of the ground's light
LEAST_SHADE, MOST_SHADE = 0.01, 0.25  # of the object's pixels: less is no shadow, and more is a dark thing behind its legs
AT_FEET, AT_WHEELS = 0.12, 0.35  # of an object's height above its foot: how far up ground is seen beside somebody, and below a vehicle
THINNEST = 0.08  # of the object's width: what is thinner is a line on the road or the edge of a kerb
RIM = 3  # pixels around an object that count as its shadow in any case


def cast_shadow(scene: Scene, one: Instance) -> Stencil:
    """Dark ground that is joined to the object's feet, and ends near it: what goes on is a wall, a kerb or a dark street."""
    cv2 = require("cv2", "image")
    shadow = np.zeros(scene.shape, bool)
    left, _, right, bottom = one.box
    wide, tall = right - left, bottom - one.box.top
    above = AT_FEET if tall > wide else AT_WHEELS
    rows = slice(max(0, int(bottom - above * tall)), min(scene.shape[0], int(bottom + 0.25 * tall) + 3))
    columns = slice(max(0, int(left - 0.8 * wide - 4)), min(scene.shape[1], int(right + 0.8 * wide + 4)))
    grey = scene.picture[rows, columns].mean(axis=2)
    free = ~scene.occupied[rows, columns]
    if scene.regions is not None:
        free &= np.isin(scene.regions[rows, columns], (UNKNOWN, *GROUND_REGIONS))
    if free.sum() < 30:
        return shadow
    dark = free & (grey < DARKER * np.percentile(grey[free], 60))
    body = one.mask(scene.shape)[rows, columns]
    near = cv2.dilate(body.astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool)
    side = max(2, round(THINNEST * wide))
    thick = cv2.morphologyEx(dark.astype(np.uint8), cv2.MORPH_OPEN, np.ones((side, side), np.uint8)).astype(bool)
    count, pieces = cv2.connectedComponents(thick.astype(np.uint8))
    goes_on = np.unique(np.concatenate([pieces[:, 0], pieces[:, -1], pieces[-1], pieces[0]]))
    touching = np.setdiff1d(np.unique(pieces[near & free]), goes_on) if count > 1 else np.zeros(0, int)
    found = np.isin(pieces, touching[touching > 0])
    if found.sum() < 1.2 * one.area:  # a dark street is not a shadow
        shadow[rows, columns] = cv2.dilate((found | (near & free)).astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
    return shadow


def shadow_beside(scene: Scene, one: Instance) -> float:
    """The part of an object's shadow that lies to one side of it, in shares of the object's pixels: the larger one of both sides."""
    shadow = cast_shadow(scene, one) & ~one.mask(scene.shape)
    return float(max(shadow[:, : max(0, one.box.left - RIM)].sum(), shadow[:, one.box.right + RIM :].sum()) / max(1, one.area))


@dataclass(frozen=True, eq=False)
class Shade:
    """What is left of the light around an object's base, and where that lies: right and down from the object's box."""

    light: NDArray[np.float32]  # (height, width), 1 where no shadow is
    right: float
    down: float

    @classmethod
    def of(cls, scene: Scene, one: Instance) -> Shade | None:
        """The shadow near an object's base; None where it has none that can be told from what is behind it."""
        cv2 = require("cv2", "image")
        left, top, right, bottom = one.box
        x0, x1 = max(0, round(left - BESIDE * one.width)), min(scene.shape[1], round(right + BESIDE * one.width))
        y0, y1 = max(0, round(bottom - ABOVE * one.height)), min(scene.shape[0], round(bottom + BELOW * one.height) + 2)
        grey = scene.picture[y0:y1, x0:x1].mean(axis=2).astype(np.float32)
        body = one.mask(scene.shape)[y0:y1, x0:x1]
        shadow = cast_shadow(scene, one)[y0:y1, x0:x1] & ~body
        lit = ~scene.occupied[y0:y1, x0:x1] & ~shadow
        left_over = grey / max(1.0, float(np.median(grey[lit]))) if lit.any() else np.ones_like(grey)
        dark = shadow & (left_over < DARK)
        if not LEAST_SHADE * one.area <= dark.sum() <= MOST_SHADE * one.area:
            return None
        light = np.where(shadow, np.clip(left_over, DARKEST, 1.0), 1.0)
        light = np.where(body, left_over[dark].mean(), light).astype(np.float32)  # what the body hides is as dark as what lies beside it
        return cls(_faded(cv2.GaussianBlur(light, (0, 0), 1.0)), x0 - left, y0 - top)

    def scaled(self, factor: float) -> Shade:
        """The same at another size."""
        cv2 = require("cv2", "image")
        size = max(2, round(self.light.shape[1] * factor)), max(2, round(self.light.shape[0] * factor))
        light = np.asarray(cv2.resize(self.light, size, interpolation=cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR), np.float32)
        return replace(self, light=light, right=self.right * factor, down=self.down * factor)

    def fall(self, picture: Picture, corner: tuple[int, int], front: Stencil) -> None:
        """Darken the picture around an object whose box begins there, except what is in front."""
        left, top = corner[0] + round(self.right), corner[1] + round(self.down)
        height, width = self.light.shape
        y0, x0, y1, x1 = max(0, top), max(0, left), min(picture.shape[0], top + height), min(picture.shape[1], left + width)
        if y1 <= y0 or x1 <= x0:
            return
        light = np.where(front[y0:y1, x0:x1], 1.0, self.light[y0 - top : y1 - top, x0 - left : x1 - left])
        picture[y0:y1, x0:x1] = (picture[y0:y1, x0:x1] * light[..., None] + 0.5).astype(np.uint8)


def _faded(light: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same with a soft end at its sides: a shadow goes on there, and is not taken along."""
    height, width = light.shape
    across = np.minimum(np.arange(width) + 1, np.arange(width)[::-1] + 1) / max(2.0, 0.15 * width)
    down = np.minimum(np.arange(height) + 1, np.arange(height)[::-1] + 1) / max(2.0, 0.15 * height)
    weight = np.minimum(1.0, np.minimum(across[None], down[:, None]))
    return np.asarray(1 - (1 - light) * weight, np.float32)
