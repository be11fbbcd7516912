"""How often each editor of pictures blames fair classifiers, and how often it finds planted leanings: at least 20 of each for every editor.

For each editor, classifiers of five architectures (linear, perceptron, forest, two convolutional nets) are judged as `measure` judges them:
leaning and jury together, at a tolerance of 5 points, on 700 drawn portraits of 32 pixels.  The label is the age group, which editors of a
face disturb most, whether the wall behind it is dark or light, which they should leave alone, or the colour of a badge in a corner, which
most of them do leave alone.  Half of the albums are such that the label says nothing about tone, in the other half people of its last class
are dark three times as often.  Fair classifiers have learnt from portraits and their exact twins in tone; planted ones say the last class
10 or 20 points more often in the dark.  What each of them really does is measured on 2,000 other exact pairs and kept as `truth`: a
classifier that leans by more than is tolerated is no fair one, however it was trained.  Readers of age are trained from the tested
pictures; those of wall and badge are given, as a user's jury is: readers of them and of tone that have learnt from 2,000 other portraits
and their twins.

Held out: seeds 3 and 4 of the badge, fair classifiers and ten planted points.  No limit was chosen on them, and every editor learns afresh
for each seed.  Beside the package's editors, what a user may bring is tried on them: a function as editor, ready-made twins, and a
generator in whose latent space portraits are changed.

An editor is allowed a verdict on a classifier where the jury confirms its twins and the reader of the label is good enough and still;
`found` counts planted classifiers that it names, of those on which it is allowed one.

Outcomes are written to benchmarks/picture_calibration.json as they come; a run that is repeated goes on where it stopped.
What readers say is remembered between classifiers of one album, which changes nothing: they are the same readers, asked the same.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from itertools import product
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from evenhand.campaign.opened_project import editor_tools
from evenhand.contract import StudyCase
from evenhand.datasets.album_data import OwnParts, from_album
from evenhand.datasets.dataset import Dataset
from evenhand.engine.gate import Gate
from evenhand.measures import learned_twins
from evenhand.measures.studies import jury as jury_study
from evenhand.measures.studies.leaning import LeaningStudy
from evenhand.media.album import Album
from evenhand.media.editors import EDITORS, editor_for
from evenhand.models.attribute_readers import attribute_reader
from evenhand.models.function import FunctionClassifier
from evenhand.models.meter import Meter
from evenhand.models.picture_training import Course, train
from evenhand.models.wrap import wrap
from evenhand.planted.portraits import synthetic_faces
from evenhand.statistics.intervals import clopper_pearson
from evenhand.verbs.measure_claims import claim_by_studies
from evenhand.verbs.measure_result import MeasureOptions
from parts.brought_editors import BROUGHT, READY_PAIRS, ready_pairs
from parts.picture_verdicts import (
    ARCHITECTURES,
    CLASSES,
    LEARNT_FROM,
    SIZE,
    TOLERANCE,
    ExactPairs,
    PortraitClassifier,
    fair,
    labelled,
    leaning,
    lessons,
    portraits,
    with_exact_twins,
)

PAIRS = 700
JURY_LEARNT_FROM = 2_000
TRUTH_FROM = 2_000
CYCLEGAN = {"steps": 400, "batch": 8, "checkpoint_every": 50}
FILE = Path(__file__).with_suffix(".json")
EDITORS_BY_NAME = tuple(EDITORS.entries())
DETECTED = 0.10
STRENGTHS = (0.0, DETECTED, 0.20)
ROUNDS = {("given", "wall"): 2, ("given", "badge"): 2, ("own", "age_group"): 3}
"""Jury and label, and from how many seeds there are fair classifiers: forests that read the age lean by themselves, and are not counted."""

HELD_OUT = range(3, 5)
"""Seeds of the trials that nothing was chosen on."""

EVERY_EDITOR = (*EDITORS_BY_NAME, *BROUGHT, READY_PAIRS)
"""The package's, and what users bring."""

IMPOSSIBLE = {("badge", "rerender")}
"""Portraits with a badge are no longer drawn from their factors alone."""


