"""Faults put into runs of every medium, at random moments: what is found afterwards is held against the undisturbed run, bit for bit.

Each driver is a process of its own, forked from one that has everything loaded, so that hundreds of them can be killed in a minute.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evenhand.campaign.executors.local import Local
from evenhand.engine import store
from evenhand.engine.findings import Findings
from evenhand.engine.store import RunFolder
from evenhand.errors import StoreError
from parts.fault_cases import CampaignCase, FaultCase, cases, digest, media_campaign, table_campaign, verb_cases

KEPT = Path(__file__).with_name("campaigns_faults.json")
"""The slices of the last run of `campaigns.py --only faults`, with its date."""
REFUSED, BROKEN = 7, 8
"""Exit codes of a driver whose folder was held by another, or could not be written."""


@dataclass
class Tally:
    """What was done, and what came of it."""

    faults: int = 0
    lost: int = 0
    doubled: int = 0
    differing: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    def note(self, kind: str) -> None:
        """One more fault."""
        self.faults += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1


@dataclass
class FaultTrial:
    """Faults in the drivers of one case until enough have been put in; after every few of them the scan is finished and compared."""

    case: FaultCase
    folder: Path
    chance: random.Random
    tally: Tally

    def run(self, faults: int, at_once: int = 5) -> None:
        """So many faults; the folder is begun anew after each comparison."""
        whole = self.case.scan(self.folder / "whole")
        started = time.monotonic()
        self.case.scan(self.folder / "timed")
        self.seconds = time.monotonic() - started
        while faults > 0:
            base = self.folder / f"disturbed-{faults}"
            for _ in range(min(at_once, faults)):
                self.fault(base)
                faults -= 1
            self.compare(whole, self.case.scan(base), base)
            shutil.rmtree(base)

    def fault(self, base: Path) -> None:
        """One fault of some kind."""
        kinds = [self.killed] * 5 + [self.full_disk, self.damaged, self.two_drivers, self.reused_number, self.clock_jump]
        kind = self.chance.choice(kinds)
        kind(base)
        self.tally.note(kind.__name__)

    def driver(self, base: Path, before: Callable[[], None] = lambda: None) -> int:
        """A process that scans; its number."""
        number = os.fork()
        if number:
            return number
        code = 0
        try:
            before()
            self.work(base)
        except StoreError as fault:
            code = REFUSED if "in use" in str(fault) else BROKEN
        except BaseException:
            code = 1
        finally:
            os._exit(code)

    def work(self, base: Path) -> None:
        """What a driver does."""
        self.case.scan(base)

    def files(self, base: Path) -> list[Path]:
        """What may be damaged."""
        return list(base.rglob("shard-*.npz"))

    def end(self, number: int) -> None:
        """Kill a driver at some moment of its life, and wait for it."""
        time.sleep(self.chance.uniform(0.0, 1.2 * self.seconds))
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)

    def killed(self, base: Path) -> None:
        """Kill -9 of the driver."""
        self.end(self.driver(base))

    def full_disk(self, base: Path) -> None:
        """No file can grow beyond a few bytes."""
        most = self.chance.choice([0, 200, 1_000, 5_000])
        number = self.driver(base, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        os.waitpid(number, 0)

    def damaged(self, base: Path) -> None:
        """A driver is killed, and what it had written is cut short or changed."""
        self.killed(base)
        files = self.files(base)
        if files:
            file = self.chance.choice(files)
            content = file.read_bytes()
            at = self.chance.randrange(len(content))
            file.write_bytes(content[:at] if self.chance.random() < 0.5 else content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])

    def two_drivers(self, base: Path) -> None:
        """Two at once on one folder; one is killed, the other may finish."""
        first, second = self.driver(base), self.driver(base)
        self.end(first)
        os.waitpid(second, 0)

    def reused_number(self, base: Path) -> None:
        """A container is restarted, and its driver has the number of the one that died: this one."""
        self.killed(base)
        for lock in base.rglob("lock"):
            lock.write_text(str(os.getpid()))

    def clock_jump(self, base: Path) -> None:
        """The clock of the wall is set back or forward by days."""
        jump = timedelta(days=self.chance.choice([-400, 400]))

        class Jumping(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime.now(tz) + jump

        def set_clock() -> None:
            store.datetime = Jumping  # type: ignore[misc, assignment]
            real = time.time
            time.time = lambda: real() + jump.total_seconds()

        self.end(self.driver(base, set_clock))

    def compare(self, whole: Findings, found: Findings, base: Path) -> None:
        """What was found, here and in the folder, against the undisturbed run."""
        domain = self.case.subject.domain
        expected, got = domain.keys(whole.rows).tolist(), domain.keys(found.rows).tolist()
        kept = [folder for folder in base.iterdir() if (folder / "header.json").exists()]
        written = sum(len(RunFolder.open(folder).findings()) for folder in kept)
        self.tally.lost += len(set(expected) - set(got)) + max(0, len(expected) - written)
        self.tally.doubled += len(got) - len(set(got)) + max(0, written - len(expected))
        self.tally.differing += digest(whole) != digest(found)


def kill_workers(case: FaultCase, folder: Path, chance: random.Random, tally: Tally) -> None:
    """Kill -9 of a worker process in the middle of a scan on two of them."""
    whole = case.scan(folder / "whole")
    number = os.fork()
    if not number:
        try:
            _kill_own_children(chance)
            found = case.scan(folder / "disturbed", Local(2))
            os._exit(0 if digest(found) == digest(whole) else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(number, 0)
    tally.note("worker_killed")
    tally.differing += os.waitstatus_to_exitcode(status) != 0


def _kill_own_children(chance: random.Random) -> None:
    """In a thread: as soon as there are workers, one of them dies."""
    import threading

    import psutil

    def kill() -> None:
        while True:
            time.sleep(0.2)
            workers = [
                each
                for each in psutil.Process().children()
                if "loky" in " ".join(each.cmdline()) and "tracker" not in " ".join(each.cmdline())
            ]
            if workers:
                time.sleep(chance.uniform(0.0, 3.0))
                chance.choice(workers).kill()
                return

    threading.Thread(target=kill, daemon=True).start()


@dataclass
class CampaignTrial:
    """Drivers of a whole campaign killed at random moments, and records cut short; every run is there once in the end."""

    case: CampaignCase
    folder: Path
    chance: random.Random
    tally: Tally

    def run(self, faults: int) -> None:
        """So many faults in one campaign; then it is finished and compared."""
        started = time.monotonic()
        whole = self.case.make(self.folder / "whole")
        seconds = time.monotonic() - started
        disturbed, wanted = self.folder / "disturbed", self.tally.faults + faults
        while self.tally.faults < wanted:
            self._killed(disturbed, self.chance.uniform(0.0, 0.4 * seconds))
            records = list((disturbed / self.case.records).glob("*.json"))
            if records and self.chance.random() < 0.3:
                cut = self.chance.choice(records)
                cut.write_bytes(cut.read_bytes()[: self.chance.randrange(200)])
                self.tally.note(f"{self.case.name}_record_cut")
        found = self.case.make(disturbed)
        self.tally.lost += len(set(whole) - set(found))
        self.tally.doubled += len(found) - len(whole)
        self.tally.differing += whole != found

    def _killed(self, base: Path, after_seconds: float) -> None:
        """Kill -9 of the driver, so long after its start."""
        number = os.fork()
        if not number:
            try:
                self.case.make(base)
            finally:
                os._exit(0)
        time.sleep(after_seconds)
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        self.tally.note(f"{self.case.name}_killed")


@dataclass
class VerbTrial(FaultTrial):
    """Faults in the drivers of one verb; its result is compared as text."""

    case: Any

    def run(self, faults: int, at_once: int = 5) -> None:
        """So many faults; the folder is begun anew after each comparison."""
        whole = self.told("whole")
        started = time.monotonic()
        self.told("timed")
        self.seconds = time.monotonic() - started
        while faults > 0:
            name = f"disturbed-{faults}"
            for _ in range(min(at_once, faults)):
                self.fault(self.folder / name)
                faults -= 1
            self.tally.differing += self.told(name) != whole
            shutil.rmtree(self.folder / name, ignore_errors=True)  # a verb that is done takes its empty folders away

    def told(self, name: str) -> str:
        """The result in a folder of its own."""
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        return str(self.case.told(self.folder / name))

    def work(self, base: Path) -> None:
        """What a driver does."""
        base.mkdir(parents=True, exist_ok=True)
        self.case.told(base)

    def files(self, base: Path) -> list[Path]:
        """What may be damaged."""
        return list(base.rglob("task-*.kept"))


def inject(folder: Path, faults: int, seed: int = 0, workers: int = 0) -> Tally:
    """Faults over all media and verbs, and some killed workers; the tally."""
    tally, chance = Tally(), random.Random(seed)
    scans, verbs = cases(), verb_cases()
    share = max(1, faults // (len(scans) + len(verbs) + 2))
    for case in scans:
        FaultTrial(case, folder / case.name, chance, tally).run(share)
    for verb in verbs:
        VerbTrial(verb, folder / verb.name, chance, tally).run(share)
    CampaignTrial(table_campaign(), folder / "campaign", chance, tally).run(share)
    CampaignTrial(media_campaign(), folder / "media", chance, tally).run(max(share, faults - tally.faults))
    for place in range(workers):
        kill_workers(scans[0], folder / f"workers-{place}", chance, tally)
    return tally


def some(what: str, faults: int, folder: Path, seed: int) -> Tally:
    """Faults of one kind of work: a medium, a verb, `campaign`, `media` or `workers`."""
    tally, chance = Tally(), random.Random(seed)
    scans, verbs = {case.name: case for case in cases()}, {case.name: case for case in verb_cases()}
    if what in ("campaign", "media"):
        CampaignTrial(table_campaign() if what == "campaign" else media_campaign(), folder, chance, tally).run(faults)
    elif what == "workers":
        for place in range(faults):
            kill_workers(scans["table"], folder / str(place), chance, tally)
    else:
        (VerbTrial(verbs[what], folder, chance, tally) if what in verbs else FaultTrial(scans[what], folder, chance, tally)).run(faults)
    return tally


@dataclass(frozen=True)
class FaultSlice:
    """So many faults in one kind of work, by a seed; the words for it."""

    what: str
    words: str
    faults: int
    seed: int

    def made(self) -> dict[str, Any]:
        """What came of it."""
        with TemporaryDirectory() as name:
            tally = some(self.what, self.faults, Path(name), self.seed)
        return {"what": self.what, "seed": self.seed, **vars(tally)}


SLICES = (
    FaultSlice("media", "a campaign of all media", 17, 11),
    FaultSlice("table", "scan of a table", 24, 12),
    FaultSlice("text", "scan of texts", 24, 13),
    FaultSlice("pictures", "scan of pictures", 24, 14),
    FaultSlice("scenes", "scan of scenes", 24, 15),
    FaultSlice("certify", "certify", 20, 16),
    FaultSlice("synth", "synth", 20, 17),
    FaultSlice("repair", "repair", 18, 18),
    FaultSlice("measure scenes", "measure scenes", 18, 19),
    FaultSlice("campaign", "a campaign of a table", 14, 20),
    FaultSlice("workers", "scan on two processes, one killed", 3, 21),
    FaultSlice("measure pictures", "measure pictures", 10, 22),
)
"""What the figures are made of, slice by slice, so that one of them can be made again alone."""


def as_markdown(slices: Sequence[Mapping[str, Any]]) -> str:
    """The table of the page on scaling."""
    heads = "| work | seed | faults | of these kills | lost | doubled | results that differ |\n|---|---|---|---|---|---|---|\n"
    words, counts = {each.what: each.words for each in SLICES}, ("faults", "kills", "lost", "doubled", "differing")
    told = [{**each, "kills": sum(n for kind, n in each["kinds"].items() if kind.endswith("killed"))} for each in slices]
    rows = [f"| {words[each['what']]} | {each['seed']} | {' | '.join(str(each[name]) for name in counts)} |" for each in told]
    sums = " | ".join(str(sum(each[name] for each in told)) for name in counts)
    return heads + "\n".join([*rows, f"| together | | {sums} |"]) + "\n"


def main() -> None:
    """One slice: `python -m parts.faults WHAT COUNT SEED` prints one JSON object; without words, those of the last run as a table."""
    if not sys.argv[1:]:
        print(as_markdown(json.loads(KEPT.read_text(encoding="utf-8"))["slices"]), end="")
        return
    print(json.dumps(FaultSlice(sys.argv[1], "", int(sys.argv[2]), int(sys.argv[3])).made()))


if __name__ == "__main__":
    main()
