"""Principal components of pictures as a latent space: linear, fitted in seconds, no torch needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Pictures
from evenhand.limits import Limit
from evenhand.synthesis.picture_latent.space import Latents

AT_ONCE = 4 << 20
"""Numbers that are held at once beside the pictures."""


@dataclass(frozen=True, eq=False)
class PcaSpace:
    """Components scaled to unit variance, so that a standard normal draw is a plausible point."""

    mean: NDArray[np.float64]  # (pixels,)
    axes: NDArray[np.float64]  # (dimensions, pixels), each scaled by its standard deviation
    inverse: NDArray[np.float64]  # (pixels, dimensions)
    shape: tuple[int, int, int]
    explained: float

    @property
    def name(self) -> str:
        """With its size and what it keeps."""
        return f"PCA with {len(self.axes)} dimensions ({self.explained:.1%} of the variance)"

    @classmethod
    def fit(cls, pictures: Pictures, dimensions: int, rng: np.random.Generator) -> PcaSpace:
        """The leading components, by randomised projection."""
        flat = Centred.of(pictures)
        Limit(least=1, below=min(flat.shape), whole=True).check(
            "dimensions", dimensions, hint=", the number of pictures or of their values"
        )
        mean = flat.mean
        spread, axes = _leading(flat, dimensions, rng)
        deviations = spread / np.sqrt(len(pictures))
        explained = float((spread**2).sum() / flat.squares())
        shape = (pictures.shape[1], pictures.shape[2], pictures.shape[3])
        return cls(mean, axes * deviations[:, None], (axes / deviations[:, None]).T, shape, explained)

    def encode(self, pictures: Pictures) -> Latents:
        """Scaled components."""
        points = np.empty((len(pictures), len(self.axes)))
        for part in self._parts(len(pictures)):
            points[part] = (pictures[part].reshape(-1, len(self.mean)).astype(np.float64) - self.mean) @ self.inverse
        return points

    def decode(self, latents: Latents) -> NDArray[np.uint8]:
        """Pictures, clipped to bytes."""
        drawn = np.empty((len(latents), len(self.mean)), np.uint8)
        for part in self._parts(len(latents)):
            drawn[part] = np.clip(np.rint(self.mean + latents[part] @ self.axes), 0, 255)
        return drawn.reshape(len(latents), *self.shape)

    def _parts(self, count: int) -> list[slice]:
        """Few enough pictures at once that their numbers take little memory."""
        step = max(1, AT_ONCE // len(self.mean))
        return [slice(at, at + step) for at in range(0, count, step)]

    def sample(self, n: int, rng: np.random.Generator) -> Latents:
        """Standard normal points."""
        return rng.standard_normal((n, len(self.axes)))


@dataclass(frozen=True, eq=False)
class Centred:
    """Pictures as rows of numbers around their mean; turned into numbers a few columns at a time, because bytes take an eighth."""

    flat: NDArray[Any]  # (n, pixels), as the pictures came
    mean: NDArray[np.float64]

    @classmethod
    def of(cls, pictures: Pictures) -> Centred:
        """These pictures."""
        flat = pictures.reshape(len(pictures), -1)
        return cls(flat, flat.mean(axis=0, dtype=np.float64))

    @property
    def shape(self) -> tuple[int, ...]:
        """Pictures, and values of each."""
        return self.flat.shape

    def _columns(self) -> Iterator[slice]:
        step = max(1, AT_ONCE // len(self.flat))
        yield from (slice(at, at + step) for at in range(0, self.flat.shape[1], step))

    def _at(self, columns: slice) -> NDArray[np.float64]:
        part: NDArray[np.float64] = self.flat[:, columns].astype(np.float64) - self.mean[columns]
        return part

    def times(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """This times a matrix."""
        total: NDArray[np.float64] = np.sum([self._at(columns) @ right[columns] for columns in self._columns()], axis=0)
        return total

    def transposed_times(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """The transpose times a matrix."""
        return np.concatenate([self._at(columns).T @ right for columns in self._columns()])

    def squares(self) -> float:
        """The sum of all squares."""
        return float(sum((self._at(columns) ** 2).sum() for columns in self._columns()))


def _leading(flat: Centred, dimensions: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest singular values and their right vectors."""
    count, values = flat.shape
    probe = flat.times(flat.transposed_times(flat.times(rng.standard_normal((values, min(dimensions + 20, count))))))
    basis, _ = np.linalg.qr(probe)
    _, spread, axes = np.linalg.svd(flat.transposed_times(basis).T, full_matrices=False)
    return spread[:dimensions], axes[:dimensions]
