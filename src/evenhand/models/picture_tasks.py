"""What else is asked about pictures of people, as functions that `wrap` takes: whether two show one person, whether a face is found, many
labels at once, a class by the nearest embedding.  Each turns a callable of the user's into scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Reals, Scores
from evenhand.contract import Pictures
from evenhand.errors import InvalidArgument, WrongAnswer
from evenhand.limits import InnerShare, check_limits

SURE = 0.95
"""The score of an answer that is yes or no."""


@dataclass(frozen=True, eq=False)
class Verifier:
    """Whether the two halves of a picture show one person: the cosine of their embeddings is at least `threshold`.

    embed: from pictures (n, height, width, 3) to vectors (n, dimensions).  threshold: of the cosine.

    >>> both = np.zeros((1, 4, 8, 3), np.uint8)
    >>> Verifier(lambda pictures: np.ones((len(pictures), 2)), threshold=0.5)(both)
    array([[0.05, 0.95]])
    """

    embed: Callable[[Pictures], Any]
    threshold: float

    def __call__(self, pictures: Pictures) -> Scores:
        """Scores of `different` and `same`."""
        half = pictures.shape[2] // 2
        first, second = (_unit(_vectors(self.embed, side)) for side in (pictures[:, :, :half], pictures[:, :, half:]))
        return _yes_or_no((first * second).sum(axis=1) >= self.threshold)


@dataclass(frozen=True, eq=False)
class ZeroShot:
    """The class whose vector, such as the embedding of its prompt, is nearest to the picture's embedding.

    embed: from pictures to vectors.  vectors: one for each class.  warmth: what cosines are multiplied by before they become shares.

    >>> net = ZeroShot(lambda pictures: pictures.reshape(len(pictures), -1)[:, :2].astype(float), {"red": [1, 0], "green": [0, 1]})
    >>> net(np.full((1, 1, 1, 3), [9, 0, 0], np.uint8)).round(2)
    array([[1., 0.]])
    """

    embed: Callable[[Pictures], Any]
    vectors: Mapping[str, Sequence[float]]
    warmth: float = 100.0

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return tuple(self.vectors)

    def __call__(self, pictures: Pictures) -> Scores:
        """Shares of the classes, in the order of `vectors`."""
        anchors = _unit(np.array([list(vector) for vector in self.vectors.values()], dtype=np.float64))
        found = _unit(_vectors(self.embed, pictures))
        if found.shape[1] != anchors.shape[1]:
            raise WrongAnswer(f"embeddings of pictures have {found.shape[1]} numbers and those of the classes {anchors.shape[1]}")
        cosines = self.warmth * (found @ anchors.T)
        warm = np.exp(cosines - cosines.max(axis=1, keepdims=True))
        shares: Scores = warm / warm.sum(axis=1, keepdims=True)
        return shares


@dataclass(frozen=True, eq=False)
class FaceFinder:
    """Whether a detector finds the face in the middle of each picture.

    detect: from pictures to a list of boxes (left, top, right, bottom, in pixels) for each.  overlap: with the middle half of the picture,
    as a share of it, that a box must have to count as the face.

    >>> FaceFinder(lambda pictures: [[(0, 0, 4, 4)], []])(np.zeros((2, 4, 4, 3), np.uint8)).argmax(axis=1)
    array([1, 0])
    """

    detect: Callable[[Pictures], Any]
    overlap: InnerShare = 0.5

    def __post_init__(self) -> None:
        check_limits(self)

    def __call__(self, pictures: Pictures) -> Scores:
        """Scores of `missed` and `found`."""
        answers = list(self.detect(pictures))
        if len(answers) != len(pictures):
            raise WrongAnswer(f"the detector answered {len(answers)} times to {len(pictures)} pictures; expected a list of boxes for each")
        height, width = pictures.shape[1:3]
        return _yes_or_no(np.array([self._has_face(boxes, height, width) for boxes in answers], dtype=bool))

    def _has_face(self, boxes: Any, height: int, width: int) -> bool:
        for left, top, right, bottom in (tuple(float(value) for value in box[:4]) for box in boxes):
            across = min(right, 0.75 * width) - max(left, 0.25 * width)
            down = min(bottom, 0.75 * height) - max(top, 0.25 * height)
            if across > 0 and down > 0 and across * down >= self.overlap * 0.25 * height * width:
                return True
        return False


@dataclass(frozen=True, eq=False)
class ManyLabels:
    """A function that says several labels of each picture at once; one of them is the data's label, the others are measured beside it.

    function: from pictures to probabilities of yes, (n, labels).  names: of the labels, as the album calls them.  main: the data's label.

    >>> net = ManyLabels(lambda pictures: np.full((len(pictures), 2), [0.9, 0.2]), ("Smiling", "Young"), main="Young")
    >>> net(np.zeros((1, 4, 4, 3), np.uint8))
    array([[0.8, 0.2]])
    """

    function: Callable[[Pictures], Any]
    names: tuple[str, ...]
    main: str

    def __post_init__(self) -> None:
        if self.main not in self.names:
            raise InvalidArgument(f"main={self.main!r} must be one of the labels {', '.join(self.names)}")

    def every(self, pictures: Pictures) -> Reals:
        """Probabilities of yes, (n, labels)."""
        found = np.asarray(self.function(pictures), dtype=np.float64)
        if found.shape != (len(pictures), len(self.names)):
            raise WrongAnswer(
                f"the function answered with shape {found.shape}; expected ({len(pictures)}, {len(self.names)}): one for each label"
            )
        return found

    def __call__(self, pictures: Pictures) -> Scores:
        """No and yes of the main label."""
        yes = self.every(pictures)[:, self.names.index(self.main)]
        return np.column_stack([1 - yes, yes])


def _vectors(embed: Callable[[Pictures], Any], pictures: Pictures) -> Reals:
    found = np.asarray(embed(pictures), dtype=np.float64)
    if found.ndim != 2 or len(found) != len(pictures):
        raise WrongAnswer(f"the embedding answered {len(pictures)} pictures with shape {found.shape}; expected one vector for each")
    return found


def _unit(vectors: Reals) -> Reals:
    lengths: Reals = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-300)


def _yes_or_no(yes: Any) -> Scores:
    sure = np.where(yes, SURE, 1 - SURE)
    return np.column_stack([1 - sure, sure]).round(12)
