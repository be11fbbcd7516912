"""Gaussian-noise injection (GI): the noise of a hot or badly lit sensor, the same on a picture and on its twins.

Paper: P. Zhang et al., "DeepFAIT", 2021, Eq. 19: mean 0, standard deviation 7 of 255, at most 10 steps.

Differs: each portion of noise is rounded to whole pixel values when it is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Model, Search, Task
from evenhand.methods.parts.perturbed_twins import FairTwins, PerturbedTwins, Pixels, growing, seed_pictures


@dataclass(frozen=True)
class GaussianInjection:
    """Independent normal noise per pixel.

    mean, deviation: of the noise, of 255.
    steps: at most so many portions of noise for each picture.
    """

    mean: float = 0.0
    deviation: float = 7.0
    steps: int = 10

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("album",)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Add noise to every picture until it is treated unlike a twin."""
        medium = growing(task)

        def change(now: FairTwins) -> Pixels:
            shape = (len(now.rows), *medium.show(now.rows[:1]).shape[1:])
            return rng.standard_normal(shape, dtype=np.float32) * np.float32(self.deviation) + np.float32(self.mean)

        yield from PerturbedTwins(task, self.steps).run(seed_pictures(task, rng), lambda: change)
