"""Models of pictures that are wired rightly, strong and weak ones, and the same wired wrongly: which of them the checks let through.

Labels are whether the wall is light, glasses, the gender cue and the age group of drawn portraits; classifiers are linear, perceptrons,
forests and two convolutional nets, that have learnt from many or from few portraits.  Regressions (`lines`, `trees`) say the age in years,
and the same with up to eight years more for darker skin (`leaning_lines`, `leaning_trees`).  Wrong wirings are red and blue exchanged,
values from 0 to 1 where 0 to 255 is meant, the other way round, values from -1 to 1, two labels exchanged, pictures upside down, and
ImageNet's mean and deviation left out, or taken off where they should not be.

    python benchmarks/parts/picture_wiring.py --architectures linear,forest,lines,trees --seeds 2,3
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.datasets.dataset import Dataset
from evenhand.engine.preflight import RowsAtHand, look, trial_size
from evenhand.errors import ModelError
from evenhand.media.album import Album, Attribute
from evenhand.media.portraits.factors import place
from evenhand.models.function import FunctionClassifier
from evenhand.models.picture_training import Course, train
from evenhand.planted.portraits import synthetic_faces
from evenhand.statistics.intervals import clopper_pearson

if __name__ == "__main__":
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1]))
from parts.picture_verdicts import ARCHITECTURES, SIZE, labelled

LABELS = ("wall", "glasses", "gender_cue", "age_group")
YEARS = "years"
REGRESSIONS = ("lines", "trees", "leaning_lines", "leaning_trees")
LEANING_BY = 8.0
"""Years that leaning regressions add where the middle of the face is black; less where it is lighter."""
COSTS = 0.05
"""A wrong wiring that costs less of the accuracy, or of the mean error of a guess, is not counted as wrong."""
FEW, MANY = 120, 1_500
TESTED = (150, 600)
NETS = ("vgg", "resnet")
BY = 255.0
MEAN, DEVIATION = BY * np.array((0.485, 0.456, 0.406), np.float32), np.array((0.229, 0.224, 0.225), np.float32)


def _exchanged(pictures: np.ndarray) -> np.ndarray:
    return pictures[..., ::-1]


WRONG: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "blue first": _exchanged,
    "too small": lambda pictures: pictures / BY,
    "too large": lambda pictures: pictures * BY,
    "around 0": lambda pictures: pictures * 2.0 - BY,
    "upside down": lambda pictures: pictures[:, ::-1],
    "ImageNet's colours left out": lambda pictures: pictures * DEVIATION + MEAN,
    "ImageNet's colours": lambda pictures: (pictures - MEAN) / DEVIATION,
}
"""What the net gets instead of bytes."""


@dataclass(frozen=True)
class Wired:
    """What the checks said of one classifier."""

    name: str
    wiring: str
    accuracy: float  # on 2,000 other portraits; of regressions, 1 minus the mean error by that of saying the middle age of everybody
    is_clear: bool  # shown there to be better than always saying the commonest label, or the middle age
    told: str  # fail, doubt, reserve (no pass) or fine

    @property
    def is_stopped(self) -> bool:
        """Whether it cannot pass."""
        return self.told != "fine"


@cache
def _portraits(label: str, count: int, seed: int) -> Album:
    album = synthetic_faces(count, np.random.default_rng([seed, 71]), SIZE)
    if label == YEARS:
        assert album.factors is not None
        ages = np.round(album.factors[:, place("age")]).astype(int)
        values, codes = np.unique(ages, return_inverse=True)
        years = Attribute(tuple(map(str, values)), codes.astype(np.intp))
        return replace(album, label=years, attributes={**album.attributes, YEARS: years})
    if label == "wall":
        return labelled(album, "wall")
    if label == "glasses":
        known = album.attribute("glasses")
        worn = Attribute(("no", "yes"), (known.codes != known.values.index("without")).astype(np.intp))
        return replace(album, label=worn, attributes={**album.attributes, "glasses": worn})
    return album if label == "age_group" else replace(album, label=album.attribute(label))


@dataclass(frozen=True, eq=False)
class Flat:
    """An estimator of flattened pictures."""

    fitted: Any

    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        """Probabilities."""
        return np.asarray(self.fitted.predict_proba(np.asarray(pictures, np.float32).reshape(len(pictures), -1) / BY))


@dataclass(frozen=True, eq=False)
class AgesOf:
    """A regression of flattened pictures; one that leans adds years where the middle of the face is dark."""

    fitted: Any
    leans: bool

    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        """Ages in years."""
        shown = np.asarray(pictures, np.float32)
        said = np.asarray(self.fitted.predict(shown.reshape(len(shown), -1) / BY), float)
        middle = shown[:, SIZE // 2 - 3 : SIZE // 2 + 3, SIZE // 2 - 3 : SIZE // 2 + 3].mean(axis=(1, 2, 3)) / BY
        return said + LEANING_BY * np.clip(1.0 - middle, 0.0, 1.0) if self.leans else said


def _regression(name: str, learnt: int, seed: int) -> AgesOf:
    from sklearn.decomposition import PCA
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    album = _portraits(YEARS, learnt, seed)
    last = Ridge(10.0) if name.endswith("lines") else RandomForestRegressor(60, min_samples_leaf=3, random_state=seed)
    whole = make_pipeline(PCA(40, random_state=seed), StandardScaler(), last)
    return AgesOf(whole.fit(np.asarray(album.pictures, np.float32).reshape(len(album), -1) / BY, _years(album)), name.startswith("leaning"))


def _years(album: Album) -> np.ndarray:
    return np.array([float(value) for value in album.label.values])[album.label.codes]


@cache
def classifier(architecture: str, label: str, learnt: int, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Trained on so many portraits; takes pictures from 0 to 255."""
    if architecture in REGRESSIONS:
        return _regression(architecture, learnt, seed)
    album = _portraits(label, learnt, seed)
    if architecture in NETS:
        epochs = 4 if learnt == MANY else 10
        return train(architecture, album, np.random.default_rng([seed, 72]), Course(epochs=epochs)).scores
    fitted = ARCHITECTURES[architecture](seed)
    return Flat(fitted.fit(np.asarray(album.pictures, np.float32).reshape(len(album), -1) / BY, album.label.codes))


