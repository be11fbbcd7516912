"""Algorithms 2 to 4: errors of every untouched class against ground truth, and against the recogniser's own answer before the mutation.

Slips of the paper, mended: `Change_Error` of Algorithm 3 is its `New_Err`; a class first seen in the mutated picture has no denominator
and is counted apart; what is left out is the *set* of labels that a mutated object answers to.  Objects that the mutation itself covered
are not expected any more (`track_hidden`; the paper expects them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evenhand.verbs.scene_trials import CampaignOutcome, SceneTrial

GROUND_TRUTH, EXCLUSION, INCLUSION = "ground truth", "exclusion", "inclusion"
KINDS = (GROUND_TRUTH, EXCLUSION, INCLUSION)


@dataclass(frozen=True)
class SceneMarks:
    """One trial under one oracle: objects that count, signed errors as in the paper, and objects that were lost or invented."""

    objects: Mapping[str, int]
    errors: Mapping[str, int]  # may be negative: the mutation helped
    wrong: Mapping[str, int]  # between 0 and the objects

    @property
    def is_erring(self) -> bool:
        """Whether any class errs."""
        return any(value > 0 for value in self.errors.values())


def reference(outcomes: Sequence[CampaignOutcome]) -> dict[str, Counter[str]]:
    """Equation 3: for each scene, the multiset union of the data's truth and every recogniser's answer to the original."""
    merged: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for name, truth, seen in zip(outcome.scenes, outcome.truth, outcome.originals, strict=True):
            merged[name] = merged.get(name, Counter()) | truth | seen
    return merged


def judge(trial: SceneTrial, kind: str, expected: Counter[str], track_hidden: bool = True) -> SceneMarks:
    """One trial under one oracle; `expected` is the reference of its scene, used by the ground-truth oracle only."""
    base = expected if kind == GROUND_TRUTH else trial.before
    objects, errors, wrong = {}, {}, {}
    for label, n in base.items():
        if label in trial.touched or n <= 0:
            continue
        covered = trial.hidden[label] if track_hidden else 0
        error = _error(kind, (trial.before[label], trial.after[label]), n, covered)
        objects[label], errors[label], wrong[label] = n, error, min(max(error, 0), n)
    return SceneMarks(objects, errors, wrong)


def _error(kind: str, seen: tuple[int, int], n: int, covered: int) -> int:
    before, after = seen
    if kind == GROUND_TRUTH:  # Equation 2, with every count from n - covered to n taken as right
        now = max(0, n - covered - after, after - n)
        return now - abs(before - n)
    if kind == EXCLUSION:
        return max(0, before - covered - after)
    return max(0, after - before)


def new_classes(trials: Iterable[SceneTrial]) -> Counter[str]:
    """Classes that only the mutated picture showed, by how often: no rate can be given for them."""
    found: Counter[str] = Counter()
    for trial in trials:
        found.update(label for label, n in trial.after.items() if n and not trial.before[label] and label not in trial.touched)
    return found


def expected_after(trial: SceneTrial, labels: Iterable[str]) -> Counter[str]:
    """Algorithm 4: the true counts of an insertion picture, for the classes considered."""
    counts = Counter({label: trial.truth[label] for label in labels})
    counts[trial.label] += trial.added
    return counts
