"""Gradient-based generation (GG): picture and twin go where both losses rise, on the pixels where the two gradients agree in sign.

Paper: P. Zhang et al., "DeepFAIT", 2021, Eq. 18: step 5 of 255, at most 10 steps.  The loss is taken against the label that the model
gives the pair.

With more than two protected values, the pair is the picture and the twin whose scores differ most from it at the start; the change
is made to every twin alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import PixelDifferentiable, Search, Task
from evenhand.methods.parts.perturbed_twins import FairTwins, PerturbedTwins, Pixels, seed_pictures


@dataclass(frozen=True)
class GradientGeneration:
    """The sign of the gradient where the pair agrees on it, nothing elsewhere.

    step_size: how far a pixel moves, of 255.
    steps: at most so many steps for each picture.
    """

    step_size: float = 5.0
    steps: int = 10

    needs: ClassVar[type] = PixelDifferentiable
    media: ClassVar[tuple[str, ...]] = ("album",)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Climb both losses from every picture until it is treated unlike a twin."""

        def change(now: FairTwins) -> Pixels:
            first, second = np.split(np.sign(loss_gradient(task, now)), 2)
            return np.where(first == second, first, np.float32(0.0)) * np.float32(self.step_size)

        yield from PerturbedTwins(task, self.steps).run(seed_pictures(task, rng), lambda: change)


def loss_gradient(task: Task, now: FairTwins) -> Pixels:
    """The gradient of the cross-entropy against the pair's label, of the rows and then of their twins."""
    rows, labels = now.both, np.tile(now.labels, 2)
    scores = task.model.scores(rows)
    line = np.arange(len(rows))
    cotangent = np.zeros_like(scores)
    cotangent[line, labels] = -1.0 / np.maximum(scores[line, labels], np.finfo(np.float32).tiny)
    return task.model.pixel_gradient(rows, cotangent)
