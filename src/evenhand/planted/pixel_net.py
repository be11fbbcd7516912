"""A small net on the pixels of drawn portraits whose unfairness to skin tone is planted; plain NumPy, with gradients and a layer.

It weighs the brightness of the backdrop, which a twin leaves as it is, against that of the face, which a twin changes: the share of the
face in the sum is the strength of the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Reals, Scores
from evenhand.contract import SCORES, Activations, Pictures
from evenhand.datasets.album_data import from_album
from evenhand.datasets.dataset import Dataset
from evenhand.errors import UnknownName
from evenhand.planted.portraits import AGE_GROUPS, synthetic_faces

HIDDEN = "hidden"
STEEPNESS = 12.0
CHANCE = 0.2
"""The share of portraits that are labelled by chance."""


@dataclass(frozen=True, eq=False)
class PixelNet:
    """Two ReLU units around a threshold on a weighed brightness, and a softmax.

    size: the side of its pictures.  face_share: how much the face counts; 0 is exactly fair to twins in tone.
    """

    size: int = 16
    face_share: float = 0.25
    threshold: float = 0.45
    classes: tuple[str, ...] = ("no", "yes")

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Of every pixel, (height, width, 3), such that a white picture sums to 1."""
        middle = slice(self.size * 3 // 8, self.size * 5 // 8)
        face, backdrop = np.zeros((self.size, self.size, 3)), np.zeros((self.size, self.size, 3))
        face[middle, middle] = 1.0
        backdrop[: self.size // 4, : self.size // 8] = 1.0
        weights: NDArray[np.float64] = (self.face_share * face / face.sum() + (1.0 - self.face_share) * backdrop / backdrop.sum()) / 255.0
        return weights

    def scores(self, pictures: Pictures) -> Scores:
        """Probabilities of both classes."""
        second = 1.0 / (1.0 + np.exp(-STEEPNESS * self._above(pictures)))
        return np.stack([1.0 - second, second], axis=1)

    def _above(self, pictures: Pictures) -> Reals:
        """How far the weighed brightness lies above the threshold."""
        return np.asarray(np.tensordot(pictures.astype(np.float64), self.weights, 3) - self.threshold)

    def loss_gradient(self, pictures: Pictures, labels: Labels) -> NDArray[np.float32]:
        """Gradient of the cross-entropy against these labels by the pixels."""
        slope = STEEPNESS * (self.scores(pictures)[:, 1] - labels)
        return self._spread(slope)

    def gradient(self, pictures: Pictures, cotangent: NDArray[Any], layer: str = SCORES) -> NDArray[np.float32]:
        """Per picture, the gradient by its pixels of sum(cotangent * layer's values)."""
        if layer != SCORES:
            return self.activation_gradient(pictures, layer, np.asarray(cotangent, np.float32))
        scores = self.scores(pictures)
        return self._spread((cotangent[:, 1] - cotangent[:, 0]) * STEEPNESS * scores[:, 0] * scores[:, 1])

    def _spread(self, slope: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        return (slope[:, None, None, None] * self.weights).astype(np.float32)

    def layers(self) -> tuple[str, ...]:
        """The one hidden layer."""
        return (HIDDEN,)

    def activations(self, pictures: Pictures, layers: Sequence[str]) -> dict[str, Activations]:
        """How far above and how far below the threshold."""
        above = self._above(pictures)
        values = np.stack([np.maximum(above, 0.0), np.maximum(-above, 0.0)], axis=1).astype(np.float32)
        return {self._known(layer): values for layer in layers}

    def _known(self, layer: str) -> str:
        if layer != HIDDEN:
            raise UnknownName("layer", layer, (HIDDEN,))
        return layer

    def activation_gradient(self, pictures: Pictures, layer: str, weights: Activations) -> NDArray[np.float32]:
        """Per picture, the gradient by its pixels of the sum of `weights` times the layer's values."""
        self._known(layer)
        above = self._above(pictures)
        return self._spread(np.where(above > 0, weights[:, 0], 0.0) - np.where(above < 0, weights[:, 1], 0.0))

    def fingerprint(self) -> str:
        """Its parameters."""
        return f"pixel-net {self.size} {self.face_share} {self.threshold}"


def labelled_portraits(n: int, seed: int, size: int = 16, protected: Sequence[str] = ("tone",)) -> Dataset:
    """Drawn portraits as rows, labelled by the backdrop alone, one in five by chance: for whoever asks a `PixelNet`."""
    from dataclasses import replace

    from evenhand.media.album import Attribute

    rng = np.random.default_rng(seed)
    album = synthetic_faces(n, rng, size)
    assert album.label.values == AGE_GROUPS
    by_backdrop = PixelNet(size, face_share=0.0).scores(album.pictures).argmax(axis=1)
    by_chance = rng.integers(0, 2, size=n)
    label = Attribute(("no", "yes"), np.where(rng.random(n) < CHANCE, by_chance, by_backdrop).astype(np.intp))
    return from_album(replace(album, label=label), protected, ("yes",))
