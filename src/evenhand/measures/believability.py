"""What people said of changed pictures in a study: valid sheets, means by operator with intervals, and the test of the paper.

People and scenes are both drawn from more than are there, so the intervals draw both again: a bootstrap over people and over scenes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.errors import DataError
from evenhand.statistics.intervals import Interval
from evenhand.statistics.shares import RankTest, mann_whitney

REAL, MUTATED, EVERY = "real", "mutated", "all"
SCALES = ("realism", "likelihood")
RIGHT_AT_LEAST = 0.6  # of the control pictures
AGREEMENT = 0.75
FEW = 3
"""More objects than these are hard to count, and no control."""
CONTROLS = 5
DRAWS = 2_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class JudgedSlide:
    """What is known of one picture of a study."""

    operator: str  # "real" for an original
    scene: str
    count: int  # objects of the classes that people are asked to count
    data: str = ""  # the data set that it comes from
    is_erring: bool = False  # whether a recogniser errs on it; never of an original


@dataclass(frozen=True)
class MarkedPictures:
    """A cell of the paper's Table 10: the mean marks of one kind of picture in one data set."""

    data: str  # "all" for all of them together
    kind: str  # an operator, or "real" or "mutated"
    only_erring: bool  # whether only error-inducing pictures are meant
    pictures: int
    realism: Interval
    likelihood: Interval

    @property
    def sentence(self) -> str:
        """For a reader."""
        which = "error-inducing, " if self.only_erring else ""
        return f"{self.data}, {which}{self.kind} ({self.pictures}): realism {_told(self.realism)}, likelihood {_told(self.likelihood)}"


@dataclass(frozen=True)
class Believability:
    """What the paper reports of its study, with intervals."""

    sheets: int
    valid: int
    control: tuple[int, ...]
    realism: Mapping[str, Interval]  # mean by operator, and "real" and "mutated"
    likelihood: Mapping[str, Interval]
    realism_of_real: Interval | None  # mutated over real
    likelihood_of_real: Interval | None
    test: RankTest | None  # realism of real against mutated, every mark as one
    table: tuple[MarkedPictures, ...] = ()  # by data set and for error-inducing pictures, where these are known

    @property
    def sentences(self) -> list[str]:
        """For a reader."""
        lines = [f"{self.valid} of {self.sheets} answer sheets are valid{self._rule}"]
        for name in SCALES:
            means = getattr(self, name)
            lines += [f"{name}: " + ", ".join(f"{kind} {_told(means[kind])}" for kind in sorted(means))] if means else []
        if self.realism_of_real is not None and self.likelihood_of_real is not None and self.test is not None:
            lines.append(
                f"changed pictures are {_share(self.realism_of_real)} as realistic as real ones "
                f"(Mann-Whitney p = {self.test.p_value:.3g}), and {_share(self.likelihood_of_real)} as likely to occur"
            )
        return [*lines, *(cell.sentence for cell in self.table)]

    @property
    def _rule(self) -> str:
        """Why the others are not, where there are any."""
        if self.valid == self.sheets:
            return ""
        wanted = f"{RIGHT_AT_LEAST:.0%} of the {len(self.control)} clear pictures, on which most people agree"
        return f"; the others do not count the vehicles rightly on {wanted}"


def _told(mean: Interval) -> str:
    return f"{mean.estimate:.2f} ({mean.low:.2f} to {mean.high:.2f})"


def _share(ratio: Interval) -> str:
    return f"{ratio.estimate:.1%} ({ratio.low:.1%} to {ratio.high:.1%})"


def believability(deck: Sequence[JudgedSlide], sheets: Sequence[Sequence[Mapping[str, int]]], rng: np.random.Generator) -> Believability:
    """Five clear pictures (few objects, answered alike by more than three quarters) validate a sheet: three must be right."""
    if not sheets:
        raise DataError("no answer sheet; run the study first")
    control, valid = _valid(deck, sheets, rng)
    kinds = np.array([one.operator for one in deck])
    marks = {name: np.array([[one[name] for one in sheets[k]] for k in valid], float).reshape(len(valid), len(deck)) for name in SCALES}
    draws = _Redrawn.of(len(valid), np.array([one.scene for one in deck]), rng) if len(valid) else None
    means = {name: _means(values, kinds, draws) for name, values in marks.items()}
    real, mutated = marks["realism"][:, kinds == REAL].ravel(), marks["realism"][:, kinds != REAL].ravel()
    test = mann_whitney(real, mutated) if real.size and mutated.size else None
    ratios = [_ratio(marks[name], kinds, draws) for name in SCALES]
    table = tuple(_table(deck, marks, draws)) if draws is not None else ()
    return Believability(len(sheets), len(valid), control, means["realism"], means["likelihood"], ratios[0], ratios[1], test, table)


