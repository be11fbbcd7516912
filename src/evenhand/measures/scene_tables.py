"""What DistroFair's tables are made of, from what recognisers counted: error-inducing pictures, shares over scenes, the originals alone.

Pictures of one scene are not independent, so intervals of means and ratios come from scenes drawn again with replacement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from evenhand.measures.class_counts import ClassRules
from evenhand.measures.counted_changes import CountedChange, CountedScenes, judge
from evenhand.statistics.intervals import Interval

RESAMPLES = 1000
CONFIDENCE = 0.95
Sums = Mapping[str, tuple[float, float]]  # of each scene: what is counted, and out of how many
AS_IN_TABLE_8 = ClassRules(least_objects=1, track_hidden=False)  # the paper drops no class there, and expects objects that are covered


def _errs_on(
    blamed: set[str], trials: Sequence[CountedChange], kind: str, expected: Mapping[str, Counter[str]], rules: ClassRules
) -> list[bool]:
    """For each trial that is no control, whether it errs on one of these classes."""
    tried = [trial for trial in trials if not trial.is_null]
    marks = [judge(trial, kind, expected.get(trial.scene, Counter()), rules.track_hidden) for trial in tried]
    return [any(mark.errors.get(label, 0) > 0 for label in blamed) for mark in marks]


def above_the_mean(trials: Sequence[CountedChange], kind: str, rules: ClassRules = AS_IN_TABLE_8) -> tuple[set[str], int]:
    """Equation 5 under a metamorphic oracle: the classes whose error rate is above the mean, and how many classes there are."""
    sums: dict[str, list[int]] = {}
    for trial in trials:
        for label, n in (mark := judge(trial, kind, Counter(), rules.track_hidden)).objects.items():
            total = sums.setdefault(label, [0, 0])
            total[0] += mark.errors[label]
            total[1] += n
    rates = {label: errors / n for label, (errors, n) in sums.items() if n >= rules.least_objects}
    mean = float(np.mean(list(rates.values()))) if rates else 0.0
    return {label for label, rate in rates.items() if rate > mean}, len(rates)


def inducing_by_scene(
    trials: Sequence[CountedChange], kind: str, prefix: str, rules: ClassRules = AS_IN_TABLE_8
) -> dict[str, tuple[float, float]]:
    """Table 8's counts for a metamorphic oracle: of each scene the error-inducing inputs and all inputs; `prefix` keeps data sets apart."""
    tried = [trial for trial in trials if not trial.is_null]
    blamed, _ = above_the_mean(tried, kind, rules)
    flags = _errs_on(blamed, tried, kind, {}, rules)
    return summed((f"{prefix}/{trial.scene}", flag, 1.0) for trial, flag in zip(tried, flags, strict=True))


def unfair_on_originals(outcome: CountedScenes, expected: Mapping[str, Counter[str]]) -> set[str]:
    """The baseline without mutations: classes whose accuracy on the original pictures is below the mean accuracy."""
    right, total = Counter[str](), Counter[str]()
    for name, seen in zip(outcome.scenes, outcome.originals, strict=True):
        for label, n in expected.get(name, Counter()).items():
            right[label] += min(seen[label], n)
            total[label] += n
    accuracy = {label: right[label] / n for label, n in total.items() if n}
    mean = float(np.mean(list(accuracy.values()))) if accuracy else 0.0
    return {label for label, value in accuracy.items() if value < mean}


def summed(entries: Iterable[tuple[str, float, float]]) -> dict[str, tuple[float, float]]:
    """The sums of each scene from (scene, counted, out of)."""
    totals: dict[str, tuple[float, float]] = {}
    for scene, counted, whole in entries:
        before = totals.get(scene, (0.0, 0.0))
        totals[scene] = before[0] + counted, before[1] + whole
    return totals


def share_over_scenes(sums: Sums, rng: np.random.Generator) -> Interval:
    """A share or mean over all scenes, with its interval."""
    return ratio_over_scenes(sums, dict.fromkeys(sums, (1.0, 1.0)), rng)


def ratio_over_scenes(first: Sums, second: Sums, rng: np.random.Generator) -> Interval:
    """One share over another, with its interval; not a number where the second is zero."""
    names = sorted({*first, *second})
    table = np.array([(*first.get(name, (0.0, 0.0)), *second.get(name, (0.0, 0.0))) for name in names], np.float64).reshape(-1, 4)
    if not len(table):
        return Interval(float("nan"), float("nan"), float("nan"), 0, CONFIDENCE)
    drawn = table[rng.integers(0, len(table), (RESAMPLES, len(table)))].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole, values = (part[..., 0] / part[..., 1] / (part[..., 2] / part[..., 3]) for part in (table.sum(axis=0), drawn))
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return Interval(float(whole), float("nan"), float("nan"), len(names), CONFIDENCE)
    low, high = (known[round(share * (len(known) - 1))] for share in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))  # may be infinite
    return Interval(float(whole), float(low), float(high), len(names), CONFIDENCE)


def untouched_accuracy(changes: Sequence[CountedChange], expected: Mapping[str, Counter[str]], rng: np.random.Generator) -> list[Interval]:
    """Objects of untouched classes that are found, over those that there are: in the originals and in the changed pictures."""
    sums: list[list[tuple[str, float, float]]] = [[], []]
    for change in changes:
        truth = expected.get(change.scene, Counter())
        labels = [label for label, n in truth.items() if n > 0 and label not in change.touched]
        total = float(sum(truth[label] for label in labels))
        for side, seen in enumerate((change.before, change.after)):
            sums[side].append((change.scene, float(sum(min(seen[label], truth[label]) for label in labels)), total))
    return [share_over_scenes(summed(each), rng) for each in sums]