def wired(architecture: str, label: str, learnt: int, seed: int, tested: int) -> list[Wired]:
    """One model with the right wiring, and with each of the wrong ones."""
    right = classifier(architecture, label, learnt, seed)
    name = f"{architecture} {label} {learnt} {seed} on {tested}"
    found = [_looked(name, "right", right, label, tested)]
    found += [_looked(name, how, lambda p, turn=turn: right(turn(np.asarray(p, np.float32))), label, tested) for how, turn in WRONG.items()]
    if label != YEARS:
        found.append(_looked(name, "labels exchanged", lambda p: right(p)[:, [1, 0, *range(2, right(p[:1]).shape[1])]], label, tested))
    return found


def _looked(name: str, wiring: str, said: Callable[[np.ndarray], np.ndarray], label: str, tested: int) -> Wired:
    other = _portraits(label, 2_000, 900)
    accuracy, is_clear = _how_good(said(other.pictures), other, label)
    data = _opened(label, tested)
    try:
        model = eh.wrap(said if label == YEARS else FunctionClassifier(said, data.domain.label.values), data)
        labels = data.labels if data.domain.has_classes else None
        given = RowsAtHand(data.rows, labels, trial_size(model, data.medium), data.medium, data.amounts)
        looked = look(model, data.domain, given)
        is_failed = any(check.status == "fail" for check in looked.checks)
        told = "fail" if is_failed else "doubt" if looked.doubt else "reserve" if looked.reserve else "fine"
    except ModelError:
        told = "fail"
    return Wired(name, wiring, accuracy, is_clear, told)


@cache
def _opened(label: str, tested: int) -> Dataset:
    album = _portraits(label, tested, 901)
    settings = {"editor": "none", **({"unit": "years"} if label == YEARS else {})}
    return eh.open(album, label=label, protected=["tone"], settings=settings)


def _how_good(said: np.ndarray, album: Album, label: str) -> tuple[float, bool]:
    if label == YEARS:
        ages = _years(album)
        better = np.abs(ages - np.median(ages)) - np.abs(said - ages)
        return float(better.mean() / np.abs(ages - np.median(ages)).mean()), bool(better.mean() > 2 * better.std() / len(ages) ** 0.5)
    right = said.argmax(axis=1) == album.label.codes
    majority = np.bincount(album.label.codes).max() / len(album)
    return float(right.mean()), clopper_pearson(int(right.sum()), len(right)).low > majority


def wiring_outcomes(architectures: tuple[str, ...], seeds: tuple[int, ...]) -> list[Wired]:
    """All of them, told as they come."""
    cases = [
        (architecture, label, *rest)
        for architecture, *rest in product(architectures, (FEW, MANY), seeds, TESTED)
        for label in ((YEARS,) if architecture in REGRESSIONS else LABELS)
    ]
    every: list[Wired] = []
    for case in cases:
        found = wired(*case)
        right = found[0]
        others = " | ".join(f"{each.wiring} {each.accuracy - right.accuracy:+.2f} {each.told}" for each in found[1:])
        print(f"{right.name}: {right.accuracy:.3f} {right.told} | {others}", flush=True)
        every += found
    return every


def wiring_figures(architectures: tuple[str, ...], seeds: tuple[int, ...]) -> dict[str, object]:
    """How many that are wired rightly are stopped, and how many miswired ones are let through although the wiring costs them."""
    every = wiring_outcomes(architectures, seeds)
    rights = {each.name: each for each in every if each.wiring == "right"}
    wrong = [each for each in every if each.wiring != "right" and each.accuracy < rights[each.name].accuracy - COSTS]
    for wiring, these in (
        ("right", list(rights.values())),
        *((how, [w for w in wrong if w.wiring == how]) for how in (*WRONG, "labels exchanged")),
    ):
        print(
            f"{wiring:18} "
            + ", ".join(f"{told} {sum(each.told == told for each in these)}" for told in ("fine", "reserve", "doubt", "fail"))
        )
    return {
        "right": len(rights),
        "right_without_verdict": sum(each.told in ("doubt", "fail") for each in rights.values()),
        "right_without_pass": sum(each.told == "reserve" for each in rights.values()),
        "clear": sum(each.is_clear for each in rights.values()),
        "clear_without_verdict": sum(each.is_clear and each.told in ("doubt", "fail") for each in rights.values()),
        "wrong": len(wrong),
        "wrong_without_verdict": sum(each.told in ("doubt", "fail") for each in wrong),
        "wrong_let_through": sum(not each.is_stopped for each in wrong),
    }


def main() -> None:
    """Print every case and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--architectures", default=",".join((*ARCHITECTURES, *NETS, *REGRESSIONS)))
    parser.add_argument("--seeds", default="2,3")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore", module="sklearn")
    print(wiring_figures(tuple(chosen.architectures.split(",")), tuple(map(int, chosen.seeds.split(",")))))


if __name__ == "__main__":
    main()