def _table(deck: Sequence[JudgedSlide], marks: Mapping[str, Reals], draws: _Redrawn) -> Iterator[MarkedPictures]:
    """Table 10: every data set and all together, every kind of picture, all of them and the error-inducing ones."""
    names = sorted({one.data for one in deck if one.data})
    erring = np.array([one.is_erring for one in deck])
    if len(names) < 2 and not erring.any():
        return  # nothing that the means by operator do not say
    kinds, data = np.array([one.operator for one in deck]), np.array([one.data for one in deck])
    parts = {str(kind): kinds == kind for kind in np.unique(kinds)} | {MUTATED: kinds != REAL}
    for where, inside in [*((name, data == name) for name in names if len(names) > 1), (EVERY, np.ones(len(deck), bool))]:
        for kind, chosen in parts.items():
            for only_erring in (False, True):
                some = inside & chosen & (erring if only_erring else True)
                if some.any():
                    cell = [
                        _interval(float(marks[name][:, some].mean()), draws.means(marks[name], some), len(marks[name])) for name in SCALES
                    ]
                    yield MarkedPictures(where, kind, only_erring, int(some.sum()), cell[0], cell[1])


def _valid(
    deck: Sequence[JudgedSlide], sheets: Sequence[Sequence[Mapping[str, int]]], rng: np.random.Generator
) -> tuple[tuple[int, ...], list[int]]:
    """The control pictures, and the sheets that count enough of them right."""
    counts = np.array([[one["count"] for one in sheet] for sheet in sheets])
    truth = np.array([one.count for one in deck])
    agreed = np.array([np.bincount(column).max() / len(column) for column in counts.T])
    clear = np.flatnonzero((truth <= FEW) & (agreed > AGREEMENT))
    control = rng.choice(clear, min(CONTROLS, len(clear)), replace=False) if len(clear) else np.zeros(0, int)
    right = (counts[:, control] == truth[control]).mean(axis=1) if len(control) else np.ones(len(sheets))
    return tuple(int(k) for k in control), np.flatnonzero(right >= RIGHT_AT_LEAST).tolist()


@dataclass(frozen=True, eq=False)
class _Redrawn:
    """How often each person and each picture (with its scene) stands in each draw."""

    people: Reals  # (draws, people)
    pictures: Reals  # (draws, pictures)

    @classmethod
    def of(cls, people: int, scenes: NDArray[np.str_], rng: np.random.Generator) -> _Redrawn:
        names, which = np.unique(scenes, return_inverse=True)
        drawn = [rng.multinomial(n, np.full(n, 1 / n), DRAWS).astype(float) for n in (people, len(names))]
        return cls(drawn[0], drawn[1][:, which])

    def means(self, marks: Reals, chosen: NDArray[np.bool_]) -> Reals:
        """The mean of the chosen pictures in every draw; NaN where a draw has none."""
        weights = self.pictures * chosen
        with np.errstate(invalid="ignore"):
            return np.asarray(np.einsum("dp,dp->d", self.people @ marks, weights) / (self.people.sum(axis=1) * weights.sum(axis=1)))


def _means(marks: Reals, kinds: NDArray[np.str_], draws: _Redrawn | None) -> dict[str, Interval]:
    if draws is None:
        return {}
    parts = {str(kind): kinds == kind for kind in np.unique(kinds)} | {MUTATED: kinds != REAL}
    return {
        name: _interval(float(marks[:, chosen].mean()), draws.means(marks, chosen), len(marks))
        for name, chosen in parts.items()
        if chosen.any()
    }


def _ratio(marks: Reals, kinds: NDArray[np.str_], draws: _Redrawn | None) -> Interval | None:
    real = kinds == REAL
    if draws is None or not real.any() or real.all() or not marks[:, real].mean():
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = draws.means(marks, ~real) / draws.means(marks, real)
    return _interval(float(marks[:, ~real].mean() / marks[:, real].mean()), drawn, len(marks))


def _interval(estimate: float, drawn: Reals, people: int) -> Interval:
    known = drawn[np.isfinite(drawn)]
    low, high = np.quantile(known, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)) if len(known) else (np.nan, np.nan)
    return Interval(estimate, float(low), float(high), people, CONFIDENCE)
