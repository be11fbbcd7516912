"""Does a method find more than random search?  The table over every planted shape, at equal budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.contract import Headway, Method, Watch
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import EvenhandError
from evenhand.methods import METHODS, working_on
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.planted import Planted, shapes

REAL_ROWS = 1_000


@dataclass(frozen=True)
class Power:
    """Findings of one method on one shape beside those of random search, one entry per seed."""

    method: str
    shape: str
    rate: float
    findings: tuple[int, ...]
    random: tuple[int, ...]
    failure: str = ""

    @property
    def mean(self) -> float:
        """Findings, averaged over the seeds."""
        return float(np.mean(self.findings)) if self.findings else float("nan")

    @property
    def random_mean(self) -> float:
        """Random search's findings, averaged over the seeds."""
        return float(np.mean(self.random))

    @property
    def beats_random(self) -> bool:
        """Whether it found more than random search with every seed."""
        return (
            not self.failure and bool(self.findings) and all(mine > other for mine, other in zip(self.findings, self.random, strict=True))
        )


@dataclass(frozen=True)
class Trial:
    """How the table is made."""

    candidates: int = 10_000
    seeds: tuple[int, ...] = (0, 1, 2)


def power_table(methods: Sequence[str] | None = None, trial: Trial | None = None, watch: Watch | None = None) -> list[Power]:
    """One entry per method and shape; a method that fails is reported as failed."""
    trial, table = trial or Trial(), list[Power]()
    planted_shapes, names = shapes(), list(methods or working_on("table"))
    for name, planted in planted_shapes.items():
        yardstick = _findings(Themis(margin=0.0), planted, trial)
        for method in names:
            if watch:
                watch(Headway("power", len(table), len(planted_shapes) * len(names), f"{method} on {name}"))
            table.append(_power(method, planted, yardstick, trial))
    return table


def _power(method: str, planted: Planted, yardstick: tuple[int, ...], trial: Trial) -> Power:
    rate = float(planted.rate)
    try:
        made = METHODS.make(method)
        return Power(method, planted.name, rate, _findings(made, planted, trial), yardstick)
    except EvenhandError as fault:
        return Power(method, planted.name, rate, (), yardstick, str(fault))


def _findings(method: Method, planted: Planted, trial: Trial) -> tuple[int, ...]:
    rows = planted.domain.sample(REAL_ROWS, np.random.default_rng(99))
    subject = Subject(planted.domain, planted.model, rows, Meter(planted.model).scores(rows).argmax(axis=1))
    return tuple(run(method, subject, Plan(seed, Budget(candidates=trial.candidates))).ledger.findings for seed in trial.seeds)
