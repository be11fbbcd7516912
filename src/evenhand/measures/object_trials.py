"""Objects one by one before and after a change: what was at risk, what was lost, and what may explain it beside the class.

At risk of a loss is what the recogniser itself named before the change, unless the change touched its class or covered it.  At risk of a
miss is every annotated object of an unchanged picture.  Boxes are matched within a class, the best overlap first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals
from evenhand.contract import Answer, Detection, Model
from evenhand.measures.average_precision import RankedBox, taken_by_score
from evenhand.measures.harmed_pictures import HarmedPicture
from evenhand.measures.object_shifts import ObjectShift
from evenhand.media.object_facts import ORIGINAL, BoxFacts, ObjectFacts, ScenePicture, box_facts, film_runs, object_facts
from evenhand.media.operators.parts.mutated import HIDDEN
from evenhand.media.parts.marked_boxes import MarkedBox
from evenhand.media.scenes import Scenes

OVERLAP = 0.5
PART_OVERLAP = 0.3
"""Least overlap with a box of a class that the object also shows: a cyclist's person is smaller than the cyclist."""


@dataclass(frozen=True, eq=False)
class Trials:
    """Entries at risk and what became of them."""

    facts: ObjectFacts
    hit: Mask  # lost, or missed
    null: Mask  # by a null change
    operator: NDArray[np.object_] = field(repr=False)

    def __len__(self) -> int:
        return len(self.hit)

    def where(self, chosen: Mask) -> Trials:
        """The chosen entries."""
        return Trials(self.facts.where(chosen), self.hit[chosen], self.null[chosen], self.operator[chosen])


@dataclass(frozen=True, eq=False)
class ObjectTrials:
    """Everything that is judged of one recogniser: losses after changes, and misses on the unchanged pictures."""

    losses: Trials
    misses: Trials
    runs: NDArray[np.intp]  # for each scene, the number of its scene or of its run of film
    gains: dict[str, int] = field(default_factory=dict)  # objects that only a changed picture showed, by class
    named: dict[str, int] = field(default_factory=dict)  # objects that the recogniser named on the unchanged pictures
    right: dict[str, int] = field(default_factory=dict)  # and how many of them are annotated
    is_annotated: bool = True  # whether misses can be told
    shifts: tuple[ObjectShift, ...] = ()  # of what was at risk of a loss, where boxes are told
    ranked: tuple[RankedBox, ...] = ()  # all boxes told on the unchanged pictures
    harmed: tuple[HarmedPicture, ...] = ()  # changed pictures in which something at risk was lost, null changes aside


def trials_of_law(medium: Scenes, facts: ObjectFacts, seen: Mask, touched: Mask, runs: NDArray[np.intp] | None = None) -> ObjectTrials:
    """From which objects were recognised, told object by object; `touched` marks entries whose class the change touched.

    runs: the number of each scene's run of film, where it is known already.
    """
    original = facts.change == ORIGINAL
    before = np.zeros(int(facts.thing.max()) + 1, bool)
    before[facts.thing[original]] = seen[original]
    at_risk = ~original & before[facts.thing] & ~touched
    losses, misses = facts.where(at_risk), facts.where(original)
    names = operators_of(medium, facts.change)
    null = np.array([medium.is_null(k) for k in range(len(medium.changes))] + [False])[facts.change]
    return ObjectTrials(
        Trials(losses, ~seen[at_risk], null[at_risk], names[at_risk]),
        Trials(misses, ~seen[original], null[original], names[original]),
        film_runs(medium.scenes) if runs is None else runs,
    )


def operators_of(medium: Scenes, changes: NDArray[np.intp]) -> NDArray[np.object_]:
    """The operator of each change; empty for unchanged pictures."""
    return np.array([*(one.operator for one in medium.changes), ""], dtype=object)[changes]


