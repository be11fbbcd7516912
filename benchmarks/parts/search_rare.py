"""Whether shares of one in a thousand to one in a million are told right: many runs of each planting, kept run by run with the code that
they come from, so that a long measurement can be taken up again.  What is planted stands in `rare_places.py`, how large that truly is in
`rare_truth.py`.

The census is reported; `rare_choice.py` tries constants on a generated table.
"""

from __future__ import annotations

import ast
import datetime as dt
import hashlib
import inspect
import json
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from evenhand.arrays import Reals
from evenhand.measures import rare_rate as measured
from evenhand.measures.rare_rate import RareRateSettings, rare_rate
from parts import rare_places, rare_truth
from parts.rare_places import FAMILIES, KINDS, RATES, REPORTED, Ground, PlantedRate, densities, opened
from parts.rare_shared import SharedSearch
from parts.rare_truth import true_shares

KEPT = Path(__file__).parent / "rare_runs.json"
PEOPLE = {1e-3: 100_000, 1e-4: 100_000, 1e-5: 300_000, 1e-6: 300_000}
"""Judged in a run that is looked at for its interval only."""
TIMED_RATE, TIMED_PEOPLE = 1e-5, {"net": 1_300_000, "forest": 800_000}
"""Judged in less than 5 CPU-seconds: the figure says how many it took."""


@dataclass(frozen=True)
class RareCell:
    """One planting, and how many people are judged in a run of it."""

    ground: Ground
    family: str
    kind: str
    rate: float
    people: int
    is_timed: bool = False

    @property
    def planting(self) -> str:
        """What is planted where."""
        return f"{self.ground.table} {self.family} {self.kind} {self.rate:g}"

    @property
    def name(self) -> str:
        """For the file and the reader."""
        return f"{self.planting}, {self.people:,} people" + (", timed" if self.is_timed else "")

    def run(self, seed: int) -> RareRun:
        """One run."""
        place = opened(self.ground, self.family)
        model = PlantedRate(place, self.kind, self.rate / densities(self.ground, self.family)[self.kind], is_shared=not self.is_timed)
        settings, rng, began = RareRateSettings(people=self.people), np.random.default_rng([seed, 33]), time.process_time()
        if self.is_timed:
            told = rare_rate(place.chain, model, rng, settings)
        else:
            told = SharedSearch(place.chain.unscored, model, settings, rng).go()
        spent = round(time.process_time() - began, 2)
        return RareRun(told.interval.estimate, told.interval.low, told.interval.high, told.levels, told.island_error, spent)


@dataclass(frozen=True)
class RareRun:
    """What one run said."""

    estimate: float
    low: float
    high: float
    levels: int
    island_error: float  # of the islands' mean, as a share of it, before it is stretched
    cpu_seconds: float


@dataclass(frozen=True)
class Told:
    """What some runs said of one planted share."""

    covered: Reals
    errors: Reals  # relative
    by_levels: float  # the share of runs that did not rest on plain draws alone
    cpu_seconds: float

    @classmethod
    def of(cls, cell: RareCell, runs: list[RareRun], truth: float) -> Told:
        """In figures, said aloud."""
        covered = np.array([run.low <= truth <= run.high for run in runs], dtype=float)
        errors = np.array([run.estimate / truth - 1 for run in runs])
        told = cls(covered, errors, float(np.mean([run.levels > 0 for run in runs])), float(np.median([run.cpu_seconds for run in runs])))
        words = f"covered {covered.mean():.2f}, relative error {told.error:.3f}, bias {errors.mean():+.3f}, by levels {told.by_levels:.2f}"
        print(f"  {cell.name}: {words}, {told.cpu_seconds:.1f} CPU-seconds each, {len(runs)} runs", file=sys.stderr, flush=True)
        return told

    @property
    def error(self) -> float:
        """The mean absolute one."""
        return float(np.abs(self.errors).mean())


