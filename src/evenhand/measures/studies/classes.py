"""Which classes of objects a recogniser treats unfairly: object by object beside objects that are alike, and as the paper counts.

The verdict is by object (`object_verdicts`) wherever the recogniser tells its objects.  Beside it stand the counts of each operator under
each oracle with the paper's rule (above the mean) and exact tests (`class_counts`); they decide where there are only counts.
Everything is judged once, each operator under each oracle with a generator of its own, so that no figure hangs on what is asked first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Rows
from evenhand.claims import Claim
from evenhand.contract import Detecting, Model, StudyCase, StudySection
from evenhand.errors import InvalidArgument
from evenhand.measures.class_counts import ClassRules, ClassVerdict, class_verdicts
from evenhand.measures.counted_changes import (
    EXCLUSION,
    GROUND_TRUTH,
    KINDS,
    CountedChange,
    CountedScenes,
    counted_scenes,
    judge,
    new_classes,
    reference,
)
from evenhand.measures.harmed_pictures import HarmedPicture, WorstPicture, scenes_to_learn_from, worst_pictures
from evenhand.measures.object_shifts import shift_sentences
from evenhand.measures.object_trials import ObjectTrials, trials_of_answers
from evenhand.measures.object_verdicts import NEVER, NOT_SHOWN, TOO_FEW, WORSE, ClassAnswer, ObjectVerdicts, object_verdicts
from evenhand.measures.shared_vocabulary import SharedVocabulary, told_names
from evenhand.media.object_facts import ScenePicture
from evenhand.media.scenes import ChangeFacts, Scenes
from evenhand.statistics.intervals import Interval, clopper_pearson

ALL_CLASSES = "classes of objects"
"""The check over all classes together."""
LEAST_FOLDED = 3
"""From so many classes with too few objects on, one sentence tells of all of them."""
UNANNOTATED = (
    "The pictures have no annotations: the recogniser's own answers are compared before and after each change, "
    "and what it misses from the start cannot be told."
)


@dataclass(frozen=True)
class ClassPart:
    """One operator under one of the paper's three oracles."""

    operator: str
    oracle: str
    verdicts: tuple[ClassVerdict, ...]
    pictures: int  # changed ones
    error_inducing: int  # that err on a class which the paper's rule calls unfair
    error_rate: Interval

    @property
    def judged(self) -> tuple[ClassVerdict, ...]:
        """Classes with enough objects."""
        return tuple(one for one in self.verdicts if one.enough)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        counts = {
            "classes": len(self.judged),
            "unfair_by_mean": sum(one.unfair_by_mean for one in self.judged),
            "unfair": sum(one.unfair for one in self.judged),
        }
        return {**asdict(self), **counts, "verdicts": [{**asdict(one), "excess": one.excess} for one in self.verdicts]}


def class_part(operator: str, kind: str, counted: CountedScenes, rng: np.random.Generator, rules: ClassRules) -> ClassPart:
    """The verdicts of one operator's changes, and what follows from these very verdicts."""
    expected = reference([counted])
    changes = [change for change in counted.changes if change.operator == operator or change.is_null]
    verdicts = class_verdicts(changes, kind, expected, rng, rules)
    blamed = {one.label for one in verdicts if one.enough and one.unfair_by_mean}
    tried = [change for change in changes if not change.is_null]
    marks = [judge(change, kind, expected.get(change.scene, Counter()), rules.track_hidden) for change in tried]
    inducing = sum(any(mark.errors.get(label, 0) > 0 for label in blamed) for mark in marks)
    return ClassPart(operator, kind, tuple(verdicts), len(tried), inducing, clopper_pearson(inducing, len(tried)))


