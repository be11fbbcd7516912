"""Less light: every colour multiplied by one factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Pictures
from evenhand.media.album import as_bytes


@dataclass(frozen=True)
class DimLight:
    """factor: what is left of the light."""

    factor: float = 0.5

    words: ClassVar[str] = "in less light"

    def changed(self, pictures: Pictures) -> Pictures:
        """In less light."""
        return as_bytes(pictures.astype(np.float32) * self.factor)
