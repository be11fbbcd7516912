"""Random generation (RG): every pixel of both pictures goes up, down or stays, by chance.

Paper: P. Zhang et al., DeepFAIT, 2021, Eq. 17: step 5 of 255, at most 10 steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.contract import PictureModel
from evenhand.methods.pictures.pair_generation import Moment, Pixels


@dataclass(frozen=True)
class RandomGeneration:
    """Steps of -1, 0 or 1 times the step size, drawn anew for every pixel."""

    needs: ClassVar[type] = PictureModel
    step_size: float = 5.0
    steps: int = 10

    def perturbation(self, moment: Moment, model: Any, memory: dict[str, Any], rng: np.random.Generator) -> Pixels:  # noqa: ARG002
        """One random step."""
        return rng.integers(-1, 2, size=moment.first.shape, dtype=np.int8).astype(np.float32) * np.float32(self.step_size)
