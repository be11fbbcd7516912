"""Models in which a rare share is planted: in a net and in a forest, as a thin band around the border of their decisions, in a pocket of
the table, and in a pocket with a rim that gives a hint of it.  The census table is reported; on the generated one constants are chosen.

What is planted moves a model's log-odds by a little between the protected values, so that the share is about the density of the log-odds
around zero times that little.  How large it truly is stands in `rare_truth.py`: the density is not the same at every width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from evenhand.arrays import Mask, Reals, Rows, Scores
from evenhand.contract import Model
from evenhand.datasets.dataset import Dataset
from evenhand.models import zoo
from evenhand.models.forests import quick_forest
from evenhand.synthesis.level_chain import LevelChain
from parts.arena_grounds import table

LEARNT_ROWS, COUNTED = 6_000, 2_000_000
HALF = 0.08
"""Log-odds up to which the density at zero is counted."""
RIM = 0.01
"""How much of the difference there is outside of a pocket with a rim."""
KINDS, FAMILIES, RATES = ("thin", "pocket", "rim"), ("net", "forest"), (1e-3, 1e-4, 1e-5, 1e-6)


@dataclass(frozen=True)
class Ground:
    """A table, the columns of which people in the pocket have a lot, and the finest column, in steps that smooth a forest."""

    table: str
    pocket: tuple[tuple[str, float], ...]
    fine: str
    step: float


REPORTED = Ground("adult", (("hours_per_week", 55.0), ("education_num", 13.0)), "fnlwgt", 5_000.0)
DEVELOPMENT = Ground("generated", (("bonus", 60.0), ("height", 1.75)), "basic", 40.0)
"""A few in a hundred people are in either pocket."""


@dataclass(frozen=True, eq=False)
class Place:
    """A ground, its population, and log-odds that the protected column does not move."""

    ground: Ground
    data: Dataset
    chain: LevelChain
    base: Any
    family: str

    def log_odds(self, rows: Rows) -> Reals:
        """Of the base model, everybody under one protected value; a forest's steps are smoothed by the finest column."""
        domain = self.data.domain
        alike = rows.copy()
        alike[:, domain.protected_places[0]] = 0.0
        if self.family == "net":
            scores = np.clip(np.asarray(self.base.scores(alike), dtype=np.float64), 1e-12, 1.0)
            return np.asarray(np.log(scores[:, 1] / scores[:, 0]))
        share = np.clip(self.answers(alike)[:, 1], 1e-3, 1 - 1e-3)
        fine = rows[:, domain.place(self.ground.fine)] % self.ground.step / self.ground.step
        return np.asarray(np.log(share / (1 - share)) + 0.4 * (fine - 0.5))

    @cached_property
    def answers(self) -> Callable[[Rows], Scores]:
        """A forest's own, asked the way that a wrapped one is."""
        quick = quick_forest(self.base)
        assert quick is not None
        return quick

    def pocket(self, rows: Rows) -> Mask:
        """Who has a lot of everything that the pocket is made of."""
        inside: Mask = np.all([rows[:, self.data.domain.place(name)] >= least for name, least in self.ground.pocket], axis=0)
        return inside


@dataclass(frozen=True, eq=False)
class PlantedRate:
    """Log-odds moved by `shift` between two protected values: everywhere, in the pocket, or there and a little around it.

    `is_shared`: twins are asked about once, since the base tells them nothing apart.  The same answers in half the time, for runs of which
    the cost does not matter.
    """

    place: Place
    kind: str
    shift: float
    is_shared: bool = False
    classes: tuple[Any, ...] = ("no", "yes")
    is_hard: bool = False
    batch_rows: int = 32_768
    name: str = field(default="planted")

    def scores(self, rows: Rows) -> Scores:
        """Two columns."""
        side = rows[:, self.place.data.domain.protected_places[0]] - 0.5
        odds = self._odds(rows) + self.shift * side * self.weight(rows)
        share = 1.0 / (1.0 + np.exp(-odds))
        return np.stack([1.0 - share, share], axis=1)

    def _odds(self, rows: Rows) -> Reals:
        half, free = len(rows) // 2, self.place.data.domain.free_places
        if self.is_shared and len(rows) == 2 * half and np.array_equal(rows[:half, free], rows[half:, free], equal_nan=True):
            return np.tile(self.place.log_odds(rows[:half]), 2)
        return self.place.log_odds(rows)

    def weight(self, rows: Rows) -> Reals:
        """How much of the shift somebody gets."""
        if self.kind == "thin":
            return np.ones(len(rows))
        return np.where(self.place.pocket(rows), 1.0, RIM if self.kind == "rim" else 0.0)

    def fingerprint(self) -> str:
        """By what it is made of."""
        return f"{self.place.ground.table} {self.place.family} {self.kind} {self.shift}"


@lru_cache(maxsize=4)
def opened(ground: Ground, family: str) -> Place:
    """A table of which nothing else follows from the protected column."""
    whole = table(ground.table).protect("sex")
    data, rng = replace(whole, domain=replace(whole.domain, implied=())), np.random.default_rng(31)
    chain = LevelChain.fit(data.rows[rng.permutation(len(data.rows))[:LEARNT_ROWS]], data.domain, rng)
    return Place(ground, data, chain, _base(family, data), family)


def _base(family: str, data: Dataset) -> Model | Any:
    if family == "net":
        return zoo.load_or_train("mlp", data.rows, data.labels, data.domain, seed=0)
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(20, max_depth=8, random_state=0, n_jobs=1).fit(data.rows[:8_000], data.labels[:8_000])


@lru_cache(maxsize=4)
def densities(ground: Ground, family: str) -> dict[str, float]:
    """Of every kind, about the share for each unit of shift."""
    place, rng, near, inside, drawn = opened(ground, family), np.random.default_rng(32), 0, 0, 0
    domain, chain = place.data.domain, place.chain.unscored
    while drawn < COUNTED:
        rows = chain.drawn(10_000, rng).rows
        rows = rows[domain.keeps_constraints(rows)] if domain.constraints else rows
        close = np.abs(place.log_odds(rows)) < HALF
        near, inside, drawn = near + int(close.sum()), inside + int((close & place.pocket(rows)).sum()), drawn + len(rows)
    thin, pocket = near / drawn / (2 * HALF), inside / drawn / (2 * HALF)
    return {"thin": thin, "pocket": pocket, "rim": pocket + RIM * (thin - pocket)}
