"""What people said of changed pictures in a study: valid sheets, means by operator with intervals, and the test of the paper.

People and scenes are both drawn from more than are there, so the intervals draw both again: a bootstrap over people and over scenes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.errors import DataError
from evenhand.statistics.intervals import Interval
from evenhand.statistics.shares import RankTest, mann_whitney

REAL, MUTATED = "real", "mutated"
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

    @property
    def sentences(self) -> list[str]:
        """For a reader."""
        lines = [f"{self.valid} of {self.sheets} answer sheets are valid"]
        for name in SCALES:
            means = getattr(self, name)
            lines += [f"{name}: " + ", ".join(f"{kind} {_told(means[kind])}" for kind in sorted(means))] if means else []
        if self.realism_of_real is not None and self.likelihood_of_real is not None and self.test is not None:
            lines.append(
                f"changed pictures are {_share(self.realism_of_real)} as realistic as real ones "
                f"(Mann-Whitney p = {self.test.p_value:.3g}), and {_share(self.likelihood_of_real)} as likely to occur"
            )
        return lines


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
    return Believability(len(sheets), len(valid), control, means["realism"], means["likelihood"], ratios[0], ratios[1], test)


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
