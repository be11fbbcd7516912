"""One seed of a comparison: split, search, mend, measure.

The findings of one method train.  The findings of another method, held-out real rows and random rows judge.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Rows
from evenhand.campaign.repair_worth import Yardstick, measure
from evenhand.contract import Headway, LabelledRows, Medium, Method, Model, Oracle, Trainable, Watch
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.findings import Findings
from evenhand.engine.run import Plan, Subject, check_ability, run
from evenhand.errors import DataError, EvenhandError, MissingAbility
from evenhand.measures.repair_measures import AS_GIVEN
from evenhand.models.budget import Budget
from evenhand.models.inputs import first_line
from evenhand.oracles.flip import LabelFlip
from evenhand.repairs.parts.case import Case, Mended, Repair

BEFORE = "no_change"


@dataclass(frozen=True, eq=False)
class Material:
    """Everything that stays the same from seed to seed."""

    domain: TabularDomain
    model: Model
    rows: Rows
    labels: NDArray[Any]  # positions of classes, or amounts
    train_method: Method
    judge_method: Method
    held_out: LabelledRows | None = None  # judged on instead of a part of the rows
    medium: Medium | None = None  # what a row shows; None is the table itself
    oracle: Oracle = field(default_factory=LabelFlip)

    @property
    def is_amount(self) -> bool:
        """Whether the model says amounts."""
        return len(self.model.classes) == 1


@dataclass(frozen=True)
class Effort:
    """How much is spent on each seed."""

    candidates: int = 20_000
    judge_candidates: int = 3_000
    rate_rows: int = 10_000
    held_out_share: float = 0.3
    most_rows: int | None = None


@dataclass(frozen=True, eq=False)
class SeedOutcome:
    """What one seed gave: figures by repair, what was impossible and why, and the models themselves."""

    figures: dict[str, dict[str, float]]
    refused: dict[str, str]
    facts: dict[str, dict[str, Any]]
    models: dict[str, Model] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def trial(material: Material, repairs: Mapping[str, Repair], effort: Effort, seed: int, watch: Watch | None = None) -> SeedOutcome:
    """All repairs with one seed."""
    rng = np.random.default_rng([seed, 11])
    train, held = split(material, effort, rng)
    notes: list[str] = []
    with _heard(notes):
        model = _before(material, train, notes, rng)
    steps = ["searching", AS_GIVEN, *repairs]

    def say(step: str) -> None:
        if watch is not None:
            watch(Headway(f"seed {seed}", steps.index(step), len(steps), step))

    say("searching")
    subject = Subject(material.domain, model, train.rows, None if material.is_amount else train.labels, medium=material.medium)
    findings = _search(material.train_method, subject, Plan(seed, Budget(candidates=effort.candidates), material.oracle))
    judged = _search(material.judge_method, subject, Plan(seed + 1_000, Budget(candidates=effort.candidates), material.oracle))
    yardstick = Yardstick(
        material.domain,
        held.rows,
        held.labels,
        material.domain.sample(effort.rate_rows, rng),
        unseen(judged, findings, material.domain),
        material.judge_method,
        effort.judge_candidates,
        seed,
        material.medium,
        material.oracle,
    )
    case = Case.of(replace(subject, labels=train.labels), findings)
    found = {
        "train_findings": len(findings),
        "judge_findings": len(yardstick.findings),
        "train_rows": len(train),
        "rows_to_train": _available(material, len(held)),
        "held_out": len(held),
    }
    outcome = SeedOutcome({}, {}, {"seed": found}, notes=notes)
    say(AS_GIVEN)
    outcome.figures[AS_GIVEN] = measure(material.model, yardstick)
    for name, repair in repairs.items():
        say(name)
        _mend(name, repair, case, yardstick, outcome)
    return outcome


def _mend(name: str, repair: Repair, case: Case, yardstick: Yardstick, outcome: SeedOutcome) -> None:
    """One repair; what it refuses is noted, not hidden."""
    rng = np.random.default_rng([yardstick.seed, *name.encode()])
    try:
        with _heard(outcome.notes):
            mended: Mended = repair.mend(case, rng)
        outcome.figures[name] = measure(mended.model, yardstick)
    except EvenhandError as fault:
        outcome.refused[name] = str(fault)
        return
    outcome.models[name], outcome.facts[name] = mended.model, mended.facts


def split(material: Material, effort: Effort, rng: np.random.Generator) -> tuple[LabelledRows, LabelledRows]:
    """Training rows and held-out ones, people who are equal or twins never on both sides."""
    rows, labels = material.rows, material.labels
    if material.held_out is not None:
        chosen = rng.permutation(len(rows))[: effort.most_rows]
        return LabelledRows(rows[chosen], labels[chosen]), material.held_out
    keys, person = np.unique(material.domain.keys(rows), return_inverse=True)
    held = (rng.random(len(keys)) < effort.held_out_share)[person]
    train = rng.permutation(np.flatnonzero(~held))[: effort.most_rows]
    if not held.any() or len(np.unique(labels[train])) < 2:
        raise DataError(
            f"{len(rows)} rows cannot be split into training rows of at least two {'amounts' if material.is_amount else 'classes'} and "
            "held-out ones; give more rows, or held_out"
        )
    return LabelledRows(rows[train], labels[train]), LabelledRows(rows[held], labels[held])


def _available(material: Material, held: int) -> int:
    """Rows that training rows were drawn from."""
    return len(material.rows) - (0 if material.held_out is not None else held)


def _before(material: Material, train: LabelledRows, notes: list[str], rng: np.random.Generator) -> Model:
    """The model under repair: of the given kind and fitted to the training rows alone, so that the held-out ones are new to it."""
    as_given = "it is judged as given, on rows that it may have learned from"
    if not isinstance(material.model, Trainable):
        notes.append(f"{type(material.model).__name__} cannot be fitted again: {as_given}")
        return material.model
    try:
        return material.model.refit(train.rows, train.labels, rng)
    except MissingAbility as fault:
        notes.append(f"{fault}; {as_given}")
        return material.model


@contextmanager
def _heard(notes: list[str]) -> Iterator[None]:
    """Warnings of foreign code, once each, as notes for the reader instead of lines on the console."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    told = (
        f"while fitting: {each.category.__name__}: {first_line(each.message, 160)}" for each in heard if isinstance(each.message, Warning)
    )
    notes.extend(note for note in dict.fromkeys(told) if note not in notes)


def _search(method: Method, subject: Subject, plan: Plan) -> Findings:
    check_ability(method, subject.model)
    return run(method, subject, plan).findings


def unseen(judged: Findings, trained: Findings, domain: TabularDomain) -> Rows:
    """The judging findings that are no twins of findings that train."""
    if not len(judged) or not len(trained):
        return judged.rows
    rows: Rows = judged.rows[~np.isin(domain.keys(judged.rows), domain.keys(trained.rows))]
    return rows


def figure_over_seeds(outcomes: list[SeedOutcome], name: str, measure_name: str) -> Rows:
    """One figure of one repair, a number per seed; NaN where it is missing."""
    return np.array([outcome.figures.get(name, {}).get(measure_name, math.nan) for outcome in outcomes])
