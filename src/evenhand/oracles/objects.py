"""A recogniser loses a single object, known by its box, that the change of a scene has not touched.

Stricter than counting: an object that is lost while another one of its class appears elsewhere is lost all the same.  Boxes before and
after the change are matched within a class, the best overlap first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Rows
from evenhand.contract import Answer, Box, Detecting, Detection, Model, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import MissingAbility
from evenhand.limits import InnerShare, ShareBelowOne, check_limits
from evenhand.media.operators.parts.mutated import HIDDEN, Mutation
from evenhand.media.scenes import Scenes
from evenhand.oracles.parts.changed_scenes import NOTHING, ChangedPairs, scenes_behind


@dataclass(frozen=True)
class Objects:
    """Unfair when an object that was recognised before, and that the change has not touched, has no match afterwards.

    overlap: least share of the union of two boxes that both of them cover, for them to show one object.
    least: score below which an object before the change is not held against the recogniser.
    """

    overlap: InnerShare = 0.5
    least: ShareBelowOne = 0.0

    def __post_init__(self) -> None:
        check_limits(self)

    @property
    def words(self) -> str:
        """For a sentence."""
        return "show a change after which the recogniser no longer finds an object that the change has not touched"

    def outcomes(self, model: Model) -> tuple[str, ...]:
        """What the labels stand for: nothing lost, or the class with the most lost objects."""
        return (NOTHING, *(f"lost: {name}" for name in model.classes))

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per scene and change; the gap is the number of lost objects of one class."""
        medium = scenes_behind(model, "objects")
        if not isinstance(model, Detecting):
            raise MissingAbility(
                f"oracle objects needs a recogniser that tells its objects, which {type(model).__name__} does not; use counts"
            )
        pairs = ChangedPairs.of(rows, domain, medium)
        possible = np.flatnonzero(pairs.possible)
        wrong = np.zeros((len(rows), len(model.classes)))
        answers = model.detections(np.vstack([pairs.before[possible], pairs.after[possible]])) if len(possible) else []
        places = {name: k for k, name in enumerate(model.classes)}
        for line, before, after in zip(possible, answers[: len(possible)], answers[len(possible) :], strict=True):
            for one in self._lost(before, after, medium, pairs.after[line]):
                wrong[line, places.get(medium.labels.canonical(one.label), len(places) - 1)] += 1
        return pairs.verdict(wrong)

    def _lost(self, before: Answer, after: Answer, medium: Scenes, row: Rows) -> list[Detection]:
        """Untouched objects of the first answer without a match in the second."""
        made = medium.made(int(row[0]), int(row[1]))
        assert isinstance(made, Mutation)
        touched, canonical = medium.labels.touched(made.label), medium.labels.canonical
        expected = [one for one in before if one.score >= self.least and canonical(one.label) not in touched and not _is_covered(one, made)]
        matched = np.zeros(len(expected), bool)
        for name in {canonical(one.label) for one in expected}:
            mine = [k for k, one in enumerate(expected) if canonical(one.label) == name]
            theirs = [one for one in after if canonical(one.label) == name]
            matched[mine] = self._matched([expected[k] for k in mine], theirs)
        return [one for one, found in zip(expected, matched, strict=True) if not found]

    def _matched(self, before: list[Detection], after: list[Detection]) -> Mask:
        """Which of the first have a partner among the second; objects without boxes match any one left over."""
        found = np.zeros(len(before), bool)
        overlaps = _overlaps(before, after)
        while overlaps.size and overlaps.max() >= self.overlap:
            one, other = np.unravel_index(int(overlaps.argmax()), overlaps.shape)
            found[one] = True
            overlaps[one], overlaps[:, other] = -1.0, -1.0
        return found

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """The scene before and after."""
        return len(domain.combinations)


def _overlaps(before: list[Detection], after: list[Detection]) -> NDArray[np.float64]:
    """Intersection over union of every pair; 1 where a box is not told."""
    return np.array([[_overlap(one.box, other.box) for other in after] for one in before], dtype=np.float64).reshape(
        len(before), len(after)
    )


def _overlap(one: Box | None, other: Box | None) -> float:
    if one is None or other is None:
        return 1.0
    wide, tall = min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])
    shared = max(0.0, wide) * max(0.0, tall)
    return shared / max(_area(one) + _area(other) - shared, 1e-9)


def _area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def _is_covered(one: Detection, made: Mutation) -> bool:
    """Whether the change took most of it away: it shows an object that was covered, or most of its box was painted over."""
    if one.box is None:
        return False
    instances = zip(made.before.instances, made.kept, strict=True)
    if any(share < HIDDEN and _overlap(one.box, tuple(map(float, was.box))) >= 0.5 for was, share in instances):  # type: ignore[arg-type]
        return True
    left, top, right, bottom = (max(0, round(side)) for side in one.box)
    inside = made.changed[top:bottom, left:right] if made.changed is not None else np.zeros((0, 0), bool)
    return bool(inside.size and inside.mean() > HIDDEN)
