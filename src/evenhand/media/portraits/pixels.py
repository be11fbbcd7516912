"""A stack of pictures that shapes are painted on: soft-edged ellipses and arcs, painting, shading, glowing.

Everything is arithmetic on (n, height, width) arrays; a window is a view, so that a small feature costs only its own pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.media.portraits.palette import Colour, Each, One, Picture, Plane


def column(values: One) -> Any:
    """One number per portrait, ready to meet a plane; one number for all stays one."""
    if isinstance(values, np.ndarray) and values.ndim:
        return values.astype(np.float32, copy=False)[:, None, None]
    return np.float32(values)


@dataclass(frozen=True)
class Canvas:
    """Pictures (n, 3, height, width) with the head's own coordinates: x to the right, y down, eyes near 0, chin near 0.6."""

    picture: Picture
    x: Plane
    y: Plane
    head: Plane  # how much of each pixel the head covers; filled in when the head is painted
    soft: float  # the width of an edge: about one pixel

    @classmethod
    def blank(cls, n: int, size: int, roll: Each, zoom: Each) -> Canvas:
        """Empty pictures whose coordinates are turned by `roll` and magnified by `zoom`."""
        line = ((np.arange(size) + 0.5) * (2.0 / size) - 1.0).astype(np.float32)
        right, down = line[None, None, :] / zoom[:, None, None], (line[None, :, None] + 0.02) / zoom[:, None, None]
        cosine, sine = np.cos(roll)[:, None, None], np.sin(roll)[:, None, None]
        x, y = right * cosine + (down - 0.5) * sine, 0.5 + (down - 0.5) * cosine - right * sine
        empty = np.zeros((n, size, size), np.float32)
        return cls(np.zeros((n, 3, size, size), np.float32), x.astype(np.float32), y.astype(np.float32), empty, 2.0 / size)

    def window(self, left: float, right: float, top: float, bottom: float) -> Canvas:
        """A view of the part between these borders, given in the unturned picture's -1 to 1."""
        size = self.x.shape[2]
        rows = slice(max(0, int((top + 1) * size / 2)), min(size, int(np.ceil((bottom + 1) * size / 2))))
        columns = slice(max(0, int((left + 1) * size / 2)), min(size, int(np.ceil((right + 1) * size / 2))))
        place = (slice(None), rows, columns)
        return Canvas(self.picture[:, :, rows, columns], self.x[place], self.y[place], self.head[place], self.soft)

    def cover(self, depth: Plane, blur: float = 1.0) -> Plane:
        """How much of each pixel lies inside a shape whose inside has positive depth."""
        return np.asarray(np.clip(depth * (1.0 / (self.soft * blur)) + 0.5, 0.0, 1.0))

    def paint(self, colour: Colour | Picture, alpha: Plane) -> None:
        """Lay a colour over the pictures where alpha is 1."""
        full = colour[:, :, None, None] if colour.ndim == 2 else colour
        self.picture[...] += (full - self.picture) * alpha[:, None]

    def shade(self, alpha: Plane, amount: One) -> None:
        """Darken, with a warm rest: shadows on skin are never grey."""
        dark = alpha * column(amount)
        for channel, share in enumerate((0.88, 1.0, 1.04)):
            self.picture[:, channel] *= np.maximum(1.0 - share * dark, 0.0)

    def glow(self, alpha: Plane, amount: One) -> None:
        """Lighten towards white."""
        self.picture[...] += (1.0 - self.picture) * (alpha * column(amount))[:, None]

    def ellipse(self, centre: tuple[One, One], radii: tuple[One, One], blur: float = 1.0) -> Plane:
        """Cover of a filled ellipse."""
        across = (self.x - column(centre[0])) / column(radii[0])
        down = (self.y - column(centre[1])) / column(radii[1])
        return self.cover((1.0 - np.sqrt(across * across + down * down)) * column(np.minimum(radii[0], radii[1])), blur)

    def blob(self, centre: tuple[One, One], radii: tuple[One, One]) -> Plane:
        """A soft spot without an edge."""
        across = (self.x - column(centre[0])) / column(radii[0])
        down = (self.y - column(centre[1])) / column(radii[1])
        near = np.maximum(1.0 - (across * across + down * down), 0.0)
        return np.asarray(near * near, dtype=np.float32)

    def arc(self, curve: Arc, blur: float = 1.0) -> Plane:
        """Cover of a bent stroke that thins out towards its ends."""
        along = (self.x - column(curve.x)) / column(curve.reach)
        bend = np.minimum(along * along, 1.5)
        middle = column(curve.y) + column(curve.slope) * along + column(curve.rise) * bend
        thick = column(curve.width) * (1.0 - bend)
        return np.asarray(self.cover(thick - np.abs(self.y - middle), blur) * (bend < 1.0))


@dataclass(frozen=True)
class Arc:
    """A stroke around (x, y): `reach` to either side, ends higher or lower by `rise` (down is positive) and `slope`."""

    x: One
    y: One
    reach: One
    rise: One
    width: One
    slope: One = 0.0
