"""How often each editor of pictures blames fair classifiers, and how often it finds planted leanings: at least 20 of each for every editor.

For each editor, classifiers of five architectures (linear, perceptron, forest, two convolutional nets) are judged as `measure` judges them:
leaning and jury together, at a tolerance of 5 points, on 700 drawn portraits of 32 pixels.  Half of the albums are such that age says
nothing about tone, in the other half old people are dark three times as often.  Fair ones have learnt from portraits and their exact twins
in tone; planted ones say "older" 10 or 20 points more often in the dark.  What each of them really does is measured on 2,000 other exact
pairs and kept as `truth`: a classifier that leans by more than is tolerated is no fair one, however it was trained.  Each editor is tried
with readers that are trained from the tested pictures and, where it learns, with a jury that is given: readers of age and tone from
2,000 other portraits and their twins.

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
from evenhand.media.editors import EDITORS, editor_for
from evenhand.models.attribute_readers import attribute_reader
from evenhand.models.function import FunctionClassifier
from evenhand.models.meter import Meter
from evenhand.models.picture_training import Course, train
from evenhand.models.wrap import wrap
from evenhand.planted.portraits import AGE_GROUPS, synthetic_faces
from evenhand.statistics.intervals import clopper_pearson
from evenhand.verbs.measure import MeasureOptions, claim_by_studies
from parts.picture_verdicts import (
    ARCHITECTURES,
    LEARNT_FROM,
    SIZE,
    TOLERANCE,
    ExactPairs,
    PortraitClassifier,
    fair,
    leaning,
    lessons,
    portraits,
)

PAIRS = 700
JURY_LEARNT_FROM = 2_000
TRUTH_FROM = 2_000
CYCLEGAN_STEPS = 600
FILE = Path(__file__).with_suffix(".json")
EDITORS_BY_NAME = tuple(EDITORS.entries())
STRENGTHS = (0.0, 0.10, 0.20)


@dataclass(frozen=True)
class Trial:
    """One classifier under one editor."""

    editor: str
    jury: str  # own: readers trained from the tested pictures; given: brought along
    architecture: str
    album: str  # alone: age says nothing about tone; correlated: it does
    points: float
    seed: int

    @property
    def name(self) -> str:
        """Its key."""
        return f"{self.editor} {self.jury} {self.architecture} {self.album} {self.points:.2f} {self.seed}"


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
def fair_classifier(architecture: str, seed: int) -> PortraitClassifier:
    """Trained on portraits whose tone says nothing about age."""
    if architecture in ARCHITECTURES:
        return fair(architecture, seed)
    return PortraitClassifier(Net(train(architecture, lessons(seed), np.random.default_rng([seed, 31]), Course(epochs=4))))


@cache
def classifier(architecture: str, seed: int, points: float) -> PortraitClassifier:
    """Fair, or with so many points planted."""
    start = fair_classifier(architecture, seed)
    return leaning(start, points, seed) if points else start


@cache
def truth(architecture: str, seed: int, points: float) -> float:
    """The largest net change of a group, on exact pairs that nothing else sees."""
    pairs = exact_pairs()
    return float(np.abs(pairs.nets(classifier(architecture, seed, points))).max())


@cache
def exact_pairs() -> ExactPairs:
    """Portraits in light and in dark."""
    return ExactPairs.drawn(TRUTH_FROM, 1_000)


@cache
def given_readers() -> dict[str, RememberedReader]:
    """A jury of age groups and tones, from portraits that nothing else sees."""
    alone = synthetic_faces(JURY_LEARNT_FROM, np.random.default_rng([0, 41]), SIZE)
    twins = editor_for("rerender", alone, "tone", editor_tools(0)).twins(alone).astype(np.uint8)
    tone = alone.attribute("tone")
    both = replace(tone, codes=np.concatenate([tone.codes, 1 - tone.codes]))
    album = replace(alone[np.tile(np.arange(len(alone)), 2)], pictures=np.concatenate([alone.pictures, twins]), factors=None)
    course, rng = Course(epochs=5), np.random.default_rng([0, 42])
    tones = replace(album, label=both)
    return {"age_group": RememberedReader(train("vgg", album, rng, course)), "tone": RememberedReader(train("vgg", tones, rng, course))}


@cache
def made_editor(name: str, seed: int) -> Any:
    """An editor of tone that has learnt from portraits of its own; a CycleGAN takes minutes, so that there is only one."""
    seed = 0 if name == "cyclegan" else seed
    learnt = synthetic_faces(LEARNT_FROM, np.random.default_rng([seed, 4]), SIZE)
    tools = editor_tools(seed)
    if name == "cyclegan":
        tools = replace(editor_tools(seed, Path(gettempdir()) / "evenhand-calibration"), settings={"steps": CYCLEGAN_STEPS})
    return editor_for(name, learnt, "tone", tools)


@cache
def opened(name: str, jury: str, album: str, seed: int) -> Dataset:
    """Portraits under an editor."""
    own = OwnParts(given_readers(), None) if jury == "given" else OwnParts()
    return from_album(portraits(PAIRS, seed, album == "correlated"), [made_editor(name, seed)], (), "age_group", own)


def judged(trial: Trial) -> dict[str, Any]:
    """Outcome and reason, as `measure` decides from the leaning and the jury."""
    data = opened(trial.editor, trial.jury, trial.album, trial.seed)
    asked = classifier(trial.architecture, trial.seed, trial.points)
    meter = Meter(wrap(FunctionClassifier(asked, AGE_GROUPS), data))
    case = StudyCase(data.domain, meter, data.medium, data.rows, data.labels, data.frame, TOLERANCE)
    sections = {
        "jury": jury_study.EditorJury(watched=0).study(case, np.random.default_rng([trial.seed, 51])),
        "leaning": LeaningStudy().study(case, np.random.default_rng([trial.seed, 52])),
    }
    ruling = Gate.rule(claim_by_studies(sections, (), (), MeasureOptions()))
    real = truth(trial.architecture, trial.seed, trial.points)
    return {"outcome": ruling.outcome, "reason": ruling.reason, "truth": round(real, 4)}


def trials(editors: tuple[str, ...], seeds: range) -> list[Trial]:
    """All of them: first with readers of one's own, which is what users have, and first those that take least time."""
    some, nets = tuple(ARCHITECTURES), ("vgg", "resnet")
    return [
        Trial(editor, jury, architecture, album, points, seed)
        for jury, kinds, editor in product(("own", "given"), (some, nets), editors)
        if jury == "own" or editor != "rerender"
        for seed, album, points, architecture in product(seeds, ("alone", "correlated"), STRENGTHS, kinds)
        if seed == seeds[0] or (not points and jury == "own")  # of one seed twenty are planted, half of them with each strength
    ]


