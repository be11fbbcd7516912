"""run(): the conversation with a method, the budget, the duplicates, the findings.

Every method goes through here, so budgets, counting and verification are the same for all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Keys, Labels, Mask, Rows
from evenhand.contract import Candidates, Medium, Method, Model, Oracle, Population, Search, Task, Verdict, media_of, name_of
from evenhand.domain.seen import KeyTable
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.findings import Findings, findings_of
from evenhand.engine.store import Journal, RunFolder
from evenhand.errors import BudgetSpent, EvenhandError, MethodError, MissingAbility, StoreError
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter, assert_steady
from evenhand.oracles.twins_flip import LabelFlip

ROWS_AT_ONCE = 32_768
"""Model rows judged in one go: enough to amortise a call, small enough to stay in the cache and to keep Ctrl-C prompt."""

MOST_EXPECTED = 1 << 21
"""Room for this many distinct candidates is made at once, so that a usual run never rebuilds its table of keys."""

ROWS_PER_PART = 100_000
SECONDS_PER_PART = 5.0

Ending = Literal["budget spent", "method finished", "interrupted"]


@dataclass(frozen=True)
class Subject:
    """What is tested: a model in its domain, with the real rows and the population that are at hand."""

    domain: TabularDomain
    model: Model
    rows: Rows | None = None
    labels: Labels | None = None
    population: Population | None = None
    medium: Medium | None = None  # what a row shows; None is the table itself


@dataclass(frozen=True)
class Plan:
    """How it is tested: one seed, one budget, one oracle."""

    seed: int
    budget: Budget
    oracle: Oracle = field(default_factory=LabelFlip)


@dataclass
class Ledger:
    """The counts of a run; one rule for every method."""

    candidates: int = 0
    duplicates: int = 0
    findings: int = 0
    model_rows: int = 0
    calls: int = 0
    note: str = ""  # what else a watcher may show, such as a rate that is measured beside the search


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

    def as_dict(self) -> dict[str, Any]:
        """Everything but the findings themselves, for JSON."""
        return {
            "method": self.method,
            **{name: count for name, count in asdict(self.ledger).items() if name != "note"},
            "ended": self.ended,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "facts": self.facts,
        }


Watch = Callable[[Ledger], None]


def run(method: Method, subject: Subject, plan: Plan, folder: RunFolder | None = None, watch: Watch | None = None) -> Run:
    """Search until the budget is spent or the method is done.  Ctrl-C ends the run cleanly; a model's failure raises."""
    name = name_of(method)
    check_medium(method, subject.medium)
    check_ability(method, subject.model)
    probe_steadiness(subject, plan.seed)
    court = Court(subject, plan, folder, watch)
    started_cpu, started = time.process_time(), time.monotonic()
    try:
        ended = _converse(method.search(court.task, np.random.default_rng(plan.seed)), court)
    except StoreError:
        raise
    except EvenhandError as fault:
        court.save()
        if folder:
            folder.log("failed", str(fault))
        raise
    except Exception as fault:  # a method is foreign code: its crash is reported as a crash, with what was found kept
        court.save()
        if folder:
            folder.log("crashed", f"{type(fault).__name__}: {fault}")
        raise MethodError(f"method {name} crashed after {court.ledger.candidates} candidates: {type(fault).__name__}: {fault}") from fault
    court.save()
    found = court.findings()
    spent = time.process_time() - started_cpu, time.monotonic() - started
    return Run(name, court.ledger, found, court.task.facts, ended, *spent)


def _converse(search: Search, court: Court) -> Ending:
    """Candidates one way, verdicts the other, until either side ends it."""
    try:
        candidates = next(search)
        while not court.is_spent:
            candidates = search.send(court.hear(candidates))
    except StopIteration:
        return "budget spent" if court.is_spent else "method finished"
    except BudgetSpent:
        return "budget spent"
    except KeyboardInterrupt:
        return "interrupted"
    finally:
        search.close()
    return "budget spent"