@dataclass(frozen=True, eq=False)
class ClassMeasure:
    """How a recogniser treats classes of objects, operator by operator and oracle by oracle."""

    parts: tuple[ClassPart, ...]
    counted: CountedScenes
    clusters: Mapping[str, Any]
    rules: ClassRules
    objects: ObjectVerdicts | None = None  # None where the recogniser only counts
    vocabulary: SharedVocabulary | None = None
    worst: tuple[WorstPicture, ...] = ()
    to_learn_from: Sequence[Mapping[str, Any]] = ()

    @property
    def blamed(self) -> list[tuple[ClassPart, ClassVerdict]]:
        """Classes that are treated unfairly even when every operator and oracle is another chance of an error, worst first."""
        level = self.rules.level / max(1, len(self.parts))
        found = [(part, one) for part in self.parts for one in part.judged if one.p_value <= level]
        return sorted(found, key=lambda entry: entry[1].p_value)

    @property
    def unfair(self) -> list[str]:
        """The names of the classes that are treated unfairly."""
        if self.objects is not None:
            return self.objects.unfair_names()
        return list(dict.fromkeys(one.label for _, one in self.blamed))

    def claim(self) -> Claim:
        """That no class of objects is worse off than the others."""
        if not any(sum(seen.values()) for seen in self.counted.originals):
            nothing = "the recogniser recognised no object in any unchanged picture; look at its least score and its input"
            return Claim(ALL_CLASSES, open=nothing)
        if not any(part.pictures for part in self.parts):
            reasons = "; ".join(f"{reason} ({n})" for reason, n in Counter(one.reason for one in self.counted.skips).most_common(3))
            return Claim(ALL_CLASSES, open=f"no picture could be changed believably: {reasons}; other pictures or other classes are needed")
        more = f", and {len(self.unfair) - 1} more classes" if len(self.unfair) > 1 else ""
        if self.objects is not None:
            return _object_claim(self.objects, self.vocabulary, more)
        broken = f"{_told(*self.blamed[0])}, more often than other classes{more}" if self.blamed else ""
        holds = f"no class is wrong more than {self.rules.tolerance:.0%} oftener than all classes together"
        return Claim(ALL_CLASSES, broken, self._open(), holds)

    def _open(self) -> str:
        """Why it cannot be said that no class is worse off; nothing where it can."""
        judged = [(part, one) for part in self.parts for one in part.judged]
        if len({one.label for _, one in judged}) < 2:
            return f"fewer than two classes have {self.rules.least_objects} objects, so that there is nothing to compare"
        unsettled = sorted({one.label for part, one in judged if one.wrong.high > _pooled(part) + self.rules.tolerance})
        limit = f"{self.rules.tolerance:.0%}"
        return (
            f"no class is proven to be worse off, but {_some(unsettled)} may be by more than {limit}; more scenes would tell"
            if unsettled
            else ""
        )

    @property
    def sentences(self) -> list[str]:
        """For a reader."""
        pictures = sum(part.pictures for part in self.parts if part.oracle == EXCLUSION)
        lines = [
            f"{pictures:,} changed pictures of {len(self.counted.scenes):,} scenes; {len(self.counted.skips):,} changes could not be made."
        ]
        lines += self.vocabulary.sentences if self.vocabulary is not None else []
        lines += [] if self.counted.is_annotated else [UNANNOTATED]
        if self.objects is not None:
            return [*lines, *(f"{each}." for each in _ranked(self.objects)), *shift_sentences(self.objects.shifts)]
        told = [f"{_told(part, one)}; {_compared(part, one)}." for part, one in self.blamed[:6]]
        return [*lines, *(told or ["No class is shown to be treated unfairly by the exact rule."])]

    def claims(self) -> tuple[Claim, ...]:
        """The one over all classes first, then one for each class, whatever the operator and oracle."""
        if self.objects is not None:
            return (self.claim(), *class_claims(self.objects))
        return (self.claim(), *(self._claim(name) for name in sorted({one.label for part in self.parts for one in part.verdicts})))

    def _claim(self, name: str) -> Claim:
        """That this class is not worse off."""
        judged = [(part, one) for part in self.parts for one in part.judged if one.label == name]
        blamed = [(part, one) for part, one in self.blamed if one.label == name]
        worst = max(judged, key=lambda entry: entry[1].wrong.estimate, default=None)
        message = _told(*(blamed or [worst])[0]) if worst else f"fewer than {self.rules.least_objects} objects of class {name}"
        settled = judged and all(one.wrong.high <= _pooled(part) + self.rules.tolerance for part, one in judged)
        return Claim(f"class {name}", message if blamed else "", "" if settled else message, message)

    def section(self) -> StudySection:
        """All of it, as a part of a result."""
        return StudySection(self.as_dict(), tuple(self.sentences), self.claims())

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the parts, and what the scenes and changes were."""
        skips = Counter((one.operator, one.reason) for one in self.counted.skips).most_common(20)
        return {
            "objects": self.objects.as_dict() if self.objects is not None else None,
            "vocabulary": self.vocabulary.as_dict() if self.vocabulary is not None else None,
            "parts": [part.as_dict() for part in self.parts],
            "scenes": len(self.counted.scenes),
            "clusters": dict(self.clusters),
            "new_classes": dict(new_classes(self.counted.changes)),
            "skips": [{"operator": operator, "reason": reason, "changes": n} for (operator, reason), n in skips],
            "cpu_seconds": _spent(self.counted.changes),
            "worst_pictures": [asdict(one) for one in self.worst],
            "to_learn_from": [dict(one) for one in self.to_learn_from],
        }


@dataclass(frozen=True)
class ClassStudy:
    """Every class of objects under every operator and oracle; an unfair one is a violation."""

    media: ClassVar[tuple[str, ...]] = ("scenes",)

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """Which classes are lost or invented more often than others; nothing where there is one class, told apart by attributes."""
        if is_about_people(case.medium) and isinstance(case.model, Detecting):
            return StudySection({}, ("The data names objects of one class, which are compared by what is said of them.",))
        return class_measure(case.model, case.rows, rng).section()


def is_about_people(medium: Any) -> bool:
    """Whether scenes show objects of a single class, with attributes that tell them apart."""
    counted = [one for scene in medium.scenes for one in scene.instances if one.counted] if isinstance(medium, Scenes) else []
    return len({one.label for one in counted}) == 1 and any(one.attributes for one in counted)


def class_measure(model: Model, rows: Rows | None, rng: np.random.Generator, rules: ClassRules | None = None) -> ClassMeasure:
    """Ask a recogniser of scenes about these rows, all of the medium's without, and about every null change of their scenes; judge once."""
    medium = getattr(model, "medium", None)
    if not isinstance(medium, Scenes):
        raise InvalidArgument("classes of objects are measured on scenes with a recogniser; this model takes other rows")
    rules, rows = rules or ClassRules(), medium.rows() if rows is None else rows
    null = medium.rows(null=True)
    counted_rows = np.vstack([rows, null[np.isin(null[:, 0], rows[:, 0])]])
    counted = counted_scenes(medium, model, counted_rows)
    trials = _trials(medium, model, counted_rows) if isinstance(model, Detecting) else None
    objects = None if trials is None else object_verdicts(trials)
    names = told_names(model) or [name for seen in counted.originals for name in seen]
    vocabulary = SharedVocabulary.of(medium, names) if names else None
    if vocabulary is not None:
        vocabulary.check()
    measured = ClassMeasure(tuple(class_parts(counted, rng, rules)), counted, _clusters(medium, counted), rules, objects, vocabulary)
    return measured if trials is None else _with_pictures(measured, medium, trials.harmed)


