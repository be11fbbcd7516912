"""Where things are in a square picture of one aligned face, in shares of its side; and shapes that are painted there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Pictures


@dataclass(frozen=True)
class FacePlaces:
    """Places of an aligned face, as shares of the picture's side; set them where your crops differ."""

    eye_height: float = 0.43
    eye_distance: float = 0.30
    mouth_height: float = 0.75
    brow_height: float = 0.30
    face_width: float = 0.62
    face_height: float = 0.86


USUAL_PLACES = FacePlaces()


def places_of(side: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far down and how far right every pixel is, as shares, (side, side) each."""
    middle = (np.arange(side) + 0.5) / side
    down, right = np.meshgrid(middle, middle, indexing="ij")
    return down, right


@dataclass(frozen=True)
class Oval:
    """An upright oval: its middle and half its height and width, as shares of the picture's side."""

    down: float
    right: float
    half_height: float
    half_width: float

    def far(self, side: int) -> NDArray[np.float64]:
        """How far from its middle every pixel is; 1 on the line."""
        down, right = places_of(side)
        far: NDArray[np.float64] = np.hypot((down - self.down) / self.half_height, (right - self.right) / self.half_width)
        return far


def painted(pictures: Pictures, where: NDArray[np.bool_], colour: Sequence[int]) -> NDArray[np.uint8]:
    """The pictures with one colour in these places."""
    changed = np.array(pictures, dtype=np.uint8)
    changed[:, where] = np.array(colour, np.uint8)
    return changed
