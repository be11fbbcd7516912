"""Error rates of pictures, time (Table 9) and accuracy beside real pictures (Table 11) of DistroFair; the package has the other tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.measures.counted_changes import CountedChange, CountedScenes, expected_after
from evenhand.measures.scene_tables import share_over_scenes, summed
from evenhand.statistics.intervals import Interval
from evenhand.statistics.shares import RankTest, mann_whitney


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


def scene_error_rates(trials: Sequence[CountedChange], expected: Mapping[str, Counter[str]]) -> tuple[list[float], list[float]]:
    """As above, with the mean of each scene: values that are independent of each other, for a rank test that may be believed."""
    gathered: dict[str, list[CountedChange]] = {}
    for trial in trials:
        gathered.setdefault(trial.scene, []).append(trial)
    pairs = [picture_error_rates(group, expected) for group in gathered.values()]
    full = [(float(np.mean(mutated)), float(np.mean(original))) for mutated, original in pairs if mutated]
    return [mutated for mutated, _ in full], [original for _, original in full]


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
