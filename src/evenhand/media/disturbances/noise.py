"""Noise of the sensor: independent in every pixel, the same every time for the same picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar
from zlib import crc32

import numpy as np

from evenhand.contract import Pictures
from evenhand.media.album import as_bytes


@dataclass(frozen=True)
class PixelNoise:
    """spread: of the noise, of 255."""

    spread: float = 18.0

    words: ClassVar[str] = "with noise"

    def changed(self, pictures: Pictures) -> Pictures:
        """With noise."""
        changed = np.empty(pictures.shape, np.uint8)
        for place, picture in enumerate(pictures):
            changed[place] = as_bytes(picture + self._drawn(picture))
        return changed

    def _drawn(self, picture: Pictures) -> Pictures:
        """From the picture's own content, so that it does not matter in which batch it is shown."""
        rng = np.random.default_rng(crc32(np.ascontiguousarray(picture).tobytes()))
        return np.float32(self.spread) * rng.standard_normal(picture.shape, dtype=np.float32)
