"""Classifiers that are not torch modules: ONNX files and plain functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Scores
from evenhand.contract import Pictures
from evenhand.errors import EvenhandError, InvalidArgument, ModelFailed, WrongAnswer, require
from evenhand.models.onnx_session import NUMPY_TYPES, OnnxSession, open_onnx


@dataclass(frozen=True)
class FunctionClassifier:
    """Any function from pictures (n, height, width, 3) between 0 and 255 to its answers, asked in batches.

    An answer is a row of scores per picture, or one number per picture: a class name, the place of a class, or, where there are two
    classes, the probability of the second.
    """

    function: Callable[[Pictures], Any]
    classes: tuple[str, ...]
    batch: int = 256

    def __post_init__(self) -> None:
        if len(self.classes) < 2 or len(set(self.classes)) < len(self.classes):
            raise InvalidArgument(f"classes={self.classes!r} must name at least two different classes")

    def scores(self, pictures: Pictures) -> Scores:
        """Whatever the function says, checked; rows that do not add up to 1 go through softmax."""
        parts = [self._ask(pictures[start : start + self.batch]) for start in range(0, len(pictures), self.batch)]
        answer = np.concatenate(parts) if parts else np.empty((0, len(self.classes)))
        return as_shares(checked(as_rows(answer, self.classes), len(pictures), len(self.classes)))

    def _ask(self, pictures: Pictures) -> NDArray[Any]:
        try:
            answer = np.asarray(self.function(pictures))
        except EvenhandError:
            raise
        except Exception as fault:  # the function is foreign code
            raise ModelFailed(f"the classifier raised {type(fault).__name__}: {fault}") from fault
        if answer.ndim == 0 or len(answer) != len(pictures):
            raise WrongAnswer(
                f"the classifier answered {len(pictures)} pictures with shape {answer.shape}; expected one answer per picture"
            )
        return answer.reshape(len(pictures), -1) if answer.ndim > 2 else answer


def as_rows(answer: NDArray[Any], classes: tuple[str, ...]) -> NDArray[np.float64]:
    """One row of scores per picture, also where the answers are class names, places of classes or one probability."""
    single = answer[:, 0] if answer.ndim == 2 and answer.shape[1] == 1 else answer
    if single.ndim == 1 and len(single) and single.dtype.kind in "USObiu":
        return np.eye(len(classes))[_places(single, classes)]
    try:
        numbers = np.asarray(single, dtype=np.float64)
    except (TypeError, ValueError):
        raise WrongAnswer(f"the classifier answered with {single.dtype} values that are not numbers") from None
    if numbers.ndim == 2 or len(classes) != 2:
        return numbers
    if len(numbers) and not (numbers.min() >= 0.0 and numbers.max() <= 1.0):  # logits of the second class
        numbers = 1.0 / (1.0 + np.exp(-numbers))
    return np.stack([1.0 - numbers, numbers], axis=1)


def _places(said: NDArray[Any], classes: tuple[str, ...]) -> NDArray[np.intp]:
    names = {name: place for place, name in enumerate(classes)}
    found = [
        names.get(str(each), int(each) if not isinstance(each, str) and 0 <= int(each) < len(classes) else -1) for each in said.tolist()
    ]
    if min(found) < 0:
        raise WrongAnswer(f"the classifier answered {said[found.index(-1)]!r}, which is none of the classes {', '.join(classes)}")
    return np.array(found, dtype=np.intp)


@dataclass(frozen=True)
class Preparation:
    """How bytes become a network's input: (value * scale - mean) / deviation per colour; layout and order of colours."""

    size: int
    channels_first: bool = True
    scale: float = 1.0 / 255.0
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    deviation: tuple[float, float, float] = (1.0, 1.0, 1.0)
    blue_first: bool = False
    grey: bool = False  # one channel instead of three

    def __call__(self, pictures: Pictures) -> NDArray[np.float32]:
        """Network input of pictures of any size."""
        values: NDArray[Any] = resized(pictures, self.size).astype(np.float32) * np.float32(self.scale)
        values = (values - np.array(self.mean, np.float32)) / np.array(self.deviation, np.float32)
        values = values[..., ::-1] if self.blue_first else values
        values = values @ np.array([[0.299], [0.587], [0.114]], np.float32) if self.grey else values
        return np.ascontiguousarray(np.moveaxis(values, 3, 1) if self.channels_first else values)


def onnx_classifier(
    file: Path | str, classes: Sequence[str], prepare: Callable[[Pictures], NDArray[np.float32]] | None = None
) -> FunctionClassifier:
    """An ONNX file as a classifier; logits are made to add up to 1.

    Without `prepare`, size, layout and number of channels are read from the file, and values are scaled to 0..1 (or left as bytes where
    the file takes bytes).  A file that takes only so many pictures at once is asked in portions of that size.
    """
    session = open_onnx(file)
    entry, usual = session.inputs[0], 256
    prepared = prepare or preparation_of(entry.shape, entry.type)
    kind, output = NUMPY_TYPES.get(entry.type, np.float32), scores_of(session)

    def ask(pictures: Pictures) -> NDArray[Any]:
        return np.asarray(session.run({entry.name: prepared(pictures).astype(kind, copy=False)}, [output])[0])

    return FunctionClassifier(lambda pictures: session.portions(pictures, ask, usual), tuple(classes), usual)


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


def scores_of(session: OnnxSession) -> str:
    """The output that holds scores: one called probabilities where there are several, else the first."""
    names = [each.name for each in session.outputs]
    return str(next((name for name in names if "prob" in name.lower()), names[0]))


def as_shares(answer: Scores) -> Scores:
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
