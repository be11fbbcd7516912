"""Learned inpainters that a user brings: whole pipelines on bytes (MI-GAN), or nets on a fixed square of floats (LaMa).

The net comes opened: `models.onnx_session.open_onnx(path)` makes one of an ONNX file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.contract import Net, Port
from evenhand.errors import WrongAnswer, require
from evenhand.media.scene import Picture, Stencil


@dataclass(frozen=True)
class NetInpainter:
    """Fills holes with a net of two inputs, picture and mask; which kind it is is read from what it takes."""

    net: Net

    def __post_init__(self) -> None:
        if len(self.net.inputs) != 2:
            raise WrongAnswer(f"the inpainter has {len(self.net.inputs)} inputs; an inpainter has two: picture and mask")

    def __call__(self, picture: Picture, hole: Stencil) -> Picture:
        """The picture with its hole filled."""
        inputs = self.net.inputs
        filled = self._bytes(picture, hole, inputs) if "uint8" in inputs[0].type else self._floats(picture, hole, inputs)
        return np.asarray(np.where(hole[..., None], filled, picture), np.uint8)

    def _bytes(self, picture: Picture, hole: Stencil, inputs: Sequence[Port]) -> Picture:
        """MI-GAN's pipeline: 0 marks the hole, 255 what is known."""
        mask = np.where(hole, 0, 255).astype(np.uint8)[None, None]
        answer = self.net.run({inputs[0].name: picture.transpose(2, 0, 1)[None], inputs[1].name: mask})[0]
        return np.asarray(answer[0].transpose(1, 2, 0), np.uint8)

    def _floats(self, picture: Picture, hole: Stencil, inputs: Sequence[Port]) -> Picture:
        """LaMa: pixels from 0 to 1 on a square, 1 marks the hole; the answer is from 0 to 1 or to 255."""
        cv2 = require("cv2", "image")
        rows, columns = (inputs[0].side(place, free=512) for place in (2, 3))
        shrunk = cv2.resize(picture, (columns, rows), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
        mask = cv2.resize(hole.astype(np.uint8), (columns, rows), interpolation=cv2.INTER_NEAREST).astype(np.float32)
        (answer, *_) = self.net.run({inputs[0].name: shrunk.transpose(2, 0, 1)[None], inputs[1].name: mask[None, None]})
        answer = answer[0].transpose(1, 2, 0)
        answer = answer * 255 if answer.max() <= 1.5 else answer
        return np.asarray(cv2.resize(np.clip(answer, 0, 255), picture.shape[1::-1], interpolation=cv2.INTER_CUBIC).clip(0, 255), np.uint8)