@dataclass(frozen=True)
class Trial:
    """One classifier under one editor."""

    editor: str
    jury: str  # own: readers trained from the tested pictures; given: brought along
    architecture: str
    album: str  # alone: the label says nothing about tone; correlated: it does
    points: float
    seed: int
    label: str = "age_group"

    @property
    def name(self) -> str:
        """Its key."""
        return f"{self.editor} {self.jury} {self.architecture} {self.album} {self.points:.2f} {self.seed} {self.label}"

    @property
    def classifier(self) -> Taught:
        """Which classifier it judges."""
        return Taught(self.architecture, self.seed, self.points, self.label)


@dataclass(frozen=True)
class Taught:
    """A classifier: how it is built, from which portraits, with how many points planted, and what it tells."""

    architecture: str
    seed: int
    points: float
    label: str


class RememberedReader:
    """A reader that is asked about the same pictures once."""

    def __init__(self, reader: Any) -> None:
        self.reader, self.classes = reader, reader.classes
        self._said: dict[bytes, Any] = {}

    def scores(self, pictures: Any) -> Any:
        """As the reader says."""
        key = _digest(pictures)
        if key not in self._said:
            self._said[key] = self.reader.scores(pictures)
        return self._said[key]


_trained: dict[bytes, tuple[RememberedReader, Any]] = {}


def remembered_reader(pictures: Any, codes: Any, values: tuple[str, ...], rng: np.random.Generator) -> RememberedReader:
    """As `attribute_reader`, trained once for the same pictures and the same state of the generator, which goes on alike."""
    key = _digest(pictures, codes, np.frombuffer(repr(rng.bit_generator.state).encode(), np.uint8))
    if key not in _trained:
        _trained[key] = RememberedReader(attribute_reader(pictures, codes, values, rng)), rng.bit_generator.state
    reader, state = _trained[key]
    rng.bit_generator.state = state
    return reader


def _digest(*arrays: Any) -> bytes:
    digest = blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


@dataclass(frozen=True, eq=False)
class Net:
    """A convolutional net with the interface of the other classifiers' pipelines."""

    net: Any

    def predict_proba(self, flat: Any) -> Any:
        """Probabilities of flattened pictures between 0 and 1."""
        return self.net.scores(np.asarray(flat * 255.0).reshape(-1, SIZE, SIZE, 3))


@cache
def classifier(taught: Taught) -> PortraitClassifier:
    """Fair, trained on portraits whose tone says nothing about the label; or with so many points planted."""
    if taught.points:
        return leaning(classifier(replace(taught, points=0.0)), taught.points, taught.seed, taught.label)
    if taught.architecture in ARCHITECTURES:
        return fair(taught.architecture, taught.seed, taught.label)
    album = lessons(taught.seed, taught.label)
    net = train(taught.architecture, album, np.random.default_rng([taught.seed, 31]), Course(epochs=4))
    return PortraitClassifier(Net(net), least=1e-30)


@cache
def truth(taught: Taught) -> float:
    """The largest net change of a class, on exact pairs that nothing else sees."""
    return float(np.abs(exact_pairs(taught.label).nets(classifier(taught))).max())


@cache
def exact_pairs(label: str) -> ExactPairs:
    """Portraits in light and in dark."""
    return ExactPairs.drawn(TRUTH_FROM, 1_000, label)


@cache
def jury_lessons(label: str) -> Album:
    """Portraits that nothing else sees, and their exact twins."""
    return with_exact_twins(synthetic_faces(JURY_LEARNT_FROM, np.random.default_rng([0, 41]), SIZE), label, 0)


