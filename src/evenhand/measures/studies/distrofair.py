"""DistroFair's campaign on the user's scenes: several recognisers, insertion out of and inside the distribution, repeats and seeds.

Paper: "Distribution-aware fairness test generation" (DistroFair), Tables 6, 7, 8 and 12, Figures 2 and 3.  It is shown beside the verdict
and decides nothing: Equation 5 calls about half of all classes unfair, whatever the recogniser.  The reference of the ground-truth oracle
is Equation 3, the union of the data's truth and of every recogniser's answer to the originals.  As in the paper, insertion inside the
distribution is compared with the first turn of insertion out of it.  Departure: objects that a change covers are not expected, except in
Table 8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from evenhand.contract import Recogniser, SeesScenes, StudyCase, StudySection
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, check_limits
from evenhand.measures.class_counts import ClassRules
from evenhand.measures.counted_changes import EXCLUSION, INCLUSION, KINDS, CountedChange, CountedScenes, counted_scenes, judge, reference
from evenhand.measures.picture_quality import is_installed, learnt_quality
from evenhand.measures.scene_tables import (
    above_the_mean,
    inducing_by_scene,
    ratio_over_scenes,
    share_over_scenes,
    unfair_on_originals,
    untouched_accuracy,
)
from evenhand.measures.studies.classes import ClassPart, class_part
from evenhand.media.operators import PAPER
from evenhand.media.operators.insert import Insert
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.scenes import Scenes
from evenhand.models.shown import ShownRecogniser, shown
from evenhand.models.wrap import wrap
from evenhand.statistics.shares import mann_whitney
from evenhand.values import tell_watcher

AnyRecogniser: TypeAlias = Recogniser | SeesScenes
INSERTION = "insert"
OUT, IN = "out of distribution", "in distribution"
QUALITY_PICTURES = 60


@dataclass(frozen=True, eq=False)
class Campaigned:
    """Everything that one recogniser was asked: changes out of the distribution, and insertions inside it."""

    name: str
    out: CountedScenes
    inside: tuple[CountedChange, ...]

    @property
    def first_turn(self) -> list[CountedChange]:
        """Insertions out of the distribution, one for each scene, class and seed: what the paper compares with those inside it."""
        return [one for one in self.out.changes if one.operator == INSERTION and one.turn == 1]


@dataclass(frozen=True)
class PaperCampaign:
    """The paper's tables from your own pictures and recognisers.

    beside: further recognisers, separated by commas: ONNX detectors, names or module:function.  What they say of the unchanged pictures
    joins the truth, and each of them is judged.
    repeats: of changes by chance; the paper has five.
    seeds: how often everything by chance is drawn again.
    """

    media: ClassVar[tuple[str, ...]] = ("scenes",)
    on_request: ClassVar[bool] = True

    beside: str = ""
    repeats: Count = 5
    seeds: Count = 1

    def __post_init__(self) -> None:
        check_limits(self)

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """Every table, and a sentence for each recogniser."""
        medium, model = case.medium, getattr(case.model, "model", None)
        if not isinstance(medium, Scenes) or not isinstance(model, ShownRecogniser):
            raise InvalidArgument("study distrofair needs scenes and a recogniser that tells which objects it sees")
        named = self._recognisers(model.recogniser, case)
        found = [self._asked(medium, name, one) for name, one in named.items()]
        originals = tuple(each.out.originals for each in found)
        merged = [replace(each, out=replace(each.out, beside=originals)) for each in found]
        return _section(merged, medium, rng)

    def _recognisers(self, own: AnyRecogniser, case: StudyCase) -> dict[str, AnyRecogniser]:
        """All of them by name; a second one of the same name gets a number."""
        named: dict[str, AnyRecogniser] = {own.name: own}
        for asked in filter(None, (part.strip() for part in self.beside.split(","))):
            other = _wrapped(asked, case)
            if getattr(other, "price_per_thousand", 0.0):
                raise InvalidArgument(
                    f"beside={asked!r} is paid for each picture, and only the model of the project is priced before it is asked; "
                    "make it the model, and name local recognisers beside it"
                )
            named[other.name if other.name not in named else f"{other.name} ({len(named) + 1})"] = other
        return named

    def _asked(self, medium: Scenes, name: str, recogniser: AnyRecogniser) -> Campaigned:
        """All changes of every seed; what is usual is what this recogniser counts in the originals, as in the paper."""
        runs = [self._run(medium, recogniser, medium.seed + turn, f"{name}, seed {turn + 1} of {self.seeds}") for turn in range(self.seeds)]
        out = replace(runs[0][0], changes=tuple(change for run, _ in runs for change in run.changes))
        return Campaigned(name, out, tuple(change for _, inside in runs for change in inside.changes))

    def _run(self, medium: Scenes, recogniser: AnyRecogniser, seed: int, words: str) -> tuple[CountedScenes, CountedScenes]:
        originals = np.zeros((len(medium.scenes), 3))
        originals[:, 0] = np.arange(len(medium.scenes))
        seen = ShownRecogniser(medium, recogniser).counts(originals)
        outside = replace(medium.plan, operators=(PAPER,), repeats=self.repeats)
        inside = replace(medium.plan, operators=(Insert(inside=True),), repeats=1, controls=False)
        counted = []
        for step, plan in enumerate((outside, inside)):
            tell_watcher(f"asking {words}", step, 2)
            own = Scenes(medium.scenes, plan, medium.labels, seed, seen).with_donors_of(medium)
            counted.append(counted_scenes(own, shown(own, recogniser), np.vstack([own.rows(), own.rows(null=True)])))
        return counted[0], counted[1]


def _wrapped(name: str, case: StudyCase) -> AnyRecogniser:
    """A recogniser by its file or name, as the model of a project is read."""
    model = wrap(Path(name) if Path(name).exists() or name.endswith(".onnx") else name, case)
    if not isinstance(model, ShownRecogniser):
        raise InvalidArgument(f"beside={name!r} is no recogniser of objects; give an ONNX detector, a recogniser's name or module:function")
    return model.recogniser


def _section(found: Sequence[Campaigned], medium: Scenes, rng: np.random.Generator) -> StudySection:
    expected = reference([each.out for each in found])
    parts = {each.name: list(_parts(each.out, rng)) for each in found}
    overlaps = [_overlaps(each, parts[each.name], expected) for each in found]
    beside = [_in_and_out(each, rng) for each in found]
    kept = [_kept_accuracy(each, medium, rng) for each in found]
    names = _reference_figures(found, expected)
    quality = _quality(medium, rng)
    figures = {
        "recognisers": [each.name for each in found],
        "reference": names,
        "violations": [row for each in found for row in _violations(each, parts[each.name])],
        "out_and_in_distribution": [row for rows in beside for row in rows],
        "overlaps_of_classes": overlaps,
        "accuracy_on_untouched_classes": kept,
        "picture_quality": quality,
    }
    told = zip(found, overlaps, beside, kept, strict=True)
    lines = [line for each in told for line in _sentences(*each)]
    return StudySection(figures, (_reference_sentence(found, names), *lines, *_quality_sentences(quality)))


def _parts(out: CountedScenes, rng: np.random.Generator) -> Iterator[ClassPart]:
    operators = sorted({change.operator for change in out.changes if not change.is_null})
    wanted = [(operator, kind) for operator in operators for kind in KINDS]
    for (operator, kind), own in zip(wanted, rng.spawn(len(wanted)), strict=True):
        yield class_part(operator, kind, out, own, ClassRules())


def _reference_figures(found: Sequence[Campaigned], expected: Mapping[str, Counter[str]]) -> dict[str, int]:
    """Equation 3 in numbers: objects that the data names, and those that only recognisers name."""
    truth = sum(sum(each.values()) for each in found[0].out.truth)
    return {"objects": sum(sum(each.values()) for each in expected.values()), "annotated": truth}


def _violations(each: Campaigned, parts: Sequence[ClassPart]) -> Iterator[dict[str, Any]]:
    """Tables 6 and 7: for each operator and oracle."""
    for part in parts:
        told = part.as_dict()
        yield {
            "name": f"{each.name}, {part.operator}, {part.oracle}", "recogniser": each.name, "change": part.operator,
            "oracle": part.oracle, "classes": told["classes"], "above_the_mean": told["unfair_by_mean"],
            "by_the_exact_rule": told["unfair"], "pictures": part.pictures, "error_inducing": part.error_inducing,
            "error_rate": part.error_rate.as_dict(),
        }  # fmt: skip


def _in_and_out(each: Campaigned, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Table 8: for each metamorphic oracle."""
    rows: list[dict[str, Any]] = []
    for kind in (EXCLUSION, INCLUSION):
        sums = {style: inducing_by_scene(some, kind, each.name) for style, some in ((OUT, each.first_turn), (IN, each.inside))}
        for style, some in ((OUT, each.first_turn), (IN, list(each.inside))):
            blamed, classes = above_the_mean(some, kind)
            inducing, inputs = (int(sum(part[place] for part in sums[style].values())) for place in (0, 1))
            row: dict[str, Any] = {"name": f"{each.name}, {kind}, {style}", "recogniser": each.name, "oracle": kind, "style": style}
            row |= {"violations": len(blamed), "classes": classes}
            row |= {"error_inducing": inducing, "inputs": inputs}
            row |= {"error_rate": share_over_scenes(sums[style], rng).as_dict() if inputs else None}
            is_compared = style == OUT and bool(sums[IN])
            rows.append(row | {"out_over_in": ratio_over_scenes(sums[OUT], sums[IN], rng).as_dict() if is_compared else None})
    return rows


