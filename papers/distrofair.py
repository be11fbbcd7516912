"""Tables 6 to 11 of DistroFair from what a recogniser counted: effectiveness (6, 7, 8), time (9), accuracy beside real pictures (11).

Pictures of one scene are not independent, so intervals of means and ratios come from scenes drawn again with replacement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.measures.counted_changes import CountedChange, CountedScenes, expected_after, judge
from evenhand.measures.studies.classes import ClassRules
from evenhand.statistics.intervals import Interval
from evenhand.statistics.shares import RankTest, mann_whitney

RESAMPLES = 1000
CONFIDENCE = 0.95


def _errs_on(
    blamed: set[str], trials: Sequence[CountedChange], kind: str, expected: Mapping[str, Counter[str]], rules: ClassRules
) -> list[bool]:
    """For each trial that is no control, whether it errs on one of these classes."""
    tried = [trial for trial in trials if not trial.is_null]
    marks = [judge(trial, kind, expected.get(trial.scene, Counter()), rules.track_hidden) for trial in tried]
    return [any(mark.errors.get(label, 0) > 0 for label in blamed) for mark in marks]


AS_IN_TABLE_8 = ClassRules(
    least_objects=1, track_hidden=False
)  # the paper drops no class there, and expects objects that the inserted ones cover


def inducing_by_scene(
    trials: Sequence[CountedChange], kind: str, prefix: str, rules: ClassRules = AS_IN_TABLE_8
) -> dict[str, tuple[float, float]]:
    """Table 8's counts for a metamorphic oracle: of each scene the error-inducing inputs and all inputs; `prefix` keeps data sets apart."""
    tried = [trial for trial in trials if not trial.is_null]
    sums: dict[str, list[int]] = {}
    for trial in tried:
        for label, n in (mark := judge(trial, kind, Counter(), rules.track_hidden)).objects.items():
            total = sums.setdefault(label, [0, 0])
            total[0] += mark.errors[label]
            total[1] += n
    rates = {label: errors / n for label, (errors, n) in sums.items() if n >= rules.least_objects}
    mean = float(np.mean(list(rates.values()))) if rates else 0.0
    blamed = {label for label, rate in rates.items() if rate > mean}
    flags = _errs_on(blamed, tried, kind, {}, rules)
    return summed((f"{prefix}/{trial.scene}", flag, 1.0) for trial, flag in zip(tried, flags, strict=True))


def picture_error_rates(trials: Sequence[CountedChange], expected: Mapping[str, Counter[str]]) -> tuple[list[float], list[float]]:
    """Wrong objects over objects against the reference, for each mutated picture and for its original.

    Both leave out the classes that the mutation touches: with all classes in the originals, the two would be shares of different objects.
    """
    mutated, original = [], []
    for trial in trials:
        truth = expected.get(trial.scene, Counter())
        labels = [label for label in truth if label not in trial.touched and truth[label]]
        total = sum(truth[label] for label in labels)
        if total:
            mutated.append(sum(abs(trial.after[label] - truth[label]) for label in labels) / total)
            original.append(sum(abs(trial.before[label] - truth[label]) for label in labels) / total)
    return mutated, original


def compared(first: Sequence[float], second: Sequence[float]) -> RankTest | None:
    """Mann-Whitney's test, or None when a side is empty."""
    return mann_whitney(first, second) if first and second else None


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


def scene_error_rates(trials: Sequence[CountedChange], expected: Mapping[str, Counter[str]]) -> tuple[list[float], list[float]]:
    """As above, with the mean of each scene: values that are independent of each other, for a rank test that may be believed."""
    gathered: dict[str, list[CountedChange]] = {}
    for trial in trials:
        gathered.setdefault(trial.scene, []).append(trial)
    pairs = [picture_error_rates(group, expected) for group in gathered.values()]
    full = [(float(np.mean(mutated)), float(np.mean(original))) for mutated, original in pairs if mutated]
    return [mutated for mutated, _ in full], [original for _, original in full]


Sums = Mapping[str, tuple[float, float]]  # of each scene: what is counted, and out of how many


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


def seconds_per_picture(trials: Sequence[CountedChange]) -> dict[str, tuple[int, float]]:
    """Table 9: pictures and mean CPU-seconds for each operator, without the recogniser."""
    spent: dict[str, list[float]] = {}
    for trial in trials:
        spent.setdefault(trial.operator, []).append(trial.cpu_seconds)
    return {operator: (len(values), float(np.mean(values))) for operator, values in spent.items()}


@dataclass(frozen=True)
class BesideReal:
    """Table 11: accuracy on insertion pictures and on real pictures with the same counts."""

    pairs: int
    mutated: Interval
    real: Interval


def accuracy_beside_real(outcome: CountedScenes, labels: Sequence[str], rng: np.random.Generator) -> BesideReal:
    """Each insertion picture is paired with a random original that has equal true counts of the considered classes."""
    by_counts: dict[tuple[int, ...], list[int]] = {}
    for place, truth in enumerate(outcome.truth):
        by_counts.setdefault(tuple(truth[label] for label in labels), []).append(place)
    entries: list[tuple[str, list[int], int]] = []
    for trial in outcome.changes:
        wanted = expected_after(trial, labels)
        others = [place for place in by_counts.get(tuple(wanted[label] for label in labels), ()) if outcome.scenes[place] != trial.scene]
        if trial.operator != "insert" or not others:
            continue
        real = outcome.originals[int(rng.choice(others))]
        hits = [sum(min(seen[label], wanted[label]) for label in labels) for seen in (trial.after, real)]
        entries.append((trial.scene, hits, sum(wanted.values())))
    sides = [share_over_scenes(summed((scene, hits[side], n) for scene, hits, n in entries), rng) for side in (0, 1)]
    return BesideReal(len(entries), sides[0], sides[1])
