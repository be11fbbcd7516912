"""What is done with recognised objects: counting them by class, and keeping the best of boxes that overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Answer, Detection
from evenhand.errors import require
from evenhand.limits import Count, Limit, check_limits
from evenhand.media.vocabulary import SYNONYMS, Labels

OpenShare: TypeAlias = Annotated[float, Limit(above=0, below=1)]
USUAL_LABELS = Labels()


def seen_counts(answer: Answer, labels: Labels) -> Counter[str]:
    """Objects of each canonical class in an answer."""
    return labels.counts(one.label for one in answer)


SAME_THING = 0.85
"""Overlap from which two boxes with related labels are one object."""


def one_for_each(found: Sequence[Detection], parents: Mapping[str, Collection[str]] | None = None) -> Answer:
    """Objects that a service names several times (Person, Adult, Man on one box), each once.

    The name of a known class is kept (a Vehicle that is a Car is a Car), else the most general one.

    parents: the more general labels of each label, where the service tells them; else labels that mean one class are related.

    >>> box = (10.0, 10.0, 50.0, 90.0)
    >>> [one.label for one in one_for_each([Detection("Man", 0.9, box), Detection("Person", 0.8, box), Detection("Hat", 0.7, box)])]
    ['Person', 'Hat']
    """
    above = {label: set(names) for label, names in (parents or {}).items()}
    general = sorted(found, key=lambda one: (one.label.lower() not in SYNONYMS, len(above.get(one.label, ())), -one.score))
    kept: list[Detection] = []
    for one in general:
        at = next(
            (k for k, other in enumerate(kept) if _related(one.label, other.label, above) and _overlap(one, other) >= SAME_THING), None
        )
        if at is None:
            kept.append(one)
        else:
            kept[at] = replace(kept[at], score=max(kept[at].score, one.score))
    return tuple(sorted(kept, key=lambda one: -one.score))


def named_once(whole: Sequence[Detection], boxed: Collection[str], parents: Mapping[str, Collection[str]]) -> Answer:
    """Labels of a whole picture that mean a known class, each class once, without those that an object with a box tells already.

    >>> [one.label for one in named_once([Detection("Man", 0.9), Detection("Person", 0.9), Detection("Street", 0.9)], ["Car"], {})]
    ['Person']
    """
    above = {label: set(names) for label, names in parents.items()}
    kept: list[Detection] = []
    for one in sorted(whole, key=lambda each: (each.label.lower() not in SYNONYMS, len(above.get(each.label, ())), -each.score)):
        known = USUAL_LABELS.canonical(one.label) in SYNONYMS
        if known and not any(_related(one.label, other, above) for other in (*boxed, *(each.label for each in kept))):
            kept.append(one)
    return tuple(kept)


def _related(one: str, other: str, above: Mapping[str, Collection[str]]) -> bool:
    is_above = other in above.get(one, ()) or one in above.get(other, ())
    return is_above or USUAL_LABELS.canonical(one) == USUAL_LABELS.canonical(other)


def _overlap(one: Detection, other: Detection) -> float:
    """Intersection over union; a label without a box is no object of its own."""
    if one.box is None or other.box is None:
        return 0.0
    here, there = np.array(one.box), np.array(other.box)
    shared = float(np.prod(np.maximum(np.minimum(here[2:], there[2:]) - np.maximum(here[:2], there[:2]), 0.0)))
    return shared / max(float(np.prod(here[2:] - here[:2]) + np.prod(there[2:] - there[:2])) - shared, 1e-9)


@dataclass(frozen=True)
class Suppression:
    """Which boxes are kept: a least score, and how far two boxes of a class may overlap."""

    least: OpenShare = 0.4
    overlap: OpenShare = 0.5
    most: Count = 100

    def __post_init__(self) -> None:
        check_limits(self)

    def keep(self, boxes: NDArray[np.float32], scores: NDArray[np.float32], classes: NDArray[np.intp]) -> list[int]:
        """Positions of the kept boxes (left, top, right, bottom), best first, class by class."""
        cv2 = require("cv2", "image")
        if not len(boxes):
            return []
        flat = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
        kept = cv2.dnn.NMSBoxesBatched(flat.tolist(), scores.tolist(), classes.tolist(), self.least, self.overlap)
        return [int(place) for place in np.asarray(kept).ravel()[: self.most]]
