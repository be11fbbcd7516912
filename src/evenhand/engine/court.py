"""The engine's side of the conversation: counts candidates, knows the ones heard before, has the rest judged, keeps what is unfair.

Also what is written to disk on the way, and the people who are judged beside the search; how a run begins and ends is `run`'s.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Keys, Mask, Rows
from evenhand.contract import Candidates, Headway, Task, Verdict, Watch, join_verdicts, outcome_names, shows_pairs
from evenhand.domain.key_table import KeyTable
from evenhand.domain.row_verdicts import RowVerdicts
from evenhand.domain.shown_twins import is_believable
from evenhand.engine.findings import Findings, findings_of
from evenhand.engine.findings_pile import FindingsPile
from evenhand.engine.interrupts import uninterrupted
from evenhand.engine.pace import Pace, question_seconds
from evenhand.engine.store import Journal, RunFolder
from evenhand.engine.subject import Plan, Subject
from evenhand.errors import BudgetSpent, MethodError
from evenhand.models.meter import Meter
from evenhand.oracles.flip import LabelFlip
from evenhand.oracles.parts.people import labels_differ

ROWS_AT_ONCE = 32_768
"""Model rows judged in one go: enough to amortise a call, small enough to stay in the cache and to keep Ctrl-C prompt."""

USUAL_COLUMNS = 32
"""Of wider tables fewer rows are judged in one go, for the same reasons."""

MOST_EXPECTED = 1 << 21
"""Room for this many distinct candidates is made at once, so that a usual run never rebuilds its table of keys."""

ROWS_PER_PART, CELLS_PER_PART = 100_000, 3_200_000
SECONDS_PER_PART = 5.0

FIRST_TIMED_ROWS = 512
PART_OF_THE_TIME = 0.1
SHORTEST_PART = 0.02
"""Where seconds count, so many model rows are judged first; then as many at once as take this share of what is left, or so many
seconds: what is being asked when the time is over is lost."""

POINT_EVERY = 1.06
"""A point of the discovery curve stands at least this factor of model rows after the one before."""


@dataclass
class Ledger:
    """The counts of a run; one rule for every method."""

    candidates: int = 0
    duplicates: int = 0
    findings: int = 0
    model_rows: int = 0
    calls: int = 0


class Discovery(NamedTuple):
    """A point of the discovery curve."""

    model_rows: int
    candidates: int
    findings: int
    cpu_seconds: float


@dataclass(frozen=True)
class Waiting:
    """Unfair rows of one batch whose twins have not been looked up yet."""

    phase: str
    rows: Rows
    verdict: Verdict
    candidates: Index
    likelihood: NDArray[np.floating] | None
    is_aside: bool = False  # only people whom nobody would believe in show what is unfair

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def kind(self) -> tuple[str, bool, bool]:
        """What can be made findings of together."""
        return self.phase, self.likelihood is None, self.is_aside

    def split(self) -> tuple[Waiting, ...]:
        """Those that plausible people show, and those that are set aside."""
        if self.likelihood is None:
            return (self,)
        believed = is_believable(self.verdict.labels, self.likelihood)
        if self.verdict.pairs is not None:  # the oracle compares something else than labels
            believed = np.isfinite(self.likelihood).sum(axis=1) >= 2
        return (self,) if believed.all() else (self._only(believed), replace(self._only(~believed), is_aside=True))

    def _only(self, chosen: Mask) -> Waiting:
        told = self.verdict
        pairs = None if told.pairs is None else told.pairs[chosen]
        verdict = Verdict(told.unfair[chosen], told.gap[chosen], told.labels[chosen], pairs)
        likelihood = None if self.likelihood is None else self.likelihood[chosen]
        return replace(self, rows=self.rows[chosen], verdict=verdict, candidates=self.candidates[chosen], likelihood=likelihood)


@dataclass(frozen=True)
class Reach:
    """Where a run is written, and who watches it, under which name."""

    name: str = "search"
    folder: RunFolder | None = None
    watch: Watch | None = None


class Court:
    """Hears candidates: counts them, knows the ones heard before, asks the oracle about the rest, keeps what is unfair."""

    def __init__(self, subject: Subject, plan: Plan, reach: Reach | None = None) -> None:
        self.domain, self.plan, self.reach = subject.domain, plan, reach or Reach()
        self.meter = Meter(subject.model, plan.budget)
        self.ledger = Ledger()
        self.curve: list[Discovery] = []
        self.price = plan.oracle.rows_per_candidate(self.domain)
        self.rows_at_once = ROWS_AT_ONCE * USUAL_COLUMNS // max(USUAL_COLUMNS, len(self.domain.columns))
        self.heard = RowVerdicts(len(self.domain.combinations), min(plan.budget.candidates or 1 << 11, MOST_EXPECTED))
        self.task = Task(self.domain, self.meter, subject.rows, subject.labels, subject.population, fitting=self.fitting, left=self.left)
        self.task.medium, self.task.heard, self.task.deadline = subject.medium, self.heard, self.meter.deadline
        self.task.learnt = plan.learnt
        self.paces = self._paces(subject)
        self._archive = Archive(self.reach.folder.journal() if self.reach.folder else None)
        self._pile, self._aside = FindingsPile(len(self.domain.columns)), FindingsPile(len(self.domain.columns))
        self._waiting: list[Waiting] = []
        self._waiting_rows = 0
        self._costs: list[NDArray[np.int32]] = []  # of the rows that are not saved yet, batch by batch
        self._saved_keys, self._saved_findings, self._saved_at = 0, 0, time.monotonic()
        self._started_cpu = time.process_time()

    @property
    def candidates_left(self) -> int | None:
        """How many candidates the budget still allows; None for no limit."""
        limit = self.plan.budget.candidates
        return None if limit is None else limit - self.ledger.candidates

    @property
    def is_spent(self) -> bool:
        """Whether not one more candidate can be heard."""
        return self.fitting(1) == 0 or self.meter.is_out_of_time

    @property
    def cpu_seconds(self) -> float:
        """CPU-seconds since the court was opened."""
        return time.process_time() - self._started_cpu

    def fitting(self, n: int) -> int:
        """Of n candidates, how many the budget still judges."""
        if self.candidates_left is not None:
            n = min(n, self.candidates_left)
        if self.meter.rows_left is not None:
            n = min(n, self.meter.rows_left // self.price)
        for pace in self.paces:
            n = min(n, pace.fitting(n))
        return n

    def left(self) -> float:
        """The share of the budget that is not spent yet, by the limit that is nearest."""
        shares = [1.0, *(max(0.0, pace.left) / pace.limit for pace in self.paces if pace.limit < float("inf"))]
        if self.candidates_left is not None and self.plan.budget.candidates is not None:
            shares.append(self.candidates_left / self.plan.budget.candidates)
        if self.meter.rows_left is not None and self.plan.budget.model_rows is not None:
            shares.append(self.meter.rows_left / self.plan.budget.model_rows)
        return min(shares)

    def _paces(self, subject: Subject) -> tuple[Pace, ...]:
        """One for each clock that the budget names.  What a question costs is measured once, unless the plan says it."""
        budget, plan = self.plan.budget, self.plan
        clocks = [(time.monotonic, budget.seconds), (time.process_time, budget.cpu_seconds)]
        if all(limit is None or limit == float("inf") for _, limit in clocks):
            return ()
        paces = [Pace(clock, limit, 0.0) for clock, limit in clocks if limit is not None]
        cost = plan.question_seconds if plan.question_seconds is not None else question_seconds(subject, plan.oracle, plan.seed)
        self.task.question_seconds = cost
        self.task.facts["question_seconds"] = cost if np.isfinite(cost) else None
        for pace in paces:
            pace.per_question = min(cost, 1.0)
        return tuple(paces)

    def _at_once(self) -> int:
        """How many candidates are judged in one go."""
        rows, deadline, cost = self.rows_at_once, self.meter.deadline, self.meter.seconds_per_row
        if deadline.is_set:
            rows = FIRST_TIMED_ROWS if cost is None else min(rows, int(max(SHORTEST_PART, PART_OF_THE_TIME * deadline.seconds_left) / cost))
        return max(1, rows // self.price)

    def hear(self, candidates: Candidates) -> Verdict:
        """The verdict on every candidate; raises BudgetSpent when the budget ends within them, what fits being kept."""
        candidates = replace(candidates, rows=self._checked(candidates.rows))
        rows = candidates.rows
        since = [pace.asked(len(rows)) for pace in self.paces]
        heard: list[Verdict] = []
        at = 0
        while at < len(rows):
            n = self.fitting(min(self._at_once(), len(rows) - at))
            if n == 0:
                raise BudgetSpent("the budget ended within a batch of candidates")
            heard.append(self._hear(candidates[at : at + n] if n < len(rows) else candidates))
            at += n
        for pace, started in zip(self.paces, since, strict=True):
            pace.told(len(rows), started)
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

    def _hear(self, candidates: Candidates) -> Verdict:
        self.meter.check_time()
        rows, before = candidates.rows, self.heard.size
        places, new = self._placed(candidates)
        fresh = np.flatnonzero(new) if not new.all() else np.arange(len(rows))
        charged = self.meter.rows_asked
        verdict = self._verdict(candidates if len(fresh) == len(rows) else candidates[fresh], self.heard.keys[before : before + len(fresh)])
        with uninterrupted():
            self.heard.record(verdict)
            self._note_cost(len(fresh), self.meter.rows_asked - charged)
            if verdict.unfair.any():
                self._keep(candidates, verdict, fresh)
            self._count(len(rows), len(rows) - len(fresh))
            self._save_now_and_then()
        if self.plan.beside is not None:
            self.plan.beside.keep_up(self.ledger.candidates)
        self._tell()
        return verdict if len(fresh) == len(rows) else self.heard.recall(places)

    def _note_cost(self, fresh: int, charged: int) -> None:
        """What a batch cost, at its first row: a resumed run is charged the same, whatever twins were impossible or remembered."""
        if self.reach.folder is not None and fresh:
            self._costs.append(np.concatenate([[charged], np.zeros(fresh - 1)]).astype(np.int32))

    def _placed(self, candidates: Candidates) -> tuple[Index, Mask]:
        """The place of every row, and which of them are to be judged now; rows that the method has entered are not keyed again."""
        if candidates.places is None:
            if self.heard.entered > self.heard.size:
                raise MethodError(f"the method entered {self.heard.entered - self.heard.size} rows and did not propose them next")
            return self.heard.enter(self.domain.keys(candidates.rows))
        places = np.asarray(candidates.places)
        new = places >= self.heard.size
        own = self.domain.keys(candidates.rows[:: max(1, len(places) - 1)])  # the first and the last stand for all
        due = np.arange(self.heard.size, self.heard.size + int(new.sum()))
        if len(places) != len(candidates.rows) or not np.array_equal(places[new], due):
            raise MethodError("the method proposed rows at other places than it had entered them; propose them next and in their order")
        if not np.array_equal(self.heard.keys[places[:: max(1, len(places) - 1)]], own):
            raise MethodError("the method proposed other rows than it had entered at these places")
        return places, new

    def _count(self, candidates: int, duplicates: int) -> None:
        ledger = self.ledger
        ledger.candidates += candidates
        ledger.duplicates += duplicates
        ledger.model_rows, ledger.calls = self.meter.rows_asked, self.meter.calls
        if not self.curve or ledger.model_rows >= POINT_EVERY * self.curve[-1].model_rows:
            self.curve.append(Discovery(ledger.model_rows, ledger.candidates, ledger.findings, self.cpu_seconds))

    def _tell(self) -> None:
        """Let who watches see where the run is; nothing is measured for it."""
        if self.reach.watch is None:
            return
        budget, ledger = self.plan.budget, self.ledger
        beside = f"; {self.plan.beside.sentence}" if self.plan.beside is not None else ""
        done = ledger.model_rows if budget.candidates is None and budget.model_rows else ledger.candidates
        total = budget.candidates or budget.model_rows
        self.reach.watch(Headway(self.reach.name, done, total, f"{ledger.findings:,} findings{beside}"))

    def _keep(self, candidates: Candidates, verdict: Verdict, fresh: Index) -> None:
        """Put the unfair ones aside; their twins are looked up later, for many batches at once."""
        unfair = verdict.unfair
        found = fresh[unfair]
        kept = Verdict(unfair[unfair], verdict.gap[unfair], verdict.labels[unfair], verdict.pairs)
        likelihood = None if candidates.likelihood is None else candidates.likelihood[found]
        waiting = Waiting(candidates.phase, candidates.rows[found], kept, self.ledger.candidates + found, likelihood)
        for each in filter(len, waiting.split()):
            self._waiting.append(each)
            self._waiting_rows += len(each)
            self.ledger.findings += 0 if each.is_aside else len(each)
        if self._waiting_rows * self.price >= self.rows_at_once:
            self._gather()

    def _gather(self) -> None:
        """Make findings of what waits, one part for each stretch of one phase."""
        for (phase, _, is_aside), stretch in groupby(sorted(self._waiting, key=lambda each: each.is_aside), key=lambda each: each.kind):
            group = list(stretch)
            verdict = join_verdicts([each.verdict for each in group], len(self.domain.combinations))
            rows, numbers = np.concatenate([each.rows for each in group]), np.concatenate([each.candidates for each in group])
            told = [each.likelihood for each in group if each.likelihood is not None]
            pile = self._aside if is_aside else self._pile
            pile.add(findings_of(rows, verdict, self.domain, numbers, phase, np.concatenate(told) if told else None))
        self._waiting.clear()
        self._waiting_rows = 0

    def _verdict(self, candidates: Candidates, keys: Keys) -> Verdict:
        """By proof, where there is one and labels decide; else by the model."""
        labels = candidates.proven
        if labels is None or not len(labels) or not isinstance(self.plan.oracle, LabelFlip):
            return self._judge(candidates.rows, keys)
        first = self._judge(candidates.rows[:1], keys[:1])
        if not (labels_differ(labels).all() and first.unfair.all() and ((labels[:1] == first.labels) | (labels[:1] < 0)).all()):
            raise MethodError(
                "the method brought a proof that the model's own answer contradicts; was the model changed since it was read?"
            )
        return Verdict(np.ones(len(labels), dtype=bool), np.append(first.gap, np.zeros(len(labels) - 1)), labels)

    def _judge(self, rows: Rows, keys: Keys) -> Verdict:
        """The archive's verdict where an earlier, interrupted run has one; the model's elsewhere.  Both are charged."""
        known = self._archive.find(keys)
        if known is None or not (known >= 0).any():
            return self.plan.oracle.judge(rows, self.domain, self.meter)
        # The journal keeps no pairs: where the oracle shows some, what was unfair is asked again, for its finding.
        kept = self._archive.fair(known) if shows_pairs(self.plan.oracle) else known
        before, unknown = self.meter.rows_asked, kept < 0
        asked = self.plan.oracle.judge(rows[unknown], self.domain, self.meter)
        due = self._archive.cost(known)
        again = self.meter.rows_asked - before
        self.meter.charge(self.price * int((~unknown).sum()) if due is None else max(0, due - again))
        return self._archive.merge(kept, asked)

    def findings(self) -> Findings:
        """All findings so far."""
        self._gather()
        return self._pile.whole()

    def aside(self) -> Findings:
        """What is unfair too, but only between people whom the method would not believe in."""
        self._gather()
        return self._aside.whole()

    def settle(self) -> None:
        """The search is over: where nobody plausible was found, those who were set aside are what was found; else the reader is told of
        them."""
        self._gather()
        if len(self._aside) and not len(self._pile):
            self._pile, self._aside = self._aside, self._pile
            self.ledger.findings = len(self._pile)
            self.task.facts["plausible_findings"] = "none: every finding is a person, or has a twin, that is hardly plausible"
        elif len(self._aside):
            more = "more people are treated so, but they or their twins are hardly plausible: they are not in the list"
            self.task.facts["set_aside"] = f"{len(self._aside):,} {more}"

    def _save_now_and_then(self) -> None:
        if self.reach.folder is None:
            return
        waiting = self.heard.size - self._saved_keys
        if waiting >= min(ROWS_PER_PART, CELLS_PER_PART // len(self.domain.columns)) or (
            waiting and time.monotonic() - self._saved_at > SECONDS_PER_PART
        ):
            self.save()

    def save(self) -> None:
        """Append what is not on disk yet."""
        if self.reach.folder is None or self._saved_keys == self.heard.size:
            return
        chosen = slice(self._saved_keys, self.heard.size)
        keys = self.heard.keys[chosen]
        known = self._archive.find(keys)
        novel = np.ones(len(keys), dtype=bool) if known is None else known < 0
        memory = self.heard.recall(np.arange(chosen.start, chosen.stop)[novel])
        self._gather()
        findings = self._pile.since(self._saved_findings)
        if known is not None and len(findings):
            findings = findings[self._archive.find(findings.keys(self.domain)) < 0]  # type: ignore[operator]
        if novel.any():
            journal = Journal(keys[novel], memory.labels, memory.gap, memory.unfair, np.concatenate(self._costs)[novel])
            self.reach.folder.append(journal, findings, self.domain, outcome_names(self.plan.oracle, self.meter))
        self._costs.clear()
        self._saved_keys, self._saved_findings, self._saved_at = chosen.stop, len(self._pile), time.monotonic()

    def log(self, event: str, detail: str) -> None:
        """A line for the folder's log, where there is one."""
        if self.reach.folder is not None:
            self.reach.folder.log(event, detail)


