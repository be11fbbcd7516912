"""One run of a campaign: who, on which ground, under which terms; and the flat record that remains of it."""

from __future__ import annotations

import gc
import hashlib
import inspect
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from evenhand.campaign.arena_ground import POOL_ROWS, Ground
from evenhand.campaign.bench_records import record
from evenhand.campaign.test_set_quality import Marks, digest, goodness, marks_of, repair
from evenhand.contract import Differentiable, Method, Model, Watch
from evenhand.engine.header import header_of as verb_header
from evenhand.engine.run import Run, run
from evenhand.engine.store import run_id
from evenhand.engine.subject import Plan, Subject
from evenhand.errors import EvenhandError, MissingAbility
from evenhand.measures.likeness import likeness
from evenhand.methods import METHODS
from evenhand.models.budget import Budget
from evenhand.models.differences import DifferenceGradients
from evenhand.models.readings import reading_of
from evenhand.planted import shapes
from evenhand.values import ability_name

EDITION = 1
"""Raised whenever the same run would be judged differently than before."""
DONE, FAILED, NOT_APPLICABLE, INTERRUPTED = "done", "failed", "not applicable", "interrupted"


@dataclass(frozen=True)
class Entrant:
    """A method by name, with some parameters changed."""

    method: str
    parameters: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The method and what is changed."""
        changed = ",".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.method}({changed})" if changed else self.method

    def make(self) -> Method:
        """The method itself."""
        return METHODS.make(self.method, dict(self.parameters))


@dataclass(frozen=True)
class Terms:
    """What holds for every run of a campaign."""

    budget: Budget
    oracle: str | None = None
    likeness: bool = False  # the slower figures of naturalness: ATN, two-sample AUC, likelihood percentile
    repair: bool = False  # retrain the model on each run's findings, which takes as long as training it
    differences: bool = True  # lend finite-difference gradients to methods that need no more than gradients
    pool_rows: int = POOL_ROWS


@dataclass(frozen=True)
class ContestCell:
    """One run to be made."""

    entrant: Entrant
    seed: int


def header_of(cell: ContestCell, ground: Ground, terms: Terms) -> dict[str, Any]:
    """What fixes a run and its judging; equal headers give equal findings where the budget counts no seconds."""
    plan = Plan(cell.seed, terms.budget, ground.oracle)
    fixed = verb_header("bench", ground.subject, ground.arena.data.name, plan).for_run(cell.entrant.make())
    judged = {"edition": EDITION} | {f.name: getattr(terms, f.name) for f in fields(terms) if f.name not in ("budget", "oracle")}
    own = {"method": cell.entrant.method, "model_name": ground.arena.model_name, "code": code_digest(cell.entrant.method)}
    return {**fixed, **own, "judged": judged}


@cache
def code_digest(method: str) -> str:
    """Sixteen hexadecimal digits of a method's file and of those among the methods that it draws on: a changed method is run again."""
    modules: dict[str, ModuleType] = {}
    _gather(sys.modules[METHODS.entry(method).module], modules)
    sources = [inspect.getsource(modules[name]) for name in sorted(modules)]
    return hashlib.sha256("\n".join(sources).encode()).hexdigest()[:16]


def _gather(module: ModuleType, modules: dict[str, ModuleType]) -> None:
    """The module and every module of the methods' package that something in it comes from."""
    modules[module.__name__] = module
    for thing in list(vars(module).values()):
        name = thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", None)
        if isinstance(name, str) and name.startswith("evenhand.methods") and name not in modules:
            _gather(sys.modules[name], modules)


def contend(cell: ContestCell, ground: Ground, terms: Terms, watch: Watch | None = None) -> tuple[dict[str, Any], Run | None]:
    """Make the run and judge it.  Whatever goes wrong is recorded with its message; nothing is counted then."""
    header = header_of(cell, ground, terms)
    about = _about(cell, ground, header)
    try:
        method = cell.entrant.make()
        model, gradients = served(method, ground, terms)
    except EvenhandError as fault:
        status = NOT_APPLICABLE if isinstance(fault, MissingAbility) else FAILED
        return {**about, "status": status, "reason": str(fault)}, None
    try:
        warm_up(cell.entrant)
        done = _run(method, model, Plan(cell.seed, terms.budget, ground.oracle), ground, watch)
        return {**about, "gradients": gradients, **_judged(done, cell, ground, terms)}, done
    except EvenhandError as fault:
        return {**about, "status": FAILED, "reason": f"{type(fault).__name__}: {fault}"}, None


