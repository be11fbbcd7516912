"""Learned inpainters from a user's ONNX file: whole pipelines on bytes (MI-GAN), or nets on a fixed square of floats (LaMa)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import InvalidArgument, WrongAnswer, require
from evenhand.media.scene import Picture, Stencil


@dataclass(frozen=True)
class OnnxInpainter:
    """Fills holes with a net of two inputs, picture and mask; which kind it is is read from the file."""

    path: Path
    threads: int = 1

    def __post_init__(self) -> None:
        if not Path(self.path).is_file():
            raise InvalidArgument(f"path={str(self.path)!r} is not a file")

    @cached_property
    def _session(self) -> Any:
        runtime = require("onnxruntime", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.log_severity_level = 3
        return runtime.InferenceSession(str(self.path), options, providers=["CPUExecutionProvider"])

    def __call__(self, picture: Picture, hole: Stencil) -> Picture:
        """The picture with its hole filled."""
        inputs = self._session.get_inputs()
        if len(inputs) != 2:
            raise WrongAnswer(f"{self.path} has {len(inputs)} inputs; an inpainter has two: picture and mask")
        filled = self._bytes(picture, hole, inputs) if "uint8" in inputs[0].type else self._floats(picture, hole, inputs)
        return np.asarray(np.where(hole[..., None], filled, picture), np.uint8)

    def _bytes(self, picture: Picture, hole: Stencil, inputs: Any) -> Picture:
        """MI-GAN's pipeline: 0 marks the hole, 255 what is known."""
        mask = np.where(hole, 0, 255).astype(np.uint8)[None, None]
        answer = self._session.run(None, {inputs[0].name: picture.transpose(2, 0, 1)[None], inputs[1].name: mask})[0]
        return np.asarray(answer[0].transpose(1, 2, 0), np.uint8)

    def _floats(self, picture: Picture, hole: Stencil, inputs: Any) -> Picture:
        """LaMa: pixels from 0 to 1 on a square, 1 marks the hole; the answer is from 0 to 1 or to 255."""
        cv2 = require("cv2", "image")
        rows, columns = (side if isinstance(side, int) else 512 for side in inputs[0].shape[2:])
        shrunk = cv2.resize(picture, (columns, rows), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
        mask = cv2.resize(hole.astype(np.uint8), (columns, rows), interpolation=cv2.INTER_NEAREST).astype(np.float32)
        answer = self._session.run(None, {inputs[0].name: shrunk.transpose(2, 0, 1)[None], inputs[1].name: mask[None, None]})[0][
            0
        ].transpose(1, 2, 0)
        answer = answer * 255 if answer.max() <= 1.5 else answer
        return np.asarray(cv2.resize(np.clip(answer, 0, 255), picture.shape[1::-1], interpolation=cv2.INTER_CUBIC).clip(0, 255), np.uint8)
