"""A small GAN as a latent space, trained on the pictures at hand.  Imported only by code that has torch.

Paper: Y. Xiao et al., "Latent Imitator" (LIMI), ISSTA 2023, works in the latent space of a GAN of faces.  This one is made of four layers
each way, with spectral norms in the critic (Miyato et al., 2018) and the hinge loss.  A GAN only samples, so that `encode` is learnt from
samples; its quality is part of the space's name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from evenhand.contract import Pictures
from evenhand.errors import InvalidArgument
from evenhand.media.picture_tensors import to_pictures, to_tensor
from evenhand.models.own_generator import SAMPLES, LearntEncoder
from evenhand.synthesis.picture_latent.space import Latents
from evenhand.values import tell_watcher

BATCH, STEPS, WIDTH = 32, 1_500, 32
DRAWN_AT_ONCE = 100


class GeneratorNet(nn.Module):
    """From points to pictures between -1 and 1: a dense layer and three that double the side.

    The last one gives the four pixels of each place at once (sub-pixel convolution, Shi et al., 2016): a third of the time of a layer on
    the large map, which is what tens of thousands of points cost.
    """

    def __init__(self, size: int, dimensions: int) -> None:
        super().__init__()
        side, wide = size // 8, 4 * WIDTH
        layers: list[nn.Module] = [nn.Linear(dimensions, wide * side * side), nn.Unflatten(1, (wide, side, side)), nn.ReLU()]
        for source, target in ((wide, wide // 2), (wide // 2, wide // 4)):
            layers += [nn.Upsample(scale_factor=2), nn.Conv2d(source, target, 3, 1, 1), nn.GroupNorm(4, target), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.Conv2d(wide // 4, 12, 3, 1, 1), nn.PixelShuffle(2), nn.Tanh())

    def forward(self, points: Tensor) -> Tensor:
        """Pictures of points."""
        return self.body(points)  # type: ignore[no-any-return]


def critic(size: int) -> nn.Module:
    """One number for each picture: how real it looks."""
    layers: list[nn.Module] = []
    for source, target in ((3, WIDTH), (WIDTH, 2 * WIDTH), (2 * WIDTH, 4 * WIDTH)):
        layers += [spectral_norm(nn.Conv2d(source, target, 4, 2, 1)), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Flatten(), spectral_norm(nn.Linear(4 * WIDTH * (size // 8) ** 2, 1)))


@dataclass(frozen=True, eq=False)
class AdversarialSpace:
    """Points of a trained generator; standard normal ones are plausible."""

    network: GeneratorNet
    dimensions: int
    encoder: LearntEncoder

    @property
    def name(self) -> str:
        """With its size, and how well points are read from pictures."""
        return f"GAN with {self.dimensions} dimensions, points read from pictures with R2 = {self.encoder.explained:.2f}"

    @classmethod
    def fit(cls, pictures: Pictures, dimensions: int, rng: np.random.Generator, steps: int = STEPS) -> AdversarialSpace:
        """Train on pictures whose side is a multiple of 8."""
        size = pictures.shape[1]
        if size != pictures.shape[2] or size % 8:
            raise InvalidArgument(f"pictures of {pictures.shape[1:3]} pixels must be square with a side that 8 divides")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**31)))
            network, judge = GeneratorNet(size, dimensions), critic(size)
            drawing, judging = (torch.optim.Adam(part.parameters(), lr=4e-4, betas=(0.5, 0.99)) for part in (network, judge))
            for step in range(steps):
                real = to_tensor(pictures[rng.integers(len(pictures), size=BATCH)]) / 127.5 - 1.0
                drawn = network(torch.randn(BATCH, dimensions))
                told = nn.functional.relu(1.0 - judge(real)).mean() + nn.functional.relu(1.0 + judge(drawn.detach())).mean()
                _descend(judging, told)
                _descend(drawing, -judge(drawn).mean())
                tell_watcher("learning a latent space", step + 1, steps)
        latents = rng.standard_normal((SAMPLES, dimensions))
        return cls(network.eval(), dimensions, LearntEncoder.of(_pictures(network, latents), latents))

    def encode(self, pictures: Pictures) -> Latents:
        """The points that such pictures are drawn from, as far as samples teach it."""
        return self.encoder(pictures)

    def decode(self, latents: Latents) -> NDArray[np.uint8]:
        """Pictures, as bytes."""
        return _pictures(self.network, latents)

    def sample(self, n: int, rng: np.random.Generator) -> Latents:
        """Standard normal points."""
        return rng.standard_normal((n, self.dimensions))


def _descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


def _pictures(network: GeneratorNet, latents: Latents) -> NDArray[np.uint8]:
    """Some at a time."""
    points = torch.from_numpy(np.asarray(latents, dtype=np.float32))
    with torch.inference_mode():
        parts = [
            to_pictures((network(points[at : at + DRAWN_AT_ONCE]) + 1.0) * 127.5) for at in range(0, max(len(points), 1), DRAWN_AT_ONCE)
        ]
    return np.clip(np.rint(np.concatenate(parts)), 0, 255).astype(np.uint8)
