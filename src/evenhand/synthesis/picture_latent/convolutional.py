"""A small convolutional autoencoder as a latent space.  Imported only by code that has torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from evenhand.contract import Pictures
from evenhand.errors import InvalidArgument
from evenhand.media.picture_tensors import to_pictures, to_tensor
from evenhand.synthesis.picture_latent.space import Latents

BATCH = 32
LEAST_STEPS = 700
"""Fewer steps leave a grey blur, however often the few pictures are seen."""


class AutoencoderNet(nn.Module):
    """Three strided convolutions to a vector, and the mirror image back."""

    def __init__(self, size: int, dimensions: int, width: int = 24) -> None:
        super().__init__()
        side = size // 8
        self.into = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, 2 * width, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(2 * width * side * side, dimensions),
        )  # fmt: skip
        self.out = nn.Sequential(
            nn.Linear(dimensions, 2 * width * side * side), nn.ReLU(), nn.Unflatten(1, (2 * width, side, side)),
            nn.ConvTranspose2d(2 * width, 2 * width, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(width, 3, 4, 2, 1),
        )  # fmt: skip

    def forward(self, values: Tensor) -> Tensor:
        """Reconstruction of pictures between -1 and 1."""
        return self.out(self.into(values))  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class AutoencoderSpace:
    """Codes of an autoencoder, whitened by the training codes' mean and covariance so that a standard normal draw is plausible."""

    network: AutoencoderNet
    mean: NDArray[np.float64]
    root: NDArray[np.float64]  # (dimensions, dimensions): whitened to code

    @property
    def name(self) -> str:
        """With its size."""
        return f"autoencoder with {len(self.mean)} dimensions"

    @classmethod
    def fit(
        cls, pictures: Pictures, dimensions: int, rng: np.random.Generator, epochs: int = 10, steps: int = LEAST_STEPS
    ) -> AutoencoderSpace:
        """Train on pictures whose side is a multiple of 8: so many epochs, and more of them where they make too few steps."""
        if pictures.shape[1] != pictures.shape[2] or pictures.shape[1] % 8:
            raise InvalidArgument(f"pictures of {pictures.shape[1:3]} pixels must be square with a side that 8 divides")
        torch.manual_seed(int(rng.integers(2**31)))
        network = AutoencoderNet(pictures.shape[1], dimensions)
        optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)
        for _ in range(max(epochs, -(-steps * BATCH // len(pictures)))):
            order = rng.permutation(len(pictures))
            for start in range(0, len(order), BATCH):
                values = to_tensor(pictures[order[start : start + BATCH]]) / 127.5 - 1.0
                optimiser.zero_grad(set_to_none=True)
                nn.functional.l1_loss(network(values), values).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        codes = _codes(network, pictures)
        return cls(network, codes.mean(axis=0), np.linalg.cholesky(np.cov(codes.T) + 1e-6 * np.eye(dimensions)).astype(np.float64))

    def encode(self, pictures: Pictures) -> Latents:
        """Whitened codes."""
        return np.linalg.solve(self.root, (_codes(self.network, pictures) - self.mean).T).T.astype(np.float64)

    def decode(self, latents: Latents) -> NDArray[np.uint8]:
        """Pictures, clipped to bytes."""
        codes = torch.from_numpy((self.mean + latents @ self.root.T).astype(np.float32))
        with torch.inference_mode():
            pictures = to_pictures((self.network.out(codes) + 1.0) * 127.5)
        return np.clip(np.rint(pictures), 0, 255).astype(np.uint8)

    def sample(self, n: int, rng: np.random.Generator) -> Latents:
        """Standard normal points."""
        return rng.standard_normal((n, len(self.mean)))


def _codes(network: AutoencoderNet, pictures: Pictures) -> NDArray[np.float64]:
    with torch.inference_mode():
        parts = [network.into(to_tensor(pictures[start : start + 200]) / 127.5 - 1.0).numpy() for start in range(0, len(pictures), 200)]
    return np.concatenate(parts).astype(np.float64)
