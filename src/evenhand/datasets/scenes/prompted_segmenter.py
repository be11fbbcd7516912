"""A box-prompted segmenter that the user brings: the encoder and decoder of Segment Anything and its kin (MobileSAM, SAM2) in ONNX.

No weights come with the package; each net has its own licence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.datasets.scenes.bare_pictures import Points, PromptedMask
from evenhand.errors import DataError, WrongAnswer, require
from evenhand.media.scene import Picture, PixelBox
from evenhand.models.onnx_session import NUMPY_TYPES, OnnxSession, open_onnx

MEAN, SPREAD = np.array([123.675, 116.28, 103.53], np.float32), np.array([58.395, 57.12, 57.375], np.float32)
SIDE = 1024  # pixels of the longer side where the encoder does not fix it
AWAY, ON, CORNERS, NOTHING = 0.0, 1.0, (2.0, 3.0), -1.0  # what the decoder calls points beside and on a thing, a box's corners, and padding


@dataclass(frozen=True, eq=False)
class Prompt:
    """Points of a picture (column, row), and what each of them means to the decoder."""

    points: Points
    meanings: Sequence[float]


@dataclass(frozen=True, eq=False)
class _Encoded:
    """What the encoder tells of a picture, and by how much the picture was enlarged for it."""

    scale: float
    told: Mapping[str, Any]


@dataclass(frozen=True)
class PromptedSegmenter:
    """Encodes a picture once, and decodes a mask for each box."""

    encoder: Path
    decoder: Path
    _encoded: dict[bytes, _Encoded] = field(default_factory=dict, init=False, repr=False, compare=False)  # the last picture's

    @classmethod
    def from_yaml(cls, path: Path) -> PromptedSegmenter | None:
        """From the keys `encoder` and `decoder`, files beside it; None where the file describes a net of another kind."""
        import yaml

        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or not {"encoder", "decoder"} & set(content):
            return None
        if set(content) != {"encoder", "decoder"}:
            raise DataError(
                f"{path}: a segmenter that takes boxes has the keys encoder and decoder; got {', '.join(sorted(map(str, content)))}"
            )
        return cls(path.parent / str(content["encoder"]), path.parent / str(content["decoder"]))

    @cached_property
    def _nets(self) -> tuple[OnnxSession, OnnxSession]:
        return open_onnx(self.encoder), open_onnx(self.decoder)

    def __call__(self, picture: Picture, boxes: Sequence[PixelBox]) -> list[PromptedMask]:
        """One mask for each box, the decoder's best."""
        return [self._decoded(picture, Prompt(np.array(box, np.float32).reshape(2, 2), CORNERS)) for box in boxes]

    def around(self, picture: Picture, on: Points, away: Points) -> PromptedMask:
        """The mask of whatever these points (column, row) lie on, without what the others lie on."""
        points = np.concatenate([on.reshape(-1, 2), away.reshape(-1, 2), np.zeros((1, 2))]).astype(np.float32)
        return self._decoded(picture, Prompt(points, (*[ON] * len(on), *[AWAY] * len(away), NOTHING)))

    def _encoding(self, picture: Picture) -> _Encoded:
        key = hashlib.blake2b(picture.tobytes(), digest_size=16).digest()
        if key not in self._encoded:
            encoder = self._nets[0]
            source = encoder.inputs[0]
            side = next((one for one in source.shape if isinstance(one, int) and one > 3), SIDE)
            scale = side / max(picture.shape[:2])
            answers = encoder.run({source.name: self._view(picture, scale, side, source.shape)})
            self._encoded.clear()
            self._encoded[key] = _Encoded(scale, dict(zip((port.name for port in encoder.outputs), answers, strict=False)))
        return self._encoded[key]

    @staticmethod
    def _view(picture: Picture, scale: float, side: int, shape: Sequence[Any]) -> NDArray[np.float32]:
        """Channels first: normalised and padded below and to the right; channels last: as it is, for encoders that do that themselves."""
        cv2 = require("cv2", "image")
        size = round(picture.shape[1] * scale), round(picture.shape[0] * scale)
        shrunk = cv2.resize(picture, size, interpolation=cv2.INTER_LINEAR).astype(np.float32)
        if shape[-1] == 3:
            return np.asarray(shrunk[None] if len(shape) == 4 else shrunk, np.float32)
        canvas = np.zeros((side, side, 3), np.float32)
        canvas[: size[1], : size[0]] = (shrunk - MEAN) / SPREAD
        return np.asarray(canvas.transpose(2, 0, 1)[None], np.float32)

    def _decoded(self, picture: Picture, prompt: Prompt) -> PromptedMask:
        cv2 = require("cv2", "image")
        decoder, encoded = self._nets[1], self._encoding(picture)
        told = encoded.told
        known: dict[str, Any] = {
            "point_coords": (prompt.points * encoded.scale)[None],
            "point_labels": np.array([prompt.meanings], np.float32),
            "mask_input": np.zeros((1, 1, 256, 256), np.float32),
            "has_mask_input": np.zeros(1, np.float32),
            "orig_im_size": np.array(picture.shape[:2]),
        }
        names = {port.name for port in decoder.inputs}
        known |= {name: value for name, value in told.items() if name in names}
        rest = iter(value for name, value in told.items() if name not in names)  # exports that call one thing by two names keep its order
        feed = {port.name: known[port.name] if port.name in known else next(rest, None) for port in decoder.inputs}
        missing = [name for name, value in feed.items() if value is None]
        if missing:
            raise WrongAnswer(f"{self.decoder.name} asks for {', '.join(missing)}, which {self.encoder.name} does not tell")
        typed = {port.name: np.asarray(feed[port.name]).astype(NUMPY_TYPES.get(port.type, np.float32)) for port in decoder.inputs}
        answers = [np.asarray(part) for part in decoder.run(typed)]
        masks, marks = next((part for part in answers if part.ndim == 4), None), next((part for part in answers if part.ndim == 2), None)
        if masks is None or marks is None:
            raise WrongAnswer(
                f"{self.decoder.name} answered with shapes {[part.shape for part in answers]}; masks and their quality are expected"
            )
        best = int(marks[0].argmax())
        drawn = masks[0, best].astype(np.float32)
        if "orig_im_size" not in names:  # the decoder does not know where the picture ends and the padding begins
            tall, wide = (round(size * part / max(picture.shape[:2])) for size, part in zip(drawn.shape, picture.shape[:2], strict=True))
            drawn = np.ascontiguousarray(drawn[: max(1, tall), : max(1, wide)])
        mask = cv2.resize(drawn, picture.shape[1::-1], interpolation=cv2.INTER_LINEAR) > 0
        return PromptedMask(mask, float(marks[0, best]))