@cache  # the files may be edited while a long run still has the code of its beginning
def code(*modules: ModuleType) -> str:
    """A name for what modules do, without what is only said about it."""
    told = "".join(_without_words(inspect.getsource(each)) for each in modules)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def _without_words(source: str) -> str:
    """The same code without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            node.value.value = ""
    return ast.unparse(tree)


class KeptRuns:
    """Runs in a file, by cell and seed, and the truth that they are held against; what other code told is forgotten."""

    def __init__(self, path: Path | None = KEPT) -> None:
        self.path = path
        known = json.loads(path.read_text(encoding="utf-8")) if path is not None and path.exists() else {}
        self.code, self.planted = code(measured, rare_places), code(rare_places, rare_truth)
        self.cells: dict[str, dict[str, list[float]]] = known["cells"] if known.get("code") == self.code else {}
        self.true: dict[str, tuple[float, float]] = known["true"] if known.get("planted") == self.planted else {}  # shares, errors

    def told(self, cell: RareCell, runs: list[RareRun]) -> Told:
        """The runs beside the true share, which is counted once for a planting."""
        if cell.planting not in self.true:
            counted = true_shares(cell.ground, cell.family)[cell.kind, cell.rate]
            self.true[cell.planting] = counted.share, round(counted.error, 4)
            self.write()
        return Told.of(cell, runs, self.true[cell.planting][0])

    def runs(self, cell: RareCell, seeds: range, until: float = np.inf) -> list[RareRun]:
        """One run for every seed, known or made now; fewer where the time is over."""
        kept = self.cells.setdefault(cell.name, {})
        known = len(kept)
        for seed in seeds:
            if str(seed) not in kept and time.monotonic() < until:
                run = cell.run(seed)
                kept[str(seed)] = [run.estimate, run.low, run.high, run.levels, run.island_error, run.cpu_seconds]
        if len(kept) > known:
            self.write()
        return [RareRun(*kept[str(seed)]) for seed in seeds if str(seed) in kept]  # type: ignore[arg-type]

    def write(self) -> None:
        """All of them, with the day."""
        if self.path is not None:
            day = f"{dt.datetime.now(dt.UTC):%Y-%m-%d}"
            told = {"code": self.code, "planted": self.planted, "date": day, "true": self.true, "cells": self.cells}
            self.path.write_text(json.dumps(told, separators=(",", ":")).replace('},"', '},\n"') + "\n", encoding="utf-8")


def covered_cells(ground: Ground = REPORTED, rates: tuple[float, ...] = RATES) -> list[RareCell]:
    """Every planting."""
    return [RareCell(ground, family, kind, rate, PEOPLE[rate]) for family in FAMILIES for kind in KINDS for rate in rates]


def timed_cells() -> list[RareCell]:
    """Those whose error and cost are told, with models that are asked about every twin."""
    return [RareCell(REPORTED, family, kind, TIMED_RATE, TIMED_PEOPLE[family], is_timed=True) for family in FAMILIES for kind in KINDS]


def rare_figures(seed: int, quick: bool) -> dict[str, float]:
    """The lowest coverage of a planting (a quick run has four runs of each, and puts those of a family together), and the largest relative
    error at one in a hundred thousand, with the CPU-seconds of a run.  A full run goes on from the kept runs."""
    kept, runs = KeptRuns(None if quick else KEPT), 4 if quick else 100
    kept.true |= KeptRuns().true  # the truth is not counted again
    cells = covered_cells(rates=RATES[::2]) if quick else covered_cells()
    told = {cell: kept.told(cell, kept.runs(cell, range(seed, seed + runs))).covered for cell in cells}
    families = [np.concatenate([told[cell] for cell in cells if cell.family == family]) for family in FAMILIES]
    timed = [kept.told(cell, kept.runs(cell, range(seed, seed + (2 if quick else 20)))) for cell in timed_cells()]
    return {
        "rare_coverage_min": round(min(float(each.mean()) for each in (families if quick else told.values())), 3),
        "rare_relative_error_1e5": round(max(each.error for each in timed), 3),
        "rare_cpu_seconds_max": round(max(each.cpu_seconds for each in timed), 2),
    }
