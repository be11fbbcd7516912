"""Principal components of pictures as a latent space: linear, fitted in seconds, no torch needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Pictures
from evenhand.limits import Limit
from evenhand.synthesis.picture_latent.space import Latents


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
        flat = pictures.reshape(len(pictures), -1).astype(np.float64)
        Limit(least=1, below=min(flat.shape), whole=True).check(
            "dimensions", dimensions, hint=", the number of pictures or of their values"
        )
        mean = flat.mean(axis=0)
        flat = flat - mean
        spread, axes = _leading(flat, dimensions, rng)
        deviations = spread / np.sqrt(len(flat))
        explained = float((spread**2).sum() / (flat**2).sum())
        shape = (pictures.shape[1], pictures.shape[2], pictures.shape[3])
        return cls(mean, axes * deviations[:, None], (axes / deviations[:, None]).T, shape, explained)

    def encode(self, pictures: Pictures) -> Latents:
        """Scaled components."""
        return (pictures.reshape(len(pictures), -1).astype(np.float64) - self.mean) @ self.inverse

    def decode(self, latents: Latents) -> NDArray[np.uint8]:
        """Pictures, clipped to bytes."""
        flat = self.mean + latents @ self.axes
        return np.clip(np.rint(flat), 0, 255).astype(np.uint8).reshape(len(latents), *self.shape)

    def sample(self, n: int, rng: np.random.Generator) -> Latents:
        """Standard normal points."""
        return rng.standard_normal((n, len(self.axes)))


def _leading(flat: NDArray[np.float64], dimensions: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest singular values and their right vectors."""
    probe = flat @ (flat.T @ (flat @ rng.standard_normal((flat.shape[1], min(dimensions + 20, len(flat))))))
    basis, _ = np.linalg.qr(probe)
    _, spread, axes = np.linalg.svd(basis.T @ flat, full_matrices=False)
    return spread[:dimensions], axes[:dimensions]
