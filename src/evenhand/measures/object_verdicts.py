"""How each class of objects is treated beside others that are alike in size, place, visibility and nearness to the edit.

Two questions, one correction over all their answers: are its objects lost more often after a change elsewhere, and are they missed more
often on the unchanged pictures?  A class for which neither is shown is not called fair: what the test would have found is said instead.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from evenhand.arrays import Reals
from evenhand.limits import Count, Share, check_limits
from evenhand.measures.alike_objects import AlikeObjects, ComparedGroup
from evenhand.measures.average_precision import average_precision
from evenhand.measures.object_shifts import ShiftRow, shift_rows
from evenhand.measures.object_trials import ObjectTrials, Trials
from evenhand.media.object_facts import ObjectFacts
from evenhand.statistics.multiplicity import holm

LOST, MISSED = "lost", "missed"
WORSE, NOT_SHOWN, NEVER, TOO_FEW, ALONE = "treated worse", "not shown", "never recognised", "too few", "nothing to compare"
PLACE_IS_OPEN = " (it goes away where the place in the picture is adjusted for with bends, so that place may be the reason)"
SIZES = ("small", "medium", "large")


@dataclass(frozen=True)
class ObjectRules:
    """Levels of the verdict on objects.

    level: chance that anybody is blamed although all classes are treated alike.
    least_objects, least_scenes: a class with fewer is not judged.
    factor, power: a class is settled when a difference of this factor would have been found with this chance.
    least_ratio: a difference that is smaller is not held against a recogniser, however sure it is.
    """

    level: Share = 0.05
    least_objects: Count = 10
    least_scenes: Count = 8
    factor: float = 2.0
    power: Share = 0.8
    least_ratio: float = 1.2

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True)
class ClassAnswer:
    """One class and one question."""

    label: str
    question: str  # lost or missed
    outcome: str
    objects: int  # distinct ones
    scenes: int
    trials: int
    hits: int
    rate: float
    others: float  # what objects of other classes that are alike meet
    ratio: float
    p_value: float  # corrected over everything that is said
    power: float  # to find the factor of the rules
    null: float | None = None  # the same rate under null changes, matched in place and size
    low: float | None = None  # bounds of the ratio, corrected as the p-value is: the lower one is above 1 where the test finds a difference
    high: float | None = None
    is_place_open: bool = False  # a difference stands with place as a line only, so that place may be the reason

    @property
    def sentence(self) -> str:
        """For a reader."""
        many = f"{self.objects:,} object{'s' * (self.objects != 1)} in {self.scenes:,} scene{'s' * (self.scenes != 1)}"
        if self.outcome == NEVER:
            return f"class {self.label!r} is never recognised (0 of {many})"
        if self.outcome == TOO_FEW:
            return f"class {self.label!r}: too few to tell whether it is {self.question} more often ({many})"
        if self.outcome == ALONE:
            return f"class {self.label!r}: no other class has enough objects to tell whether it is {self.question} more often ({many})"
        when = "after changes elsewhere" if self.question == LOST else "in the unchanged pictures"
        told = f"class {self.label!r} is {self.question} {when} in {self.rate:.1%} of {self.trials:,} chances ({many})"
        beside = f"comparable others in {self.others:.1%}: a factor of {self.ratio:.1f}{self._bounds}, corrected p {self.p_value:.2g}"
        calm = f"; under matched null changes {self.null:.1%}" if self.null is not None else ""
        if self.outcome == WORSE:
            return f"{told}, {beside}{calm}{self._hidden}"
        place = PLACE_IS_OPEN if self.is_place_open else ""
        known = f"a factor of 2 would have been found with a chance of {self.power:.0%}"
        return f"{told}, {beside}{calm}; no difference is shown{place}, and {known}"

    @property
    def hidden_factor(self) -> float | None:
        """How strongly something unmeasured would have to go with the class, and with losses, to explain the lower bound away.

        The E-value of VanderWeele and Ding (2017): both as ratios of frequencies.
        """
        return self.low + (self.low * (self.low - 1)) ** 0.5 if self.low is not None and self.low > 1 else None

    @property
    def _hidden(self) -> str:
        if self.hidden_factor is None:
            return ""
        doing = "losses" if self.question == LOST else "misses"
        factor = f"by a factor of {self.hidden_factor:.1f} each"
        return f"; to explain that away, a reason that was not measured would have to go with the class and with {doing} {factor}"

    @property
    def _bounds(self) -> str:
        return f" ({self.low:.1f} to {self.high:.1f})" if self.low is not None and self.high is not None else ""


@dataclass(frozen=True)
class LevelRow:
    """How well one class is recognised on the unchanged pictures."""

    label: str
    objects: int
    recall: float
    by_size: dict[str, float | None]
    precision: float | None
    average_precision: float | None  # at an overlap of one half; None where the recogniser tells no boxes
    average_precision_by_size: dict[str, float | None]
    above_mean_error: bool  # the paper's rule on the originals: misses above the mean of all classes


@dataclass(frozen=True, eq=False)
class ObjectVerdicts:
    """Every class under both questions, the worst first."""

    answers: tuple[ClassAnswer, ...]
    levels: tuple[LevelRow, ...]
    gains: dict[str, int] = field(default_factory=dict)
    rules: ObjectRules = field(default_factory=ObjectRules)
    shifts: tuple[ShiftRow, ...] = ()

    @property
    def blamed(self) -> list[ClassAnswer]:
        """Classes that are treated worse, the surest first."""
        return [one for one in self.answers if one.outcome == WORSE]

    def unfair_names(self) -> list[str]:
        """Their names, each once."""
        return list(dict.fromkeys(one.label for one in self.blamed))

    def of(self, label: str) -> list[ClassAnswer]:
        """The answers about one class."""
        return [one for one in self.answers if one.label == label]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "answers": [{**asdict(one), "sentence": one.sentence} for one in self.answers],
            "levels": [asdict(one) for one in self.levels],
            "gained": dict(self.gains),
            "shifts": [one.as_dict() for one in self.shifts],
            "rules": asdict(self.rules),
        }


@dataclass(frozen=True)
class TestedClass:
    """One question about one class, tested."""

    question: str
    label: str
    compared: ComparedGroup

    @property
    def p_value(self) -> float:
        """Of this question alone."""
        return self.compared.group.p_value


def object_verdicts(trials: ObjectTrials, rules: ObjectRules | None = None) -> ObjectVerdicts:
    """Both questions for every class, with one correction."""
    rules = rules or ObjectRules()
    never = _never(trials.misses)
    asked = (LOST, MISSED) if trials.is_annotated else (LOST,)
    tests = {question: _Question(question, trials, rules, never) for question in asked}
    found = [entry for test in tests.values() for entry in test.found()]
    corrected: Reals = holm([one.p_value for one in found])
    level = rules.level / max(1, len(found))
    answers = [tests[one.question].answer(one, float(p), level) for one, p in zip(found, corrected, strict=True)]
    answers += [answer for test in tests.values() for answer in test.open_ones()]
    order = {WORSE: 0, NOT_SHOWN: 1, NEVER: 2, ALONE: 3, TOO_FEW: 4}
    answers.sort(key=lambda one: (order[one.outcome], one.p_value, -one.ratio if one.ratio == one.ratio else 0.0))
    levels = _levels(trials) if trials.is_annotated else ()
    return ObjectVerdicts(tuple(answers), levels, dict(trials.gains), rules, shift_rows(trials.shifts))


def _never(misses: Trials) -> frozenset[str]:
    """Classes of the data of which no object is recognised."""
    names = set(misses.facts.label.tolist())
    return frozenset(name for name in names if misses.hit[misses.facts.label == name].all())


class _Question:
    """One question about all classes."""

    def __init__(self, name: str, trials: ObjectTrials, rules: ObjectRules, never: frozenset[str]) -> None:
        every = trials.losses if name == LOST else trials.misses
        self.name, self.rules, self.never = name, rules, never
        usable = ~np.isin(every.facts.label, list(never))
        self.every, self.runs = every, trials.runs
        self.null = every.where(usable & every.null)
        self.tried = every.where(usable & ~every.null)
        self.judged = [label for label in sorted(set(self.tried.facts.label.tolist())) if self._is_enough(label)]

    def _is_enough(self, label: str) -> bool:
        objects, scenes = self._counts(self.tried, label)
        return objects >= self.rules.least_objects and scenes >= self.rules.least_scenes

    def _counts(self, trials: Trials, label: str) -> tuple[int, int]:
        """Distinct objects, and scenes or runs of film."""
        mine = trials.facts.label == label
        things = set(zip(trials.facts.scene[mine].tolist(), trials.facts.thing[mine].tolist(), strict=True))
        return len(things), len(np.unique(self.runs[trials.facts.scene[mine]]))

    def found(self) -> list[TestedClass]:
        """The test of every class that has enough objects; none where there are no two classes to compare."""
        if len(self.judged) < 2 or not self.tried.hit.any() or self.tried.hit.all():
            return []
        facts = self.tried.facts
        _, clusters = np.unique(self.runs[facts.scene], return_inverse=True)
        _, things = np.unique(np.stack([facts.scene, facts.thing]), axis=1, return_inverse=True)
        objects = AlikeObjects(self.tried, clusters.astype(np.intp), things.ravel().astype(np.intp))
        found = objects.compared([facts.label == label for label in self.judged], self.rules.factor)
        return [TestedClass(self.name, label, compared) for label, compared in zip(self.judged, found, strict=True)]

    def answer(self, tested: TestedClass, p_value: float, level: float) -> ClassAnswer:
        """What is said of one class; the power is that at this level, which is what the correction leaves to one test."""
        label, group = tested.label, tested.compared.group
        objects, scenes = self._counts(self.tried, label)
        rate = group.observed / max(1, group.entries)
        low, high = _around(group.ratio, group.bounds(_own_level(group.p_value, p_value, self.rules.level, level)))
        is_worse = p_value <= self.rules.level and group.ratio >= self.rules.least_ratio
        return ClassAnswer(
            label,
            self.name,
            WORSE if is_worse else NOT_SHOWN,
            objects,
            scenes,
            group.entries,
            group.observed,
            rate,
            group.expected / max(1, group.entries),
            group.ratio,
            p_value,
            group.power(level),
            _matched_null(self.tried, self.null, label) if self.name == LOST else None,
            low if np.isfinite(high) else None,
            high if np.isfinite(high) else None,
            tested.compared.is_place_open(level),
        )

    def open_ones(self) -> list[ClassAnswer]:
        """Classes that are never recognised, told once, those with too few objects, and one that there is nothing to compare with."""
        found = []
        for label in sorted(set(self.every.facts.label.tolist())):
            if label in self.never and self.name == MISSED:
                found.append(self._untested(label, NEVER))
            elif label not in self.never and label not in self.judged:
                found.append(self._untested(label, TOO_FEW))
            elif label not in self.never and (len(self.judged) < 2 or not self.tried.hit.any()):
                found.append(self._untested(label, ALONE if len(self.judged) < 2 else NOT_SHOWN))
        return found

    def _untested(self, label: str, outcome: str) -> ClassAnswer:
        objects, scenes = self._counts(self.every, label)
        mine = self.every.facts.label == label
        hits, n = int(self.every.hit[mine].sum()), int(mine.sum())
        return ClassAnswer(label, self.name, outcome, objects, scenes, n, hits, hits / max(1, n), float("nan"), float("nan"), 1.0, 0.0)


def _around(ratio: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Bounds that hold the ratio: those of the score may lie beside it where a class is alike to few others."""
    low, high = bounds
    return (min(low, ratio), max(high, ratio)) if np.isfinite(ratio) else bounds


