"""Closer: the middle of the picture, scaled to the whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Pictures
from evenhand.media.album import as_bytes


@dataclass(frozen=True)
class Crop:
    """share: of the side that is kept."""

    share: float = 0.8

    words: ClassVar[str] = "from closer"

    def changed(self, pictures: Pictures) -> Pictures:
        """From closer."""
        side = pictures.shape[1]
        at = (np.arange(side) + 0.5) * self.share + side * (1 - self.share) / 2 - 0.5
        low = np.clip(np.floor(at).astype(np.intp), 0, side - 2)
        weight = (at - low).astype(np.float32)
        values = pictures.astype(np.float32)
        rows = values[:, low] * (1 - weight)[:, None, None] + values[:, low + 1] * weight[:, None, None]
        both = rows[:, :, low] * (1 - weight)[:, None] + rows[:, :, low + 1] * weight[:, None]
        return as_bytes(both)
