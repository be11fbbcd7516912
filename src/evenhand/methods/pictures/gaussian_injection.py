"""Gaussian-noise injection (GI): the noise of a hot or badly lit sensor, the same on both pictures.

Paper: P. Zhang et al., DeepFAIT, 2021, Eq. 19: mean 0, standard deviation 7 of 255, at most 10 steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.contract import PictureModel
from evenhand.methods.pictures.pair_generation import Moment, Pixels


@dataclass(frozen=True)
class GaussianInjection:
    """Independent normal noise per pixel."""

    needs: ClassVar[type] = PictureModel
    mean: float = 0.0
    deviation: float = 7.0
    steps: int = 10

    def perturbation(self, moment: Moment, model: Any, memory: dict[str, Any], rng: np.random.Generator) -> Pixels:  # noqa: ARG002
        """One portion of noise."""
        noise = rng.standard_normal(moment.first.shape, dtype=np.float32)
        return noise * np.float32(self.deviation) + np.float32(self.mean)
