"""What a recogniser answers: objects with a label, a score and, when it tells, a box."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Answer, Detection
from evenhand.contract import Recogniser as Recogniser
from evenhand.errors import EvenhandError, InvalidArgument, ModelFailed, WrongAnswer, require
from evenhand.media.scene import Picture
from evenhand.media.vocabulary import Labels


@dataclass(frozen=True)
class Function:
    """A Python function from one picture to labels, (label, score) pairs, or detections."""

    function: Callable[[Picture], Sequence[Any]]
    name: str = "function"
    version: str = ""

    def fingerprint(self) -> str:
        """Name and version: a function cannot be read."""
        return f"function:{self.name}:{self.version}"

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One call for each picture."""
        answers = []
        for picture in pictures:
            try:
                raw = self.function(picture)
            except EvenhandError:
                raise
            except Exception as fault:  # foreign code: whatever it raises is the recogniser's failure
                raise ModelFailed(f"recogniser {self.name!r} raised {type(fault).__name__}: {fault}") from fault
            if isinstance(raw, str | Mapping) or not isinstance(raw, Iterable):
                raise WrongAnswer(
                    f"recogniser {self.name!r} answered {raw!r}; expected a list of objects, an empty one when nothing is seen"
                )
            answers.append(tuple(as_detection(one, self.name) for one in raw))
        return answers


def as_detection(raw: Any, name: str) -> Detection:
    """A detection from whatever a function returned for one object."""
    if isinstance(raw, Detection):
        return raw
    if isinstance(raw, str):
        return Detection(raw)
    try:
        if isinstance(raw, tuple | list) and raw and isinstance(raw[0], str):
            score = float(raw[1]) if len(raw) > 1 else 1.0
            box = tuple(float(value) for value in raw[2]) if len(raw) > 2 and raw[2] is not None else None
            if box is None or len(box) == 4:
                return Detection(raw[0], score, box)
    except (TypeError, ValueError):
        pass  # said below, with what came
    raise WrongAnswer(f"recogniser {name!r} answered {raw!r}; expected a label, (label, score), (label, score, box) or a Detection")


def seen_counts(answer: Answer, labels: Labels) -> Counter[str]:
    """Objects of each canonical class in an answer."""
    return labels.counts(one.label for one in answer)


@dataclass(frozen=True)
class Suppression:
    """Which boxes are kept: a least score, and how far two boxes of a class may overlap."""

    least: float = 0.4
    overlap: float = 0.5
    most: int = field(default=100)

    def __post_init__(self) -> None:
        if not 0 < self.least < 1 or not 0 < self.overlap < 1:
            raise InvalidArgument(f"least={self.least!r} and overlap={self.overlap!r} must lie strictly between 0 and 1")

    def keep(self, boxes: NDArray[np.float32], scores: NDArray[np.float32], classes: NDArray[np.intp]) -> list[int]:
        """Positions of the kept boxes (left, top, right, bottom), best first, class by class."""
        cv2 = require("cv2", "image")
        if not len(boxes):
            return []
        flat = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
        kept = cv2.dnn.NMSBoxesBatched(flat.tolist(), scores.tolist(), classes.tolist(), self.least, self.overlap)
        return [int(place) for place in np.asarray(kept).ravel()[: self.most]]