class Court:
    """Hears candidates: counts them, knows the ones heard before, asks the oracle about the rest, keeps what is unfair."""

    def __init__(self, subject: Subject, plan: Plan, folder: RunFolder | None, watch: Watch | None) -> None:
        self.domain, self.plan, self.folder, self.watch = subject.domain, plan, folder, watch
        self.meter = Meter(subject.model, plan.budget)
        self.ledger = Ledger()
        self.price = plan.oracle.rows_per_candidate(self.domain)
        self.task = Task(self.domain, self.meter, subject.rows, subject.labels, subject.population, fitting=self.fitting)
        self.task.medium = subject.medium
        expected = min(plan.budget.candidates or 1 << 11, MOST_EXPECTED)
        self._table, self._memory = KeyTable(expected), Memory(len(self.domain.combinations), expected)
        self._archive = Archive(folder.journal() if folder else None)
        self._parts: list[Findings] = []
        self._waiting: list[tuple[str, Rows, Verdict, Index]] = []
        self._waiting_rows = 0
        self._saved_keys, self._saved_parts, self._saved_at = 0, 0, time.monotonic()

    @property
    def candidates_left(self) -> int | None:
        """How many candidates the budget still allows; None for no limit."""
        limit = self.plan.budget.candidates
        return None if limit is None else limit - self.ledger.candidates

    @property
    def is_spent(self) -> bool:
        """Whether not one more candidate can be heard."""
        return self.fitting(1) == 0 or self.meter.is_out_of_time

    def fitting(self, n: int) -> int:
        """Of n candidates, how many the budget still judges."""
        if self.candidates_left is not None:
            n = min(n, self.candidates_left)
        if self.meter.rows_left is not None:
            n = min(n, self.meter.rows_left // self.price)
        return n

    def hear(self, candidates: Candidates) -> Verdict:
        """The verdict on every candidate; raises BudgetSpent when the budget ends within them, what fits being kept."""
        rows = self._checked(candidates.rows)
        step = max(1, ROWS_AT_ONCE // self.price)
        heard: list[Verdict] = []
        at = 0
        while at < len(rows):
            n = self.fitting(min(step, len(rows) - at))
            if n == 0:
                raise BudgetSpent("the budget ended within a batch of candidates")
            heard.append(self._hear(rows[at : at + n], candidates.phase))
            at += n
        return join_verdicts(heard, len(self.domain.combinations))

    def _checked(self, rows: Rows) -> Rows:
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.domain.columns):
            raise MethodError(f"the method proposed an array of shape {rows.shape}; expected (n, {len(self.domain.columns)})")
        inside = self.domain.inside(rows)
        if not inside.all():
            row = rows[int(np.flatnonzero(~inside)[0])]
            bad = next(c.name for c, cell in zip(self.domain.columns, row, strict=True) if not c.inside(np.array([cell]))[0])
            raise MethodError(
                f"the method proposed {int((~inside).sum())} rows outside the domain; in the first one column {bad!r} has the code "
                f"{row[self.domain.place(bad)]!r} (use domain.clip or domain.project)"
            )
        return rows

    def _hear(self, rows: Rows, phase: str) -> Verdict:
        self.meter.check_time()
        places, new = self._table.add(self.domain.keys(rows))
        fresh = np.flatnonzero(new) if not new.all() else np.arange(len(rows))
        verdict = self._judge(
            rows if len(fresh) == len(rows) else rows[fresh], self._table.keys[self._table.size - len(fresh) : self._table.size]
        )
        self._memory.add(verdict)
        if verdict.unfair.any():
            self._keep(rows, verdict, fresh, phase)
        self.ledger.candidates += len(rows)
        self.ledger.duplicates += len(rows) - len(fresh)
        self.ledger.model_rows, self.ledger.calls = self.meter.rows_asked, self.meter.calls
        self._save_now_and_then()
        if self.watch:
            self.watch(self.ledger)
        return verdict if len(fresh) == len(rows) else self._memory.recall(places)

    def _keep(self, rows: Rows, verdict: Verdict, fresh: Index, phase: str) -> None:
        """Put the unfair ones aside; their twins are looked up later, for many batches at once."""
        unfair = verdict.unfair
        found = fresh[unfair]
        kept = Verdict(unfair[unfair], verdict.gap[unfair], verdict.labels[unfair])
        self._waiting.append((phase, rows[found], kept, self.ledger.candidates + found))
        self.ledger.findings += len(found)
        self._waiting_rows += len(found)
        if self._waiting_rows * self.price >= ROWS_AT_ONCE:
            self._gather()

    def _gather(self) -> None:
        """Make findings of what waits, one part for each stretch of one phase."""
        for phase, group in groupby(self._waiting, key=lambda waiting: waiting[0]):
            rows, verdicts, candidates = zip(*(waiting[1:] for waiting in group), strict=True)
            verdict = join_verdicts(list(verdicts), len(self.domain.combinations))
            self._parts.append(findings_of(np.concatenate(rows), verdict, self.domain, np.concatenate(candidates), phase))
        self._waiting.clear()
        self._waiting_rows = 0

    def _judge(self, rows: Rows, keys: Keys) -> Verdict:
        """The archive's verdict where an earlier, interrupted run has one; the model's elsewhere.  Both are charged."""
        known = self._archive.find(keys)
        if known is None or not (known >= 0).any():
            return self.plan.oracle.judge(rows, self.domain, self.meter)
        unknown = known < 0
        self.meter.charge(int((~unknown).sum()) * self.price)
        asked = self.plan.oracle.judge(rows[unknown], self.domain, self.meter)
        return self._archive.merge(known, asked)

    def findings(self) -> Findings:
        """All findings so far."""
        self._gather()
        return Findings.join(self._parts, len(self.domain.columns))

    def _save_now_and_then(self) -> None:
        if self.folder is None:
            return
        waiting = self._table.size - self._saved_keys
        if waiting >= ROWS_PER_PART or (waiting and time.monotonic() - self._saved_at > SECONDS_PER_PART):
            self.save()

    def save(self) -> None:
        """Append what is not on disk yet."""
        if self.folder is None or self._saved_keys == self._memory.size:
            return
        chosen = slice(self._saved_keys, self._memory.size)
        keys = self._table.keys[chosen]
        known = self._archive.find(keys)
        novel = np.ones(len(keys), dtype=bool) if known is None else known < 0
        memory = self._memory.recall(np.arange(chosen.start, chosen.stop)[novel])
        self._gather()
        findings = Findings.join(self._parts[self._saved_parts :], len(self.domain.columns))
        if known is not None and len(findings):
            findings = findings[self._archive.find(self.domain.keys(findings.rows)) < 0]  # type: ignore[operator]
        if novel.any():
            journal = Journal(keys[novel], memory.labels, memory.gap, memory.unfair)
            self.folder.append(journal, findings, self.domain, self.meter.classes)
        self._saved_keys, self._saved_parts, self._saved_at = chosen.stop, len(self._parts), time.monotonic()


class Memory:
    """The verdict of every distinct candidate, in the order of their places in the key table."""

    def __init__(self, combinations: int, expected: int) -> None:
        self.size = 0
        self._unfair = np.empty(expected, dtype=bool)
        self._gap = np.empty(expected)
        self._labels = np.empty((combinations, expected), dtype=np.int16)

    def add(self, verdict: Verdict) -> None:
        """Remember the next verdicts."""
        end = self.size + len(verdict)
        if end > len(self._unfair):
            room = max(2 * end, 4096)
            self._unfair, self._gap, self._labels = (_grown(a, room) for a in (self._unfair, self._gap, self._labels))
        self._unfair[self.size : end] = verdict.unfair
        self._gap[self.size : end] = verdict.gap
        self._labels[:, self.size : end] = verdict.labels.T
        self.size = end

    def recall(self, places: Index) -> Verdict:
        """The verdicts at these places."""
        return Verdict(self._unfair[places], self._gap[places], self._labels[:, places].T)


class Archive:
    """The journal of an earlier run under the same header."""

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal
        self._table = KeyTable()
        if journal is not None:
            _, new = self._table.add(journal.keys)
            self._verdict = Verdict(journal.unfair[new], journal.gap[new], journal.labels[new])

    def find(self, keys: Keys) -> Index | None:
        """Where each key stands; -1 for unknown ones; None when there is no archive at all."""
        return None if self._journal is None else self._table.find(keys)

    def merge(self, known: Index, asked: Verdict) -> Verdict:
        """Archived verdicts and new ones in the candidates' order."""
        old = self._verdict

        def mixed(archived: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
            both = archived[known]
            both[known < 0] = new
            return both

        return Verdict(mixed(old.unfair, asked.unfair), mixed(old.gap, asked.gap), mixed(old.labels, asked.labels))


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
            f"method {name_of(method)} needs a {method.needs.__name__.lower()} model, which {type(model).__name__} is not; "
            "choose a black-box method (`evenhand methods` lists what each one needs), or give a torch module or a dense net"
        )


def probe_steadiness(subject: Subject, seed: int, n: int = 64) -> None:
    """Ask a few rows twice, outside the budget: findings of an unsteady model could not be replayed."""
    rng = np.random.default_rng([seed, 1])
    rows = subject.rows[:n] if subject.rows is not None and len(subject.rows) else subject.domain.sample(n, rng)
    assert_steady(subject.model, rows)


def join_verdicts(parts: list[Verdict], combinations: int) -> Verdict:
    """Verdicts of consecutive slices as one."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        empty: Mask = np.empty(0, dtype=bool)
        return Verdict(empty, np.empty(0), np.empty((0, combinations), dtype=np.int16))
    return Verdict(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("unfair", "gap", "labels")))


def _grown(array: NDArray[Any], room: int) -> NDArray[Any]:
    bigger = np.empty((*array.shape[:-1], room), dtype=array.dtype)
    bigger[..., : array.shape[-1]] = array
    return bigger
