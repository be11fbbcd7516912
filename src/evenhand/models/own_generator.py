"""A generator of the user's as a latent space of pictures.

One that can only make pictures of points gets an `encode` that is learnt from its own samples: a ridge regression from the principal
components of what it draws to the points that it was drawn from.  How much of the points that explains on further samples is part of the
space's name.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Pictures
from evenhand.errors import InvalidArgument, ModelFailed, WrongAnswer
from evenhand.models.adapters.torch_modules import is_torch
from evenhand.models.own_parts import called_part, checked_pictures, from_net, in_bytes, net_function

SAMPLES, COMPONENTS, RIDGE = 1_500, 200, 1.0
"""Samples that an encoder is learnt from, the components of their pictures, and the penalty of the regression."""
LATENT_SIDES = ("dimensions", "latent_dimensions", "z_dim")
"""Names under which a generator may say how long its points are."""
RANKS = (2, 4)
"""A net takes points as (n, dimensions), or as maps of one pixel, (n, dimensions, 1, 1)."""


@dataclass(frozen=True, eq=False)
class GeneratorSpace:
    """Points of a generator: decoded by it; encoded by it, or by what its samples teach.

    part: the user's object.  shape: of one picture.  dimensions: how long a point is.  tail: what a net wants behind them, such as (1, 1).
    """

    part: Any
    shape: tuple[int, ...]
    dimensions: int
    label: str = "generator"
    tail: tuple[int, ...] = ()

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
        if self._own_encoder is None:
            return self._learnt(pictures)
        return self._points(called_part(self._own_encoder, "generator.encode", pictures), len(pictures), "encode")

    def decode(self, latents: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Pictures of points."""
        latents = np.asarray(latents, dtype=np.float64)
        if not len(latents):
            return np.zeros((0, *self.shape), np.uint8)
        return checked_pictures(self._drawn(latents), (len(latents), *self.shape), "generator")

    def _drawn(self, latents: NDArray[np.float64]) -> NDArray[Any]:
        own, net = getattr(self.part, "decode", None), net_function(self.part)
        if callable(own) or net is None:
            return in_bytes(np.asarray(called_part(own if callable(own) else self.part, "generator", latents)), "generator")
        return from_net(net(latents.astype(np.float32).reshape(len(latents), self.dimensions, *self.tail)), "generator")

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Plausible points: the generator's own, or standard normal ones."""
        own = getattr(self.part, "sample", None)
        if not callable(own):
            return rng.standard_normal((n, self.dimensions))
        return self._points(called_part(own, "generator.sample", n, rng), n, "sample")

    def _points(self, given: Any, n: int, how: str) -> NDArray[np.float64]:
        points = np.asarray(given, dtype=np.float64)
        if points.shape != (n, self.dimensions):
            raise WrongAnswer(f"generator.{how} gave an array of shape {points.shape}; expected points, {(n, self.dimensions)}")
        return points

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
    dimensions, tail = _dimensions(part)
    return GeneratorSpace(part, shape, dimensions, label, tail)


def _dimensions(part: Any) -> tuple[int, tuple[int, ...]]:
    """How long a point is, and what follows it: as the generator says, as its file does, as a sample shows, or what a net takes."""
    told = next((getattr(part, name) for name in LATENT_SIDES if isinstance(getattr(part, name, None), int)), None)
    ports = getattr(part, "inputs", ())
    if ports and len(ports[0].shape) in RANKS and isinstance(ports[0].shape[1], int):
        return told or ports[0].shape[1], (1,) * (len(ports[0].shape) - 2)
    if told is None and callable(sample := getattr(part, "sample", None)):
        points = np.asarray(called_part(sample, "generator.sample", 1, np.random.default_rng(0)))
        if points.ndim != min(RANKS):
            raise WrongAnswer(f"generator.sample gave an array of shape {points.shape}; expected points, (n, dimensions), not pictures")
        told = points.shape[1]
    found = _tried(part, told)
    if found is None and told is None:
        raise InvalidArgument("generator: nothing says how long its points are; give it `sample(n, rng)` or an attribute `dimensions`")
    return found or (int(told or 0), ())


def _tried(part: Any, told: int | None) -> tuple[int, tuple[int, ...]] | None:
    """What a torch net takes: of the lengths that its first weights allow, the one for which it draws pictures."""
    net = net_function(part) if is_torch(part) and not callable(getattr(part, "decode", None)) else None
    if net is None:
        return None
    first = next((tuple(one.shape) for one in part.parameters() if one.ndim > 1), ())
    for length in [told] if told else dict.fromkeys(first[1::-1]):  # of a linear layer the second, of one that unfolds maps the first
        for tail in ((), (1, 1)):
            with suppress(ModelFailed):
                if net(np.zeros((2, int(length), *tail), np.float32)).ndim == max(RANKS):
                    return int(length), tail
    return None
