"""Whether a donor is to be seen in a picture already, though nobody named it there: half hidden, or drawn together with somebody else.

The upper half of the donor, as it is and mirrored, is laid over the picture at several sizes, each at the rows where somebody of that size
would stand, and the most similar place decides.  Taking somebody else for the donor only costs a donor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.operators.parts.cutout import Cutout
from evenhand.media.operators.parts.perspective import SizeLaw
from evenhand.media.scene import Picture

Floats = NDArray[np.float32]
ROWS = 14  # to which the upper half of a donor is reduced
STEP = 1.2  # between two sizes that are looked at
SMALLEST, LARGEST = 0.55, 1.4  # of a donor's own height; its other sightings have other heights
LIGHT = 0.5  # share of a difference in overall lightness that counts, as for who looks like whom
LEAST_CONTRAST = 8.0  # levels: a donor with less, all in black, is like every dark corner
LEAST_PIXELS = 40  # of a reduced half
SIGHTINGS = 4  # of one object that are looked for: one is seen from behind, another with an arm lifted
OTHER_SIZE = 1.5  # factor by which somebody may be taller or smaller than the size law says
SAME = 15.5  # levels at the most similar place; of a man in the first street frames, 13 to 16 where he is half hidden, else 18


@dataclass(frozen=True)
class UpperHalf:
    """The upper half of an object: colours in a space where equal steps look equal, and which pixels are its own."""

    colours: Floats  # (rows, columns, 3)
    own: Floats  # (rows, columns), 1 or 0

    @classmethod
    def of(cls, cutout: Cutout) -> UpperHalf:
        """Reduced to few rows."""
        cv2 = require("cv2", "image")
        height, width = cutout.shape
        size = max(3, round(2 * ROWS * width / height)), 2 * ROWS
        colour = cv2.resize(np.clip(cutout.colour, 0, 255).astype(np.uint8), size, interpolation=cv2.INTER_AREA)[:ROWS]
        own = cv2.resize(cutout.cover, size, interpolation=cv2.INTER_AREA)[:ROWS] > 0.5
        lab = cv2.cvtColor(np.ascontiguousarray(colour), cv2.COLOR_RGB2LAB).astype(np.float32)
        return cls(lab * own[..., None], own.astype(np.float32))

    @property
    def mirrored(self) -> UpperHalf:
        """The same, seen from the other side."""
        return UpperHalf(np.ascontiguousarray(self.colours[:, ::-1]), np.ascontiguousarray(self.own[:, ::-1]))

    @cached_property
    def contrast(self) -> float:
        """Levels by which its own pixels differ from each other."""
        return float(np.sqrt(self.colours[self.own > 0].var(axis=0).sum())) if self.own.any() else 0.0


class SeenAlready:
    """A picture at all the sizes at which donors of a class are looked for, and how tall this class is at each row."""

    def __init__(self, picture: Picture, law: SizeLaw, relative: float) -> None:
        self.picture, self.law, self.relative = picture, law, relative
        self._layers: dict[int, tuple[Floats, Floats, Floats]] = {}

    def shows(self, sightings: Sequence[Cutout]) -> bool:
        """Whether something in the picture looks like the upper half of an object that was seen so."""
        few = sightings[:: max(1, -(-len(sightings) // SIGHTINGS))]
        return any(self._shows(one) for one in few)

    def _shows(self, cutout: Cutout) -> bool:
        half = UpperHalf.of(cutout)
        if half.own.sum() < LEAST_PIXELS or half.contrast < LEAST_CONTRAST:
            return False
        first, last = (round(float(np.log(cutout.shape[0] * share) / np.log(STEP))) for share in (SMALLEST, LARGEST))
        sizes = [size for size in range(first, last + 1) if self._is_large_enough(size, half)]
        return any(self._miss(one, size) < SAME for size in sizes for one in (half, half.mirrored))

    def _is_large_enough(self, size: int, half: UpperHalf) -> bool:
        height, width = (round(side * 2 * ROWS / STEP**size) for side in self.picture.shape[:2])
        return height > ROWS and width > half.own.shape[1] and STEP**size > ROWS

    def _miss(self, half: UpperHalf, size: int) -> float:
        """Levels by which the most similar place differs, root mean square; a change of light as a whole counts less."""
        cv2 = require("cv2", "image")
        rows = self._rows(size)
        colours, squares, light = (layer[rows] for layer in self._at(size))
        count = float(half.own.sum())
        both = cv2.matchTemplate(colours, half.colours, cv2.TM_CCORR)
        whole = cv2.matchTemplate(squares, half.own, cv2.TM_CCORR) - 2 * both + float((half.colours**2).sum())
        brighter = (cv2.matchTemplate(light, half.own, cv2.TM_CCORR) - float(half.colours[..., 0].sum())) / count
        return float(np.sqrt(max(0.0, float((whole / count - (1 - LIGHT**2) * brighter**2).min()))))

    def _rows(self, size: int) -> slice:
        """Between which rows of the reduced picture the upper half of somebody of this size may lie."""
        tall, factor = STEP**size, 2 * ROWS / STEP**size
        first, last = (self.law.row_of(tall * share, self.relative) - tall for share in (1 / OTHER_SIZE, OTHER_SIZE))
        height = round(self.picture.shape[0] * factor)
        top = int(np.clip(np.floor(first * factor), 0, height - ROWS))
        return slice(top, int(np.clip(np.ceil(last * factor) + ROWS, top + ROWS, height)))

    def _at(self, size: int) -> tuple[Floats, Floats, Floats]:
        """Colours, the sum of their squares, and lightness, where an object of this size has the rows of a reduced donor."""
        if size not in self._layers:
            cv2 = require("cv2", "image")
            factor = 2 * ROWS / STEP**size
            height, width = (max(1, round(side * factor)) for side in self.picture.shape[:2])
            how = cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR
            small = cv2.resize(self.picture, (width, height), interpolation=how)
            lab = cv2.cvtColor(small, cv2.COLOR_RGB2LAB).astype(np.float32)
            squares = cv2.transform(lab * lab, np.ones((1, 3), np.float32))
            self._layers[size] = lab, squares, np.ascontiguousarray(lab[..., 0])
        return self._layers[size]
