"""Gradient-based generation (GG): both pictures go where both losses rise, on the pixels where the two gradients agree in sign.

Paper: P. Zhang et al., DeepFAIT, 2021, Eq. 18: step 5 of 255, at most 10 steps.  The loss is taken against the label that the model
gives the pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.contract import DifferentiablePictureModel
from evenhand.methods.pictures.pair_generation import Moment, Pixels


@dataclass(frozen=True)
class GradientGeneration:
    """The sign of the gradient where the pair agrees on it, nothing elsewhere."""

    needs: ClassVar[type] = DifferentiablePictureModel
    step_size: float = 5.0
    steps: int = 10

    def perturbation(self, moment: Moment, model: Any, memory: dict[str, Any], rng: np.random.Generator) -> Pixels:  # noqa: ARG002
        """One step along the agreed signs."""
        one = np.sign(model.loss_gradient(moment.first, moment.labels))
        other = np.sign(model.loss_gradient(moment.second, moment.labels))
        return np.where(one == other, one, np.float32(0.0)) * np.float32(self.step_size)