def _with_pictures(measured: ClassMeasure, medium: Scenes, harmed: Sequence[HarmedPicture]) -> ClassMeasure:
    """The measure with its worst pictures and the scenes to learn from."""
    worst = worst_pictures(medium, harmed, set(measured.unfair))
    return replace(measured, worst=worst, to_learn_from=scenes_to_learn_from(medium, harmed))


def _trials(medium: Scenes, model: Model, rows: Rows) -> ObjectTrials:
    """Object by object, on these scenes as they are and after these changes."""
    pictures = [ScenePicture(place) for place in sorted({int(place) for place in rows[:, 0]})]
    for place, change in dict.fromkeys((int(row[0]), int(row[1])) for row in rows):
        facts = medium.facts(place, change)
        pictures += [ScenePicture(place, change, facts)] if isinstance(facts, ChangeFacts) else []
    return trials_of_answers(medium, model, pictures)


def _object_claim(found: ObjectVerdicts, vocabulary: SharedVocabulary | None, more: str) -> Claim:
    """That no class is treated worse: it holds where a difference of the rules' factor would have been found in every class judged."""
    broken = f"{found.blamed[0].sentence}{more}" if found.blamed else ""
    holds = f"no class is shown to be treated worse; a factor of {found.rules.factor:g} would have been found with {found.rules.power:.0%}"
    return Claim(ALL_CLASSES, broken, _objects_open(found, vocabulary), holds)


def _objects_open(found: ObjectVerdicts, vocabulary: SharedVocabulary | None) -> str:
    """Why it cannot be said that no class is treated worse; nothing where it can."""
    judged = [one for one in found.answers if one.outcome == NOT_SHOWN]
    if len({one.label for one in judged}) < 2:
        least = f"{found.rules.least_objects} objects in {found.rules.least_scenes} scenes"
        return f"fewer than two classes have {least}, so that there is nothing to compare"
    foreign = vocabulary.only_data if vocabulary is not None else ()
    never = [
        one.label for one in found.answers if one.outcome == NEVER and one.label not in foreign and one.objects >= found.rules.least_objects
    ]
    if never:
        return f"{', '.join(never[:4])}: never recognised; no other class is shown to be treated worse"
    weak = sorted({one.label for one in judged if one.power < found.rules.power})
    wanted = f"a factor of {found.rules.factor:g} would have been found with a chance of less than {found.rules.power:.0%}"
    return f"no class is shown to be treated worse, but for {_some(weak)} {wanted}; more scenes would tell" if weak else ""


