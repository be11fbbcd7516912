"""What a picture classifier can do, as protocols.  Pictures are (n, height, width, 3), bytes or float32 between 0 and 255."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Scores

Pictures: TypeAlias = NDArray[Any]  # (n, height, width, 3), uint8 or float32, 0 to 255
Activations: TypeAlias = NDArray[np.float32]  # (n, units)


@runtime_checkable
class PictureModel(Protocol):
    """Anything that scores pictures."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the score columns."""

    def scores(self, pictures: Pictures) -> Scores:
        """One row of scores per picture, adding up to 1."""


@runtime_checkable
class DifferentiablePictureModel(PictureModel, Protocol):
    """A classifier whose loss can be followed back to the pixels."""

    def loss_gradient(self, pictures: Pictures, labels: Labels) -> NDArray[np.float32]:
        """Gradient of the cross-entropy against these labels by the pixels."""


@runtime_checkable
class TransparentPictureModel(DifferentiablePictureModel, Protocol):
    """A classifier whose layers can be read."""

    def layers(self) -> tuple[str, ...]:
        """Names of the readable layers, from input to output."""

    def activations(self, pictures: Pictures, layers: Sequence[str]) -> dict[str, Activations]:
        """Values after the activation function; a convolutional unit is the mean of its map."""

    def activation_gradient(self, pictures: Pictures, layer: str, weights: Activations) -> NDArray[np.float32]:
        """Per picture, the gradient by its pixels of the sum of `weights` times the layer's values."""
