"""Out of focus: a Gaussian blur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Pictures
from evenhand.media.album import as_bytes


@dataclass(frozen=True)
class Blur:
    """radius: of the blur, as a share of the side."""

    radius: float = 0.02

    words: ClassVar[str] = "out of focus"

    def changed(self, pictures: Pictures) -> Pictures:
        """Out of focus."""
        from scipy.ndimage import gaussian_filter

        spread = self.radius * pictures.shape[1]
        return as_bytes(gaussian_filter(pictures.astype(np.float32), (0, spread, spread, 0)))
