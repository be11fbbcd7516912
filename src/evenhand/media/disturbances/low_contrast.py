"""Less contrast: every colour drawn towards the picture's mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Pictures
from evenhand.media.album import as_bytes


@dataclass(frozen=True)
class LowContrast:
    """factor: what is left of the contrast."""

    factor: float = 0.45

    words: ClassVar[str] = "with less contrast"

    def changed(self, pictures: Pictures) -> Pictures:
        """With less contrast."""
        values = pictures.astype(np.float32)
        middle = values.mean(axis=(1, 2, 3), keepdims=True)
        return as_bytes(middle + self.factor * (values - middle))
