"""A pale mask over mouth and nose, drawn where an aligned face has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.contract import Pictures
from evenhand.media.aligned_face import USUAL_PLACES, FacePlaces, Oval, painted, places_of


@dataclass(frozen=True)
class FaceMask:
    """places: of the face."""

    places: FacePlaces = USUAL_PLACES

    words: ClassVar[str] = "with a mask drawn on"

    def changed(self, pictures: Pictures) -> Pictures:
        """With a mask drawn on."""
        side, at = pictures.shape[1], self.places
        down, _ = places_of(side)
        covered = (Oval(at.mouth_height, 0.5, 0.26, at.face_width / 2).far(side) < 1) & (down > at.eye_height + 0.12)
        return painted(pictures, covered, (205, 220, 225))
