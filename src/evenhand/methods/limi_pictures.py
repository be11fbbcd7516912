"""LIMI on pictures: points on the classifier's boundary in a latent space, each with its mirror image at the attribute's hyperplane.

Paper: Y. Xiao et al., "Latent Imitator: Generating Natural Individual Discriminatory Instances for Black-Box Fairness Testing" (LIMI),
ISSTA 2023, section 5: confidence above 0.7, at most 5,000 points per class, the smaller class repeated, a linear SVM; 50,000 points moved
onto the boundary and lambda = 0.3 to either side, tried in the order 0, +, -, the first hit counts.

The paper's classifier has two classes; with more, the boundary is between the two with the most confident points.  The twin of a point is
its latent reflection (Eq. 15) at the attribute's plane, also a linear SVM, and not the twin of the album's editor.  The latent space is a
generator of the user's, or is fitted to the pictures at hand: `adversarial` is a small GAN, in place of the published one; the default is
principal components, which need no torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.arrays import Index, Mask, Rows, Scores
from evenhand.contract import Candidates, Growing, Model, Search, Task
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.limits import Count, check_limits
from evenhand.media.hyperplane import Hyperplane
from evenhand.methods.parts.boundary import BOUNDARIES, fit_boundary
from evenhand.methods.parts.perturbed_twins import growing, seed_pictures
from evenhand.statistics.intervals import clopper_pearson
from evenhand.synthesis.picture_latent import fitted_space
from evenhand.synthesis.picture_latent.space import Latents, PictureLatent

POINTS_AT_ONCE = 500
FITTING_PICTURES = 2_000
"""The latent space and the attribute's plane are fitted to at most this many pictures."""


@dataclass(frozen=True)
class LimiPictures:
    """Latent boundary probing.

    confidence: the score above which a point shows its class clearly.
    drawn: points that are drawn to find the boundary.
    points: probed around it.
    per_class: at most so many clear points of each class.
    step: lambda, how far to either side of the boundary is probed.
    space: the latent space, pca, convolutional (an autoencoder) or adversarial (a GAN), where the data brings no generator of its own.
    dimensions: at most so many of it, and a quarter of the pictures.
    boundary: how both planes are fitted, svm, logistic or closed-form.
    """

    confidence: float = 0.7
    drawn: Count = 10_000
    points: Count = 50_000
    per_class: Count = 5_000
    step: float = 0.3  # lambda
    space: str = "pca"
    dimensions: Count = 80
    boundary: str = "svm"

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("album",)

    def __post_init__(self) -> None:
        check_limits(self)
        if self.boundary not in BOUNDARIES:
            raise UnknownName("boundary", self.boundary, BOUNDARIES)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Fit the space and both planes, then probe points around the boundary until the budget ends or all are probed."""
        ground = self._ground(task, rng)
        boundary = self._boundary(ground, task, rng)
        probed, hits = 0, 0
        while probed < self.points:
            count = min(self.points - probed, max(1, task.fitting(3 * POINTS_AT_ONCE) // 3))
            probed += count
            base = boundary.on_it(ground.space.sample(count, rng))
            for shift, phase in ((0.0, "on the boundary"), (self.step, "beyond it"), (-self.step, "before it")):
                if len(base):
                    verdict = yield Candidates(ground.pairs(base + shift * boundary.normal), phase)
                    base, hits = base[~verdict.unfair], hits + int(verdict.unfair.sum())
            task.facts["probed"] = {**clopper_pearson(hits, probed).as_dict(), "points": probed, "hits": hits}

    def _ground(self, task: Task, rng: np.random.Generator) -> LatentGround:
        medium = growing(task)
        if len(task.domain.protected) != 1 or len(task.domain.combinations) != 2:
            raise InvalidArgument(
                f"method limi_pictures mirrors one attribute with two values; protected are {list(task.domain.protected)} "
                f"with {len(task.domain.combinations)} combinations: protect one, and choose two of its values"
            )
        rows = seed_pictures(task, rng)[:FITTING_PICTURES]
        pictures = medium.show(rows)
        space = getattr(medium, "generator", None) or fitted_space(self.space, pictures, max(1, min(self.dimensions, len(rows) // 4)), rng)
        plane = self._plane(space.encode(pictures), task.domain.own_combination(rows) > 0)
        task.facts["latent_space"] = space.name
        return LatentGround(medium, space, plane)

    def _boundary(self, ground: LatentGround, task: Task, rng: np.random.Generator) -> Hyperplane:
        """The plane in latent space between confident points of two classes."""
        latents = ground.space.sample(self.drawn, rng)
        parts = [latents[at : at + POINTS_AT_ONCE] for at in range(0, len(latents), POINTS_AT_ONCE)]
        scores = np.concatenate([task.model.scores(ground.alone(part)) for part in parts])
        first, second = sorted((self._confident(scores, code) for code in range(scores.shape[1])), key=len, reverse=True)[:2]
        if not len(second):
            raise InvalidArgument(
                f"of {self.drawn} latent points, only one class has any with confidence above {self.confidence}; lower confidence"
            )
        size = max(len(first), len(second))
        chosen = np.concatenate([np.resize(first, size), np.resize(second, size)])  # the smaller class is repeated
        return self._plane(latents[chosen], np.arange(2 * size) >= size)

    def _plane(self, latents: Latents, is_second: Mask) -> Hyperplane:
        """Between two kinds of points; both must be there."""
        found = fit_boundary(latents, is_second, self.boundary)
        return Hyperplane(np.asarray(found.normal, dtype=np.float64), found.offset)

    def _confident(self, scores: Scores, code: int) -> Index:
        order = np.argsort(-scores[:, code], kind="stable")
        return order[: min(self.per_class, int(np.sum(scores[:, code] > self.confidence)))]


@dataclass(frozen=True, eq=False)
class LatentGround:
    """A latent space with the protected attribute's plane, and the album that takes in what it draws."""

    medium: Growing
    space: PictureLatent
    plane: Hyperplane

    def alone(self, latents: Latents) -> Rows:
        """Rows of points that show the same picture under both values."""
        pictures = self.space.decode(latents)
        return self.medium.add(np.broadcast_to(pictures, (2, *pictures.shape)))

    def pairs(self, latents: Latents) -> Rows:
        """Rows of points and their mirror images, each under the value of its side of the plane."""
        own, mirrored = self.space.decode(latents), self.space.decode(self.plane.reflected(latents))
        is_second = (self.plane.distance(latents) > 0)[:, None, None, None]
        return self.medium.add(np.stack([np.where(is_second, mirrored, own), np.where(is_second, own, mirrored)]))
