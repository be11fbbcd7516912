"""Methods side by side under one budget, one counting rule and one oracle: a flat record for each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.contract import Model, Oracle, Watch
from evenhand.engine.run import Run, run
from evenhand.engine.samples import Sampling, judged_samples
from evenhand.engine.subject import Data, Plan, Subject, oracle_for, subject_of
from evenhand.measures.likeness import LikenessReference, likeness
from evenhand.measures.naturalness import HasDensity
from evenhand.measures.rates import Rate
from evenhand.methods import METHODS
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.synthesis.chained_trees import ChainedTrees

MOST_REAL_ROWS = 50_000
"""Real rows that findings are held against at most."""


@dataclass(frozen=True)
class Arena:
    """Where methods meet: one model on one table with some columns protected."""

    data: Data
    protected: tuple[str, ...]
    model: Model
    model_name: str


@dataclass(frozen=True)
class Bout:
    """How long they meet: a budget and the seeds."""

    budget: Budget
    seeds: tuple[int, ...] = (0,)
    rate_rows: int = 10_000
    oracle: str | None = None


def bench(methods: Sequence[str], arena: Arena, bout: Bout, watch: Watch | None = None) -> list[dict[str, Any]]:
    """One record per method and seed."""
    subject = subject_of(arena.model, arena.data, arena.protected)
    oracle = oracle_for(subject, bout.oracle)
    made = {name: METHODS.make(name) for name in methods}  # an unknown name is said before anything runs
    reference = reference_of(subject, oracle)
    records = []
    for seed in bout.seeds:
        rate = judged_samples(subject, oracle, Sampling(bout.rate_rows), np.random.default_rng([seed, 2]))[0].rate
        for name, method in made.items():
            done = run(method, subject, Plan(seed, bout.budget, oracle), None, watch)
            natural = None if reference is None else likeness(done.findings.rows, reference, np.random.default_rng([seed, 3]))
            records.append(record(name, arena, seed, done, rate) | {"naturalness": natural, "facts": done.facts})
            if done.ended == "interrupted":
                return records
    return records


def reference_of(subject: Subject, oracle: Oracle) -> LikenessReference | None:
    """Real rows and the findings among them, asked outside any budget; None without data, or where rows only number what is shown."""
    if subject.rows is None or not len(subject.rows) or subject.domain.numbers_things:
        return None
    rows = subject.rows[:MOST_REAL_ROWS]
    unfair = oracle.judge(rows, subject.domain, Meter(subject.model)).unfair
    known = subject.population
    population = known if isinstance(known, HasDensity) else ChainedTrees.fit(rows, subject.domain, np.random.default_rng(0))
    return LikenessReference(rows, rows[unfair], subject.domain, population)


def record(method: str, arena: Arena, seed: int, done: Run, rate: Rate) -> dict[str, Any]:
    """What a reader compares."""
    found = len(done.findings)
    return {
        "method": method,
        "dataset": arena.data.name,
        "protected": ",".join(arena.protected),
        "model": arena.model_name,
        "seed": seed,
        "candidates": done.ledger.candidates,
        "findings": done.ledger.findings,
        "duplicates": done.ledger.duplicates,
        "model_rows": done.ledger.model_rows,
        "cpu_seconds": done.cpu_seconds,
        "findings_per_cpu_second": done.ledger.findings / done.cpu_seconds if done.cpu_seconds > 0 else None,
        "rate": {name: rate.as_dict()[name] for name in ("estimate", "low", "high", "population")},
        "valid_share": float(done.findings.valid.mean()) if found else None,
        "ended": done.ended,
    }
