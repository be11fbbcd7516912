"""A small drawing board in picture coordinates: polygons, discs and tapering limbs, drawn finer and averaged to soft edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.scene import PixelBox

Colour = tuple[float, float, float]
Points = NDArray[np.float64]  # (n, 2) columns and rows of the picture
MOST_FINE = 4


@dataclass(frozen=True)
class Sprite:
    """A drawn object: where it lies in the picture, its colours and its cover."""

    box: PixelBox
    colour: NDArray[np.float32]  # (height, width, 3)
    cover: NDArray[np.float32]  # (height, width) in 0..1


class StreetCanvas:
    """Collects shapes over one part of the picture."""

    def __init__(self, points: Points, margin: float, shape: tuple[int, int]) -> None:
        low, high = np.floor(points.min(axis=0) - margin), np.ceil(points.max(axis=0) + margin)
        left, top = max(0, int(low[0])), max(0, int(low[1]))
        right, bottom = min(shape[1], int(high[0])), min(shape[0], int(high[1]))
        self.box = PixelBox(left, top, max(left, right), max(top, bottom))
        pixels = self.box.width * self.box.height
        self.fine = MOST_FINE if pixels < 9000 else 3 if pixels < 40000 else 2
        size = (self.box.height * self.fine, self.box.width * self.fine)
        self.paint = np.zeros((*size, 3), np.float32)
        self.stencil = np.zeros(size, np.uint8)
        self._cv2 = require("cv2", "image")

    @property
    def is_empty(self) -> bool:
        """Whether the drawing lies outside the picture."""
        return 0 in self.stencil.shape

    def _fixed(self, points: Points) -> NDArray[np.int32]:
        local = (points - np.array(self.box[:2])) * self.fine
        return np.asarray(np.round(np.clip(local, -8000, 8000) * 16), np.int32)

    def polygon(self, points: Points, colour: Colour) -> None:
        """A filled polygon."""
        if self.is_empty:
            return
        fixed = self._fixed(np.asarray(points, np.float64)).reshape(-1, 1, 2)
        self._cv2.fillPoly(self.paint, [fixed], colour, self._cv2.LINE_8, 4)
        self._cv2.fillPoly(self.stencil, [fixed], 255, self._cv2.LINE_8, 4)

    def disc(self, centre: Points, radii: tuple[float, float], colour: Colour, tilt: float = 0.0) -> None:
        """A filled ellipse; radii in pixels, tilt in radians."""
        turn = np.linspace(0, 2 * np.pi, 22, endpoint=False)
        x, y = radii[0] * np.cos(turn), radii[1] * np.sin(turn)
        spin = np.stack([x * np.cos(tilt) - y * np.sin(tilt), x * np.sin(tilt) + y * np.cos(tilt)], axis=1)
        self.polygon(np.asarray(centre) + spin, colour)

    def discs(self, centres: Points, radii: Points, colours: NDArray[np.float64]) -> None:
        """Many ellipses in one go, in the order given; radii (n, 2) in pixels, colours (n, 3)."""
        if self.is_empty:
            return
        turn = np.linspace(0, 2 * np.pi, 10, endpoint=False)
        ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        outlines = self._fixed(centres[:, None, :] + ring[None] * radii[:, None, :])
        for outline, colour in zip(outlines, colours.tolist(), strict=True):
            self._cv2.fillPoly(self.paint, [outline], colour, self._cv2.LINE_8, 4)
            self._cv2.fillPoly(self.stencil, [outline], 255, self._cv2.LINE_8, 4)

    def limb(self, start: Points, end: Points, radii: tuple[float, float], colour: Colour) -> None:
        """A tapering rod with round ends."""
        start, end = np.asarray(start, np.float64), np.asarray(end, np.float64)
        along = end - start
        length = float(np.hypot(*along))
        if length < 1e-6:
            return self.disc(start, (max(radii), max(radii)), colour)
        angle = np.arctan2(along[1], along[0])
        back = angle + np.pi / 2 + np.linspace(0, np.pi, 7)
        front = angle - np.pi / 2 + np.linspace(0, np.pi, 7)
        outline = [
            start + radii[0] * np.stack([np.cos(back), np.sin(back)], 1),
            end + radii[1] * np.stack([np.cos(front), np.sin(front)], 1),
        ]
        return self.polygon(np.concatenate(outline), colour)

    def sprite(self) -> Sprite | None:
        """The finished drawing; None when nothing of it is in the picture."""
        if self.is_empty or not self.stencil.any():
            return None
        size = (self.box.width, self.box.height)
        cover = self._cv2.resize(self.stencil.astype(np.float32) / 255, size, interpolation=self._cv2.INTER_AREA)
        painted = self.paint * (self.stencil[..., None] > 0)
        mean = self._cv2.resize(painted, size, interpolation=self._cv2.INTER_AREA)
        colour = mean / np.maximum(cover, 1e-3)[..., None]
        return Sprite(self.box, np.asarray(colour, np.float32), np.asarray(cover, np.float32))
