"""Whether a classifier of pictures reads them better wired otherwise: other order of colours, other scale, upside down, labels exchanged.

Weak classifiers read all wirings badly; one that is wired wrongly reads another one better, and is still often better than guessing.  An
endpoint gets pictures as files, which say their colours and scale themselves, and is not asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from evenhand.arrays import Labels, Mask, Rows, Scores
from evenhand.contract import Model, labels_of
from evenhand.engine.wiring_checks import Check, Patient, best_exchange, is_reversed
from evenhand.errors import EvenhandError
from evenhand.models.meter import Meter
from evenhand.models.readings import FEWEST

WHITE = 255.0
MEAN, DEVIATION = (np.array(each, np.float32) * np.float32(WHITE) for each in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
"""By which many published nets want colours shifted and scaled."""
OTHER_WIRINGS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "red and blue exchanged (prepare: blue_first)": lambda pictures: pictures[..., ::-1],
    "values 255 times as large (prepare: scale)": lambda pictures: pictures * WHITE,
    "values 255 times as small (prepare: scale)": lambda pictures: pictures / WHITE,
    "values from -1 to 1 instead of 0 to 1 (prepare: mean, deviation)": lambda pictures: 2.0 * pictures - WHITE,
    "values from 0 to 1 instead of -1 to 1 (prepare: mean, deviation)": lambda pictures: (pictures + WHITE) / 2.0,
    "values shifted and scaled by ImageNet's colours (prepare: mean, deviation)": lambda pictures: (pictures - MEAN) / DEVIATION * WHITE,
    "values not shifted and scaled by ImageNet's colours (prepare: mean, deviation)": lambda pictures: pictures / WHITE * DEVIATION + MEAN,
    "the pictures upside down": lambda pictures: pictures[:, ::-1],
}
RESERVED_BELOW = 0.05
"""From which p-value on a better wiring keeps a classifier from passing.  It is no doubt, which would keep it from being blamed too: a
classifier that leans on the colour or the light of skin may read pictures better where these are changed."""
BEHIND = 0.1
"""A wiring that is so much worse on the usual rows is not tried on the further ones."""
LEAST_GAIN = 0.02
MOST_FURTHER = 450
FEWEST_MOVED = 8
"""Fewer pictures that only one of two wirings reads rightly tell nothing."""


@runtime_checkable
class SeenOtherwise(Protocol):
    """A model that can be shown changed pictures."""

    def seen_otherwise(self, change: Callable[[Any], Any]) -> Model | None:
        """The same model, for which pictures are changed first; None where it is not shown pictures, or asked over a network."""


@dataclass(frozen=True)
class _Compared:
    """The answers as it is wired, and wired otherwise: which of them are right.

    Every class counts alike: a wiring under which only the commonest label is said is often right, and reads nothing.
    """

    given: Mask
    other: Mask
    labels: Labels

    @property
    def _weights(self) -> NDArray[np.float64]:
        counts = np.bincount(self.labels)
        return 1.0 / (counts[self.labels] * np.count_nonzero(counts))

    def share(self, right: Mask) -> float:
        """Of right answers, as the mean over the classes."""
        return float((self._weights * right).sum())

    @property
    def gain(self) -> float:
        """How much more of the mean class the other wiring reads rightly."""
        return self.share(self.other) - self.share(self.given)

    @property
    def p_value(self) -> float:
        """Of so large a gain where either wiring is as likely to be the right one for a picture (signs exchanged, normal)."""
        moved = self._weights * (self.other.astype(float) - self.given)
        if np.count_nonzero(moved) < FEWEST_MOVED:
            return 1.0
        return float(norm.sf(moved.sum() / np.sqrt((moved**2).sum())))


def look_at_wiring(patient: Patient, seconds: float) -> Iterator[Check]:
    """One check of the input and one of the labels, where pictures with labels are shown; `seconds`: how long others are tried at most."""
    model = patient.model.model
    if not isinstance(model, SeenOtherwise) or patient.labels is None or not patient.has_labels or len(patient.labels) < FEWEST:
        return
    if model.seen_otherwise(np.asarray) is None or len(np.unique(patient.labels)) < 2:
        return
    pictures = _LabelledPictures.of(patient)
    found = _better_wiring(model, pictures, seconds)
    exchanged = _exchanged(pictures, patient.model.classes)
    yield from (each for each in (found, exchanged) if each is not None)


@dataclass(frozen=True, eq=False)
class _LabelledPictures:
    """The usual rows first, `usual` of them, then further ones; their labels, and what the model says as it is wired."""

    rows: Rows
    labels: Labels
    scores: Scores
    usual: int

    @classmethod
    def of(cls, patient: Patient) -> _LabelledPictures:
        """Of the further rows, no more than show a loss of ten points."""
        assert patient.labels is not None
        usual = cls(patient.rows, patient.labels, patient.scores, len(patient.rows))
        if patient.further is None:
            return usual
        rows, labels = patient.further.rows[:MOST_FURTHER], patient.further.labels[:MOST_FURTHER]
        scores = np.concatenate([usual.scores, patient.model.scores(rows)])
        return cls(np.concatenate([usual.rows, rows]), np.concatenate([usual.labels, labels]), scores, usual.usual)

    @property
    def right(self) -> Mask:
        """Which are read rightly as it is wired."""
        return np.asarray(labels_of(self.scores) == self.labels)


def _better_wiring(model: SeenOtherwise, pictures: _LabelledPictures, seconds: float) -> Check | None:
    """The wiring that reads pictures better than the one that is given, if there is one; None where no other can be tried."""
    ends = time.perf_counter() + seconds
    compared: dict[str, _Compared] = {}
    for name, change in OTHER_WIRINGS.items():
        other = model.seen_otherwise(change)
        if other is None or (compared and time.perf_counter() > ends):
            break
        read = _read_otherwise(Meter(other, remembers=False), pictures)
        if read is not None:
            compared[name] = _Compared(pictures.right[: len(read)], read, pictures.labels[: len(read)])
    return _told(compared) if compared else None


def _read_otherwise(model: Model, pictures: _LabelledPictures) -> Mask | None:
    """Which pictures are read rightly, of the further ones only where the usual ones let it seem possible that more are."""
    usual = pictures.usual
    first = _right(model, pictures.rows[:usual], pictures.labels[:usual])
    if first is None or len(pictures.rows) == usual or first.mean() < pictures.right[:usual].mean() - BEHIND:
        return first
    rest = _right(model, pictures.rows[usual:], pictures.labels[usual:])
    return first if rest is None else np.concatenate([first, rest])


def _right(model: Model, rows: Rows, labels: Labels) -> Mask | None:
    """Which answers are right; None where the model cannot take such pictures."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(labels_of(model.scores(rows)) == labels)
    except EvenhandError:
        return None