def _own_level(p_value: float, corrected: float, level: float, least: float) -> float:
    """The level that the correction leaves to one test, so that its bounds say what the corrected p-value says."""
    return level * p_value / corrected if p_value > 0 and corrected < 1 else least


def _matched_null(tried: Trials, null: Trials, label: str) -> float | None:
    """The rate under null changes, weighted so that edits are as near and as large as those of the changes."""
    real, calm = (part.where(part.facts.label == label) for part in (tried, null))
    if len(calm) < 5:
        return None
    here, there = _cells(real.facts, real.facts), _cells(calm.facts, real.facts)
    shares = [(float((here == cell).mean()), calm.hit[there == cell]) for cell in np.unique(here)]
    known = [(share, float(hits.mean())) for share, hits in shares if len(hits)]
    total = sum(share for share, _ in known)
    return sum(share * rate for share, rate in known) / total if total else None


def _cells(facts: ObjectFacts, like: ObjectFacts) -> Reals:
    """Near, middle or far edits, small or large ones."""
    far = np.searchsorted(np.quantile(like.distance, (1 / 3, 2 / 3)), facts.distance)
    return np.asarray(2 * far + (facts.edit > np.median(like.edit)), float)


def _levels(trials: ObjectTrials) -> tuple[LevelRow, ...]:
    """Recall and average precision by class and size, and precision, on the unchanged pictures; the worst recall first."""
    misses = trials.misses
    names = sorted(set(misses.facts.label.tolist()))
    rates = {name: float(misses.hit[misses.facts.label == name].mean()) for name in names}
    mean = float(np.mean(list(rates.values()))) if rates else 0.0
    limits = np.quantile(misses.facts.area, (1 / 3, 2 / 3)) if len(misses) else np.zeros(2)
    bins = np.searchsorted(limits, misses.facts.area)
    rows = []
    for name in names:
        mine = misses.facts.label == name
        sizes = [mine & (bins == k) for k in range(len(SIZES))]
        recalls = {size: float(1 - misses.hit[here].mean()) if here.any() else None for size, here in zip(SIZES, sizes, strict=True)}
        named = trials.named.get(name, 0)
        precision = trials.right.get(name, 0) / named if named else None
        told = _precisions(trials, name, limits, [int(mine.sum()), *(int(here.sum()) for here in sizes)])
        by_size = dict(zip(SIZES, told[1:], strict=True))
        rows.append(LevelRow(name, int(mine.sum()), 1 - rates[name], recalls, precision, told[0], by_size, rates[name] > mean))
    return tuple(sorted(rows, key=lambda row: row.recall))


def _precisions(trials: ObjectTrials, name: str, limits: Reals, objects: list[int]) -> list[float | None]:
    """The average precision of a class over all its objects, and over those of each size."""
    if not trials.ranked:
        return [None] * len(objects)
    mine = [box for box in trials.ranked if box.label == name]
    size = np.searchsorted(limits, [box.area for box in mine])
    parts = [mine, *([box for box, own in zip(mine, size, strict=True) if own == k] for k in range(len(SIZES)))]
    return [average_precision(part, count) for part, count in zip(parts, objects, strict=True)]
