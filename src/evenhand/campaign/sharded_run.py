"""One search shared out among workers: shards of one budget with seeds of their own, merged in their order.

How many shards there are follows from the budget alone, so that the findings are the same however many workers there are.  A finding
counts once, whichever shards have it.  Where only seconds are counted, there is a shard for each worker, and nothing is promised.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.campaign.shard_shelf import ShardShelf
from evenhand.contract import Executor, Headway, Method, Watch, name_of
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.court import Discovery, Ledger
from evenhand.engine.findings import Findings
from evenhand.engine.run import Ending, Run, check_ability, check_medium, probe_steadiness, run
from evenhand.engine.store import Journal, RunFolder
from evenhand.engine.subject import Plan, Subject
from evenhand.models.budget import Budget
from evenhand.models.paid_answers import kept_model
from evenhand.values import Learnt

CANDIDATES_PER_SHARD = 25_000
MODEL_ROWS_PER_SHARD = 50_000
FEWEST_SHARDS, MOST_SHARDS = 4, 256
SMALLEST_SHARD = 250
"""Candidates below which work is not cut further: a shard begins from nothing."""


def shard_count(budget: Budget, workers: int) -> int:
    """How many shards a budget makes."""
    sizes = [(budget.candidates, CANDIDATES_PER_SHARD), (budget.model_rows, MODEL_ROWS_PER_SHARD)]
    counted = [(limit, size) for limit, size in sizes if limit is not None]
    if not counted:
        return workers
    limit, size = min(counted, key=lambda each: each[0] / each[1])
    return min(max(-(-limit // size), FEWEST_SHARDS), MOST_SHARDS, max(1, limit // SMALLEST_SHARD))


def shard_plans(plan: Plan, workers: int) -> list[Plan]:
    """The shards of a plan: parts of its budget that add up to the whole, each with a seed spawned from the plan's."""
    count = shard_count(plan.budget, workers)
    return [replace(plan, seed=_spawned(plan.seed, at), budget=_part(plan.budget, at, count, workers), beside=None) for at in range(count)]


def _spawned(seed: int, place: int) -> int:
    return int(np.random.SeedSequence(seed, spawn_key=(place,)).generate_state(1, np.uint64)[0] >> 1)