def touched_by_change(medium: Scenes, facts: ObjectFacts, pictures: Sequence[ScenePicture]) -> Mask:
    """Entries whose class the change alters by itself, or that it covers."""
    by_picture = {(one.place, one.change): one.made.touched if one.made else frozenset() for one in pictures}
    keys = zip(facts.scene, facts.change, facts.label, strict=True)
    touched = np.array([label in by_picture[int(place), int(change)] for place, change, label in keys], dtype=bool)
    whole = object_facts(medium, [ScenePicture(place) for place in range(len(medium.scenes))])
    visible = np.ones(int(max(facts.thing.max(), whole.thing.max())) + 1)
    visible[whole.thing] = whole.visible
    return touched | (facts.visible < HIDDEN * visible[facts.thing])


def trials_of_answers(medium: Scenes, model: Model, pictures: Sequence[ScenePicture]) -> ObjectTrials:
    """From a recogniser's own boxes; the unchanged picture of every scene must be among the pictures."""
    rows = np.array([(one.place, max(one.change, 0), one.change != ORIGINAL) for one in pictures], float).reshape(-1, 3)
    answers = dict(zip(((one.place, one.change) for one in pictures), model.detections(rows), strict=True))  # type: ignore[attr-defined]
    runs = film_runs(medium.scenes)
    read = _AnswerReader(medium, answers, runs)
    losses = [read.losses(one) for one in pictures if one.change != ORIGINAL]
    misses = [read.misses(one) for one in pictures if one.change == ORIGINAL]
    return ObjectTrials(
        _joined(losses), _joined(misses), runs, read.gains, read.named, read.right, medium.is_annotated,
        tuple(read.shifts), tuple(read.ranked), tuple(read.harmed),
    )  # fmt: skip


def _joined(parts: Sequence[Trials]) -> Trials:
    if not parts:
        codes, none = np.array([], np.intp), np.array([])
        empty = ObjectFacts(np.array([], object), codes, codes, codes, none, none, none, none, none, none, none)
        return Trials(empty, np.array([], bool), np.array([], bool), np.array([], object))
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in ("hit", "null", "operator")]
    return Trials(ObjectFacts.join([part.facts for part in parts]), *columns)


