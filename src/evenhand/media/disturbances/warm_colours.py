"""A warmer light: more red, less blue, as under a bulb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Pictures
from evenhand.media.album import as_bytes


@dataclass(frozen=True)
class WarmColours:
    """shift: how much blue is lost; red gains half as much."""

    shift: float = 0.25

    words: ClassVar[str] = "in warmer light"

    def changed(self, pictures: Pictures) -> Pictures:
        """In warmer light."""
        gains = np.array([1 + self.shift / 2, 1.0, 1 - self.shift], np.float32)
        return as_bytes(pictures.astype(np.float32) * gains)
