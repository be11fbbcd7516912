"""Random generation (RG): every pixel of a picture and of its twins goes up, down or stays, by chance.

Paper: P. Zhang et al., "DeepFAIT", 2021, Eq. 17: step 5 of 255, at most 10 steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Model, Search, Task
from evenhand.methods.parts.perturbed_twins import FairTwins, PerturbedTwins, Pixels, growing, seed_pictures


@dataclass(frozen=True)
class RandomGeneration:
    """Steps of -1, 0 or 1 times the step size, drawn again for every pixel.

    step_size: how far a pixel moves, of 255.
    steps: at most so many steps for each picture.
    """

    step_size: float = 5.0
    steps: int = 10

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("album",)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Perturb every picture until it is treated unlike a twin."""
        medium = growing(task)

        def change(now: FairTwins) -> Pixels:
            shape = (len(now.rows), *medium.show(now.rows[:1]).shape[1:])
            return rng.integers(-1, 2, size=shape, dtype=np.int8).astype(np.float32) * np.float32(self.step_size)

        yield from PerturbedTwins(task, self.steps).run(seed_pictures(task, rng), lambda: change)