def table(kept: dict[str, Any]) -> str:
    """One line for each editor and jury."""
    found: dict[tuple[str, str], dict[float, list[Any]]] = defaultdict(lambda: defaultdict(list))
    reasons: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for name, said in kept.items():
        editor, jury, _, _, points, _ = name.split(" ")
        found[editor, jury][float(points)].append(said)
        if said["outcome"] == "inconclusive":
            reasons[editor, jury][short(said["reason"])] += 1
    lines = [
        "| editor | jury | fair: blamed | fair: passed | 10 points: found | 20 points: found | planted: passed | inconclusive because |"
    ]
    lines.append("| --- " * 8 + "|")
    for (editor, jury), by_points in sorted(found.items()):
        clean = [said["outcome"] for said in by_points[0.0] if said["truth"] <= TOLERANCE]
        planted = [said["outcome"] for points, every in by_points.items() if points for said in every]
        upper = clopper_pearson(clean.count("violation"), len(clean)).high if clean else float("nan")
        cells = [
            f"{clean.count('violation')} of {len(clean)} (at most {upper:.0%})",
            f"{clean.count('pass')}",
            *map(_found, _strong(by_points)),
        ]
        most = ", ".join(f"{why} ({n})" for why, n in reasons[editor, jury].most_common(2)) or "-"
        lines.append(f"| {editor} | {jury} | {' | '.join(cells)} | {planted.count('pass')} of {len(planted)} | {most} |")
    return "\n".join(lines)


def _strong(by_points: dict[float, list[Any]]) -> list[list[Any]]:
    return [by_points[points] for points in STRENGTHS if points]


def _found(every: list[Any]) -> str:
    """Planted classifiers that were named, of those on which a verdict was allowed."""
    allowed = [said for said in every if is_allowed(said)]
    return f"{sum(said['outcome'] == 'violation' for said in allowed)} of {len(allowed)}, allowed on {len(allowed)} of {len(every)}"


def is_allowed(said: dict[str, Any]) -> bool:
    """Whether the editor's twins and the readers let a verdict through; else the outcome says what stands against it."""
    return said["outcome"] != "inconclusive" or not any(part in said["reason"] for part in FORBIDS)


FORBIDS = {
    "may change the label itself": "the editor changes the age too",
    "less accurate than the classifier": "the reader of age is weaker than the classifier",
    "does not confirm the twins": "the jury does not confirm the twins",
    "no better than by guessing": "the jury only guesses",
    "show the other value": "too few twins are confirmed to pass",
    "means nothing": "an edit that means nothing moves it as far",
}
SHORT = {
    **FORBIDS,
    "not shown to exceed": "not beyond the reader's own movement for sure",
    "too few pairs": "too few pairs",
    "may move by up to": "standing still, but not surely beside the reader",
    "cannot be judged": "nothing proven",
}


def short(reason: str) -> str:
    """A reason in a few words."""
    return next((words for part, words in SHORT.items() if part in reason), reason[:60])


def main() -> None:
    """Run what is missing, and show the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--editors", default=",".join(EDITORS_BY_NAME))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="only show what was kept")
    parser.add_argument("--json", type=Path, default=FILE)
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore", module="sklearn")
    learned_twins.attribute_reader = remembered_reader  # type: ignore[assignment]
    jury_study.attribute_reader = remembered_reader  # type: ignore[assignment]
    kept = json.loads(chosen.json.read_text(encoding="utf-8")) if chosen.json.exists() else {"date": "", "trials": {}}
    missing = [each for each in trials(tuple(chosen.editors.split(",")), range(chosen.seeds)) if each.name not in kept["trials"]]
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