@cache
def given_reader(name: str, label: str) -> RememberedReader:
    """A member of the jury, for albums with this label."""
    album = jury_lessons(label)
    known = album.attribute(name)
    codes = np.concatenate([known.codes[: len(album) // 2], 1 - known.codes[len(album) // 2 :]]) if name == "tone" else known.codes
    return RememberedReader(
        train("vgg", replace(album, label=replace(known, codes=codes)), np.random.default_rng([0, 42]), Course(epochs=5))
    )


@cache
def made_editor(name: str, seed: int, label: str) -> Any:
    """An editor of tone that has learnt from portraits of its own; of those that take long to learn there is only one."""
    seed = 0 if name in ("cyclegan", "autoencoder") and seed not in HELD_OUT else seed
    learnt = synthetic_faces(LEARNT_FROM, np.random.default_rng([seed, 4]), SIZE)
    learnt = labelled(learnt, label) if label == "badge" else learnt
    if name in BROUGHT:
        return BROUGHT[name](learnt, seed)
    tools = editor_tools(seed)
    if name == "cyclegan":
        folder = "evenhand-calibration" + ("-badge" if label == "badge" else "") + (f"-{seed}" if seed else "")
        tools = replace(editor_tools(seed, Path(gettempdir()) / folder), settings=CYCLEGAN)
    return editor_for(name, learnt, "tone", tools)


@cache
def opened(name: str, jury: str, album: str, seed: int, label: str) -> Dataset:
    """Portraits under an editor."""
    own = OwnParts({each: given_reader(each, label) for each in (label, "tone")}, None) if jury == "given" else OwnParts()
    is_correlated = album == "correlated"
    if name == READY_PAIRS:
        folder = Path(gettempdir()) / "evenhand-ready-pairs" / f"{label}-{album}-{seed}"
        tested, twins = ready_pairs(folder, PAIRS, seed, is_correlated, label)
        return from_album(tested, [twins], (), label, own)
    return from_album(portraits(PAIRS, seed, is_correlated, label), [made_editor(name, seed, label)], (), label, own)


def judged(trial: Trial) -> dict[str, Any]:
    """Outcome and reason, as `measure` decides from the leaning and the jury."""
    data = opened(trial.editor, trial.jury, trial.album, trial.seed, trial.label)
    meter = Meter(wrap(FunctionClassifier(classifier(trial.classifier), CLASSES[trial.label]), data))
    case = StudyCase(data.domain, meter, data.medium, data.rows, data.labels, data.frame, TOLERANCE)
    sections = {
        "jury": jury_study.EditorJury(watched=0).study(case, np.random.default_rng([trial.seed, 51])),
        "leaning": LeaningStudy().study(case, np.random.default_rng([trial.seed, 52])),
    }
    ruling = Gate.rule(claim_by_studies(sections, (), (), MeasureOptions()))
    told = {"outcome": ruling.outcome, "reason": ruling.reason, "truth": round(truth(trial.classifier), 4)}
    reach = (sections["leaning"].figures["leanings"][0]["weighed"] or {}).get("reach", float("nan"))
    return told if np.isnan(reach) else {**told, "reach": round(reach, 4)}


def trials(editors: tuple[str, ...]) -> list[Trial]:
    """All of them, first those that take least time.

    Twenty are planted for each label and editor, half of them with each strength, from the first seed alone; and as many held out.
    """
    every, albums = (*ARCHITECTURES, "vgg", "resnet"), ("alone", "correlated")
    held_out = [
        Trial(editor, "given", architecture, album, points, seed, "badge")
        for seed, editor, album, points, architecture in product(HELD_OUT, editors, albums, (0.0, DETECTED), every)
        if ("badge", editor) not in IMPOSSIBLE
    ]
    before = [
        Trial(editor, jury, architecture, album, points, seed, label)
        for ((jury, label), seeds), editor in product(ROUNDS.items(), editors)
        for seed, album, points, architecture in product(range(seeds), albums, STRENGTHS, every)
        if (seed == 0 or not points) and (label, editor) not in IMPOSSIBLE and editor in EDITORS_BY_NAME
    ]
    return sorted([*held_out, *before], key=lambda each: each.architecture not in ARCHITECTURES)


HEAD = (
    "label", "editor", "jury", "fair: blamed", "fair: passed", "10 points: found", "20 points: found", "planted: passed",
    "inconclusive because",
)  # fmt: skip


def table(kept: dict[str, Any]) -> str:
    """One line for each editor and jury."""
    found: dict[tuple[str, ...], dict[float, list[Any]]] = defaultdict(lambda: defaultdict(list))
    reasons: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for name, said in kept.items():
        editor, jury, _, _, points, seed, label = name.split(" ")
        label += ", held out" * (int(seed) in HELD_OUT)
        found[label, editor, jury][float(points)].append(said)
        if said["outcome"] == "inconclusive":
            reasons[label, editor, jury][short(said["reason"])] += 1
    lines = [f"| {' | '.join(HEAD)} |", "| --- " * len(HEAD) + "|"]
    for (label, editor, jury), by_points in sorted(found.items()):
        clean = [said["outcome"] for said in by_points[0.0] if said["truth"] <= TOLERANCE]
        planted = [said["outcome"] for points, every in by_points.items() if points for said in every]
        upper = clopper_pearson(clean.count("violation"), len(clean)).high if clean else float("nan")
        cells = [
            f"{clean.count('violation')} of {len(clean)} (at most {upper:.0%})",
            f"{clean.count('pass')}",
            *map(_found, _strong(by_points)),
        ]
        most = ", ".join(f"{why} ({n})" for why, n in reasons[label, editor, jury].most_common(2)) or "-"
        lines.append(f"| {label} | {editor} | {jury} | {' | '.join(cells)} | {planted.count('pass')} of {len(planted)} | {most} |")
    return "\n".join(lines)


def _strong(by_points: dict[float, list[Any]]) -> list[list[Any]]:
    return [by_points[points] for points in STRENGTHS if points]


def _found(every: list[Any]) -> str:
    """Planted classifiers that were named, of those on which a verdict was allowed."""
    allowed = [said for said in every if is_allowed(said)]
    return f"{sum(said['outcome'] == 'violation' for said in allowed)} of {len(allowed)}, allowed on {len(allowed)} of {len(every)}"


def is_allowed(said: dict[str, Any]) -> bool:
    """Whether the editor's twins and the readers let a verdict through, and would show ten points in four cases of five.

    Else the outcome, where it is inconclusive, says what stands against it.
    """
    if said.get("reach", 0.0) > DETECTED:
        return False
    return said["outcome"] != "inconclusive" or not any(part in said["reason"] for part in FORBIDS)


FORBIDS = {
    "may change the label itself": "the editor changes the label too",
    "less accurate than the classifier": "the reader of the label is weaker than the classifier",
    "does not confirm the twins": "the jury does not confirm the twins",
    "no better than by guessing": "the jury only guesses",
    "show the other value": "too few twins are confirmed to pass",
    "would show a change": "its twins show so small a change too rarely",
    "near the classifier's border": "its twins lie farther from the border than the pictures as they came",
}
SHORT = {
    **FORBIDS,
    "means nothing": "an edit that means nothing moves it as far",
    "not shown to exceed": "not beyond the reader's own movement for sure",
    "too few pairs": "too few pairs",
    "may move by up to": "standing still, but not surely beside the reader",
    "cannot be judged": "nothing proven",
}


def short(reason: str) -> str:
    """A reason in a few words."""
    return next((words for part, words in SHORT.items() if part in reason), reason[:60])


@dataclass(frozen=True)
class EditorVerdicts:
    """What was said under one editor: of fair classifiers, and of those with ten planted points on which it was allowed a verdict."""

    fair: list[str]
    planted: list[str]


def kept_verdicts() -> dict[str, EditorVerdicts]:
    """Of every editor, as the last run left them in benchmarks/picture_calibration.json."""
    found = {name: EditorVerdicts([], []) for name in EVERY_EDITOR}
    for name, said in json.loads(FILE.read_text(encoding="utf-8"))["trials"].items():
        editor, _, _, _, points, _, _ = name.split(" ")
        if float(points) == 0.0 and said["truth"] <= TOLERANCE:
            found[editor].fair.append(said["outcome"])
        elif float(points) == DETECTED and is_allowed(said):
            found[editor].planted.append(said["outcome"])
    return found


def main() -> None:
    """Run what is missing, and show the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--editors", default=",".join(EVERY_EDITOR))
    parser.add_argument("--quick", action="store_true", help="only show what was kept")
    parser.add_argument("--json", type=Path, default=FILE)
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore", module="sklearn")
    learned_twins.attribute_reader = remembered_reader  # type: ignore[assignment]
    jury_study.attribute_reader = remembered_reader  # type: ignore[assignment]
    kept = json.loads(chosen.json.read_text(encoding="utf-8")) if chosen.json.exists() else {"date": "", "trials": {}}
    missing = [each for each in trials(tuple(chosen.editors.split(","))) if each.name not in kept["trials"]]
    for place, trial in enumerate([] if chosen.quick else missing):
        begun = time.process_time()
        kept["trials"][trial.name] = judged(trial)
        kept["date"] = time.strftime("%Y-%m-%d")
        chosen.json.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        said = kept["trials"][trial.name]
        print(
            f"{place + 1}/{len(missing)} {trial.name}: {said['outcome']}, {short(said['reason'])}, {time.process_time() - begun:.1f} CPU-s",
            flush=True,
        )
    print(table(kept["trials"]))


if __name__ == "__main__":
    main()