def _about(cell: ContestCell, ground: Ground, header: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": run_id(header),
        "method": cell.entrant.name,
        "dataset": ground.arena.data.name,
        "protected": ",".join(ground.arena.protected),
        "model": ground.arena.model_name,
        "reading": reading_of(ground.subject.model),
        "seed": cell.seed,
        "date": datetime.now(UTC).date().isoformat(),
    }


def served(method: Method, ground: Ground, terms: Terms) -> tuple[Model, str]:
    """The model as the method can use it, and where its gradients come from; raises where it cannot be served."""
    model = ground.subject.model
    if isinstance(model, method.needs):
        return model, "own" if Differentiable in method.needs.__mro__ else "none"
    needs, kind = ability_name(method.needs), type(model).__name__
    if method.needs is not Differentiable:
        raise MissingAbility(f"needs a {needs} model, which {kind} is not")
    if not terms.differences:
        raise MissingAbility(f"needs a {needs} model, which {kind} is not, and finite differences are switched off")
    return DifferenceGradients(model, domain=ground.subject.domain), "differences"


def _run(method: Method, model: Model, plan: Plan, ground: Ground, watch: Watch | None) -> Run:
    subject = ground.subject
    lent = replace(subject, model=model)
    _ = ground.rules, ground.leaf_pairs  # fitted before the clock starts
    if plan.budget.seconds is not None or plan.budget.cpu_seconds is not None or ground.pool_rows:
        gc.collect()  # where methods are held against the clock, none pays for what another left; it would take longer than a small run
    return run(method, lent, plan, None, watch)


@cache
def warm_up(entrant: Entrant) -> None:
    """A few candidates on a planted model, so that no timed run pays for what a process loads once."""
    planted = shapes()["wide_band"]
    rows = planted.domain.sample(200, np.random.default_rng(0))
    try:
        run(entrant.make(), Subject(planted.domain, planted.model, rows, planted.model.scores(rows).argmax(axis=1)), Plan(0, WARMING))
    except EvenhandError:
        return  # the run itself will say what is wrong


WARMING = Budget(candidates=200, cpu_seconds=1.0)


def _judged(done: Run, cell: ContestCell, ground: Ground, terms: Terms) -> dict[str, Any]:
    natural = None
    if terms.likeness and ground.reference is not None:
        natural = likeness(done.findings.rows, ground.reference, np.random.default_rng([cell.seed, 3]))
    ledger, marks = done.ledger, marks_of(done.findings, ground)
    good = None if marks.good is None or not ledger.model_rows else 1_000 * float(marks.good.sum()) / ledger.model_rows
    return {
        **record(cell.entrant.name, ground.arena, cell.seed, done, ground.rate),
        "status": INTERRUPTED if done.ended == "interrupted" else DONE,
        "reason": "",
        "wall_seconds": done.wall_seconds,
        "duplicates_share": ledger.duplicates / ledger.candidates if ledger.candidates else None,
        "success_share": ledger.findings / ledger.candidates if ledger.candidates else None,
        **goodness(done, marks, ground),
        "natural_valid_per_thousand_rows": good,
        **(repair(done.findings, ground, cell.seed) if terms.repair else {}),
        "findings_digest": digest(done.findings),
        "budget": asdict(terms.budget),
        "naturalness": natural,
        "facts": done.facts,
        "curve": _curve(done, marks),
    }


def _curve(done: Run, marks: Marks) -> dict[str, list[float]]:
    """The points as columns, with the natural and valid findings up to each."""
    rows, candidates, findings, seconds = (list(column) for column in zip(*dict.fromkeys(done.curve), strict=True))
    counted = [] if marks.good is None else np.searchsorted(np.sort(done.findings.candidate[marks.good]), candidates, side="left").tolist()
    return {"model_rows": rows, "candidates": candidates, "findings": findings, "natural_valid": counted, "cpu_seconds": seconds}