@dataclass(frozen=True, eq=False)
class _AnswerReader:
    """Matches the boxes of one recogniser's answers, picture by picture."""

    medium: Scenes
    answers: dict[tuple[int, int], Answer]
    runs: NDArray[np.intp]
    gains: dict[str, int] = field(default_factory=dict)
    named: dict[str, int] = field(default_factory=dict)
    right: dict[str, int] = field(default_factory=dict)
    shifts: list[ObjectShift] = field(default_factory=list)
    ranked: list[RankedBox] = field(default_factory=list)
    harmed: list[HarmedPicture] = field(default_factory=list)

    def losses(self, shown: ScenePicture) -> Trials:
        """What was named before and is at risk, and whether it is gone."""
        before, after = self.answers[shown.place, ORIGINAL], self.answers[shown.place, shown.change]
        assert shown.made is not None
        labels = np.array([self.medium.class_of(one.label) for one in before], dtype=object)
        later = np.array([self.medium.class_of(one.label) for one in after], dtype=object)
        partner = matched(before, after, _same(labels, later), OVERLAP)
        facts = self._facts(shown, before, labels)
        at_risk = (facts.visible > 0) & np.array([label not in shown.made.touched for label in labels], bool)
        taken = set(partner[partner >= 0].tolist())
        for place, label in enumerate(later):
            if place not in taken and label not in shown.made.touched:
                self.gains[label] = self.gains.get(label, 0) + 1
        passage = _Passage(before, after, labels, later, partner)
        self.shifts.extend(self._shifts(shown, passage, np.flatnonzero(at_risk)))
        if not self.medium.is_null(shown.change) and (at_risk & (partner < 0)).any():
            self.harmed.append(passage.harmed(shown, at_risk & (partner < 0)))
        null = np.full(len(before), self.medium.is_null(shown.change))
        every = Trials(facts, partner < 0, null, operators_of(self.medium, facts.change))
        return every.where(at_risk)

    def _shifts(self, shown: ScenePicture, passage: _Passage, at_risk: NDArray[np.intp]) -> list[ObjectShift]:
        """What became of each object at risk, short of being lost without a trace."""
        run, null = int(self.runs[shown.place]), self.medium.is_null(shown.change)
        overlaps, another = _overlaps(passage.before, passage.after), passage.renamed()
        found = []
        for place in at_risk.tolist():
            label, now = str(passage.labels[place]), int(passage.partner[place])
            if now < 0:
                found.append(ObjectShift(label, run, null, str(passage.later[another[place]]) if another[place] >= 0 else ""))
                continue
            first, second = passage.before[place], passage.after[now]
            drift = None if first.box is None or second.box is None else float(1 - overlaps[place, now])
            found.append(ObjectShift(label, run, null, "", first.score - second.score, drift))
        return found

    def _facts(self, shown: ScenePicture, before: Answer, labels: NDArray[np.object_]) -> ObjectFacts:
        """By the recogniser's own boxes; how visible a box is comes from the annotated object that it shows, 0 where that is covered."""
        scene = self.medium.scenes[shown.place]
        whole = object_facts(self.medium, [ScenePicture(shown.place)])
        now = object_facts(self.medium, [shown])
        places = [k for k, one in enumerate(scene.instances) if one.counted]
        boxes = np.array([scene.instances[k].box for k in places], float).reshape(-1, 4)
        truth = [Detection(str(label), 1.0, (box[0], box[1], box[2], box[3])) for label, box in zip(whole.label, boxes, strict=True)]
        partner = matched(before, truth, np.ones((len(before), len(truth)), bool), OVERLAP)
        visible = np.where(now.visible < HIDDEN * whole.visible, 0.0, now.visible)
        share = np.array([visible[k] if k >= 0 else 1.0 for k in partner], float)
        own = np.array([_corners(one, labels[k], boxes, whole.label, scene.shape) for k, one in enumerate(before)], float).reshape(-1, 4)
        return box_facts(scene, shown, BoxFacts(labels, np.arange(len(before), dtype=np.intp), own, share))

    def misses(self, shown: ScenePicture) -> Trials:
        """Every annotated object, and whether no box shows it."""
        facts, answer = object_facts(self.medium, [shown]), self.answers[shown.place, ORIGINAL]
        scene = self.medium.scenes[shown.place]
        boxes = [tuple(map(float, one.box)) for one in scene.instances if one.counted]
        truth = [Detection(str(label), 1.0, box) for label, box in zip(facts.label, boxes, strict=True)]  # type: ignore[arg-type]
        said = np.array([self.medium.class_of(one.label) for one in answer], dtype=object)
        exact = matched(truth, answer, _same(facts.label, said), OVERLAP)
        shows = [self.medium.labels.touched(str(label)) for label in facts.label]
        parts = np.array([[name in also for name in said] for also in shows], bool).reshape(len(truth), len(answer))
        partner = np.where(exact >= 0, exact, matched(truth, answer, parts, PART_OVERLAP))
        hits = set(partner[partner >= 0].tolist())
        self.ranked.extend(_ranked(answer, said, _Objects(truth, facts, parts), scene.shape))
        for place, label in enumerate(said):
            self.named[label] = self.named.get(label, 0) + 1
            self.right[label] = self.right.get(label, 0) + (place in hits)
        return Trials(facts, partner < 0, np.zeros(len(truth), bool), operators_of(self.medium, facts.change))


@dataclass(frozen=True, eq=False)
class _Passage:
    """One picture's answers before and after a change, by class, and which box of the second continues which of the first."""

    before: Answer
    after: Answer
    labels: NDArray[np.object_]
    later: NDArray[np.object_]
    partner: NDArray[np.intp]

    def harmed(self, shown: ScenePicture, lost: Mask) -> HarmedPicture:
        """The picture with its boxes on both sides; lost ones are marked on the first."""
        before = tuple(MarkedBox(one.box, bool(gone)) for one, gone in zip(self.before, lost, strict=True) if one.box is not None)
        after = tuple(MarkedBox(one.box) for one in self.after if one.box is not None)
        return HarmedPicture(shown.place, shown.change, Counter(self.labels[lost].tolist()), before, after)

    def renamed(self) -> NDArray[np.intp]:
        """For each lost box a box of another class in its place that continues no other; -1 without."""
        boxes = np.array([one.box is not None for one in self.before], bool)
        free = np.ones(len(self.after), bool)
        free[self.partner[self.partner >= 0]] = False
        allowed = ((self.partner < 0) & boxes)[:, None] & (free & np.array([one.box is not None for one in self.after], bool))[None]
        return matched(self.before, self.after, allowed & ~_same(self.labels, self.later), OVERLAP)