def _told(compared: dict[str, _Compared]) -> Check:
    name, best = min(compared.items(), key=lambda each: each[1].p_value)
    if best.p_value > RESERVED_BELOW or best.gain < LEAST_GAIN:
        return Check("input", "ok", f"wired otherwise in {len(compared)} ways, it reads pictures no better.")
    sentence = (
        f"with {name} it reads {best.share(best.other):.1%} of {len(best.other):,} labelled pictures rightly, every class counted "
        f"alike, as it is wired {best.share(best.given):.1%}: is it given pictures as it was trained on?"
    )
    return Check("input", "warn", sentence, is_reserve=True)


def _exchanged(pictures: _LabelledPictures, classes: tuple[Any, ...]) -> Check | None:
    """Whether two labels stand in each other's place, on all rows; the usual ones have shown it already where it is plain."""
    said, labels, scores = labels_of(pictures.scores), pictures.labels, pictures.scores
    accuracy = float(np.mean(said == labels))
    exchanged, pair = best_exchange(said, labels, len(classes))
    if exchanged < accuracy + LEAST_GAIN or not is_reversed(scores, labels, pair):
        return None
    first, second = (classes[place] for place in pair)
    sentence = (
        f"accuracy {accuracy:.1%} on {len(labels):,} labelled pictures; with {first!r} and {second!r} exchanged it would be "
        f"{exchanged:.1%}: their order is probably swapped; declare the model's own order with classes=[...]."
    )
    return Check("label order", "warn", sentence, is_doubt=True)
