"""A dark hat, drawn over forehead and hair of an aligned face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Pictures
from evenhand.media.aligned_face import USUAL_PLACES, FacePlaces, painted, places_of


@dataclass(frozen=True)
class Hat:
    """places: of the face."""

    places: FacePlaces = USUAL_PLACES

    words: ClassVar[str] = "with a hat drawn on"

    def changed(self, pictures: Pictures) -> Pictures:
        """With a hat drawn on."""
        side, at = pictures.shape[1], self.places
        down, right = places_of(side)
        crown = (down < at.brow_height - 0.06) & (np.abs(right - 0.5) < at.face_width / 2)
        brim = (np.abs(down - at.brow_height + 0.05) < 0.025) & (np.abs(right - 0.5) < at.face_width / 2 + 0.1)
        return painted(pictures, crown | brim, (45, 50, 70))
