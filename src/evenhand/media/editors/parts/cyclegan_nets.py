"""The four networks of the CycleGAN editor, small ones and the published ones, and their losses.  Imported only by code that has torch."""

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


def _normed(source: int, target: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    """Reflected borders, a convolution, each map normed by itself."""
    return [nn.ReflectionPad2d(kernel // 2), nn.Conv2d(source, target, kernel, stride), nn.InstanceNorm2d(target), nn.ReLU()]


class ResnetBlock(nn.Module):
    """Two normed convolutions added to what went in (Zhu et al., 2017, appendix)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(*_normed(width, width, 3), *_normed(width, width, 3)[:-1])

    def forward(self, values: Tensor) -> Tensor:
        """Input plus correction."""
        return values + self.inner(values)  # type: ignore[no-any-return]


class ResnetTranslator(nn.Module):
    """The published generator: c7s1-64, d128, d256, nine residual blocks, u128, u64, c7s1-3."""

    def __init__(self, width: int = 64, blocks: int = 9) -> None:
        super().__init__()
        down = [*_normed(3, width, 7), *_normed(width, 2 * width, 3, 2), *_normed(2 * width, 4 * width, 3, 2)]
        body: list[nn.Module] = [ResnetBlock(4 * width) for _ in range(blocks)]
        up: list[nn.Module] = []
        for source, target in ((4 * width, 2 * width), (2 * width, width)):
            up += [nn.ConvTranspose2d(source, target, 3, 2, 1, output_padding=1), nn.InstanceNorm2d(target), nn.ReLU()]
        self.body = nn.Sequential(*down, *body, *up, nn.ReflectionPad2d(3), nn.Conv2d(width, 3, 7), nn.Tanh())

    def forward(self, pictures: Tensor) -> Tensor:
        """Pictures between -1 and 1 in, the same out; sides that four does not divide are scaled back."""
        drawn = self.body(pictures)
        is_same = drawn.shape[2:] == pictures.shape[2:]
        return drawn if is_same else functional.interpolate(drawn, size=pictures.shape[2:])


class PatchDiscriminator(nn.Module):
    """The published critic: C64-C128-C256-C512, one logit for every patch of 70 by 70 pixels."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2)]
        for source, target, stride in ((width, 2 * width, 2), (2 * width, 4 * width, 2), (4 * width, 8 * width, 1)):
            layers += [nn.Conv2d(source, target, 4, stride, 1), nn.InstanceNorm2d(target), nn.LeakyReLU(0.2)]
        self.body = nn.Sequential(*layers, nn.Conv2d(8 * width, 1, 4, 1, 1))

    def forward(self, pictures: Tensor) -> Tensor:
        """Logits of being real, one per patch."""
        return self.body(pictures)  # type: ignore[no-any-return]


class Quartet(nn.Module):
    """Both translators and both discriminators; is_published: the large networks of the paper."""

    def __init__(self, width: int, is_published: bool = False) -> None:
        super().__init__()
        translator, critic = (ResnetTranslator, PatchDiscriminator) if is_published else (Translator, Discriminator)
        self.forwards, self.backwards = translator(width), translator(width)
        self.critic_of_second, self.critic_of_first = critic(width), critic(width)

    def translators(self) -> Iterator[nn.Parameter]:
        """What the translators learn."""
        yield from self.forwards.parameters()
        yield from self.backwards.parameters()

    def critics(self) -> Iterator[nn.Parameter]:
        """What the discriminators learn."""
        yield from self.critic_of_second.parameters()
        yield from self.critic_of_first.parameters()


class PicturePool:
    """Translations of the last steps: a critic is shown an older one in half of the cases (Shrivastava et al., 2017)."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.kept: list[Tensor] = []

    def exchanged(self, translated: Tensor) -> Tensor:
        """The same number of translations, some of them older ones; nothing is kept in a pool of size 0."""
        if not self.most:
            return translated
        return torch.stack([self._one(picture) for picture in translated.detach()])

    def _one(self, picture: Tensor) -> Tensor:
        if len(self.kept) < self.most:
            self.kept.append(picture)
            return picture
        if torch.rand(()) < 0.5:
            return picture
        place = int(torch.randint(self.most, ()))
        older, self.kept[place] = self.kept[place], picture
        return older


def fooled(logits: Tensor) -> Tensor:
    """Adversarial loss of a translator, in the form that does not fade when the critic wins."""
    return functional.softplus(-logits).mean()


def discerned(real: Tensor, translated: Tensor) -> Tensor:
    """Eq. 2 as the critic's loss."""
    return functional.softplus(-real).mean() + functional.softplus(translated).mean()
