"""The embedded recogniser: a small centre-point net, trained here on synthetic streets, run by OpenCV.

Two sets of weights ship with it: `plain`, and `planted`, which learned from data where half of the pictures leave traffic lights unnamed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Answer, Detection
from evenhand.errors import UnknownName, require
from evenhand.media.scene import Picture
from evenhand.media.streets.render import CLASSES
from evenhand.models.recognisers.seen_objects import Suppression

if TYPE_CHECKING:
    from evenhand.models.model_wishes import ObjectSettings

PLANTED_CLASS = "traffic light"
SIZE = (180, 240)  # rows and columns that the net sees
STRIDE = 4
WEIGHTS = ("plain", "planted")


@dataclass(frozen=True)
class StreetRecogniser:
    """Recognises the eleven classes of the synthetic streets."""

    weights: str = "plain"
    suppression: Suppression = field(default_factory=lambda: Suppression(least=0.35, overlap=0.45))

    def __post_init__(self) -> None:
        if self.weights not in WEIGHTS and not Path(self.weights).is_file():
            raise UnknownName("weights of the street recogniser", self.weights, WEIGHTS)

    @classmethod
    def named(cls, told: ObjectSettings) -> Self:
        """By what the caller said about objects."""
        return (
            cls() if told.least is None and told.overlap is None else cls(suppression=Suppression(told.least or 0.35, told.overlap or 0.45))
        )

    @property
    def name(self) -> str:
        """What reports call it."""
        return f"street recogniser ({Path(self.weights).stem})"

    @property
    def names(self) -> tuple[str, ...]:
        """The classes that it knows."""
        return tuple(CLASSES)

    @cached_property
    def _content(self) -> bytes:
        if self.weights in WEIGHTS:
            return (resources.files("evenhand.models.recognisers") / "weights" / f"{self.weights}.onnx").read_bytes()
        return Path(self.weights).read_bytes()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_net"}  # another process loads its own

    @cached_property
    def _net(self) -> Any:
        cv2 = require("cv2", "image")
        return cv2.dnn.readNetFromONNX(np.frombuffer(self._content, np.uint8))

    def fingerprint(self) -> str:
        """A digest of the weights and the thresholds."""
        return hashlib.sha256(self._content + repr(self.suppression).encode()).hexdigest()[:16]

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One pass for each picture."""
        cv2 = require("cv2", "image")
        answers = []
        for picture in pictures:
            shrunk = cv2.resize(picture, SIZE[::-1], interpolation=cv2.INTER_AREA).astype(np.float32) / 255
            self._net.setInput(np.ascontiguousarray(shrunk.transpose(2, 0, 1)[None]))
            answers.append(self.decode(self._net.forward()[0], (picture.shape[0], picture.shape[1])))
        return answers

    def decode(self, maps: NDArray[np.float32], shape: tuple[int, int]) -> Answer:
        """Peaks of the (classes + 2, rows, columns) maps as boxes of a picture of this shape."""
        cv2 = require("cv2", "image")
        heat = 1 / (1 + np.exp(-maps[: len(CLASSES)]))
        peak = np.stack([cv2.dilate(layer, np.ones((3, 3), np.uint8)) for layer in heat])
        classes, rows, columns = np.nonzero((heat == peak) & (heat > self.suppression.least))
        if not len(classes):
            return ()
        scores = heat[classes, rows, columns].astype(np.float32)
        wide, tall = (np.exp(np.clip(maps[len(CLASSES) + axis, rows, columns], -3, 6)) for axis in (0, 1))
        over, down = shape[1] / SIZE[1], shape[0] / SIZE[0]
        x, y = (columns + 0.5) * STRIDE, (rows + 0.5) * STRIDE
        boxes = np.stack([(x - wide / 2) * over, (y - tall / 2) * down, (x + wide / 2) * over, (y + tall / 2) * down], axis=1).astype(
            np.float32
        )
        kept = self.suppression.keep(boxes, scores, classes)
        return tuple(Detection(CLASSES[classes[k]], float(scores[k]), tuple(float(v) for v in boxes[k])) for k in kept)  # type: ignore[arg-type]
