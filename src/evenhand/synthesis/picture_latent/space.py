"""What a latent space is.  Any object with these three abilities will do: a user's own generator too."""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Pictures

Latents: TypeAlias = NDArray[np.float64]  # (n, dimensions)


@runtime_checkable
class PictureLatent(Protocol):
    """Pictures from points, points from pictures, and plausible points."""

    @property
    def name(self) -> str:
        """What a reader sees."""

    def encode(self, pictures: Pictures) -> Latents:
        """Points of pictures."""

    def decode(self, latents: Latents) -> NDArray[np.uint8]:
        """Pictures of points."""

    def sample(self, n: int, rng: np.random.Generator) -> Latents:
        """Plausible points."""


@runtime_checkable
class FittedSpace(PictureLatent, Protocol):
    """A space that is made from pictures alone; `fit` belongs to its class."""

    def fit(self, pictures: Pictures, dimensions: int, rng: np.random.Generator) -> PictureLatent:
        """The space of these pictures."""
