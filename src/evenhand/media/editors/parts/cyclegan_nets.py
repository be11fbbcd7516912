"""The four small networks of the CycleGAN editor and their losses.  Imported only by code that has torch."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional


def _convolution(source: int, target: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(source, target, 3, stride, 1), nn.GroupNorm(4, target), nn.ReLU())


class Residual(nn.Module):
    """Two convolutions added to what went in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(_convolution(width, width), nn.Conv2d(width, width, 3, 1, 1))

    def forward(self, values: Tensor) -> Tensor:
        """Input plus correction."""
        return values + self.inner(values)  # type: ignore[no-any-return]


class Translator(nn.Module):
    """From pictures of one side to pictures of the other: what it draws is a correction of what it got."""

    def __init__(self, width: int = 16, blocks: int = 2) -> None:
        super().__init__()
        self.enter = _convolution(3, width)
        self.down = _convolution(width, 2 * width, 2)
        self.body = nn.Sequential(*(Residual(2 * width) for _ in range(blocks)))
        self.up = _convolution(2 * width, width)
        self.leave = nn.Conv2d(2 * width, 3, 3, 1, 1)

    def forward(self, pictures: Tensor) -> Tensor:
        """Pictures between -1 and 1 in, the same out."""
        fine = self.enter(pictures)
        coarse = self.up(functional.interpolate(self.body(self.down(fine)), size=fine.shape[2:]))
        corrected: Tensor = pictures + 2.0 * torch.tanh(self.leave(torch.cat([fine, coarse], dim=1)))
        return corrected.clamp(-1.0, 1.0) + 0.01 * (corrected - corrected.clamp(-1.0, 1.0))


class Discriminator(nn.Module):
    """Tells real pictures of a side from translated ones, patch by patch."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for source, target in ((3, width), (width, 2 * width), (2 * width, 4 * width)):
            layers += [nn.Conv2d(source, target, 4, 2, 1), nn.LeakyReLU(0.2)]
        self.body = nn.Sequential(*layers, nn.Conv2d(4 * width, 1, 3, 1, 1))

    def forward(self, pictures: Tensor) -> Tensor:
        """Logits of being real, one per patch."""
        return self.body(pictures)  # type: ignore[no-any-return]


class Quartet(nn.Module):
    """Both translators and both discriminators."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.forwards, self.backwards = Translator(width), Translator(width)
        self.critic_of_second, self.critic_of_first = Discriminator(width), Discriminator(width)

    def translators(self) -> Iterator[nn.Parameter]:
        """What the translators learn."""
        yield from self.forwards.parameters()
        yield from self.backwards.parameters()

    def critics(self) -> Iterator[nn.Parameter]:
        """What the discriminators learn."""
        yield from self.critic_of_second.parameters()
        yield from self.critic_of_first.parameters()


def fooled(logits: Tensor) -> Tensor:
    """Adversarial loss of a translator, in the form that does not fade when the critic wins."""
    return functional.softplus(-logits).mean()


def discerned(real: Tensor, translated: Tensor) -> Tensor:
    """Eq. 2 as the critic's loss."""
    return functional.softplus(-real).mean() + functional.softplus(translated).mean()
