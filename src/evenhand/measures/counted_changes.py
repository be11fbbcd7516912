"""What a recogniser counted before and after every change, and Algorithms 2 to 4 of DistroFair on it: errors of every untouched class.

Errors are against ground truth, and against the recogniser's own answer before the change.  Slips of the paper, mended: `Change_Error`
of Algorithm 3 is its `New_Err`; a class first seen in the changed picture has no denominator and is counted apart; what is left out is
the *set* of labels that a changed object answers to.  Objects that the change itself covered are not expected any more (`track_hidden`;
the paper expects them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Detecting, Model
from evenhand.media.operators.parts.mutated import Skipped
from evenhand.media.scenes import ChangeFacts, Scenes

GROUND_TRUTH, EXCLUSION, INCLUSION = "ground truth", "exclusion", "inclusion"
KINDS = (GROUND_TRUTH, EXCLUSION, INCLUSION)


@dataclass(frozen=True, eq=False)
class CountedChange:
    """One changed scene with the counts before and after; a null change serves as the control."""

    operator: str
    label: str
    is_null: bool
    scene: str
    cluster: int
    truth: Counter[str]  # of the data
    before: Counter[str]
    after: Counter[str]
    hidden: Counter[str]  # objects that the change itself covered
    touched: frozenset[str]
    added: int
    cpu_seconds: float = 0.0
    how: str = ""
    turn: int = 1  # which repeat of a change by chance


@dataclass(frozen=True, eq=False)
class CountedScenes:
    """Everything that one recogniser was asked about a medium of scenes."""

    changes: tuple[CountedChange, ...]
    skips: tuple[Skipped, ...]
    scenes: tuple[str, ...]
    truth: tuple[Counter[str], ...]
    originals: tuple[Counter[str], ...]  # empty for scenes that were not asked about
    is_annotated: bool = True  # whether the truth is the data's, and not a recogniser's own answer
    beside: tuple[tuple[Counter[str], ...], ...] = ()  # what further recognisers said of the originals, scene by scene


def counted_scenes(medium: Scenes, model: Model, rows: Rows) -> CountedScenes:
    """Ask a recogniser about these rows' scenes, unchanged and changed; what cannot be changed is kept with its reason."""
    places = sorted({int(place) for place in rows[:, 0]})
    pairs = [(int(place), int(change), medium.facts(int(place), int(change))) for place, change, _ in rows]
    made = [(place, change, facts) for place, change, facts in pairs if isinstance(facts, ChangeFacts)]
    asked = np.array([*((place, 0, 0) for place in places), *((place, change, 1) for place, change, _ in made)], float).reshape(-1, 3)
    seen = _counts(medium, model, asked)
    originals = dict(zip(places, seen, strict=False))
    changes = [
        replace(_counted(medium, facts, place, (originals[place], after)), turn=medium.changes[change].turn)
        for (place, change, facts), after in zip(made, seen[len(places) :], strict=True)
    ]
    return CountedScenes(
        tuple(changes),
        tuple(facts for _, _, facts in pairs if isinstance(facts, Skipped)),
        tuple(scene.name for scene in medium.scenes),
        medium.truth,
        tuple(originals.get(place, Counter()) for place in range(len(medium.scenes))),
        medium.is_annotated,
    )


def _counts(medium: Scenes, model: Model, rows: Rows) -> list[Counter[str]]:
    """Objects by canonical class; a recogniser that tells its objects also counts classes that it has no column for."""
    if isinstance(model, Detecting):
        return [Counter(medium.class_of(one.label) for one in answer) for answer in model.detections(rows)]
    return [Counter({name: int(n) for name, n in zip(model.classes, line, strict=True) if n}) for line in model.scores(rows)]


def _counted(medium: Scenes, facts: ChangeFacts, place: int, seen: tuple[Counter[str], Counter[str]]) -> CountedChange:
    before, after = seen
    return CountedChange(
        facts.operator,
        facts.label,
        medium.plan.made_by[facts.operator].is_null,
        medium.scenes[place].name,
        int(medium.clusters.of[place]),
        medium.truth[place],
        before,
        after,
        facts.hidden,
        facts.touched,
        facts.added,
        facts.cpu_seconds,
        facts.how,
    )


@dataclass(frozen=True)
class SceneMarks:
    """One change under one oracle: objects that count, signed errors as in the paper, and objects that were lost or invented."""

    objects: Mapping[str, int]
    errors: Mapping[str, int]  # may be negative: the change helped
    wrong: Mapping[str, int]  # between 0 and the objects

    @property
    def is_erring(self) -> bool:
        """Whether any class errs."""
        return any(value > 0 for value in self.errors.values())


def reference(outcomes: Sequence[CountedScenes]) -> dict[str, Counter[str]]:
    """Equation 3: for each scene, the multiset union of the data's truth and every recogniser's answer to the original."""
    merged: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for answers in (outcome.originals, *outcome.beside):
            for name, truth, seen in zip(outcome.scenes, outcome.truth, answers, strict=True):
                merged[name] = merged.get(name, Counter()) | truth | seen
    return merged


def judge(change: CountedChange, kind: str, expected: Counter[str], track_hidden: bool = True) -> SceneMarks:
    """One change under one oracle; `expected` is the reference of its scene, used by the ground-truth oracle only."""
    base = expected if kind == GROUND_TRUTH else change.before
    objects, errors, wrong = {}, {}, {}
    for label, n in base.items():
        if label in change.touched or n <= 0:
            continue
        covered = change.hidden[label] if track_hidden else 0
        error = _error(kind, (change.before[label], change.after[label]), n, covered)
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


def new_classes(changes: Iterable[CountedChange]) -> Counter[str]:
    """Classes that only the changed picture showed, by how often: no rate can be given for them."""
    found: Counter[str] = Counter()
    for change in changes:
        found.update(label for label, n in change.after.items() if n and not change.before[label] and label not in change.touched)
    return found


def expected_after(change: CountedChange, labels: Iterable[str]) -> Counter[str]:
    """Algorithm 4: the true counts of an insertion picture, for the classes considered."""
    counts = Counter({label: change.truth[label] for label in labels})
    counts[change.label] += change.added
    return counts
