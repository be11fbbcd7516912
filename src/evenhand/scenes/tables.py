"""The paper's tables from the trials of a campaign: effectiveness (6, 7, 8), time (9), accuracy beside real pictures (11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evenhand.scenes.oracles import expected_after, judge
from evenhand.scenes.trials import CONTROL, Outcome, Trial
from evenhand.scenes.verdict import Rules, class_verdicts
from evenhand.statistics.intervals import Interval, clopper_pearson
from evenhand.statistics.shares import RankTest, mann_whitney


@dataclass(frozen=True)
class Effectiveness:
    """One row of Tables 6, 7 or 8, with the exact verdict beside the paper's rule."""

    classes: int
    unfair_by_mean: int
    unfair: int
    generated: int
    error_inducing: int
    error_rate: Interval

    def row(self) -> dict[str, Any]:
        """Flat, for a table."""
        return {**asdict(self), "error_rate": self.error_rate.estimate, "low": self.error_rate.low, "high": self.error_rate.high}


def effectiveness(
    trials: Sequence[Trial], kind: str, expected: Mapping[str, Counter[str]], rng: np.random.Generator, rules: Rules | None = None
) -> Effectiveness:
    """An input is error-inducing when it errs on a class that the paper's rule calls unfair."""
    rules = rules or Rules()
    verdicts = class_verdicts(trials, kind, expected, rng, rules)
    listed = [one for one in verdicts if one.enough]
    blamed = {one.label for one in listed if one.unfair_by_mean}
    tried = [trial for trial in trials if trial.style != CONTROL]
    marks = [judge(trial, kind, expected.get(trial.scene, Counter()), rules.track_hidden) for trial in tried]
    inducing = sum(any(mark.errors.get(label, 0) > 0 for label in blamed) for mark in marks)
    return Effectiveness(
        len(listed), len(blamed), sum(one.unfair for one in listed), len(tried), inducing, clopper_pearson(inducing, len(tried))
    )


def picture_error_rates(trials: Sequence[Trial], expected: Mapping[str, Counter[str]]) -> tuple[list[float], list[float]]:
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


def unfair_on_originals(outcome: Outcome, expected: Mapping[str, Counter[str]]) -> set[str]:
    """The baseline without mutations: classes whose accuracy on the original pictures is below the mean accuracy."""
    right, total = Counter[str](), Counter[str]()
    for name, seen in zip(outcome.scenes, outcome.originals, strict=True):
        for label, n in expected.get(name, Counter()).items():
            right[label] += min(seen[label], n)
            total[label] += n
    accuracy = {label: right[label] / n for label, n in total.items() if n}
    mean = float(np.mean(list(accuracy.values()))) if accuracy else 0.0
    return {label for label, value in accuracy.items() if value < mean}


def seconds_per_picture(trials: Sequence[Trial]) -> dict[str, tuple[int, float]]:
    """Table 9: pictures and mean CPU-seconds for each operator, without the recogniser."""
    spent: dict[str, list[float]] = {}
    for trial in trials:
        spent.setdefault(trial.operator, []).append(trial.seconds)
    return {operator: (len(values), float(np.mean(values))) for operator, values in spent.items()}


@dataclass(frozen=True)
class BesideReal:
    """Table 11: accuracy on insertion pictures and on real pictures with the same counts."""

    pairs: int
    mutated: float
    real: float


def accuracy_beside_real(outcome: Outcome, labels: Sequence[str], rng: np.random.Generator) -> BesideReal:
    """Each insertion picture is paired with a random original that has equal true counts of the considered classes."""
    by_counts: dict[tuple[int, ...], list[int]] = {}
    for place, truth in enumerate(outcome.truth):
        by_counts.setdefault(tuple(truth[label] for label in labels), []).append(place)
    hits = np.zeros(2)
    total, pairs = 0, 0
    for trial in outcome.trials:
        if trial.operator != "insertion":
            continue
        wanted = expected_after(trial, labels)
        others = [place for place in by_counts.get(tuple(wanted[label] for label in labels), ()) if outcome.scenes[place] != trial.scene]
        if not others:
            continue
        real = outcome.originals[int(rng.choice(others))]
        hits += [sum(min(seen[label], wanted[label]) for label in labels) for seen in (trial.after, real)]
        total, pairs = total + sum(wanted.values()), pairs + 1
    return BesideReal(pairs, float(hits[0]) / total if total else float("nan"), float(hits[1]) / total if total else float("nan"))
