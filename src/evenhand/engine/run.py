"""run(): one search from its first candidate to its end, whoever ends it: the method, the budget, a person, a fault.

Every method goes through here, so budgets, counting and verification are the same for all of them.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Medium, Method, Model, Search, Watch, media_of, name_of
from evenhand.deadline import Alarm, TimeOver, stopping
from evenhand.engine.court import Court, Discovery, Ledger, Reach
from evenhand.engine.findings import Findings
from evenhand.engine.store import RunFolder
from evenhand.engine.subject import Plan, Subject
from evenhand.errors import BudgetSpent, EvenhandError, MethodError, MissingAbility, StoreError
from evenhand.models.meter import assert_steady
from evenhand.values import ability_name

__all__ = ["Ending", "Plan", "Run", "Subject", "check_ability", "check_medium", "probe_steadiness", "run"]

Ending = Literal["budget spent", "method finished", "interrupted"]


@dataclass(frozen=True)
class Run:
    """What came out of one search."""

    method: str
    ledger: Ledger
    findings: Findings
    facts: dict[str, Any]
    ended: Ending
    cpu_seconds: float
    wall_seconds: float
    curve: tuple[Discovery, ...] = ()  # findings against queries while it went on, thinned
    sample: Rows | None = None  # of the population restricted to findings, where the method draws one
    aside: Findings | None = None  # what is unfair too, but only between people whom the method would not believe in

    @property
    def everybody(self) -> Findings:
        """All who were found to be treated unfairly: those of the list, and those set aside."""
        if self.aside is None or not len(self.aside):
            return self.findings
        return Findings.join([self.findings, self.aside], len(self.aside.rows[0]))

    def as_dict(self) -> dict[str, Any]:
        """Everything but the findings themselves, for JSON."""
        return {
            "method": self.method,
            **asdict(self.ledger),
            "ended": self.ended,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "facts": self.facts,
            "curve": {name: [getattr(point, name) for point in self.curve] for name in Discovery._fields},
        }


def run(method: Method, subject: Subject, plan: Plan, folder: RunFolder | None = None, watch: Watch | None = None) -> Run:
    """Search until the budget is spent or the method is done.  Ctrl-C ends the run cleanly; a model's failure raises."""
    name = name_of(method)
    check_medium(method, subject.medium)
    check_ability(method, subject.model)
    court = Court(subject, plan, Reach(name, folder, watch))
    started = time.monotonic()
    try:
        ended = _in_time(method, subject, plan, court)
    except StoreError:
        raise
    except EvenhandError as fault:
        court.save()
        court.log("failed", str(fault))
        raise
    except Exception as fault:  # a method is foreign code: its crash is reported as a crash, with what was found kept
        court.save()
        court.log("crashed", f"{type(fault).__name__}: {fault}")
        raise MethodError(f"method {name} crashed after {court.ledger.candidates} candidates: {type(fault).__name__}: {fault}") from fault
    court.settle()
    court.save()
    found = court.findings()
    last = Discovery(court.ledger.model_rows, court.ledger.candidates, court.ledger.findings, court.cpu_seconds)
    seconds, curve = time.monotonic() - started, (*court.curve, last)
    return Run(name, court.ledger, found, court.task.facts, ended, last.cpu_seconds, seconds, curve, court.task.sample, court.aside())


def _in_time(method: Method, subject: Subject, plan: Plan, court: Court) -> Ending:
    """The conversation until it ends or the time is over; what fails because the alarm rang has not failed."""
    search = method.search(court.task, np.random.default_rng(plan.seed))
    alarm = Alarm()
    try:
        with stopping(court.meter.deadline) as alarm:
            if plan.learnt is None:  # whoever shares a run out has looked once for all shards
                probe_steadiness(subject, plan.seed)
            return _converse(search, court)
    except (BudgetSpent, TimeOver):
        return "budget spent"
    except KeyboardInterrupt:
        return "interrupted"
    except Exception:
        if not alarm.has_rung:
            raise
        return "budget spent"
    finally:
        search.close()


def _converse(search: Search, court: Court) -> Ending:
    """Candidates one way, verdicts the other, until either side ends it."""
    try:
        candidates = next(search)
        while not court.is_spent:
            candidates = search.send(court.hear(candidates))
    except StopIteration:
        return "budget spent" if court.is_spent else "method finished"
    return "budget spent"


def check_medium(method: Method, medium: Medium | None) -> None:
    """Raise before the run when the rows show something that the method cannot work on."""
    kind, works_on = medium.kind if medium is not None else "table", media_of(method)
    if works_on and kind not in works_on:
        raise MissingAbility(
            f"method {name_of(method)} works on {' or '.join(works_on)} data, not on {kind} data; "
            "`evenhand methods` lists what each method works on"
        )


def check_ability(method: Method, model: Model) -> None:
    """Raise before the run when the model lacks what the method needs."""
    if not isinstance(model, method.needs):
        raise MissingAbility(
            f"method {name_of(method)} needs a {ability_name(method.needs)} model, which {type(model).__name__} is not; "
            "choose a black-box method (`evenhand methods` lists what each one needs), or give a torch module or a dense net"
        )


def probe_steadiness(subject: Subject, seed: int, n: int = 64) -> None:
    """Ask a few rows twice, outside the budget: findings of an unsteady model could not be replayed."""
    rng = np.random.default_rng([seed, 1])
    rows = subject.rows[:n] if subject.rows is not None and len(subject.rows) else subject.domain.sample(n, rng)
    assert_steady(subject.model, rows)
