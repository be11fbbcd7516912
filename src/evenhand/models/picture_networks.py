"""Two small torch networks for square colour pictures: one in the manner of VGG, one in the manner of ResNet.

Imported only by code that has torch.  Every readable layer is a submodule named in `readable`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn


def _normalised(pictures: Tensor) -> Tensor:
    return pictures * (1.0 / 64.0) - 2.0


class VggLike(nn.Module):
    """Stacks of 3x3 convolutions and pooling, then two dense layers."""

    readable = ("conv1", "conv2", "conv3", "conv4", "fc6", "fc7")

    def __init__(self, classes: int, size: int = 64, width: int = 16) -> None:
        super().__init__()
        widths = (width, 2 * width, 3 * width, 4 * width)
        sources = (3, *widths[:-1])
        for number, (source, target) in enumerate(zip(sources, widths, strict=True), start=1):
            stride = 2 if number == 1 and size >= 64 else 1
            block = nn.Sequential(nn.Conv2d(source, target, 3, stride, 1), nn.BatchNorm2d(target), nn.ReLU())
            self.add_module(f"conv{number}", block)
        side = (size + 1) // 2 // 8 if size >= 64 else size // 8
        self.pool = nn.MaxPool2d(2)
        self.fc6 = nn.Sequential(nn.Linear(widths[-1] * side * side, 128), nn.ReLU())
        self.fc7 = nn.Sequential(nn.Linear(128, 128), nn.ReLU())
        self.head = nn.Linear(128, classes)

    def forward(self, pictures: Tensor) -> Tensor:
        """Logits."""
        values = _normalised(pictures)
        for number in (1, 2, 3):
            values = self.pool(getattr(self, f"conv{number}")(values))
        values = self.get_submodule("conv4")(values)
        return self.head(self.fc7(self.fc6(values.flatten(1))))  # type: ignore[no-any-return]


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with a short cut."""

    def __init__(self, source: int, target: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(source, target, 3, stride, 1, bias=False), nn.BatchNorm2d(target), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(target, target, 3, 1, 1, bias=False), nn.BatchNorm2d(target))
        self.short = nn.Conv2d(source, target, 1, stride, bias=False) if stride > 1 or source != target else nn.Identity()
        self.out = nn.ReLU()

    def forward(self, values: Tensor) -> Tensor:
        """Short cut plus residual, then ReLU."""
        return self.out(self.second(self.first(values)) + self.short(values))  # type: ignore[no-any-return]


class ResnetLike(nn.Module):
    """A stem, four residual blocks, global mean, one linear layer."""

    readable = ("stem", "block1", "block2", "block3.first", "block3", "block4.first", "block4")

    def __init__(self, classes: int, size: int = 64, width: int = 16) -> None:
        super().__init__()
        stride = 2 if size >= 64 else 1
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.block1 = ResidualBlock(width, 2 * width, 2)
        self.block2 = ResidualBlock(2 * width, 3 * width, 2)
        self.block3 = ResidualBlock(3 * width, 4 * width, 2)
        self.block4 = ResidualBlock(4 * width, 8 * width, 1)
        self.head = nn.Linear(8 * width, classes)

    def forward(self, pictures: Tensor) -> Tensor:
        """Logits."""
        values = self.stem(_normalised(pictures))
        for number in (1, 2, 3, 4):
            values = getattr(self, f"block{number}")(values)
        return self.head(values.mean(dim=(2, 3)))  # type: ignore[no-any-return]


NETWORKS: dict[str, Callable[..., Any]] = {"vgg": VggLike, "resnet": ResnetLike}
