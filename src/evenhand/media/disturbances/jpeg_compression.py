"""Strong JPEG compression, as messengers apply it."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any, ClassVar

import numpy as np

from evenhand.contract import Pictures
from evenhand.errors import require


@dataclass(frozen=True)
class JpegCompression:
    """quality: of JPEG, 1 to 95."""

    quality: int = 12

    words: ClassVar[str] = "after strong compression"

    def changed(self, pictures: Pictures) -> Pictures:
        """After strong compression."""
        image = require("PIL.Image", "image")
        return np.stack([self._packed(image, picture) for picture in pictures]) if len(pictures) else pictures

    def _packed(self, image: Any, picture: Pictures) -> Pictures:
        held = BytesIO()
        image.fromarray(np.asarray(picture, np.uint8)).save(held, "JPEG", quality=self.quality)
        return np.asarray(image.open(held).convert("RGB"))
