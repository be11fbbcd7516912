"""Whether shares of one in a thousand to one in a million are told right: planted in a net and in a forest, as a thin band around the
border of their decisions, in a pocket of the table, and in a pocket with a rim that gives a hint of it.

What is planted moves a model's log-odds by a little between the protected values, so that the true share is the density of the log-odds at
zero times that little: counted once, on many plain draws.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from evenhand.arrays import Mask, Reals, Rows, Scores
from evenhand.contract import Model
from evenhand.datasets.dataset import Dataset
from evenhand.measures.rare_rate import RareRateSettings, rare_rate
from evenhand.models import zoo
from evenhand.synthesis.level_chain import LevelChain
from parts.arena_grounds import table

LEARNT_ROWS, COUNTED = 6_000, 2_000_000
HALF = 0.08
"""Log-odds up to which the density at zero is counted."""
RIM = 0.01
"""How much of the difference there is outside of a pocket with a rim."""
KINDS, FAMILIES, RATES = ("thin", "pocket", "rim"), ("net", "forest"), (1e-3, 1e-4, 1e-5, 1e-6)
TIMED_RATE, TIMED_PEOPLE = 1e-5, 1_300_000
"""Judged in less than 5 CPU-seconds on the net: the figure says how many it took."""


@dataclass(frozen=True, eq=False)
class Place:
    """A table, its population, and log-odds that the protected column does not move."""

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
        share = np.clip(self.base.predict_proba(alike)[:, 1], 1e-3, 1 - 1e-3)
        fine = rows[:, domain.place("fnlwgt")] % 5_000 / 5_000
        return np.asarray(np.log(share / (1 - share)) + 0.4 * (fine - 0.5))

    def pocket(self, rows: Rows) -> Mask:
        """Long hours and long schooling: a few in a hundred people."""
        domain = self.data.domain
        inside: Mask = (rows[:, domain.place("hours_per_week")] >= 55) & (rows[:, domain.place("education_num")] >= 13)
        return inside


@dataclass(frozen=True, eq=False)
class PlantedRate:
    """Log-odds moved by `shift` between two protected values: everywhere, in the pocket, or there and a little around it."""

    place: Place
    kind: str
    shift: float
    classes: tuple[Any, ...] = ("no", "yes")
    is_hard: bool = False
    batch_rows: int = 32_768
    name: str = field(default="planted")

    def scores(self, rows: Rows) -> Scores:
        """Two columns."""
        side = rows[:, self.place.data.domain.protected_places[0]] - 0.5
        odds = self.place.log_odds(rows) + self.shift * side * self.weight(rows)
        share = 1.0 / (1.0 + np.exp(-odds))
        return np.stack([1.0 - share, share], axis=1)

    def weight(self, rows: Rows) -> Reals:
        """How much of the shift somebody gets."""
        if self.kind == "thin":
            return np.ones(len(rows))
        return np.where(self.place.pocket(rows), 1.0, RIM if self.kind == "rim" else 0.0)

    def fingerprint(self) -> str:
        """By what it is made of."""
        return f"{self.place.family} {self.kind} {self.shift}"


@lru_cache(maxsize=2)
def opened(family: str) -> Place:
    """The census table, of which nothing else follows from the protected column."""
    whole = table("adult").protect("sex")
    data, rng = replace(whole, domain=replace(whole.domain, implied=())), np.random.default_rng(31)
    chain = LevelChain.fit(data.rows[rng.permutation(len(data.rows))[:LEARNT_ROWS]], data.domain, rng)
    return Place(data, chain, _base(family, data), family)


def _base(family: str, data: Dataset) -> Model | Any:
    if family == "net":
        return zoo.load_or_train("mlp", data.rows, data.labels, data.domain, seed=0)
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(20, max_depth=8, random_state=0, n_jobs=1).fit(data.rows[:8_000], data.labels[:8_000])


@lru_cache(maxsize=2)
def densities(family: str) -> dict[str, float]:
    """Of every kind, the true share for each unit of shift."""
    place, rng, near, inside = opened(family), np.random.default_rng(32), 0, 0
    for _ in range(COUNTED // 10_000):
        rows = place.chain.drawn(10_000, rng).rows
        close = np.abs(place.log_odds(rows)) < HALF
        near, inside = near + int(close.sum()), inside + int((close & place.pocket(rows)).sum())
    thin, pocket = near / COUNTED / (2 * HALF), inside / COUNTED / (2 * HALF)
    return {"thin": thin, "pocket": pocket, "rim": pocket + RIM * (thin - pocket)}


@dataclass(frozen=True)
class Told:
    """What some runs said of one planted share."""

    covered: Reals
    errors: Reals  # relative
    cpu_seconds: float

    @classmethod
    def by(cls, family: str, kind: str, rate: float, seeds: range, people: int) -> Told:
        """One run for every seed."""
        place, found = opened(family), []
        model = PlantedRate(place, kind, rate / densities(family)[kind])
        began = time.process_time()
        for seed in seeds:
            found.append(rare_rate(place.chain, model, np.random.default_rng([seed, 33]), RareRateSettings(people=people)).interval)
        spent = (time.process_time() - began) / len(seeds)
        told = cls(np.array([rate in each for each in found], dtype=float), np.array([each.estimate / rate - 1 for each in found]), spent)
        words = f"covered {told.covered.mean():.2f}, relative error {told.error:.3f}, bias {told.errors.mean():+.3f}"
        print(f"  {family} {kind} {rate:g}: {words}, {spent:.1f} CPU-seconds each, {len(seeds)} runs", file=sys.stderr, flush=True)
        return told

    @property
    def error(self) -> float:
        """The mean absolute one."""
        return float(np.abs(self.errors).mean())


def rare_figures(seed: int, quick: bool) -> dict[str, float]:
    """The lowest coverage of a kind of planting (a quick run has four runs of each, and puts those of a family together), and the largest
    relative error at one in a hundred thousand of the net, within 5 CPU-seconds."""
    runs, rates, people = (4, RATES[::2], 200_000) if quick else (100, RATES, 300_000)
    shares: list[float] = []
    for family in FAMILIES:
        told = [Told.by(family, kind, rate, range(seed, seed + runs), people).covered for kind in KINDS for rate in rates]
        shares += [float(np.concatenate(told).mean())] if quick else [float(each.mean()) for each in told]
    timed = [Told.by("net", kind, TIMED_RATE, range(seed, seed + (2 if quick else 20)), TIMED_PEOPLE) for kind in KINDS]
    return {
        "rare_coverage_min": round(min(shares), 3),
        "rare_relative_error_1e5": round(max(each.error for each in timed), 3),
        "rare_cpu_seconds_max": round(max(each.cpu_seconds for each in timed), 2),
    }
