"""EIDIG on pictures: the global phase, momentum on the gradients of the pair's own score, a step where both agree in sign.

Papers: Zhang, Zhang, Zhang, "Efficient White-Box Fairness Testing through Gradient Search", ISSTA 2021; on pictures, with the global phase
alone, as a baseline in H. Zheng et al., "NeuronFair", ICSE 2022.  ADF's global phase on pictures is `gradient_generation`: the sign of the
cross-entropy's gradient where both pictures of a pair agree on it.

Differs: no clusters, as in that baseline; all pictures advance together.  `step_size` is that of the other methods on pictures.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from evenhand.contract import PixelDifferentiable, Search, Task
from evenhand.limits import Count, Positive, ShareBelowOne, check_limits
from evenhand.methods.parts.gradients import own_score
from evenhand.methods.parts.perturbed_twins import FairTwins, PerturbedTwins, Pixels, seed_pictures
from evenhand.models.meter import Meter


@dataclass(frozen=True)
class EidigPictures:
    """Down the score of the pair's label along the pixels on which the remembered gradients agree.

    step_size: how far a pixel moves, of 255.
    decay: how much of the last gradients is kept.
    steps: at most so many steps for each picture.
    """

    step_size: Positive = 5.0
    decay: ShareBelowOne = 0.5
    steps: Count = 10

    needs: ClassVar[type] = PixelDifferentiable
    media: ClassVar[tuple[str, ...]] = ("album",)

    def __post_init__(self) -> None:
        check_limits(self)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Descend both scores from every picture until it is treated unlike a twin."""
        yield from PerturbedTwins(task, self.steps).run(seed_pictures(task, rng), lambda: ScoreDescent(task.model, self))


@dataclass(eq=False)
class ScoreDescent:
    """One lot of pictures on its way down, with the momentum of both pictures of each pair."""

    model: Meter
    method: EidigPictures
    momentum: dict[int, Pixels] = field(default_factory=dict)  # (2, height, width, 3) for each seed

    def __call__(self, now: FairTwins) -> Pixels:
        """One momentum step against the common signs."""
        slope = own_score(self.model.scores(now.both))
        gradients = np.stack(np.split(self.model.pixel_gradient(now.both, slope), 2), axis=1)  # (n, 2, height, width, 3)
        if self.momentum:
            gradients = gradients + self.method.decay * np.stack([self.momentum[seed] for seed in now.seeds.tolist()])
        self.momentum = dict(zip(now.seeds.tolist(), gradients, strict=True))
        first, second = np.sign(gradients[:, 0]), np.sign(gradients[:, 1])
        return np.asarray(np.where(first == second, -first, 0.0) * self.method.step_size, dtype=np.float32)