def _part(budget: Budget, place: int, count: int, workers: int) -> Budget:
    def cut(limit: int | None) -> int | None:
        return None if limit is None else max(1, limit // count + (place < limit % count))

    def timed(limit: float | None) -> float | None:  # of clocks, each shard has what is left for it when all workers are busy
        return None if limit is None else min(limit, limit * workers / count)

    return Budget(cut(budget.candidates), cut(budget.model_rows), timed(budget.seconds), timed(budget.cpu_seconds))


@dataclass(frozen=True)
class SearchWork:
    """What every worker needs: the method and what it is to search.  What it learns from the data alone is learnt once in each worker."""

    method: Method
    subject: Subject
    seed: int

    def open(self) -> Callable[[Plan], Run]:
        """Ready to make one shard after the other."""
        learnt = Learnt(self.seed)
        subject = replace(self.subject, model=kept_model(self.subject.model, None))  # shards of one process share what is paid for
        return lambda plan: run(self.method, subject, replace(plan, learnt=learnt))


def sharded_run(
    method: Method, subject: Subject, plan: Plan, executor: Executor, folder: RunFolder | None = None, watch: Watch | None = None
) -> Run:
    """The search of one method under one budget, made in shards; finished ones are taken from the folder.  Ctrl-C ends it cleanly."""
    check_medium(method, subject.medium)
    check_ability(method, subject.model)
    probe_steadiness(subject, plan.seed)
    started, plans = time.monotonic(), shard_plans(plan, getattr(executor, "workers", 1))
    merging = _Merging(name_of(method), subject.domain, plan, len(plans), watch)
    work = SearchWork(method, subject, plan.seed)
    ended: Ending | None = None
    try:
        for shard in _shards(work, plans, executor, ShardShelf(folder.path / "shards") if folder else None):
            merging.add(shard)
    except KeyboardInterrupt:
        ended = "interrupted"
    return merging.merged(ended, time.monotonic() - started)


@dataclass(frozen=True)
class NumberedShard:
    """A finished shard and its place among all."""

    place: int
    run: Run


def _shards(work: SearchWork, plans: Sequence[Plan], executor: Executor, shelf: ShardShelf | None) -> Iterator[NumberedShard]:
    """Every shard: what was kept first, then the others as they come, each kept before it is handed on."""
    missing = []
    for place in range(len(plans)):
        if shelf is not None and (kept := shelf.kept(place)) is not None:
            yield NumberedShard(place, kept)
        else:
            missing.append(place)
    with closing(executor.carry_out(work, [plans[place] for place in missing])) as ends:
        for end in ends:
            if end.fault is not None:
                raise end.fault
            if end.answer.ended == "interrupted":
                raise KeyboardInterrupt
            if shelf is not None:
                shelf.keep(missing[end.place], end.answer)
            yield NumberedShard(missing[end.place], end.answer)


class _Merging:
    """Shards put together in their order, whatever order they come in: counts, findings, the curve, and the rate beside the search."""

    def __init__(self, method: str, domain: TabularDomain, plan: Plan, count: int, watch: Watch | None) -> None:
        self.method, self.domain, self.plan, self.count, self.watch = method, domain, plan, count, watch
        self.waiting: dict[int, Run] = {}
        self.next = 0
        self.ledger, self.cpu_seconds = Ledger(), 0.0
        self.parts: list[Findings] = []
        self.known: set[int] = set()
        self.curve: list[Discovery] = []
        self.facts: dict[str, Any] = {}
        self.endings: list[Ending] = []
        self.samples: list[Any] = []

    def add(self, shard: NumberedShard) -> None:
        """One more; those whose turn has come are merged."""
        self.waiting[shard.place] = shard.run
        while self.next in self.waiting:
            self._merge(self.waiting.pop(self.next))
            self.next += 1

    def _merge(self, shard: Run) -> None:
        ledger, before = self.ledger, replace(self.ledger)
        new = self._new(shard.findings)
        ledger.candidates += shard.ledger.candidates
        ledger.duplicates += shard.ledger.duplicates + len(shard.findings) - len(new)
        ledger.findings += len(new)
        ledger.model_rows += shard.ledger.model_rows
        ledger.calls += shard.ledger.calls
        self.parts.append(replace(new, candidate=new.candidate + before.candidates))
        share = len(new) / len(shard.findings) if len(shard.findings) else 1.0
        self.curve += [
            Discovery(before.model_rows + at[0], before.candidates + at[1], before.findings + int(share * at[2]), self.cpu_seconds + at[3])
            for at in shard.curve
        ]
        self.cpu_seconds += shard.cpu_seconds
        self.facts = {**shard.facts, **self.facts}
        self.endings.append(shard.ended)
        self.samples += [shard.sample] if shard.sample is not None else []
        if self.plan.beside is not None:
            self.plan.beside.keep_up(ledger.candidates)
        if self.watch is not None:
            total = self.plan.budget.candidates or self.plan.budget.model_rows
            done = ledger.candidates if self.plan.budget.candidates else ledger.model_rows
            self.watch(Headway(self.method, done, total, f"{ledger.findings:,} findings, shard {self.next + 1} of {self.count}"))

    def _new(self, found: Findings) -> Findings:
        """Those that no shard before has."""
        keys = found.keys(self.domain)
        fresh = np.array([key not in self.known for key in keys.tolist()], dtype=bool)
        self.known.update(keys.tolist())
        return found[fresh] if not fresh.all() else found

    def merged(self, ended: Ending | None, seconds: float) -> Run:
        """All shards as one run."""
        found = Findings.join(self.parts, len(self.domain.columns))
        ending: Ending = ended or ("budget spent" if "budget spent" in self.endings else "method finished")
        sample = np.concatenate(self.samples) if self.samples else None
        facts = {**self.facts, "shards": self.count}
        return Run(self.method, self.ledger, found, facts, ending, self.cpu_seconds, seconds, tuple(self.curve), sample)


def write_findings(folder: RunFolder, done: Run, domain: TabularDomain, classes: tuple[Any, ...]) -> None:
    """The merged findings as a part of the run's folder, once; what else the shards judged stays with them."""
    if folder.journal() is not None or not len(done.findings):
        return
    found = done.findings
    labels = np.full((len(found), len(domain.combinations)), -1, dtype=np.int16)
    folder.append(Journal(found.keys(domain), labels, found.gap, np.ones(len(found), dtype=bool)), found, domain, classes)
