"""Whether people of one kind are missed more often than others that are alike in size, place, visibility, crowding and light.

Every attribute that the annotations tell is one question about every value with enough people; one correction covers all of them.  A
value for which nothing is shown is not called fair: what the test would have found is said instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals
from evenhand.claims import Claim
from evenhand.measures.alike_objects import AlikeObjects
from evenhand.measures.object_trials import Trials
from evenhand.measures.object_verdicts import ALONE, NOT_SHOWN, TOO_FEW, WORSE, ObjectRules
from evenhand.media.scene import Instance, Scene
from evenhand.statistics.adjusted import AdjustedGroup, bent
from evenhand.statistics.multiplicity import holm


@dataclass(frozen=True, eq=False)
class PeopleTrials:
    """Annotated people of unchanged pictures: whether each was missed, what is said of them, and the light that they stand in."""

    trials: Trials
    attributes: Sequence[Mapping[str, str]]
    brightness: Reals  # mean of the box, 0 to 1
    contrast: Reals  # spread of the box, 0 to 1
    runs: NDArray[np.intp]  # for each scene, the number of its scene or of its run of film

    def values(self, attribute: str) -> NDArray[np.object_]:
        """What is said of each person; empty where nothing is."""
        return np.array([one.get(attribute, "") for one in self.attributes], dtype=object)


@dataclass(frozen=True)
class PersonAnswer:
    """One value of one attribute."""

    attribute: str
    value: str
    outcome: str
    people: int
    scenes: int
    missed: float
    others: float  # what people of other values that are alike meet
    ratio: float
    p_value: float  # corrected over everything that is said
    power: float  # to find the factor of the rules

    @property
    def sentence(self) -> str:
        """For a reader."""
        whom = f"people with {self.attribute} {self.value!r}"
        many = f"{self.people:,} in {self.scenes:,} scenes"
        if self.outcome == TOO_FEW:
            return f"{whom}: too few to tell whether they are missed more often ({many})"
        if self.outcome == ALONE:
            return f"{whom}: nobody else is told apart in enough numbers to compare them with ({many})"
        told = f"{whom} are missed in {self.missed:.1%} ({many}), others that are alike in {self.others:.1%}"
        beside = f"a factor of {self.ratio:.1f}, corrected p {self.p_value:.2g}"
        if self.outcome == WORSE:
            return f"{told}: {beside}"
        return f"{told}: {beside}; no difference is shown, and a factor of 2 would have been found with {self.power:.0%}"


@dataclass(frozen=True)
class PersonVerdicts:
    """Every value of every attribute, the worst first."""

    answers: tuple[PersonAnswer, ...]
    rules: ObjectRules

    @property
    def blamed(self) -> list[PersonAnswer]:
        """Values that are treated worse, the surest first."""
        return [one for one in self.answers if one.outcome == WORSE]

    def claims(self) -> tuple[Claim, ...]:
        """One for each attribute: a value that is worse off breaks it; it holds where every value was tested with enough power.

        Attributes that could be tested come first.
        """
        tested = {one.attribute for one in self.answers if one.outcome in (WORSE, NOT_SHOWN)}
        names = sorted({one.attribute for one in self.answers}, key=lambda name: (name not in tested, name))
        return tuple(self._claim(name) for name in names)

    def _claim(self, attribute: str) -> Claim:
        mine = [one for one in self.answers if one.attribute == attribute]
        worse = [one.sentence for one in mine if one.outcome == WORSE]
        factor = f"a factor of {self.rules.factor:g} would have been found with"
        holds = f"no {attribute} is missed more often; {factor} {self.rules.power:.0%}"
        return Claim(f"people by {attribute}", "; ".join(worse), self._open(attribute, mine, factor), holds)

    def _open(self, attribute: str, mine: list[PersonAnswer], factor: str) -> str:
        """Why nothing can be said of an attribute; empty where it can."""
        weak = [one.value for one in mine if one.outcome == NOT_SHOWN and one.power < self.rules.power]
        few = [one.value for one in mine if one.outcome == TOO_FEW]
        alone = [one.sentence for one in mine if one.outcome == ALONE]
        told = [f"for {_quoted(weak)} {factor} less than {self.rules.power:.0%}"] if weak else []
        told += [f"{_quoted(few)}: too few people"] if few else []
        begins = f"nobody is shown to be missed more often by {attribute}, but "
        return "; ".join([begins + "; ".join(told)] * bool(told) + alone)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        named = [{"name": f"{one.attribute}: {one.value}", **asdict(one)} for one in self.answers]
        return {"people": named, "rules": asdict(self.rules)}


def _quoted(values: list[str]) -> str:
    return ", ".join(map(repr, values))


@dataclass(frozen=True)
class _TestedValue:
    attribute: str
    value: str
    group: AdjustedGroup


def person_verdicts(people: PeopleTrials, rules: ObjectRules | None = None) -> PersonVerdicts:
    """Every attribute with at least two values, with one correction over all."""
    rules = rules or ObjectRules()
    names = sorted({name for told in people.attributes for name in told})
    tests = [_Attribute(people, name, rules) for name in names]
    found = [entry for test in tests for entry in test.found()]
    corrected: Reals = holm([one.group.p_value for one in found])
    level = rules.level / max(1, len(found))
    by_name = {test.name: test for test in tests}
    answers = [by_name[one.attribute].answer(one, float(p), level) for one, p in zip(found, corrected, strict=True)]
    answers += [answer for test in tests for answer in test.open_ones()]
    order = {WORSE: 0, NOT_SHOWN: 1, ALONE: 2, TOO_FEW: 3}
    return PersonVerdicts(tuple(sorted(answers, key=lambda one: (order[one.outcome], one.p_value, one.attribute, one.value))), rules)


class _Attribute:
    """One question: of whom something is said under this name."""

    def __init__(self, people: PeopleTrials, name: str, rules: ObjectRules) -> None:
        values = people.values(name)
        self.name, self.rules, self.people = name, rules, people
        self.told = values != ""
        self.values = values[self.told]
        self.trials = people.trials.where(self.told)
        self.judged = [value for value in self._known() if self._is_enough(self.values == value)]

    def _known(self) -> list[str]:
        return sorted(set(self.values.tolist()))

    def _scenes(self, mine: Mask) -> int:
        return len(np.unique(self.people.runs[self.trials.facts.scene[mine]]))

    def _is_enough(self, mine: Mask) -> bool:
        return int(mine.sum()) >= self.rules.least_objects and self._scenes(mine) >= self.rules.least_scenes

    @property
    def is_tested(self) -> bool:
        """Whether there are two values to compare, and both misses and hits."""
        return len(self.judged) >= 2 and bool(self.trials.hit.any()) and not bool(self.trials.hit.all())

    def found(self) -> list[_TestedValue]:
        """The test of every value with enough people."""
        if not self.is_tested:
            return []
        _, clusters = np.unique(self.people.runs[self.trials.facts.scene], return_inverse=True)
        light = np.hstack([bent(self.people.brightness[self.told], 2), bent(self.people.contrast[self.told], 1)])
        groups = [self.values == value for value in self.judged]
        found = AlikeObjects(self.trials, clusters.astype(np.intp), further=light).compared(groups, self.rules.factor)
        return [_TestedValue(self.name, value, compared.group) for value, compared in zip(self.judged, found, strict=True)]

    def answer(self, tested: _TestedValue, p_value: float, level: float) -> PersonAnswer:
        """What is said of one value."""
        mine, group = self.values == tested.value, tested.group
        is_worse = p_value <= self.rules.level and group.ratio >= self.rules.least_ratio
        rates = (group.observed / max(1, group.entries), group.expected / max(1, group.entries))
        numbers = (int(mine.sum()), self._scenes(mine))
        outcome = WORSE if is_worse else NOT_SHOWN
        return PersonAnswer(self.name, tested.value, outcome, *numbers, *rates, group.ratio, p_value, group.power(level))

    def open_ones(self) -> list[PersonAnswer]:
        """Values with too few people, or with nobody to compare with."""
        open_values = self._known() if not self.is_tested else [value for value in self._known() if value not in self.judged]
        return [self._untested(value, self.values == value) for value in open_values]

    def _untested(self, value: str, mine: Mask) -> PersonAnswer:
        missed = float(self.trials.hit[mine].mean())
        outcome = ALONE if value in self.judged else TOO_FEW
        return PersonAnswer(self.name, value, outcome, int(mine.sum()), self._scenes(mine), missed, float("nan"), float("nan"), 1.0, 0.0)


def light_of(scene: Scene, one: Instance) -> tuple[float, float]:
    """Mean and spread of the grey levels in an object's box, 0 to 1."""
    left, top, right, bottom = one.box
    grey = scene.picture[top:bottom, left:right].mean(axis=2) / 255
    return float(grey.mean()), float(grey.std())
