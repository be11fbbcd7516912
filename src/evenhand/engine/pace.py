"""How many more candidates the seconds of a budget allow, from the measured cost of asking and proposing; and what one question costs.

A budget that counts candidates or model rows never comes here: such a run does not depend on any clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Oracle
from evenhand.engine.subject import Plan, Subject
from evenhand.models.meter import Meter

RECENT = 0.3
"""The weight of the latest batch in what a candidate costs."""

PROBE_ROWS = (32, 512, 4096)
PROBE_SECONDS = 0.02
"""A question is timed on more and more rows, until they take so long; what a call costs whatever its size is left out."""

MOSTLY_WAITING = 0.05
"""A model that works less than this share of the time that it takes is waiting for something else."""


@dataclass
class Pace:
    """Seconds on one clock: how many are left, and what one candidate takes to propose and to judge."""

    clock: Callable[[], float]
    limit: float
    per_question: float
    per_proposal: float = 0.0
    started: float = field(init=False)
    _told_at: float | None = None  # when the last verdict was given

    def __post_init__(self) -> None:
        self.started = self.clock()

    @property
    def left(self) -> float:
        """Seconds until the budget ends."""
        return self.limit - (self.clock() - self.started)

    def fitting(self, n: int) -> int:
        """Of n candidates, how many the seconds still allow; one as long as there is any time."""
        left = self.left
        if left <= 0:
            return 0
        per_candidate = self.per_question + self.per_proposal
        return n if n * per_candidate <= left else max(1, int(left / per_candidate))

    def asked(self, rows: int) -> float:
        """A batch has come in: what the method took to propose it is noted.  What it took before its first one is set-up."""
        now = self.clock()
        if self._told_at is not None and rows:
            self.per_proposal = mixed(self.per_proposal, (now - self._told_at) / rows)
        return now

    def told(self, rows: int, since: float) -> None:
        """The verdict goes out: what judging took is noted."""
        self._told_at = self.clock()
        if rows:
            self.per_question = mixed(self.per_question, (self._told_at - since) / rows)


def mixed(before: float, latest: float) -> float:
    """A running mean in which recent batches count most."""
    return (1.0 - RECENT) * before + RECENT * latest if before else latest


def question_seconds(subject: Subject, oracle: Oracle, seed: int) -> float:
    """Seconds that one candidate more takes to judge in a large batch; infinite for a model that declares its answers costly.

    What a model does at its first question only is no part of it, nor is what other programs take of the processor meanwhile.
    """
    if getattr(subject.model, "is_costly", False):
        return float("inf")
    rows = _probe_rows(subject, seed)
    _timed(rows[:1], subject, oracle)
    before = _timed(rows[: PROBE_ROWS[0]], subject, oracle)
    if before.seconds > PROBE_SECONDS:  # a slow model, or one moment's hitch
        before = min(before, _timed(rows[: PROBE_ROWS[0]], subject, oracle), key=lambda took: took.seconds)
    cost = before.seconds / PROBE_ROWS[0]
    for few, many in pairwise(PROBE_ROWS):
        if before.seconds > PROBE_SECONDS:
            break
        took = _timed(rows[:many], subject, oracle)
        cost = max(took.seconds - before.seconds, 0.1 * took.seconds) / (many - few)
        before = took
    return float(f"{cost:.2g}")  # what the clock says beyond that is chance


def with_cost(plan: Plan, subject: Subject) -> Plan:
    """The plan with what a question costs, where the budget counts seconds and nobody has said it: measured once, kept with the result."""
    budget = plan.budget
    if plan.question_seconds is not None or all(limit is None or limit == float("inf") for limit in (budget.seconds, budget.cpu_seconds)):
        return plan
    return replace(plan, question_seconds=question_seconds(subject, plan.oracle, plan.seed))


def cost_in_words(plan: Plan) -> dict[str, float | str]:
    """What a header says of it; nothing where the budget counts questions."""
    cost = plan.question_seconds
    return {} if cost is None else {"question_seconds": cost if cost < float("inf") else "costly, as the model declares"}


def _probe_rows(subject: Subject, seed: int) -> Rows:
    """Real rows; where there are too few, some with cells of different ones: a model is quicker about the same people again and again."""
    n, rng = PROBE_ROWS[-1], np.random.default_rng([seed, 7])
    if subject.rows is None or not len(subject.rows):
        return subject.domain.sample(n, rng)
    rows = subject.rows[np.arange(n) % len(subject.rows)]
    if len(subject.rows) >= n or subject.domain.numbers_things:
        return rows
    again = np.arange(len(subject.rows), n)
    for at in range(rows.shape[1]):
        rows[again, at] = rows[rng.permutation(again), at]
    return rows


@dataclass(frozen=True)
class Timing:
    """How long something took on the processor's clock, and on the wall's."""

    processor: float
    wall: float

    @property
    def seconds(self) -> float:
        """On the processor's clock, which other programs do not slow down; on the wall's for what mostly waits."""
        return self.wall if self.processor < MOSTLY_WAITING * self.wall else self.processor


def _timed(rows: Rows, subject: Subject, oracle: Oracle) -> Timing:
    started, since = time.process_time(), time.monotonic()
    oracle.judge(rows, subject.domain, Meter(subject.model, remembers=False))
    return Timing(time.process_time() - started, time.monotonic() - since)
