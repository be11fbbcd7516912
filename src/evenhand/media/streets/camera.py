"""The pinhole camera above the road: from metres to pixels and back.  X to the right, Y up, Z ahead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Camera:
    """A level camera that looks along the street."""

    width: int = 480
    height: int = 360
    focal: float = 430.0  # pixels
    eye: float = 1.55  # metres above the road
    horizon: float = 160.0  # row
    centre: float = 240.0  # column of the vanishing point

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, 3) metres to (n, 2) columns and rows."""
        scale = self.focal / np.maximum(points[:, 2], 0.3)
        return np.stack([self.centre + points[:, 0] * scale, self.horizon + (self.eye - points[:, 1]) * scale], axis=1)

    def scale(self, depth: float) -> float:
        """Pixels per metre at this depth."""
        return self.focal / depth

    def foot_row(self, depth: float) -> float:
        """The row of the road at this depth."""
        return self.horizon + self.eye * self.focal / depth
