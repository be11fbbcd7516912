"""Whether a classifier of pictures reads them better wired otherwise: other order of colours, other scale, other layout, labels exchanged.

Weak classifiers read all wirings badly; one that is wired wrongly reads another one better, and is still often better than guessing.  An
endpoint gets pictures as files, which say their colours and scale themselves, and is not asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Reals, Rows, Scores
from evenhand.contract import Model, labels_of
from evenhand.engine.wiring_checks import Check, Patient, best_exchange, is_reversed
from evenhand.errors import EvenhandError
from evenhand.models.meter import Meter
from evenhand.models.readings import FEWEST
from evenhand.statistics.better_reading import TrueAmounts, TrueLabels, Truth

WHITE = 255.0
MEAN, DEVIATION = (np.array(each, np.float32) * np.float32(WHITE) for each in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
"""By which many published nets want colours shifted and scaled."""


@dataclass(frozen=True)
class Wiring:
    """Another way to hand pictures over.

    told: what is then different.  cure: what to change where the model reads such pictures better.
    is_tonal: whether it changes colours and light as they differ between people, too.
    """

    told: str
    change: Callable[[NDArray[Any]], NDArray[Any]]
    cure: str
    is_tonal: bool = True


def _planes_first(pictures: NDArray[Any]) -> NDArray[Any]:
    """The numbers of red, of green and of blue one after the other, in the shape that pictures have."""
    return np.ascontiguousarray(np.moveaxis(pictures, 3, 1)).reshape(pictures.shape)


def _planes_last(pictures: NDArray[Any]) -> NDArray[Any]:
    """What undoes it: read as planes, and put where a model expects them that is given planes by mistake."""
    count, height, width, colours = pictures.shape
    return np.ascontiguousarray(np.moveaxis(pictures.reshape(count, colours, height, width), 1, 3))


OTHER_WIRINGS = (
    Wiring("values 255 times as small", lambda p: p / WHITE, "pictures / 255 in a function, prepare: {scale: 0.00392} for a net", False),
    Wiring("red and blue exchanged", lambda p: p[..., ::-1], "pictures[..., ::-1] in a function, prepare: {blue_first: true} for a net"),
    Wiring("values 255 times as large", lambda p: p * WHITE, "no division by 255 in a function, prepare: {scale: 1} for a net"),
    Wiring(
        "values from -1 to 1 instead of 0 to 1",
        lambda p: 2.0 * p - WHITE,
        "pictures / 127.5 - 1 in a function, prepare: {mean: [0.5, 0.5, 0.5], deviation: [0.5, 0.5, 0.5]} for a net",
    ),
    Wiring(
        "values from 0 to 1 instead of -1 to 1",
        lambda p: (p + WHITE) / 2.0,
        "pictures / 255 in a function, prepare: without mean and deviation for a net",
    ),
    Wiring(
        "values shifted and scaled by ImageNet's colours",
        lambda p: (p - MEAN) / DEVIATION * WHITE,
        "subtract the mean and divide by the deviation, prepare: {mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225]} for a net",
    ),
    Wiring(
        "values not shifted and scaled by ImageNet's colours",
        lambda p: p / WHITE * DEVIATION + MEAN,
        "leave ImageNet's mean and deviation out, of prepare: for a net",
    ),
    Wiring("the colours as planes (n, 3, height, width)", _planes_first, "np.moveaxis(pictures, 3, 1) in a function", False),
    Wiring("the colours last (n, height, width, 3)", _planes_last, "leave pictures as they come: (n, height, width, 3)", False),
    Wiring("the pictures upside down", lambda p: p[:, ::-1], "pictures[:, ::-1] in a function", False),
    Wiring("rows and columns exchanged", lambda p: p.transpose(0, 2, 1, 3), "pictures.transpose(0, 2, 1, 3) in a function", False),
)
LEVEL = 0.05 / len(OTHER_WIRINGS)
"""From which p-value on a wiring is a better one: so many are tried."""
LEVEL_OF_HALF = 0.05
"""The same, on the half of the groups that gains least from the best wiring: only one is looked at there."""
BEHIND = 0.1
"""A wiring that is so much worse on the usual rows is not tried on the further ones."""
LEAST_GAIN, LARGE_GAIN = 0.02, 0.1
MOST_FURTHER = 450


@runtime_checkable
class SeenOtherwise(Protocol):
    """A model that can be shown changed pictures."""

    def seen_otherwise(self, change: Callable[[Any], Any]) -> Model | None:
        """The same model, for which pictures are changed first; None where it is not shown pictures, or asked over a network."""


@dataclass(frozen=True, eq=False)
class _Compared:
    """The answers to the same pictures as the model is wired, and wired otherwise."""

    wiring: Wiring
    given: Scores
    other: Scores
    truth: Truth
    groups: Labels

    @cached_property
    def gain(self) -> float:
        """How much better it reads them."""
        return self.truth.gain(self.given, self.other)

    @cached_property
    def fewer_errors(self) -> float:
        """The p-value of more right answers, or of smaller errors."""
        return self.truth.p_of_fewer_errors(self.given, self.other)

    @cached_property
    def more_told(self) -> float:
        """The p-value of telling more of the label within groups, whatever the thresholds are."""
        return self.truth.p_of_more_told(self.given, self.other, self.groups)

    @property
    def is_better(self) -> bool:
        """Whether it is shown to read pictures better."""
        return self.gain >= LEAST_GAIN and self.p_value <= LEVEL

    @property
    def is_clear(self) -> bool:
        """Whether nothing but the wiring explains that.

        A classifier that leans on skin may be right more often where colours or light are changed, since it then leans less; it cannot
        tell more of the label within every group for that, and gains little in the group that it favours.  Where pictures are black or
        pixels exchanged, it may no longer see the group; then those whom it treated worse gain, and the others do not.
        """
        if not self.wiring.is_tonal:
            return self.is_better and self.more_told <= LEVEL and self._is_better_where_least
        gained = min(self._gains_of_groups.values())
        return self.is_better and self.fewer_errors <= LEVEL and gained > 0 and (self.more_told <= LEVEL or gained >= LARGE_GAIN)

    @cached_property
    def _gains(self) -> Reals:
        """By how much each picture is read better."""
        return self.truth.gains(self.given, self.other)

    @cached_property
    def _gains_of_groups(self) -> dict[int, float]:
        """The mean in every large group; of all pictures where there is none."""
        large = np.unique(self.groups[self.groups >= 0])
        found = {int(group): float(self._gains[self.groups == group].mean()) for group in large}
        return found or {-1: float(self._gains.mean())}

    @cached_property
    def _is_better_where_least(self) -> bool:
        """Whether that half of the groups that gains least is shown to gain, too; all pictures where there are no two groups."""
        by_gain = sorted(self._gains_of_groups, key=self._gains_of_groups.__getitem__)
        if len(by_gain) < 2:
            return True
        here = np.isin(self.groups, by_gain[: len(by_gain) // 2])
        least = _Compared(self.wiring, self.given[here], self.other[here], self.truth.at(here), self.groups[here])
        return bool(self._gains[here].mean() > 0 and least.p_value <= LEVEL_OF_HALF)

    @property
    def p_value(self) -> float:
        """The smaller one; for choosing among wirings."""
        return min(self.fewer_errors, self.more_told)


def look_at_wiring(patient: Patient, seconds: float) -> Iterator[Check]:
    """One check of the input and one of the labels, where pictures are shown of which the label, or the amount, is known.

    seconds: how long others are tried at most.
    """
    model = patient.model.model
    if not isinstance(model, SeenOtherwise) or model.seen_otherwise(np.asarray) is None:
        return
    pictures = _KnownPictures.of(patient)
    if pictures is None:
        return
    found = _told(_better_wirings(model, pictures, seconds))
    exchanged = (
        _exchanged(pictures.truth.labels, pictures.scores, patient.model.classes) if isinstance(pictures.truth, TrueLabels) else None
    )
    yield from (each for each in (found, exchanged) if each is not None)


@dataclass(frozen=True, eq=False)
class _KnownPictures:
    """The usual rows first, `usual` of them, then further ones; what is true of them, and what the model says as it is wired."""

    rows: Rows
    truth: Truth
    scores: Scores
    usual: int
    groups: Labels

    @classmethod
    def of(cls, patient: Patient) -> _KnownPictures | None:
        """Of the further rows, no more than show a loss of ten points; None where too little is known, or all the same."""
        known, rows, scores = patient.known, patient.rows, patient.scores
        if known is None or len(known) < FEWEST or np.ptp(known) == 0:
            return None
        if patient.further is not None:
            more = patient.further.rows[:MOST_FURTHER]
            rows, known = np.concatenate([rows, more]), np.concatenate([known, patient.further.known[:MOST_FURTHER]])
            scores = np.concatenate([scores, patient.model.scores(more)])
        truth: Truth = TrueLabels(known) if patient.has_labels else TrueAmounts.of(known)
        return cls(rows, truth, scores, len(patient.rows), _groups(rows, patient))


def _groups(rows: Rows, patient: Patient) -> Labels:
    """The combination of protected values of every row; those with few rows together."""
    protected = rows[:, [patient.domain.place(name) for name in patient.domain.protected]]
    _, places, sizes = np.unique(protected, axis=0, return_inverse=True, return_counts=True)
    places = places.reshape(-1)
    return np.where(sizes[places] >= FEWEST, places, -1)


def _better_wirings(model: SeenOtherwise, pictures: _KnownPictures, seconds: float) -> list[_Compared]:
    """What it says of pictures handed over otherwise, as far as there is time."""
    ends = time.perf_counter() + seconds
    found: list[_Compared] = []
    for wiring in OTHER_WIRINGS:
        other = model.seen_otherwise(wiring.change)
        if other is None or (found and time.perf_counter() > ends):
            break
        said = _said_otherwise(Meter(other, remembers=False), pictures)
        if said is not None:
            asked = slice(0, len(said))
            found.append(_Compared(wiring, pictures.scores[asked], said, pictures.truth.at(asked), pictures.groups[asked]))
    return found


def _said_otherwise(model: Model, pictures: _KnownPictures) -> Scores | None:
    """The answers, to the further pictures only where the usual ones let it seem possible that more are read."""
    usual = pictures.usual
    first = _scores(model, pictures.rows[:usual])
    if first is None or len(pictures.rows) == usual:
        return first
    if pictures.truth.at(slice(0, usual)).gains(pictures.scores[:usual], first).mean() < -BEHIND:
        return first
    rest = _scores(model, pictures.rows[usual:])
    return first if rest is None else np.concatenate([first, rest])


def _scores(model: Model, rows: Rows) -> Scores | None:
    """Finite answers; None where the model cannot take such pictures."""
    try:
        with np.errstate(all="ignore"):
            said = model.scores(rows)
    except EvenhandError:
        return None
    return said if np.isfinite(said).all() else None


def _told(tried: list[_Compared]) -> Check | None:
    """The best of them, the clear ones first; None where none could be tried."""
    if not tried:
        return None
    better = [each for each in tried if each.is_better]
    if not better:
        return Check("input", "ok", f"wired otherwise in {len(tried)} ways, it reads pictures no better.")
    best = min(better, key=lambda each: (not each.is_clear, each.p_value, -each.gain))
    compared = best.truth.told(best.given, best.other)
    sentence = f"with {best.wiring.told} {compared}: is it given pictures as it was trained on?  Try {best.wiring.cure}"
    return Check("input", "warn", sentence, is_doubt=best.is_clear, is_reserve=not best.is_clear)


def _exchanged(labels: Labels, scores: Scores, classes: tuple[Any, ...]) -> Check | None:
    """Whether two labels stand in each other's place, on all rows; the usual ones have shown it already where it is plain."""
    said = labels_of(scores)
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