def _overlaps(each: Campaigned, parts: Sequence[ClassPart], expected: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """Figures 2 and 3: classes that Equation 5 blames by either oracle, and on the originals alone."""
    by_truth, by_answers = (
        {one.label for part in parts if (part.oracle in (EXCLUSION, INCLUSION)) == own for one in part.judged if one.unfair_by_mean}
        for own in (False, True)
    )
    original = unfair_on_originals(each.out, expected)
    changed = by_truth | by_answers
    return {
        "recogniser": each.name, "ground_truth": len(by_truth), "own_answers": len(by_answers), "both_oracles": len(by_truth & by_answers),
        "originals": len(original), "changed_pictures": len(changed), "originals_and_changed": len(original & changed),
        "only_changed": sorted(changed - original), "only_changed_by_truth": sorted(by_truth - original),
        "only_originals": sorted(original - changed),
    }  # fmt: skip


def _kept_accuracy(each: Campaigned, medium: Scenes, rng: np.random.Generator) -> dict[str, Any]:
    """Table 12: accuracy on untouched classes in error-inducing pictures and in their originals, against the data's truth."""
    truth = dict(zip(each.out.scenes, each.out.truth, strict=True))
    erring = [
        one for one in each.out.changes if not one.is_null and any(judge(one, kind, Counter()).is_erring for kind in (EXCLUSION, INCLUSION))
    ]
    before, after = untouched_accuracy(erring, truth, rng)
    relative = after.estimate / before.estimate if before.estimate else None
    told = {"originals": before.as_dict(), "changed": after.as_dict()} if erring else {}
    return {"recogniser": each.name, "pictures": len(erring), **told, "relative_accuracy": relative, "is_annotated": medium.is_annotated}


def _quality(medium: Scenes, rng: np.random.Generator) -> dict[str, Any]:
    """A learned mark of the originals and of some of their changed versions, where its weights are installed; else nothing."""
    if not is_installed():
        return {}
    mark = learnt_quality()
    own = Scenes(medium.scenes, replace(medium.plan, operators=(PAPER,), controls=False), medium.labels, medium.seed).with_donors_of(medium)
    rows = own.rows()
    marks: dict[str, list[float]] = {"originals": [], "changed": []}
    for place, change, _ in rows[rng.permutation(len(rows))]:
        made = own.made(int(place), int(change))
        if isinstance(made, Mutation):
            marks["originals"].append(mark(made.before.picture))
            marks["changed"].append(mark(made.after.picture))
        if len(marks["changed"]) == QUALITY_PICTURES:
            break
    if not marks["changed"]:
        return {}
    test = mann_whitney(marks["originals"], marks["changed"])
    means = {name: float(np.mean(values)) for name, values in marks.items()}
    return {"measure": "BRISQUE (lower is better)", "pictures": len(marks["changed"]), **means, "p_value": test.p_value}


def _quality_sentences(told: Mapping[str, Any]) -> Iterator[str]:
    if told:
        yield (
            f"Learned picture quality (BRISQUE, lower is better) of {told['pictures']} changed pictures: {told['changed']:.1f}, of their "
            f"originals {told['originals']:.1f} (Mann-Whitney p = {told['p_value']:.2g})."
        )


def _reference_sentence(found: Sequence[Campaigned], told: Mapping[str, int]) -> str:
    names = ", ".join(each.name for each in found)
    return (
        f"The reference is the data's truth and what {names} name in the unchanged pictures (Equation 3): "
        f"{told['objects']:,} objects, {told['annotated']:,} of them in the data."
    )


def _sentences(each: Campaigned, overlap: Mapping[str, Any], beside: Sequence[Mapping[str, Any]], kept: Mapping[str, Any]) -> Iterator[str]:
    missed = len(overlap["only_changed"])
    alone = f", and would miss {missed} of {overlap['changed_pictures']}" if overlap["changed_pictures"] else ""
    yield (
        f"{each.name}: classes above the mean error are {overlap['ground_truth']} by ground truth, {overlap['own_answers']} by its own "
        f"answers and {overlap['both_oracles']} by both; the unchanged pictures alone show {overlap['originals']}{alone}."
    )
    first, second = (next(row for row in beside if row["oracle"] == EXCLUSION and row["style"] == style) for style in (OUT, IN))
    ratio = first["out_over_in"]
    is_told = ratio and np.isfinite(ratio["estimate"])
    told = f", {ratio['estimate']:.2f} ({_bounds(ratio)}) times as often" if is_told else "; too few errors to compare the two"
    if first["inputs"] and second["inputs"]:
        lost = f"{first['error_inducing']} of {first['inputs']} insertions out of the distribution lose an object of a class above the mean"
        yield f"{each.name}: {lost}, {second['error_inducing']} of {second['inputs']} inside it{told}."
    else:
        made = f"{first['inputs']} insertions could be made out of the distribution and {second['inputs']} inside it"
        yield f"{each.name}: {made}, too few to compare the two; more pictures, or objects of an outside folder (`donors`), allow more."
    if kept["pictures"] and kept["relative_accuracy"] is not None and kept["is_annotated"]:
        many = f"{kept['pictures']} error-inducing picture{'s' * (kept['pictures'] != 1)}"
        yield f"{each.name}: on {many} untouched classes keep {kept['relative_accuracy']:.0%} of their accuracy on the originals."


def _bounds(ratio: Mapping[str, float]) -> str:
    return f"{ratio['low']:.2f} to {ratio['high']:.2f}" if np.isfinite(ratio["high"]) else f"{ratio['low']:.2f} upwards"
