"""Classifiers that are not torch modules: ONNX files and plain functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Scores
from evenhand.errors import InvalidArgument, ModelFailed, WrongAnswer, require
from evenhand.faces.abilities import Pictures


@dataclass(frozen=True)
class FunctionClassifier:
    """Any function from pictures (n, height, width, 3) between 0 and 255 to one row of scores per picture."""

    function: Callable[[Pictures], Any]
    classes: tuple[str, ...]

    def scores(self, pictures: Pictures) -> Scores:
        """Whatever the function says, checked."""
        try:
            answer = np.asarray(self.function(pictures), dtype=np.float64)
        except Exception as fault:  # the function is foreign code
            raise ModelFailed(f"the classifier raised {type(fault).__name__}: {fault}") from fault
        return checked(answer, len(pictures), len(self.classes))


@dataclass(frozen=True)
class Preparation:
    """How bytes become a network's input: layout, scaling, order of colours."""

    size: int
    channels_first: bool = True
    scale: float = 1.0 / 255.0
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    deviation: tuple[float, float, float] = (1.0, 1.0, 1.0)
    blue_first: bool = False

    def __call__(self, pictures: Pictures) -> NDArray[np.float32]:
        """Network input of pictures of any size."""
        values: NDArray[Any] = resized(pictures, self.size).astype(np.float32) * np.float32(self.scale)
        values = (values - np.array(self.mean, np.float32)) / np.array(self.deviation, np.float32)
        values = values[..., ::-1] if self.blue_first else values
        return np.ascontiguousarray(np.moveaxis(values, 3, 1) if self.channels_first else values)


def onnx_classifier(file: Path | str, classes: Sequence[str], prepare: Callable[[Pictures], NDArray[np.float32]]) -> FunctionClassifier:
    """An ONNX file as a classifier; logits are made to add up to 1."""
    runtime = require("onnxruntime", "onnx")
    if not Path(file).exists():
        raise InvalidArgument(f"file={str(file)!r} does not exist")
    session = runtime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    entry, leave = session.get_inputs()[0].name, session.get_outputs()[0].name

    def ask(pictures: Pictures) -> NDArray[np.float64]:
        answer = np.asarray(session.run([leave], {entry: prepare(pictures)})[0], dtype=np.float64).reshape(len(pictures), -1)
        return as_shares(answer)

    return FunctionClassifier(ask, tuple(classes))


def as_shares(answer: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows that already add up to 1 as they are, other rows through softmax."""
    if (answer >= 0).all() and np.allclose(answer.sum(axis=1), 1.0, atol=1e-3):
        return answer
    raised = np.exp(answer - answer.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def checked(answer: NDArray[np.float64], pictures: int, classes: int) -> Scores:
    """Refuse answers of the wrong shape and answers that are not numbers."""
    if answer.shape != (pictures, classes):
        raise WrongAnswer(f"the classifier answered with shape {answer.shape} where ({pictures}, {classes}) was expected")
    if not np.isfinite(answer).all():
        raise WrongAnswer("the classifier answered with values that are not finite")
    return answer


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
