"""How the seconds of a scan are shared out between rates, rules, the search and its evidence, and what a reader is told of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from evenhand.contract import population_words
from evenhand.deadline import Deadline
from evenhand.engine.run import Run
from evenhand.engine.samples import JudgedSample
from evenhand.models.budget import Budget

RATES_SHARE, RULES_SHARE, EVIDENCE_SHARE = 0.2, 0.1, 0.12
"""Of what is left at each point, at most this much: what is not used goes to the search."""

MOST_EVIDENCE_SECONDS = 10.0
"""Shrinking a few dozen witnesses seldom takes longer, however long the search was."""

LAST_SHARE, MOST_LAST_SECONDS = 0.08, 0.5
"""Kept for writing witnesses down, which cannot be done by half."""

LEAST_SECONDS = 0.001


@dataclass(frozen=True)
class TimePlan:
    """When the whole scan must be done; without a budget of seconds, never."""

    deadline: Deadline
    seconds: float = float("inf")  # as many as there were at the beginning

    @classmethod
    def of(cls, budget: Budget, methods: int) -> TimePlan:
        """Every method brings its seconds along."""
        wall, cpu = (None if limit is None else limit * methods for limit in (budget.seconds, budget.cpu_seconds))
        deadline = Deadline.after(wall, cpu)
        return cls(deadline, deadline.seconds_left)

    def for_rates(self) -> Deadline:
        """Until when rates are measured."""
        return self.deadline.part(RATES_SHARE)

    def for_rules(self) -> Deadline:
        """Until when rules are looked for."""
        return self.deadline.part(RULES_SHARE)

    def before_evidence(self, spot_check_seconds: float) -> Deadline:
        """Until when methods search: witnesses are shrunk afterwards, and the model is asked a few rows again."""
        rest = min(EVIDENCE_SHARE * self.deadline.seconds_left, MOST_EVIDENCE_SECONDS) + spot_check_seconds
        return Deadline(self.deadline.wall - rest, self.deadline.cpu - rest) if self.deadline.is_set else self.deadline

    def for_evidence(self) -> Deadline:
        """Until when witnesses are shrunk."""
        last = min(LAST_SHARE * self.seconds, MOST_LAST_SECONDS)
        return Deadline(self.deadline.wall - last, self.deadline.cpu - last)

    def notes(self, samples: Sequence[JudgedSample], runs: Sequence[Run]) -> Iterator[str]:
        """What was cut because time was short."""
        for each in samples:
            if each.is_cut:
                among = population_words(each.rate.population)
                yield f"time was short: the rate among {among} is from {each.rate.interval.n:,} rows instead of {each.drawn:,}"
        for done in runs:
            if self.deadline.is_set and not done.ledger.candidates:
                yield f"time was short: {done.method} was still preparing itself when its time was over, and has searched nothing"
            if "cut" in done.facts:
                yield f"time was short: {done.method}: {done.facts['cut']}"


def timed_budget(budget: Budget, deadline: Deadline) -> Budget:
    """The same budget with only the seconds until a deadline."""
    if not deadline.is_set:
        return budget
    wall, cpu = deadline.wall - time.monotonic(), deadline.cpu - time.process_time()
    seconds = None if budget.seconds is None else max(LEAST_SECONDS, wall)
    return replace(budget, seconds=seconds, cpu_seconds=None if budget.cpu_seconds is None else max(LEAST_SECONDS, cpu))
