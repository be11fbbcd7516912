"""conduct(): a whole campaign, in this process or in several, with the same findings whatever their number."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.campaign.campaign_folder import CampaignFolder
from evenhand.campaign.contest import DONE, ContestCell, Entrant, Terms
from evenhand.campaign.making import Job, Made, in_this_process
from evenhand.campaign.sources import ArenaSource
from evenhand.contract import Headway, Watch
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, check_limits

RUNS = "runs"
"""What a campaign's own headway is about; that of a single run names the run."""


@dataclass(frozen=True)
class Settings:
    """How a campaign is carried out; none of it changes what is found."""

    processes: Count = 1
    folder: Path | None = None  # where records are kept; a campaign with one can be continued
    keep_findings: bool = False
    retry: bool = False
    watch: Watch | None = None  # told of every finished run, and in a single process of each run's headway too

    def __post_init__(self) -> None:
        check_limits(self)
        if self.keep_findings and self.folder is None:
            raise InvalidArgument("keep_findings needs a folder to keep them in")


def conduct(
    methods: Sequence[str | Entrant], sources: Sequence[ArenaSource], seeds: Sequence[int], terms: Terms, settings: Settings | None = None
) -> list[dict[str, Any]]:
    """One record for every method, source and seed, in that order of sources, then seeds, then methods."""
    settings = settings or Settings()
    entrants = [Entrant(each) if isinstance(each, str) else each for each in methods]
    for entrant in entrants:
        entrant.make()  # an unknown name is said before anything runs
    if not (entrants and sources and seeds):
        raise InvalidArgument("a campaign needs at least one method, one source and one seed")
    for source in sources:
        source.check()
    cells = tuple(ContestCell(entrant, seed) for seed in seeds for entrant in entrants)
    folder = CampaignFolder(settings.folder) if settings.folder else None
    job = Job(tuple(sources), cells, terms, folder, settings.keep_findings, settings.retry)
    records = _gathered(job, settings)
    if folder is not None:
        folder.write_tables(records)
    return records


def _gathered(job: Job, settings: Settings) -> list[dict[str, Any]]:
    if settings.processes == 1:
        made: Generator[Made, None, None] = in_this_process(job, settings.watch)
    else:
        from evenhand.campaign.workers import in_processes

        made = in_processes(job, settings.processes)
    order = {cell: at for at, cell in enumerate(job.cells)}
    records = []
    with closing(made):  # whatever happens, no process stays behind
        for place, cell, record in made:
            records.append((place, order[cell], record))
            if settings.watch:
                settings.watch(Headway(RUNS, len(records), len(job.sources) * len(job.cells), _told(record)))
    return [record for *_, record in sorted(records, key=lambda each: each[:2])]  # the campaign's order, whoever finished first


def _told(record: dict[str, Any]) -> str:
    """The run that has just ended, and how, where it is not done."""
    named = " ".join(str(record[name]) for name in ("dataset", "protected", "model", "method"))
    return named if record["status"] == DONE else f"{named}: {record['status']}"