@dataclass(frozen=True, eq=False)
class _Objects:
    """The annotated objects of one picture, and which told box may show a part of which of them, (objects, boxes)."""

    boxes: Sequence[Detection]
    facts: ObjectFacts
    parts: Mask


def _ranked(answer: Answer, said: NDArray[np.object_], objects: _Objects, shape: tuple[int, int]) -> list[RankedBox]:
    """Every told box with its score, and whether it shows an object that no better box shows; what shows a part of one is left out."""
    if not answer or any(one.box is None for one in answer):
        return []
    overlaps = _overlaps(objects.boxes, answer)
    own = np.where(_same(objects.facts.label, said), overlaps, -1.0)
    taken = taken_by_score(np.array([one.score for one in answer]), own.T, OVERLAP)
    is_part = ((overlaps >= PART_OVERLAP) & objects.parts & (own < 0)).any(axis=0)
    found = []
    for place in np.flatnonzero((taken >= 0) | ~is_part):
        k = int(taken[place])
        area = float(objects.facts.area[k]) if k >= 0 else _area(answer[place], shape)
        found.append(RankedBox(str(said[place]), answer[place].score, k >= 0, area))
    return found


def _area(one: Detection, shape: tuple[int, int]) -> float:
    """The share of the picture that a box takes."""
    left, top, right, bottom = one.box or (0.0, 0.0, 0.0, 0.0)
    return (right - left) * (bottom - top) / (shape[0] * shape[1])


def _same(first: NDArray[np.object_], second: NDArray[np.object_]) -> Mask:
    return np.array([[one == other for other in second] for one in first], bool).reshape(len(first), len(second))


def _corners(
    one: Detection, label: str, boxes: Reals, names: NDArray[np.object_], shape: tuple[int, int]
) -> tuple[float, float, float, float] | Reals:
    """The recogniser's box; where it tells none, the mean box of the annotated objects of the class, or the middle of the picture."""
    if one.box is not None:
        return one.box
    mine = boxes[names == label]
    return mine.mean(axis=0) if len(mine) else np.array([0.4 * shape[1], 0.4 * shape[0], 0.6 * shape[1], 0.6 * shape[0]])


def matched(first: Sequence[Detection], second: Sequence[Detection], allowed: Mask, least: float) -> NDArray[np.intp]:
    """For each of the first its partner among the second, the best overlap first; -1 without.  Where no box is told, any one will do."""
    partner = np.full(len(first), -1, np.intp)
    if not first or not second:
        return partner
    overlaps = np.where(allowed, _overlaps(first, second), -1.0)
    order = np.dstack(np.unravel_index(np.argsort(-overlaps, axis=None, kind="stable"), overlaps.shape))[0]
    used: set[int] = set()
    for one, other in order[: int((overlaps >= least).sum())]:
        if partner[one] < 0 and int(other) not in used:
            partner[one] = other
            used.add(int(other))
    return partner


def _overlaps(first: Sequence[Detection], second: Sequence[Detection]) -> Reals:
    """Intersection over union of every pair; 1 where a box is not told."""
    here, there = (np.array([one.box or (np.nan,) * 4 for one in part], float).reshape(-1, 4) for part in (first, second))
    corners = np.minimum(here[:, None, 2:], there[None, :, 2:]) - np.maximum(here[:, None, :2], there[None, :, :2])
    shared = np.prod(np.maximum(corners, 0.0), axis=2)
    areas = [np.prod(np.maximum(part[:, 2:] - part[:, :2], 0.0), axis=1) for part in (here, there)]
    return np.asarray(np.nan_to_num(shared / np.maximum(areas[0][:, None] + areas[1][None] - shared, 1e-9), nan=1.0))
