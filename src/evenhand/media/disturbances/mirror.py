"""Left and right exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Pictures


@dataclass(frozen=True)
class Mirror:
    """Needs no parameter."""

    words: ClassVar[str] = "mirrored"

    def changed(self, pictures: Pictures) -> Pictures:
        """Mirrored."""
        return np.ascontiguousarray(pictures[:, :, ::-1])