def _some(names: list[str]) -> str:
    """The first four names, and how many more there are."""
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _ranked(found: ObjectVerdicts) -> list[str]:
    """One sentence for each class, the worst first: its worse answer of the two; the paper's rule on the originals beside it.

    Classes with too few objects share one sentence where there are several.
    """
    above = {row.label for row in found.levels if row.above_mean_error}
    labels = list(dict.fromkeys(one.label for one in found.answers))
    few = [label for label in labels if all(one.outcome == TOO_FEW for one in found.of(label))]
    few = few if len(few) >= LEAST_FOLDED else []
    told = []
    for one in (found.of(label)[0] for label in labels if label not in few):
        also = "blames it too" if one.outcome == WORSE else "would blame it"
        told.append(one.sentence + (f"; the paper's rule (misses above the mean) {also}" if one.label in above and _is_told(one) else ""))
    return [*told, *([_too_few(found, few)] if few else [])]


def _too_few(found: ObjectVerdicts, labels: list[str]) -> str:
    """One sentence about all classes of which nothing can be said."""
    needed = f"{found.rules.least_objects} objects in {found.rules.least_scenes} scenes are needed"
    return f"{len(labels)} classes have too few objects to tell anything ({needed}): {', '.join(labels)}"


def _is_told(one: ClassAnswer) -> bool:
    return one.outcome in (WORSE, NOT_SHOWN)


def class_claims(found: ObjectVerdicts) -> list[Claim]:
    """One for each class: worse in one question breaks it, with power in every question that is asked it holds, else it is open."""
    claims = []
    for label in sorted({one.label for one in found.answers}):
        mine = found.of(label)
        settled = all(one.outcome == NOT_SHOWN and one.power >= found.rules.power for one in mine)
        message = "; ".join(one.sentence for one in mine)
        claims.append(Claim(f"class {label}", message if mine[0].outcome == WORSE else "", "" if settled else message, message))
    return claims


def class_parts(counted: CountedScenes, rng: np.random.Generator, rules: ClassRules) -> list[ClassPart]:
    """Every operator under every oracle, each with random numbers of its own."""
    operators = sorted({change.operator for change in counted.changes if not change.is_null})
    kinds = KINDS if counted.is_annotated else tuple(kind for kind in KINDS if kind != GROUND_TRUTH)
    wanted = [(operator, kind) for operator in operators for kind in kinds]
    return [class_part(operator, kind, counted, own, rules) for (operator, kind), own in zip(wanted, rng.spawn(len(wanted)), strict=True)]


def _clusters(medium: Scenes, counted: CountedScenes) -> dict[str, Any]:
    """How many clusters there are, and for each of them and each operator how many pictures err under each oracle."""
    expected = reference([counted])
    rows = []
    for place in range(medium.clusters.count):
        for operator in sorted({change.operator for change in counted.changes if not change.is_null}):
            changes = [change for change in counted.changes if change.cluster == place and change.operator == operator]
            erring = {kind: sum(judge(one, kind, expected.get(one.scene, Counter())).is_erring for one in changes) for kind in KINDS}
            scenes = int((medium.clusters.of == place).sum())
            rows.append({"cluster": place, "scenes": scenes, "operator": operator, "pictures": len(changes), "erring": erring})
    return {"count": medium.clusters.count, "silhouettes": {str(k): v for k, v in medium.clusters.silhouettes.items()}, "rows": rows}


def _spent(changes: Sequence[CountedChange]) -> dict[str, dict[str, float]]:
    """For each operator how many pictures, and the mean CPU-seconds to make one."""
    spent: dict[str, list[float]] = defaultdict(list)
    for change in changes:
        spent[change.operator].append(change.cpu_seconds)
    return {operator: {"pictures": len(values), "mean": float(np.mean(values))} for operator, values in spent.items()}


def _pooled(part: ClassPart) -> float:
    """The share of wrong objects over all judged classes."""
    objects = sum(one.objects for one in part.judged)
    return sum(one.wrong.estimate * one.objects for one in part.judged) / objects if objects else 0.0


_WRONG = {"ground truth": "counted worse than before", "exclusion": "lost", "inclusion": "invented"}


def _told(part: ClassPart, one: ClassVerdict) -> str:
    how = _WRONG[part.oracle]
    interval = f"{one.wrong.low:.1%} to {one.wrong.high:.1%}"
    return f"{one.wrong.estimate:.1%} of class {one.label!r} ({interval}) are {how} when others change by {part.operator!r}"


def _compared(part: ClassPart, one: ClassVerdict) -> str:
    calm = "" if one.control is None else f", {one.control:.1%} under null changes"
    return f"all classes {_pooled(part):.1%}{calm}; corrected p {one.p_value:.2g}"
