"""How pictures become what a network takes: size, scale, order of colours, layout.  Knows no runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Pictures
from evenhand.errors import InvalidArgument, require

GREY = (0.299, 0.587, 0.114)
"""What red, green and blue weigh in a grey value."""


@dataclass(frozen=True)
class Preparation:
    """How bytes become a network's input: (value * scale - mean) / deviation per colour; layout and order of colours."""

    size: int | None = None  # None: as large as they are
    channels_first: bool = True
    scale: float = 1.0 / 255.0
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    deviation: tuple[float, float, float] = (1.0, 1.0, 1.0)
    blue_first: bool = False
    grey: bool = False  # one channel instead of three

    def __call__(self, pictures: Pictures) -> NDArray[np.float32]:
        """Network input of pictures of any size."""
        values: NDArray[Any] = (pictures if self.size is None else resized(pictures, self.size)).astype(np.float32) * np.float32(self.scale)
        values = (values - np.array(self.mean, np.float32)) / np.array(self.deviation, np.float32)
        values = values[..., ::-1] if self.blue_first else values
        values = values @ np.array(GREY, np.float32)[:, None] if self.grey else values
        return np.ascontiguousarray(np.moveaxis(values, 3, 1) if self.channels_first else values)


def preparation_of(shape: Sequence[Any], kind: str = "tensor(float)") -> Preparation:
    """What an ONNX file's input asks for, as far as its shape says."""
    sizes = [each if isinstance(each, int) else 0 for each in shape]
    if len(sizes) != 4:
        raise InvalidArgument(
            f"the ONNX file takes input of shape {list(shape)}; expected (n, channels, height, width) or (n, height, width, channels)"
        )
    first = sizes[3] not in (1, 3) or sizes[1] in (1, 3)
    side, channels = (sizes[2], sizes[1]) if first else (sizes[1], sizes[3])
    return Preparation(side or 64, channels_first=first, scale=1.0 if kind == "tensor(uint8)" else 1.0 / 255.0, grey=channels == 1)


def resized(pictures: Pictures, size: int) -> Pictures:
    """Pictures scaled to a square of this side; by area when pixels divide evenly, else by pillow."""
    height, width = pictures.shape[1:3]
    if (height, width) == (size, size):
        return pictures
    if height == width and height % size == 0:
        block = height // size
        return np.asarray(pictures.reshape(len(pictures), size, block, size, block, 3).mean(axis=(2, 4), dtype=np.float32))
    image = require("PIL.Image", "image")
    scaled = [np.asarray(image.fromarray(one.astype(np.uint8)).resize((size, size), image.Resampling.BILINEAR)) for one in pictures]
    return np.stack(scaled)
