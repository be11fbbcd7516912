"""Where nobody marked the ground: what its own standing objects tell about size, and whether a spot on it looks like a donor's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evenhand.media.operators.parts.perspective import SizeLaw, stands
from evenhand.media.operators.parts.standing import lit, look, stands_free
from evenhand.media.scene import PixelBox, Scene, Stencil
from evenhand.media.vocabulary import Labels

AGREES = 0.2  # natural logarithm by which a standing object may be taller or smaller than the size law says
MISSED = 0.3  # the same, beyond which it does not matter how far: it sits, or stands on something
LEAST_AGREEING = 0.6  # of the standing objects
NEAR_ONE, NEAR_SEVERAL = 0.04, 0.08  # of the picture's height: how far from the feet of one witness, or of several, the size is known
EYE_HEIGHT = 1.1  # of the reference height, at which a camera is held
LEAST_SLOPE, MOST_SLOPE = 0.08, 3.0  # pixels of reference height for each row: from far away with a long lens, and from the ground
LEAST_APART = 0.03  # of the picture's height, between the feet of two objects that tell a slope
OTHER_GROUND = np.array([24.0, 9.0, 12.0, 0.7])  # colour and roughness by which a donor's ground may differ from where it is to stand
CLEAR_BESIDE, CLEAR_BELOW = 0.5, 0.2  # of a donor's width and height: what is in the way there and belongs to no known object is nearer
MOST_LIT = 0.3  # natural logarithm by which a donor's lights may be brighter against its ground than those of its class that stand there
LEAST_CLEAR = 0.9  # of that strip


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Objects of a picture that stand, with the rows of their feet and the height that a reference object would have there."""

    feet: NDArray[np.float64]
    heights: NDArray[np.float64]

    @classmethod
    def of(cls, scene: Scene, labels: Labels) -> Witnesses:
        """Every object of a picture that stands free and has a usual height."""
        standing = [one for one in scene.instances if stands(one.label, labels) and stands_free(scene, one)]
        heights = [one.height / labels.relative_height[labels.canonical(one.label)] for one in standing]
        return cls(np.array([one.foot for one in standing], float), np.array(heights, float))

    def misses(self, law: SizeLaw) -> NDArray[np.float64]:
        """How far each of them is from what a law says, as a logarithm."""
        expected = np.maximum([law.at(foot, 1.0) for foot in self.feet], 1e-3)
        return np.asarray(np.abs(np.log(self.heights / expected)), np.float64)

    def agreeing(self, law: SizeLaw) -> NDArray[np.bool_]:
        """Which of them are as tall as a law says."""
        return self.misses(law) <= AGREES

    def law(self, tall: int) -> SizeLaw | None:
        """The law that most of them keep, in a picture of this height; None where fewer keep any than must."""
        count = len(self.feet)
        if not count:
            return None
        laws = [self._through_one(k) for k in range(count)] + [
            law for one, other in combinations(range(count), 2) if (law := self._through_two(one, other, tall)) is not None
        ]
        best = min(laws, key=lambda law: float(np.minimum(self.misses(law), MISSED).sum()))
        return best if self.agreeing(best).sum() >= LEAST_AGREEING * count else None

    def _through_one(self, k: int) -> SizeLaw:
        """As somebody would photograph it who stands on the same ground."""
        return SizeLaw(float(self.feet[k]), float(self.heights[k]), 1 / EYE_HEIGHT, 1)

    def _through_two(self, one: int, other: int, tall: int) -> SizeLaw | None:
        apart = self.feet[other] - self.feet[one]
        if abs(apart) < LEAST_APART * tall:
            return None
        slope = float((self.heights[other] - self.heights[one]) / apart)
        return SizeLaw(float(self.feet[one]), float(self.heights[one]), slope, 2) if LEAST_SLOPE <= slope <= MOST_SLOPE else None


@dataclass(frozen=True, eq=False)
class GuessedGround:
    """A scene's guessed ground, and what its standing objects tell about size."""

    scene: Scene
    ground: Stencil
    labels: Labels

    @cached_property
    def witnesses(self) -> Witnesses:
        """What stands there already."""
        return Witnesses.of(self.scene, self.labels)

    @cached_property
    def law(self) -> SizeLaw | None:
        """The size law of the picture itself; None where its objects tell none."""
        return self.witnesses.law(self.scene.shape[0])

    def known_rows(self) -> NDArray[np.bool_]:
        """Rows at which somebody stands, or nearly, so that the size of others is known there."""
        height = self.scene.shape[0]
        feet = self.witnesses.feet[self.witnesses.agreeing(self.law)] if self.law is not None else np.zeros(0)
        if not feet.size:
            return np.zeros(height, bool)
        rows, reach = np.arange(height), height * (NEAR_ONE if len(feet) == 1 else NEAR_SEVERAL)
        return np.asarray((rows >= feet.min() - reach) & (rows <= feet.max() + reach), bool)

    @cached_property
    def _look(self) -> NDArray[np.float32]:
        return look(self.scene.picture)

    def is_like(self, box: PixelBox, own: NDArray[np.float64] | None) -> bool:
        """Whether the strip at the lower end of a box is clear ground that looks like a donor's own."""
        left, top, right, bottom = box
        height, width = self.scene.shape
        beside, below = round(CLEAR_BESIDE * (right - left)), max(3, round(CLEAR_BELOW * (bottom - top)))
        rows = slice(max(0, bottom - 2), min(height, bottom + below))
        columns = slice(max(0, left - beside), min(width, right + beside))
        strip, free = self.ground[rows, columns], ~self.scene.occupied[rows, columns]
        if own is None or not strip.any() or strip.sum() < LEAST_CLEAR * free.sum():
            return False
        here = np.median(self._look[rows, columns][strip], axis=0)
        return bool((np.abs(own - here) <= OTHER_GROUND).all())

    def most_lit(self, label: str) -> float:
        """How bright a donor of a class may be against its ground: hardly more than who stands there, else another sun shines on it."""
        standing = [one for one in self.scene.instances if stands(one.label, self.labels) and stands_free(self.scene, one)]
        same = [one for one in standing if one.label == label] or standing
        seen = [light for one in same if (light := lit(self.scene, one)) is not None]
        return max(seen) + MOST_LIT if seen else np.inf

    def liked(self, donors: Sequence[NDArray[np.float64] | None]) -> list[bool]:
        """Of each donor's own ground, whether any of this ground looks like it."""
        few = self._look[self.ground][:: max(1, int(self.ground.sum()) // 500)]
        return [own is not None and bool((np.abs(few - own) <= OTHER_GROUND).all(axis=1).any()) for own in donors]
