"""Series of results whose truth is known: a model that stays, is only noisy, drifts, jumps, is repaired, or was changed behind its digest.

Every person of a result is treated unfairly or not; the true rate of each result is a number that is set, not estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.arrays import Rows
from evenhand.contract import Model
from evenhand.datasets.dataset import Dataset
from evenhand.measures.rates import judge_all
from evenhand.oracles import oracle_of

RATE = 0.05
NOISE = 0.2
"""A newly trained model judges this share of the unfair rows otherwise, and as many others instead."""


@dataclass(frozen=True)
class SeriesPlan:
    """So many results of so many rows.  is_whole: every result asks all rows of one table, instead of drawing new people each time."""

    results: int
    rows: int
    is_whole: bool


@dataclass(frozen=True)
class KnownSeries:
    """Results, the oldest first, with the true rate of each."""

    contents: Sequence[dict[str, Any]]
    rates: Sequence[float]

    @property
    def rise(self) -> float:
        """By how much the newest is truly above the first or the one before, whichever is more."""
        return self.rates[-1] - min(self.rates[0], self.rates[-2])


def unchanged(plan: SeriesPlan) -> list[float]:
    """The same rate always."""
    return [RATE] * plan.results


def drifting(plan: SeriesPlan) -> list[float]:
    """A little more every time, two points in all."""
    return list(np.linspace(RATE, RATE + 0.02, plan.results))


def jumped(plan: SeriesPlan) -> list[float]:
    """Three points more in the newest."""
    return [*unchanged(plan)[1:], RATE + 0.03]


def at_tolerance(plan: SeriesPlan, tolerance: float = 0.01) -> list[float]:
    """The newest is above by just what is tolerated: to call that worse is an error."""
    return [*unchanged(plan)[1:], RATE + tolerance]


def over_tolerance(plan: SeriesPlan, tolerance: float = 0.01) -> list[float]:
    """The newest is above by a hair more than what is tolerated: to let that pass is an error."""
    return [*unchanged(plan)[1:], RATE + tolerance * 1.01]


def became_fair(plan: SeriesPlan) -> list[float]:
    """Repaired in the newest."""
    return [*unchanged(plan)[1:], 0.0]


SUBJECTS: dict[str, Callable[[SeriesPlan], list[float]]] = {
    "unchanged": unchanged,
    "drifting": drifting,
    "jumped": jumped,
    "at tolerance": at_tolerance,
    "over tolerance": over_tolerance,
    "became fair": became_fair,
}


def simulated(rates: Sequence[float], plan: SeriesPlan, rng: np.random.Generator) -> KnownSeries:
    """Results with these true rates; every one is of a model trained anew."""
    unfair = rng.random(plan.rows) < rates[0]
    contents = []
    for at, rate in enumerate(rates):
        if at:
            unfair = _retrained(unfair, rates[at - 1], rate, rng) if plan.is_whole else rng.random(plan.rows) < rate
        rows = np.flatnonzero(unfair) if plan.is_whole else None
        contents.append(content_of(int(unfair.sum()), plan.rows, f"model {at}", rows, "table" if plan.is_whole else f"table {at}"))
    return KnownSeries(contents, rates)


def _retrained(unfair: np.ndarray, before: float, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Who is treated unfairly by the next model: some of the same and some others, so that the rate is the next one's."""
    keep = (1 - NOISE) * min(1.0, rate / before) if before else 0.0
    fresh = (rate - before * keep) / (1 - before)
    return np.where(unfair, rng.random(len(unfair)) < keep, rng.random(len(unfair)) < fresh)


def content_of(unfair: int, n: int, model: str, rows: np.ndarray | None, data: str = "table") -> dict[str, Any]:
    """A result as `scan` writes it, as far as a series reads it."""
    rate = {"estimate": unfair / n, "n": n, "unfair": unfair, "population": "data", "confidence": 0.95, "whole": rows is not None}
    header = {
        "verb": "scan", "date": "2026-05-01", "seed": 0, "data": {"digest": data, "rows": n}, "model": {"digest": model}, "oracle": "flip",
        "domain": {"protected": ["sex"], "digest": "domain"}, "medium": {"kind": "table"}, "evenhand": "1",
    }  # fmt: skip
    return {"header": header, "witnesses": [], "body": {"rates": [rate], "unfair_rows": None if rows is None else rows.tolist()}}


@dataclass(frozen=True)
class SilentChange:
    """A model before and after a rule was added that is unfair in one narrow range of one column, which a digest of answers may miss."""

    data: Dataset
    column: int
    low: float
    high: float

    def model(self, is_changed: bool) -> Model:
        """The model, by its codes: fair but for the added rule."""
        domain, scored = self.data.domain, (self.column + 1) % self.data.rows.shape[1]
        protected = domain.names.index(domain.protected[0])
        middle = float(np.median(self.data.rows[:, scored]))

        def answer(codes: Rows) -> np.ndarray:
            said = codes[:, scored] > middle
            inside = (codes[:, self.column] >= self.low) & (codes[:, self.column] <= self.high)
            return np.where(inside & (codes[:, protected] > 0), ~said, said).astype(float) if is_changed else said.astype(float)

        return eh.wrap(answer, self.data, takes="codes", returns="score", threshold=0.5)

    def unfair(self, is_changed: bool) -> np.ndarray:
        """Which rows of the data are treated unfairly."""
        return np.asarray(judge_all(self.data.rows, self.data.domain, self.model(is_changed), oracle_of("flip")).unfair)

    def series(self, drawn: np.ndarray | None) -> KnownSeries:
        """Before, before, after; on every row, or on these ones."""
        told = []
        before, after = self.unfair(False), self.unfair(True)
        for is_changed in (False, False, True):
            seen = (after if is_changed else before) if drawn is None else (after if is_changed else before)[drawn]
            rows = np.flatnonzero(seen) if drawn is None else None
            told.append(content_of(int(seen.sum()), len(seen), self.model(is_changed).fingerprint(), rows))
        return KnownSeries(told, [float(before.mean()), float(before.mean()), float(after.mean())])


def silent_change(data: Dataset, share: float, rng: np.random.Generator) -> SilentChange:
    """A range of a numeric column that holds about this share of the rows."""
    wide = [
        at
        for at in range(data.rows.shape[1])
        if len(np.unique(data.rows[:, at])) > 50 and data.domain.names[at] not in data.domain.protected
    ]
    column = int(rng.choice(wide))
    values = np.sort(data.rows[:, column])
    start = int(rng.integers(0, max(1, int(len(values) * (1 - share)))))
    return SilentChange(data, column, float(values[start]), float(values[min(len(values) - 1, start + max(1, int(share * len(values))))]))
