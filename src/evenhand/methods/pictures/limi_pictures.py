"""LIMI on images: points on the classifier's boundary in a latent space, each with its mirror image at the attribute's hyperplane.

Paper: Y. Xiao et al., "Latent Imitator" (LIMI), ISSTA 2023, section 5: confidence above 0.7, at most 5,000 points per class, candidates on
the boundary and lambda = 0.3 to either side, tried in the order 0, +, -, the first hit counts.

The paper's classifier has two classes; with more, the boundary is between the two with the most confident points.  The pair's flip
is a latent reflection: how far it changes the attribute, and only it, is measured by the editor's facts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Labels, Scores
from evenhand.contract import PictureModel
from evenhand.errors import InvalidArgument
from evenhand.measures.picture_pairs import JudgedPairs, PicturePairs, judge
from evenhand.media.editors.reflection import Reflection
from evenhand.media.hyperplane import Hyperplane, separating
from evenhand.methods.pictures.pair_generation import Generated
from evenhand.synthesis.picture_latent.space import Latents


@dataclass(frozen=True)
class LimiImages:
    """Latent boundary probing."""

    confidence: float = 0.7
    points: int = 10_000
    per_class: int = 5_000
    step: float = 0.3  # lambda

    def boundary(self, reflection: Reflection, model: PictureModel, rng: np.random.Generator) -> Hyperplane:
        """The plane in latent space between confident points of the two classes."""
        latents = reflection.space.sample(self.points, rng)
        scores = np.concatenate([model.scores(reflection.space.decode(latents[i : i + 1000])) for i in range(0, len(latents), 1000)])
        by_class = sorted((self._confident(scores, code) for code in range(scores.shape[1])), key=len, reverse=True)
        first, second = by_class[:2]
        if not len(second):
            raise InvalidArgument(f"of {self.points} latent points, only one class has any with confidence above {self.confidence}")
        size = max(len(first), len(second))
        chosen = np.concatenate([np.resize(first, size), np.resize(second, size)])  # the smaller class is repeated
        return separating(latents[chosen], np.arange(2 * size) >= size)

    def _confident(self, scores: Scores, code: int) -> Labels:
        order = np.argsort(-scores[:, code], kind="stable")
        return order[: min(self.per_class, int(np.sum(scores[:, code] > self.confidence)))]

    def search(self, count: int, reflection: Reflection, model: PictureModel, rng: np.random.Generator) -> Generated:
        """Probe `count` points around the boundary; what comes back holds one judged pair for each."""
        if count < 1:
            raise InvalidArgument(f"count={count!r} must be at least 1")
        plane = self.boundary(reflection, model, rng)
        base = plane.on_it(reflection.space.sample(count, rng))
        latents, found, steps = base.copy(), np.zeros(count, bool), np.zeros(count, np.intp)
        asked = self.points
        for number, shift in enumerate((0.0, self.step, -self.step), start=1):
            open_points = np.flatnonzero(~found)
            tried = base[open_points] + shift * plane.normal
            hit = self.pairs(tried, reflection, model).unfair
            latents[open_points[hit]], found[open_points[hit]], steps[open_points] = tried[hit], True, number
            asked += 2 * len(open_points)
        return Generated(self.pairs(latents, reflection, model), found, steps, asked)

    def pairs(self, latents: Latents, reflection: Reflection, model: PictureModel) -> JudgedPairs:
        """Pictures of points and of their mirror images, judged."""
        first, second = reflection.space.decode(latents), reflection.space.decode(reflection.plane.reflected(latents))
        labels = model.scores(first).argmax(axis=1)
        side = (reflection.plane.distance(latents) > 0).astype(np.intp)
        return judge(PicturePairs(first, second, labels, side, reflection.attribute, reflection.flip), model)
