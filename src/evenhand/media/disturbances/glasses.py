"""Dark-rimmed glasses, drawn where an aligned face has its eyes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Pictures
from evenhand.media.aligned_face import USUAL_PLACES, FacePlaces, Oval, painted, places_of


@dataclass(frozen=True)
class Glasses:
    """rim: its width, as a share of the lens.  places: of the face."""

    rim: float = 0.12
    places: FacePlaces = USUAL_PLACES

    words: ClassVar[str] = "with glasses drawn on"

    def changed(self, pictures: Pictures) -> Pictures:
        """With glasses drawn on."""
        side, at = pictures.shape[1], self.places
        radius = 0.36 * at.eye_distance
        far = [Oval(at.eye_height, 0.5 + sign * at.eye_distance / 2, radius, radius * 1.25).far(side) for sign in (-1, 1)]
        width = max(self.rim, 1.0 / (radius * side))
        rims = np.logical_or.reduce([np.abs(each - 1.0) < width for each in far])
        down, right = places_of(side)
        bridge = (np.abs(down - at.eye_height) < max(0.012, 0.6 / side)) & (np.abs(right - 0.5) < at.eye_distance / 2 - radius)
        return painted(pictures, rims | bridge, (25, 22, 20))
