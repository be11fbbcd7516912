"""Classes of objects by their counts: the paper's rule (above the mean), and exact tests against the other classes and the null changes.

Several changes of one scene are not independent, so a test takes one change of each scene, drawn at random; many draws are merged by
twice their median p-value, which is valid whatever their dependence.  Intervals are at the size of one draw.  Null changes are the
control: a class must also be wrong more often than under them, by a second exact test; the larger of the two p-values counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.measures.counted_changes import (
    CountedChange,
    SceneMarks,
    judge,
)
from evenhand.statistics.intervals import Interval, clopper_pearson
from evenhand.statistics.multiplicity import benjamini_hochberg, twice_the_median
from evenhand.statistics.shares import above_others

Draws: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]  # hits and objects, each (draws, classes)
LEAST_OBJECTS = 10
DRAWS = 41


@dataclass(frozen=True)
class ClassVerdict:
    """One class under one oracle."""

    label: str
    objects: int
    errors: int  # signed, as the paper counts
    rate: float  # Equation 4
    wrong: Interval  # share of objects lost or invented, at the size of one draw
    control: float | None  # the same share under null changes
    p_value: float  # corrected; the larger one of two tests
    unfair_by_mean: bool  # Equation 5
    unfair: bool  # the exact verdict
    enough: bool  # at least ten objects
    shaky: bool  # null changes alone shake it at a similar rate

    @property
    def excess(self) -> float:
        """The share of wrong objects beyond what null changes cause."""
        return self.wrong.estimate - (self.control or 0.0)


@dataclass(frozen=True)
class ClassRules:
    """Levels of the verdict.

    level: chance of blaming a class of a fair recogniser.  least_objects: fewer are not judged.  draws: of one change for each scene.
    track_hidden: whether objects that a change covers are not expected any more.
    tolerance: for a pass, how much more often than all classes together an object of one class may be wrong, at most.
    """

    level: float = 0.05
    least_objects: int = LEAST_OBJECTS
    draws: int = DRAWS
    track_hidden: bool = True
    tolerance: float = 0.1


@dataclass(frozen=True)
class ClassYardstick:
    """What one class is judged by: its corrected p-value, the mean rate of all classes, and the rules."""

    p_value: float
    mean: float
    rules: ClassRules


def class_verdicts(
    changes: Sequence[CountedChange],
    kind: str,
    expected: Mapping[str, Counter[str]],
    rng: np.random.Generator,
    rules: ClassRules | None = None,
) -> list[ClassVerdict]:
    """Every class that has objects, worst first; null changes serve as the control."""
    rules = rules or ClassRules()
    marks = [(change, judge(change, kind, expected.get(change.scene, Counter()), rules.track_hidden)) for change in changes]
    tried = [(change.scene, mark) for change, mark in marks if not change.is_null]
    quiet = [(change.scene, mark) for change, mark in marks if change.is_null]
    control, totals = _totals(quiet), _totals(tried)
    names = sorted(totals)
    if not names:
        return []
    hits, sizes = _draws(tried, names, rules.draws, rng)
    calm = _draws(quiet, names, rules.draws, rng)
    listed = [name for name in names if totals[name][0] >= rules.least_objects]
    corrected = _corrected((hits, sizes), calm, names, listed)
    mean = float(np.mean([totals[name][1] / totals[name][0] for name in listed])) if listed else 0.0
    found = [
        _one(name, totals[name], sizes[:, k].mean(), control.get(name), ClassYardstick(corrected[name], mean, rules))
        for k, name in enumerate(names)
    ]
    return sorted(found, key=lambda one: (not one.unfair, -one.wrong.estimate if one.objects else 0.0))


def _totals(marks: Sequence[tuple[str, SceneMarks]]) -> dict[str, tuple[int, int, int]]:
    """Objects, signed errors and wrong objects of each class over all changes."""
    sums: dict[str, NDArray[np.int64]] = defaultdict(lambda: np.zeros(3, np.int64))
    for _, mark in marks:
        for label, n in mark.objects.items():
            sums[label] += (n, mark.errors[label], mark.wrong[label])
    return {label: (int(values[0]), int(values[1]), int(values[2])) for label, values in sums.items()}


def _draws(marks: Sequence[tuple[str, SceneMarks]], names: Sequence[str], draws: int, rng: np.random.Generator) -> Draws:
    """Wrong objects and objects of each class (draws, classes), with one change of each scene in each draw."""
    cells: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    place = {name: k for k, name in enumerate(names)}
    for scene, mark in marks:
        for label, n in mark.objects.items():
            if label in place:
                cells[place[label], scene].append((mark.wrong[label], n))
    hits, sizes = np.zeros((draws, len(names)), np.int64), np.zeros((draws, len(names)), np.int64)
    for (k, _), entries in cells.items():
        chosen = np.array(entries)[rng.integers(0, len(entries), draws)]
        hits[:, k] += chosen[:, 0]
        sizes[:, k] += chosen[:, 1]
    return hits, sizes


def _corrected(tried: Draws, calm: Draws, names: Sequence[str], listed: Sequence[str]) -> dict[str, float]:
    """The larger p-value of two exact tests, against the other classes and against the null changes, merged and corrected."""
    columns = [names.index(name) for name in listed]
    result = dict.fromkeys(names, 1.0)
    if len(columns) < 2:
        return result
    hits, sizes = (part[:, columns] for part in tried)
    others = np.stack([above_others(h, n) for h, n in zip(hits, sizes, strict=True)])
    merged = [max(twice_the_median(others[:, k]), _above_null((hits, sizes), calm, (k, columns[k]))) for k in range(len(columns))]
    result.update({name: float(value) for name, value in zip(listed, benjamini_hochberg(merged), strict=True)})
    return result


def _above_null(tried: Draws, calm: Draws, place: tuple[int, int]) -> float:
    """Fisher's exact p-value that a class is wrong more often than under null changes; 0 where there are none to compare with."""
    here, there = place
    hits, sizes = tried[0][:, here], tried[1][:, here]
    still, quiet = calm[0][:, there], calm[1][:, there]
    if not quiet.any():
        return 0.0
    pairs = zip(hits, still, sizes, quiet, strict=True)
    return twice_the_median(np.array([above_others([hit, calm_hit], [size, calm_size])[0] for hit, calm_hit, size, calm_size in pairs]))


def _one(
    name: str,
    totals: tuple[int, int, int],
    drawn: float,
    control: tuple[int, int, int] | None,
    against: ClassYardstick,
) -> ClassVerdict:
    (objects, errors, wrong), rules = totals, against.rules
    size = max(1, round(drawn))
    # The estimate uses every change; its bounds use the size of one draw, which repeats of a scene cannot inflate.
    bounds = clopper_pearson(min(size, round(wrong / max(objects, 1) * size)), size)
    share = Interval(wrong / max(objects, 1), bounds.low, bounds.high, size, bounds.confidence)
    enough = objects >= rules.least_objects
    quiet = control[2] / control[0] if control and control[0] else None
    rate = errors / max(objects, 1)
    unfair = enough and against.p_value <= rules.level
    return ClassVerdict(
        name, objects, errors, rate, share, quiet, against.p_value, enough and rate > against.mean, unfair, enough,
        quiet is not None and quiet >= share.low,
    )  # fmt: skip
