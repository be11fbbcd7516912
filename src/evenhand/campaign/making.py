"""Makes the runs of a campaign one by one: opens each source once, skips what is on disk, records failures and goes on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from evenhand.campaign.arena_ground import Ground
from evenhand.campaign.campaign_folder import CampaignFolder, plain
from evenhand.campaign.contest import FAILED, INTERRUPTED, ContestCell, Terms, contend, header_of
from evenhand.campaign.sources import ArenaSource
from evenhand.contract import Headway, Watch
from evenhand.engine.findings import Findings
from evenhand.engine.store import run_id
from evenhand.errors import EvenhandError


@dataclass(frozen=True)
class Job:
    """All runs of a campaign: every cell on every source."""

    sources: tuple[ArenaSource, ...]
    cells: tuple[ContestCell, ...]
    terms: Terms
    folder: CampaignFolder | None = None
    keep_findings: bool = False
    retry: bool = False  # make runs again that failed before

    def died(self, place: int, cell: ContestCell, reason: str) -> dict[str, Any]:
        """The record of a run whose source could not be opened or whose process died; it has no id, and is made again next time."""
        told = {"id": "", "method": cell.entrant.name, **self.sources[place].describe(), "seed": cell.seed}
        return {**told, "status": FAILED, "reason": reason}


class Maker:
    """Makes runs in this process; keeps the last ground open."""

    def __init__(self, job: Job, watch: Watch | None = None) -> None:
        self.job, self.watch = job, watch
        self.ground: Callable[[int], Ground | EvenhandError] = lru_cache(maxsize=1)(self._open)

    def _open(self, place: int) -> Ground | EvenhandError:
        terms = self.job.terms
        try:
            ground = Ground(self.job.sources[place].open(), terms.oracle, terms.pool_rows)
            _ = ground.subject, ground.oracle
        except EvenhandError as fault:
            return fault  # kept, so that a broken model is not opened again for every method
        return ground

    def make(self, place: int, cell: ContestCell) -> dict[str, Any]:
        """The record of one run, from disk where it was made before."""
        ground = self.ground(place)
        if isinstance(ground, EvenhandError):
            return self.job.died(place, cell, f"{type(ground).__name__}: {ground}")
        folder = self.job.folder
        if folder is None:
            return self._contend(cell, ground)[0]
        identity = run_id(header_of(cell, ground, self.job.terms))
        kept = folder.record(identity)
        if kept is not None and not (self.job.retry and kept["status"] == FAILED):
            return kept
        if kept is not None:
            folder.set_aside(identity)
        return self._make_and_keep(cell, ground, folder)

    def _contend(self, cell: ContestCell, ground: Ground) -> tuple[dict[str, Any], Findings | None]:
        return contend(cell, ground, self.job.terms, _named(f"{cell.entrant.name} (seed {cell.seed})", self.watch))

    def _make_and_keep(self, cell: ContestCell, ground: Ground, folder: CampaignFolder) -> dict[str, Any]:
        record, found = self._contend(cell, ground)
        if record["status"] == INTERRUPTED:
            return record
        if found is not None and self.job.keep_findings:
            folder.keep_findings(record["id"], found, ground.subject.domain, ground.subject.model.classes)
        folder.keep(record)
        made: dict[str, Any] = plain(record)
        return made


def _named(what: str, watch: Watch | None) -> Watch | None:
    """The same watcher, told which run is at work."""

    def told(headway: Headway) -> None:
        if watch is not None:
            watch(replace(headway, what=what))

    return told if watch is not None else None


Made = tuple[int, ContestCell, dict[str, Any]]
"""The place of a source, a cell, and the record of its run there."""


def in_this_process(job: Job, watch: Watch | None = None) -> Generator[Made, None, None]:
    """Every record, as it is made; an interrupted run is the last one."""
    maker = Maker(job, watch)
    for place in range(len(job.sources)):
        for cell in job.cells:
            record = maker.make(place, cell)
            yield place, cell, record
            if record["status"] == INTERRUPTED:
                return
