"""Classifiers of pictures that are wired rightly, strong and weak ones, and the same wired wrongly: which of them the checks let through.

Labels are whether the wall is light, glasses, the gender cue and the age group of drawn portraits; classifiers are linear, perceptrons,
forests and two convolutional nets, that have learnt from many or from few portraits.  Wrong wirings are red and blue exchanged, values from
0 to 1 where 0 to 255 is meant, the other way round, values from -1 to 1, two labels exchanged, and pictures upside down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.engine.preflight import RowsAtHand, look, trial_size
from evenhand.errors import EvenhandError
from evenhand.media.album import Album, Attribute
from evenhand.models.function import FunctionClassifier
from evenhand.models.picture_training import Course, train
from evenhand.planted.portraits import synthetic_faces
from evenhand.statistics.intervals import clopper_pearson
from parts.picture_verdicts import ARCHITECTURES, SIZE, labelled

LABELS = ("wall", "glasses", "gender_cue", "age_group")
FEW, MANY = 120, 1_500
TESTED = (150, 600)
NETS = ("vgg", "resnet")
BY = 255.0


def _as_given(pictures: np.ndarray) -> np.ndarray:
    return pictures


def _exchanged(pictures: np.ndarray) -> np.ndarray:
    return pictures[..., ::-1]


WRONG: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "blue first": _exchanged,
    "too small": lambda pictures: pictures / BY,
    "too large": lambda pictures: pictures * BY,
    "around 0": lambda pictures: pictures * 2.0 - BY,
    "upside down": lambda pictures: pictures[:, ::-1],
}
"""What the net gets instead of bytes."""


@dataclass(frozen=True)
class Wired:
    """What the checks said of one classifier."""

    name: str
    wiring: str
    accuracy: float
    is_clear: bool  # shown to be better than always saying the commonest label, on 2,000 other portraits
    told: str  # fail, doubt, reserve (no pass) or fine

    @property
    def is_stopped(self) -> bool:
        """Whether it cannot pass."""
        return self.told != "fine"


@cache
def _portraits(label: str, count: int, seed: int) -> Album:
    album = synthetic_faces(count, np.random.default_rng([seed, 71]), SIZE)
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


@cache
def classifier(architecture: str, label: str, learnt: int, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Trained on so many portraits; takes pictures from 0 to 255."""
    album = _portraits(label, learnt, seed)
    if architecture in NETS:
        epochs = 4 if learnt == MANY else 10
        return train(architecture, album, np.random.default_rng([seed, 72]), Course(epochs=epochs)).scores
    fitted = ARCHITECTURES[architecture](seed)
    return Flat(fitted.fit(np.asarray(album.pictures, np.float32).reshape(len(album), -1) / BY, album.label.codes))


def wired(architecture: str, label: str, learnt: int, seed: int, tested: int) -> list[Wired]:
    """One classifier with the right wiring, and with each of the wrong ones."""
    right = classifier(architecture, label, learnt, seed)
    name = f"{architecture} {label} {learnt} on {tested}"
    found = [_looked(name, "right", right, label, tested)]
    found += [_looked(name, how, lambda p, turn=turn: right(turn(np.asarray(p, np.float32))), label, tested) for how, turn in WRONG.items()]
    found.append(_looked(name, "labels exchanged", lambda p: right(p)[:, [1, 0, *range(2, right(p[:1]).shape[1])]], label, tested))
    return found


def _looked(name: str, wiring: str, said: Callable[[np.ndarray], np.ndarray], label: str, tested: int) -> Wired:
    other = _portraits(label, 2_000, 900)
    right = said(other.pictures).argmax(axis=1) == other.label.codes
    majority = np.bincount(other.label.codes).max() / len(other)
    is_clear = clopper_pearson(int(right.sum()), len(right)).low > majority
    data = eh.open(_portraits(label, tested, 901), label=label, protected=["tone"], settings={"editor": "none"})
    try:
        model = eh.wrap(FunctionClassifier(said, data.domain.label.values), data)
        given = RowsAtHand(data.rows, data.labels, trial_size(model, data.medium), data.medium)
        looked = look(model, data.domain, given)
        is_failed = any(check.status == "fail" for check in looked.checks)
        told = "fail" if is_failed else "doubt" if looked.doubt else "reserve" if looked.reserve else "fine"
    except EvenhandError:
        told = "fail"
    return Wired(name, wiring, float(right.mean()), is_clear, told)


def wiring_outcomes(architectures: tuple[str, ...], seeds: range) -> list[Wired]:
    """All of them."""
    cases = product(architectures, LABELS, (FEW, MANY), seeds, TESTED)
    return [each for case in cases for each in wired(*case)]


def wiring_figures(architectures: tuple[str, ...], seeds: range) -> dict[str, object]:
    """How many sensible ones are stopped, and how many miswired ones are let through although the wiring costs them accuracy."""
    every = wiring_outcomes(architectures, seeds)
    rights = {each.name: each for each in every if each.wiring == "right"}
    for wiring in dict.fromkeys(each.wiring for each in every):
        these = [each for each in every if each.wiring == wiring]
        counted = ", ".join(f"{told} {sum(each.told == told for each in these)}" for told in ("fine", "reserve", "doubt", "fail"))
        print(f"{wiring:18} {counted}")
    wrong = [each for each in every if each.wiring != "right" and each.accuracy < rights[each.name].accuracy - 0.05]
    sensible = list(rights.values())
    clear = [each for each in sensible if each.is_clear]
    return {
        "pictures_sensible": len(sensible),
        "pictures_sensible_failed": sum(each.told == "fail" for each in sensible),
        "pictures_clear_doubted": sum(each.is_stopped for each in clear),
        "pictures_clear": len(clear),
        "pictures_miswired": len(wrong),
        "pictures_miswired_let_through": sum(not each.is_stopped for each in wrong),
    }
