"""conduct(): a whole campaign, whoever carries it out, with the same findings whatever their number.  Only this process writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.campaign.campaign_folder import CampaignFolder
from evenhand.campaign.contest import DONE, FAILED, INTERRUPTED, ContestCell, Entrant, Terms
from evenhand.campaign.executors.serial import Serial
from evenhand.campaign.executors.threads import Threads
from evenhand.campaign.run_maker import CampaignWork, MadeRun, RunOrder
from evenhand.campaign.sources import ArenaSource
from evenhand.contract import Executor, Headway, Watch
from evenhand.errors import InvalidArgument

RUNS = "runs"
"""What a campaign's own headway is about; that of a single run names the run."""


@dataclass(frozen=True)
class Settings:
    """How a campaign is carried out; none of it changes what is found."""

    executor: Executor = field(default_factory=Serial)
    folder: Path | None = None  # where records are kept; a campaign with one can be continued
    keep_findings: bool = False
    retry: bool = False
    watch: Watch | None = None  # told of every finished run, and in a single process of each run's headway too
    fresh: bool = False  # make every run again; what the folder has stays in it, set aside
    leave_out: tuple[str, ...] = ()  # parts of a record that are kept on disk alone, where there are too many runs for memory

    def __post_init__(self) -> None:
        if self.keep_findings and self.folder is None:
            raise InvalidArgument("keep_findings needs a folder to keep them in")


def conduct(
    methods: Sequence[str | Entrant], sources: Sequence[ArenaSource], seeds: Sequence[int], terms: Terms, settings: Settings | None = None
) -> list[dict[str, Any]]:
    """One record for every method, source and seed, in that order of sources, then seeds, then methods."""
    entrants = [Entrant(each) if isinstance(each, str) else each for each in methods]
    for entrant in entrants:
        entrant.make()  # an unknown name is said before anything runs
    if not (entrants and sources and seeds):
        raise InvalidArgument("a campaign needs at least one method, one source and one seed")
    for source in sources:
        source.check()
    cells = [ContestCell(entrant, seed) for seed in seeds for entrant in entrants]
    return carried_out(sources, [RunOrder(place, cell, terms) for place in range(len(sources)) for cell in cells], settings)


def carried_out(sources: Sequence[ArenaSource], orders: Sequence[RunOrder], settings: Settings | None = None) -> list[dict[str, Any]]:
    """The record of every ordered run, in the order given: from the folder where it was made before, else made now."""
    settings = settings or Settings()
    watch = settings.watch if isinstance(settings.executor, Serial) else None
    work = CampaignWork(tuple(sources), settings.keep_findings, settings.folder, watch)
    with ExitStack() as held:
        folder = CampaignFolder(settings.folder) if settings.folder else None
        if folder is not None:
            held.enter_context(folder.locked())
            if settings.fresh:
                folder.begin_afresh()
        records = _Gathering(work, orders, settings, folder).records()
        if folder is not None:
            folder.write_tables(records, curves="curve" not in settings.leave_out)
    return records


@dataclass(frozen=True)
class _Share:
    """Runs by their places, and who makes them."""

    executor: Executor
    places: Sequence[int]


@dataclass
class _Gathering:
    """The records as they come."""

    work: CampaignWork
    orders: Sequence[RunOrder]
    settings: Settings
    folder: CampaignFolder | None
    gathered: dict[int, dict[str, Any]] = field(default_factory=dict)

    def records(self) -> list[dict[str, Any]]:
        digests = [self.work.digest(order) if self.folder is not None else "" for order in self.orders]
        self._take_kept(digests)
        missing = [place for place in range(len(self.orders)) if place not in self.gathered]
        self._log("started", f"{len(self.orders)} runs, {len(self.gathered)} of them made before")
        for share in self._shares(missing):
            if not self._carry_out(share, digests):
                break
        self._log("interrupted" if len(self.gathered) < len(self.orders) else "finished", f"{len(missing)} runs were missing")
        return [self.gathered[place] for place in sorted(self.gathered)]

    def _shares(self, missing: Sequence[int]) -> list[_Share]:
        """Who makes which runs: models behind a network are asked by threads of this process, under one rate limit."""
        executor = self.settings.executor
        remote = [place for place in missing if self.work.sources[self.orders[place].place].is_remote]
        if not remote or isinstance(executor, Serial | Threads):
            return [_Share(executor, missing)]
        others = [place for place in missing if place not in set(remote)]
        return [_Share(executor, others), _Share(Threads(getattr(executor, "workers", Threads().workers)), remote)]

    def _carry_out(self, share: _Share, digests: Sequence[str]) -> bool:
        """Every run of a share; whether they were all made."""
        ends = share.executor.carry_out(self.work, [self.orders[place] for place in share.places])
        with closing(ends):  # whatever happens, no process stays behind
            for end in ends:
                place = share.places[end.place]
                made = MadeRun(self.work.died(self.orders[place], end.fault)) if end.fault is not None else end.answer
                self._take(place, self._kept({**made.record, "order": digests[place]}, made.findings))
                if made.record["status"] == INTERRUPTED:
                    return False
        return True

    def _take_kept(self, digests: Sequence[str]) -> None:
        """What the folder has; a failure is made again where that is wanted."""
        kept = self.folder.by_order(self.settings.leave_out) if self.folder is not None else {}
        for place, digest in enumerate(digests):
            record = kept.get(digest)
            if record is None:
                continue
            if self.settings.retry and record["status"] == FAILED and self.folder is not None:
                self.folder.set_aside(record["id"])
            else:
                self._take(place, record)

    def _kept(self, record: dict[str, Any], findings: bytes | None) -> dict[str, Any]:
        """The record, on disk where it is finished and there is a folder; one that is there already is never replaced."""
        if self.folder is None or not record["id"] or record["status"] == INTERRUPTED:
            return record
        if (known := self.folder.sound_record(record["id"])) is not None:
            return known
        if findings is not None:
            self.folder.keep_findings(record["id"], findings)
        self.folder.keep(record)
        return record

    def _take(self, place: int, record: Mapping[str, Any]) -> None:
        self.gathered[place] = {name: part for name, part in record.items() if name not in self.settings.leave_out}
        if self.settings.watch:
            self.settings.watch(Headway(RUNS, len(self.gathered), len(self.orders), _told(record)))

    def _log(self, event: str, detail: str) -> None:
        if self.folder is not None:
            self.folder.log(event, detail)


def _told(record: Mapping[str, Any]) -> str:
    """The run that has just ended, and how, where it is not done."""
    named = " ".join(str(record[name]) for name in ("dataset", "protected", "model", "method"))
    return named if record["status"] == DONE else f"{named}: {record['status']}"
