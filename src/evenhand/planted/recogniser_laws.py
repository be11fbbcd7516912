"""Laws by which a simulated recogniser sees objects: fair by construction, whatever else makes objects hard, or with a planted difference.

A law is asked about all objects of all pictures at once and needs no pixels, so that hundreds of recognisers are simulated in seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evenhand.arrays import Mask, Reals, Rows, Scores
from evenhand.contract import Answer, Detection
from evenhand.media.object_facts import ORIGINAL, ObjectFacts, ScenePicture, object_facts
from evenhand.media.scenes import ChangeFacts, Scenes

REACH = 0.08  # of the picture's diagonal: how far an edit is felt


@dataclass(frozen=True)
class Law:
    """Every object has a margin of its own, the same in all pictures; each picture shakes it; a margin below zero is a miss.

    margin, shake: of an object that nothing makes hard.  size: how much harder small objects are.
    near: how much an edit shakes what is near.
    together: how much a picture shakes all its objects alike.  hidden: how much harder covered and crowded objects are.
    unknown: classes that are not in the vocabulary.
    fragile: by class, how many times as often a change loses its objects.  missed: how many times as often they are missed everywhere.
    """

    margin: float = 1.6
    shake: float = 0.7
    size: float = 0.0
    near: float = 0.0
    together: float = 0.0
    hidden: float = 0.0
    unknown: tuple[str, ...] = ()
    fragile: Mapping[str, float] = field(default_factory=dict)
    missed: Mapping[str, float] = field(default_factory=dict)

    def seen(self, facts: ObjectFacts, rng: np.random.Generator) -> Mask:
        """Which entries are recognised; the unchanged pictures must be among them."""
        own = rng.normal(size=int(facts.thing.max()) + 1)[facts.thing]
        level = self._margin(facts)
        level -= self._handicaps(level, facts)
        level += own + self._common(facts, rng) + self.shake * rng.normal(size=len(facts))
        before = np.zeros(int(facts.thing.max()) + 1, bool)
        before[facts.thing[facts.change == ORIGINAL]] = level[facts.change == ORIGINAL] > 0
        for name, factor in self.fragile.items():
            mine = (facts.label == name) & (facts.change != ORIGINAL)
            level[mine] -= _loss_handicap(level[mine & before[facts.thing]], factor) if mine.any() else 0.0
        return (level > 0) & ~np.isin(facts.label, self.unknown)

    def _margin(self, facts: ObjectFacts) -> Reals:
        """What makes an object hard whatever its class."""
        large = np.log(np.maximum(facts.area, 1e-5))
        felt = np.exp(-facts.distance / REACH)
        covered = (1.0 - facts.visible) + 0.4 * facts.crowding
        return np.asarray(self.margin + self.size * np.clip((large + 4.5) / 1.3, -2.0, 2.0) - self.near * felt - self.hidden * covered)

    def _handicaps(self, level: Reals, facts: ObjectFacts) -> Reals:
        """How much less margin a class has, so that it is missed so many times as often on the unchanged pictures."""
        lower = np.zeros(len(facts))
        for name, factor in self.missed.items():
            mine = (facts.label == name) & (facts.change == ORIGINAL)
            lower[facts.label == name] = _handicap(level[mine], np.hypot(1.0, self.shake), factor) if mine.any() else 0.0
        return lower

    def _common(self, facts: ObjectFacts, rng: np.random.Generator) -> Reals:
        """One shake for each picture, and one for each scene."""
        if not self.together:
            return np.zeros(len(facts))
        pictures = facts.scene * (int(facts.change.max()) + 2) + facts.change + 1
        each = rng.normal(size=int(pictures.max()) + 1)[pictures]
        return np.asarray(self.together * (0.7 * each + 0.7 * rng.normal(size=int(facts.scene.max()) + 1)[facts.scene]))


def _handicap(level: Reals, spread: float, factor: float) -> float:
    """By halving: the loss of margin that multiplies the chance of a miss."""
    from scipy.stats import norm

    wanted = min(0.95, factor * float(norm.sf(level / spread).mean()))
    low, high = 0.0, 10.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if norm.sf((level - middle) / spread).mean() < wanted else (low, middle)
    return low


def _loss_handicap(level: Reals, factor: float) -> float:
    """The loss of margin that multiplies the losses of these entries."""
    lost = float((level <= 0).mean()) if len(level) else 0.0
    return max(0.0, float(np.quantile(level, min(0.95, factor * lost)))) if lost else 0.0


def fair_laws(unknown: str) -> dict[str, Law]:
    """Recognisers that treat all classes alike, each with one reason why some objects are harder, and one with all of them."""
    return {
        "plain": Law(),
        "size": Law(size=1.0),
        "near": Law(near=2.0),
        "vocabulary": Law(unknown=(unknown,)),
        "together": Law(together=1.2),
        "occlusion": Law(hidden=3.0),
        "all": Law(2.2, size=1.0, near=2.0, together=1.0, hidden=2.0, unknown=(unknown,)),
    }


SHAKY = Law(1.2, shake=1.0)
"""Loses about one object in seven after a change; the planted differences are sought in it."""


def fragile_law(name: str, law: Law | None = None, factor: float = 2.0) -> Law:
    """The same recogniser, but a change loses objects of one class so many times as often."""
    return replace(law or Law(), fragile={name: factor})


def missing_law(name: str, law: Law | None = None, factor: float = 3.0) -> Law:
    """The same recogniser, but objects of one class are missed so many times as often, changed or not."""
    return replace(law or Law(), missed={name: factor})


def all_pictures(medium: Scenes) -> list[ScenePicture]:
    """Every scene unchanged, and after every change that can be made, null changes included."""
    found = [ScenePicture(place) for place in range(len(medium.scenes))]
    for place in range(len(medium.scenes)):
        for change in range(len(medium.changes)):
            facts = medium.facts(place, change)
            found += [ScenePicture(place, change, facts)] if isinstance(facts, ChangeFacts) else []
    return found


@dataclass(frozen=True, eq=False)
class LawfulRecogniser:
    """A recogniser of a medium's scenes that keeps a law; it tells the true boxes of what it sees, and nothing that was inserted."""

    medium: Scenes
    law: Law
    seed: int = 0

    @cached_property
    def _answers(self) -> dict[tuple[int, int], Answer]:
        pictures = all_pictures(self.medium)
        facts = object_facts(self.medium, pictures)
        seen = self.law.seen(facts, np.random.default_rng(self.seed))
        first = np.cumsum([0, *(len(scene.instances) for scene in self.medium.scenes)])
        answers: dict[tuple[int, int], list[Detection]] = {(one.place, one.change): [] for one in pictures}
        for place, change, thing in zip(facts.scene[seen], facts.change[seen], facts.thing[seen], strict=True):
            one = self.medium.scenes[place].instances[thing - first[place]]
            left, top, right, bottom = map(float, one.box)
            answers[int(place), int(change)].append(Detection(one.label, 1.0, (left, top, right, bottom)))
        return {key: tuple(listed) for key, listed in answers.items()}

    @property
    def classes(self) -> tuple[str, ...]:
        """The medium's."""
        return self.medium.classes

    @property
    def is_hard(self) -> bool:
        """Counts are scores."""
        return False

    def detections(self, rows: Rows) -> list[Answer]:
        """What it sees in each picture."""
        return [self._answers[int(at), int(change) if changed else ORIGINAL] for at, change, changed in rows]

    def scores(self, rows: Rows) -> Scores:
        """Objects by class, (n, classes)."""
        counted = [Counter(self.medium.class_of(one.label) for one in answer) for answer in self.detections(rows)]
        return np.array([[counts[name] for name in self.classes] for counts in counted], float).reshape(len(rows), -1)

    def fingerprint(self) -> str:
        """The law, the seed and the medium."""
        return f"{self.law!r} {self.seed} {self.medium.digest()}"
