"""A plain grey background outside an oval around the face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Pictures
from evenhand.media.album import as_bytes
from evenhand.media.aligned_face import USUAL_PLACES, FacePlaces, Oval


@dataclass(frozen=True)
class PlainBackground:
    """grey: of the background.  places: of the face, whose oval is the mask."""

    grey: int = 128
    places: FacePlaces = USUAL_PLACES

    words: ClassVar[str] = "before a plain background"

    def changed(self, pictures: Pictures) -> Pictures:
        """Before a plain background."""
        side, at = pictures.shape[1], self.places
        far = Oval(0.52, 0.5, at.face_height / 2 + 0.05, at.face_width / 2 + 0.06).far(side)
        keep = np.clip((1.1 - far) / 0.2, 0.0, 1.0)[..., None].astype(np.float32)
        return as_bytes(pictures * keep + self.grey * (1 - keep))