class Archive:
    """The journal of an earlier run under the same header."""

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal
        self._table = KeyTable()
        if journal is not None:
            _, self._new = self._table.add(journal.keys)
            self._verdict = Verdict(journal.unfair[self._new], journal.gap[self._new], journal.labels[self._new])

    def find(self, keys: Keys) -> Index | None:
        """Where each key stands; -1 for unknown ones; None when there is no archive at all."""
        return None if self._journal is None else self._table.find(keys)

    def cost(self, known: Index) -> int | None:
        """What these verdicts were charged together; None where the journal does not say, or holds only a part of them."""
        costs = self._journal.rows if self._journal is not None else None
        return None if costs is None or (known < 0).any() else int(costs[self._new][known].sum())

    def fair(self, known: Index) -> Index:
        """The same places, -1 also where the archived verdict is unfair."""
        return np.where((known >= 0) & ~self._verdict.unfair[known], known, -1)

    def merge(self, known: Index, asked: Verdict) -> Verdict:
        """Archived verdicts and new ones in the candidates' order."""
        old = self._verdict

        def mixed(archived: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
            both = archived[known]
            both[known < 0] = new
            return both

        return Verdict(mixed(old.unfair, asked.unfair), mixed(old.gap, asked.gap), mixed(old.labels, asked.labels), asked.pairs)
