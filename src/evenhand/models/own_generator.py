"""A generator of the user's as a latent space of pictures.

One that can only make pictures of points gets an `encode` that is learnt from its own samples: a ridge regression from the principal
components of what it draws to the points that it was drawn from.  How much of the points that explains on further samples is part of the
space's name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Pictures
from evenhand.errors import InvalidArgument
from evenhand.models.own_parts import checked_pictures, net_function

SAMPLES, COMPONENTS, RIDGE = 1_500, 200, 1.0
"""Samples that an encoder is learnt from, the components of their pictures, and the penalty of the regression."""
LATENT_SIDES = ("dimensions", "latent_dimensions", "z_dim")
"""Names under which a generator may say how long its points are."""


@dataclass(frozen=True, eq=False)
class GeneratorSpace:
    """Points of a generator: decoded by it; encoded by it, or by what its samples teach.

    part: the user's object.  shape: of one picture.  dimensions: how long a point is.
    """

    part: Any
    shape: tuple[int, ...]
    dimensions: int
    label: str = "generator"

    @property
    def name(self) -> str:
        """With its size, and how good a learnt encoder is."""
        how = "" if self._own_encoder else f", points read from pictures with R2 = {self._learnt.explained:.2f}"
        return f"{self.label} with {self.dimensions} dimensions{how}"

    @property
    def _own_encoder(self) -> Callable[[Pictures], Any] | None:
        found: Callable[[Pictures], Any] | None = getattr(self.part, "encode", None)
        return found if callable(found) else None

    def encode(self, pictures: Pictures) -> NDArray[np.float64]:
        """Points of pictures."""
        if self._own_encoder is not None:
            return np.asarray(self._own_encoder(pictures), dtype=np.float64)
        return self._learnt(pictures)

    def decode(self, latents: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Pictures of points."""
        latents = np.asarray(latents, dtype=np.float64)
        if not len(latents):
            return np.zeros((0, *self.shape), np.uint8)
        if callable(own := getattr(self.part, "decode", None)):
            return checked_pictures(own(latents), (len(latents), *self.shape), "generator")
        net = net_function(self.part)
        drawn = self.part(latents) if net is None else np.moveaxis(net(latents.astype(np.float32)) * 255.0, 1, 3)
        return checked_pictures(drawn, (len(latents), *self.shape), "generator")

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Plausible points: the generator's own, or standard normal ones."""
        own = getattr(self.part, "sample", None)
        return np.asarray(own(n, rng), dtype=np.float64) if callable(own) else rng.standard_normal((n, self.dimensions))

    @cached_property
    def _learnt(self) -> LearntEncoder:
        rng = np.random.default_rng(0)
        latents = self.sample(SAMPLES, rng)
        return LearntEncoder.of(self.decode(latents), latents)


@dataclass(frozen=True, eq=False)
class LearntEncoder:
    """From pictures to points, linear."""

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]  # (pixels, components)
    weights: NDArray[np.float64]  # (components, dimensions)
    offset: NDArray[np.float64]
    explained: float  # the share of the points' variance on samples that it has not learnt from

    @classmethod
    def of(cls, pictures: Pictures, latents: NDArray[np.float64]) -> LearntEncoder:
        """From samples and their points; the last fifth only tells how good it is."""
        flat = pictures.reshape(len(pictures), -1).astype(np.float32) / 255.0
        cut = 4 * len(flat) // 5
        mean = flat[:cut].mean(axis=0)
        _, spread, axes = np.linalg.svd(flat[:cut] - mean, full_matrices=False)
        kept = axes[: min(COMPONENTS, int((spread > 1e-6 * spread[0]).sum()))].T.astype(np.float64)
        inside, offset = (flat - mean) @ kept, latents[:cut].mean(axis=0)
        first = inside[:cut]
        weights = np.linalg.solve(first.T @ first + RIDGE * np.eye(kept.shape[1]), first.T @ (latents[:cut] - offset))
        missed = latents[cut:] - inside[cut:] @ weights - offset
        explained = 1.0 - float(missed.var() / latents[cut:].var())
        return cls(mean.astype(np.float64), kept, weights, offset, explained)

    def __call__(self, pictures: Pictures) -> NDArray[np.float64]:
        """Points of pictures."""
        flat = pictures.reshape(len(pictures), -1).astype(np.float64) / 255.0
        points: NDArray[np.float64] = (flat - self.mean) @ self.axes @ self.weights + self.offset
        return points


def generator_space(part: Any, shape: tuple[int, ...], label: str) -> GeneratorSpace:
    """The user's generator, asked how long its points are."""
    return GeneratorSpace(part, shape, _dimensions(part), label)


def _dimensions(part: Any) -> int:
    """What the generator says of itself, what its file says, or how long a sample is."""
    told = next((getattr(part, name) for name in LATENT_SIDES if isinstance(getattr(part, name, None), int)), None)
    ports = getattr(part, "inputs", ())
    if told is None and ports and len(ports[0].shape) == 2 and isinstance(ports[0].shape[1], int):
        told = ports[0].shape[1]
    if told is None and callable(sample := getattr(part, "sample", None)):
        told = np.asarray(sample(1, np.random.default_rng(0))).shape[1]
    if told is None:
        raise InvalidArgument("generator: nothing says how long its points are; give it `sample(n, rng)` or an attribute `dimensions`")
    return int(told)
