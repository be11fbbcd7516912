"""Makes the runs of a campaign one by one, in whichever process: opens each source once and records failures.  Writes nothing."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, chdir, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import evenhand
from evenhand.campaign.arena_ground import Ground
from evenhand.campaign.campaign_folder import findings_parquet, plain
from evenhand.campaign.contest import EDITION, FAILED, ContestCell, Terms, code_digest, contend
from evenhand.campaign.sources import ArenaSource
from evenhand.contract import Headway, Watch
from evenhand.errors import EvenhandError
from evenhand.models.paid_answers import kept_model


@dataclass(frozen=True)
class RunOrder:
    """One run to be made: the place of its source, who searches with which seed, and under which terms."""

    place: int
    cell: ContestCell
    terms: Terms


@dataclass(frozen=True)
class MadeRun:
    """What comes back of a run: its record, and its findings as Parquet where they are to be kept."""

    record: dict[str, Any]
    findings: bytes | None = None


@dataclass(frozen=True)
class CampaignWork:
    """What a worker needs to make any run of a campaign."""

    sources: tuple[ArenaSource, ...]
    keep_findings: bool = False
    folder: Path | None = None  # where paid answers are kept, for all runs
    watch: Watch | None = None  # told of each run's headway, where it is made in this process
    here: str = field(default_factory=os.getcwd)  # where paths begin that are not whole, also for a worker that was started elsewhere

    def open(self) -> Callable[[RunOrder], MadeRun]:
        """One who makes runs; the last ground stays open."""
        return RunMaker(self).make

    def died(self, order: RunOrder, fault: EvenhandError) -> dict[str, Any]:
        """The record of a run whose source could not be opened or whose process died; it has no id, and is made again next time."""
        cell = order.cell
        told = {"id": "", "method": cell.entrant.name, **self.sources[order.place].describe(), "seed": cell.seed}
        return {**told, "status": FAILED, "reason": f"{type(fault).__name__}: {fault}"}

    def digest(self, order: RunOrder) -> str:
        """Twenty hexadecimal digits of what fixes a run, told without opening its model."""
        cell = order.cell
        method = [cell.entrant.method, [list(pair) for pair in cell.entrant.parameters], code_digest(cell.entrant.method)]
        fixed = [self._source_digest(order.place), method, cell.seed, asdict(order.terms), EDITION, evenhand.__version__]
        return hashlib.sha256(json.dumps(fixed, sort_keys=True, default=str).encode()).hexdigest()[:20]

    def _source_digest(self, place: int) -> str:
        known: dict[int, str] = self.__dict__.setdefault("_digests", {})  # files are read once, not for every run
        if place not in known:
            known[place] = self.sources[place].digest()
        return known[place]


class RunMaker:
    """Makes runs in this process; keeps the last ground open."""

    def __init__(self, work: CampaignWork) -> None:
        self.work = work
        self.ground: Callable[[int, str | None, int], Ground | EvenhandError] = lru_cache(maxsize=1)(self._open)

    def _open(self, place: int, oracle: str | None, pool_rows: int) -> Ground | EvenhandError:
        try:
            arena = self.work.sources[place].open()
            ground = Ground(replace(arena, model=kept_model(arena.model, self.work.folder)), oracle, pool_rows)
            _ = ground.subject, ground.oracle
        except EvenhandError as fault:
            return fault  # kept, so that a broken model is not opened again for every method
        return ground

    def make(self, order: RunOrder) -> MadeRun:
        """The record of one run."""
        with _working_in(self.work.here):
            return self._made(order)

    def _made(self, order: RunOrder) -> MadeRun:
        ground = self.ground(order.place, order.terms.oracle, order.terms.pool_rows)
        if isinstance(ground, EvenhandError):
            return MadeRun(self.work.died(order, ground))
        told = _named(f"{order.cell.entrant.name} (seed {order.cell.seed})", self.work.watch)
        record, done = contend(order.cell, ground, order.terms, told)
        if done is None or not self.work.keep_findings:
            return MadeRun(plain(record))
        return MadeRun(plain(record), findings_parquet(done.findings, ground.subject.domain, ground.subject.model.classes))


def _working_in(folder: str) -> AbstractContextManager[None]:
    """The folder as the one to work in, where it is there; a process that works there already, with whatever threads, stays as it is."""
    return chdir(folder) if folder != os.getcwd() and Path(folder).is_dir() else nullcontext()


def _named(what: str, watch: Watch | None) -> Watch | None:
    """The same watcher, told which run is at work."""

    def told(headway: Headway) -> None:
        if watch is not None:
            watch(replace(headway, what=what))

    return told if watch is not None else None
