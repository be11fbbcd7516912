"""Latent spaces of pictures: points in a space of few dimensions, and back.  A space is one file here, with a class that can `fit`."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.contract import Pictures
from evenhand.registry import Registry
from evenhand.synthesis.picture_latent.space import FittedSpace, PictureLatent

SPACES: Registry[FittedSpace] = Registry("latent space of pictures", __name__, FittedSpace)


def fitted_space(name: str, pictures: Pictures, dimensions: int, rng: np.random.Generator) -> PictureLatent:
    """The space of this name, fitted to pictures."""
    kind: Any = SPACES.entry(name).make  # the class itself, whose `fit` makes the space
    space: PictureLatent = kind.fit(pictures, dimensions, rng)
    return space
