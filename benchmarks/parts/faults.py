"""Faults put into runs of every medium, at random moments: what is found afterwards is held against the undisturbed run, bit for bit.

Each driver is a process of its own, forked from one that has everything loaded, so that hundreds of them can be killed in a minute.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.campaign.bench_records import Arena
from evenhand.campaign.conduct import Settings, conduct
from evenhand.campaign.contest import Terms
from evenhand.campaign.executors.local import Local
from evenhand.campaign.executors.serial import Serial
from evenhand.campaign.repair_trial import Effort
from evenhand.campaign.sources import Given
from evenhand.checks.examples import recogniser_subject
from evenhand.checks.method_checks import picture_subject, standard_subject
from evenhand.contract import Executor
from evenhand.engine import store
from evenhand.engine.findings import Findings
from evenhand.engine.store import RunFolder
from evenhand.engine.subject import Subject
from evenhand.errors import StoreError
from evenhand.measures.proofs import ProofLimits
from evenhand.planted.letters import letters
from evenhand.synthesis import chunks

REFUSED, BROKEN = 7, 8
"""Exit codes of a driver whose folder was held by another, or could not be written."""


@dataclass(frozen=True)
class SubjectData:
    """A subject's rows as data."""

    subject: Subject
    name: str

    domain = property(lambda self: self.subject.domain)
    rows = property(lambda self: self.subject.rows)
    labels = property(lambda self: self.subject.labels if self.subject.labels is not None else np.zeros(len(self.subject.rows), int))
    medium = property(lambda self: self.subject.medium)


@dataclass(frozen=True)
class FaultCase:
    """A scan of one medium in shards, small enough to be made hundreds of times."""

    name: str
    make: Callable[[], Subject]
    candidates: int

    @cached_property
    def subject(self) -> Subject:
        """What is scanned."""
        return self.make()

    def scan(self, folder: Path, executor: Executor | None = None) -> Findings:
        """The findings of a whole scan, continued where the folder holds a part of it."""
        options = eh.Options(folder=folder, executor=executor or Serial(), rate_rows=20, most_witnesses=0, stream_share=0.0)
        data = SubjectData(self.subject, self.name)
        budget = eh.Budget(candidates=self.candidates)
        return eh.scan(self.subject.model, data, methods=["themis"], budget=budget, seed=3, options=options).findings.findings


def _letters() -> Subject:
    planted = letters()
    data: Any = planted.data
    return Subject(data.domain, planted.model, data.rows, None, medium=data.medium)


def cases() -> list[FaultCase]:
    """One for each medium."""
    return [
        FaultCase("table", standard_subject, 3_000),
        FaultCase("text", _letters, 1_500),
        FaultCase("pictures", picture_subject, 1_000),
        FaultCase("scenes", recogniser_subject, 1_000),
    ]


def digest(found: Findings) -> str:
    """Equal for equal findings in equal order, to the last bit."""
    told = hashlib.sha256()
    for name in ("rows", "twins", "outcomes", "gap", "valid", "candidate", "answers"):
        told.update(np.ascontiguousarray(getattr(found, name)).tobytes())
    return told.hexdigest()


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


CAMPAIGN = """data: {file: people.csv, label: decision}
protected: group
models: forest
methods: themis
seeds: 8
budgets: {candidates: 300}
"""


@dataclass
class CampaignTrial:
    """Drivers of a whole campaign killed at random moments, and records cut short; every run is there once in the end."""

    folder: Path
    chance: random.Random
    tally: Tally

    def run(self, faults: int) -> None:
        """So many faults in one campaign; then it is finished and compared."""
        whole = self._campaign("whole")
        for _ in range(faults):
            number = os.fork()
            if not number:
                try:
                    self._campaign("disturbed")
                finally:
                    os._exit(0)
            time.sleep(self.chance.uniform(0.0, 1.5))
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
            self.tally.note("campaign_killed")
            records = list((self.folder / "disturbed" / "night-runs" / "records").glob("*.json"))
            if records and self.chance.random() < 0.3:
                cut = self.chance.choice(records)
                cut.write_bytes(cut.read_bytes()[: self.chance.randrange(200)])
                self.tally.note("record_cut")
        found = self._campaign("disturbed")
        self.tally.lost += len(set(whole) - set(found))
        self.tally.doubled += len(found) - len(whole)
        self.tally.differing += whole != found

    def _campaign(self, name: str) -> list[str]:
        base = self.folder / name
        base.mkdir(parents=True, exist_ok=True)
        if not (base / "people.csv").exists():
            subject = standard_subject(n=300)
            frame = subject.domain.decode(subject.rows)
            frame["decision"] = np.array(["refused", "granted"])[subject.labels]
            frame.to_csv(base / "people.csv", index=False)
        (base / "night.yaml").write_text(CAMPAIGN, encoding="utf-8")
        return [record["findings_digest"] for record in eh.run_campaign(base / "night.yaml").records]


@dataclass
class MediaCampaignTrial:
    """A campaign over all media, its drivers killed at random moments and its records and findings damaged."""

    folder: Path
    chance: random.Random
    tally: Tally
    seeds: int = 3

    def run(self, faults: int) -> None:
        """So many faults; then it is finished and compared."""
        self.sources = [_given(case) for case in cases()]
        started = time.monotonic()
        whole = self._campaign("whole")
        seconds = time.monotonic() - started
        for _ in range(faults):
            number = os.fork()
            if not number:
                try:
                    self._campaign("disturbed")
                finally:
                    os._exit(0)
            time.sleep(self.chance.uniform(0.0, 0.4 * seconds))
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
            self.tally.note("media_campaign_killed")
            records = list((self.folder / "disturbed" / "records").glob("*.json"))
            if records and self.chance.random() < 0.3:
                cut = self.chance.choice(records)
                cut.write_bytes(cut.read_bytes()[: self.chance.randrange(200)])
                self.tally.note("media_record_cut")
        found = self._campaign("disturbed")
        self.tally.lost += len(set(whole) - set(found))
        self.tally.doubled += len(found) - len(whole)
        self.tally.differing += whole != found

    def _campaign(self, name: str) -> list[str]:
        terms = Terms(eh.Budget(candidates=200), pool_rows=0)
        settings = Settings(folder=self.folder / name, keep_findings=True)
        records = conduct(["themis"], self.sources, list(range(self.seeds)), terms, settings)
        assert all(record["status"] == "done" for record in records), [record["reason"] for record in records]
        return [f"{record['dataset']} {record['seed']} {record['findings_digest']}" for record in records]


def _given(case: FaultCase) -> Given:
    subject = case.subject
    return Given(Arena(SubjectData(subject, case.name), subject.domain.protected, subject.model, f"model of {case.name}"))


@dataclass(frozen=True)
class VerbCase:
    """One verb on one medium, whose result is told as text that is equal for equal results."""

    name: str
    make: Callable[[Path], str]

    def told(self, base: Path) -> str:
        """The result, continued where the folder holds a part of it."""
        return self.make(base)


def verb_cases() -> list[VerbCase]:
    """Every verb that goes on after an interruption beside `scan`."""
    table, scenes, pictures = standard_subject(n=300), recogniser_subject(), picture_subject()
    for shown in (scenes, pictures):
        object.__setattr__(shown.model, "batch_rows", 8)
    chunks.BATCH_ROWS = 2_000
    labelled = SubjectData(replace(table, labels=np.argmax(table.model.scores(table.rows), axis=1)), "table")
    tree = DecisionTreeClassifier(max_depth=8, random_state=0).fit(table.rows, labelled.labels)
    wrapped = eh.wrap(tree, table.domain, takes="codes", classes=list(table.domain.label.values) if table.domain.label else [0, 1])

    def repaired(base: Path) -> str:
        options = eh.RepairOptions(seeds=4, effort=Effort(candidates=200, judge_candidates=100, rate_rows=100), folder=base)
        return repr(eh.repair(wrapped, labelled, repairs=["reweigh"], options=options).as_dict()["body"]["repairs"])

    def proved(base: Path) -> str:
        found = eh.certify(wrapped, labelled, limits=ProofLimits(seconds=None, boxes=20_000), folder=base).certificate
        return repr([found.lower, found.upper, found.ended, found.boxes, found.pairs])

    def drawn(base: Path) -> str:
        written = base / "rows.csv"
        written.unlink(missing_ok=True)
        eh.synth(labelled, 19_000, seed=1, options=eh.SynthOptions(folder=base)).write(written)
        return hashlib.sha256(written.read_bytes()).hexdigest()

    def measured(subject: Subject) -> Callable[[Path], str]:
        def told(base: Path) -> str:
            options = eh.MeasureOptions(rate_rows=60, draws=199, groups_only=subject is pictures, folder=base)
            body = eh.measure(subject.model, SubjectData(subject, "shown"), options=options).as_dict()["body"]
            return repr({name: part for name, part in body.items() if name != "notes"})

        return told

    every = {
        "repair": repaired,
        "certify": proved,
        "synth": drawn,
        "measure scenes": measured(scenes),
        "measure pictures": measured(pictures),
    }
    return [VerbCase(name, make) for name, make in every.items()]


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
    CampaignTrial(folder / "campaign", chance, tally).run(share)
    MediaCampaignTrial(folder / "media", chance, tally).run(max(share, faults - tally.faults))
    for place in range(workers):
        kill_workers(scans[0], folder / f"workers-{place}", chance, tally)
    return tally


def some(what: str, faults: int, folder: Path, seed: int) -> Tally:
    """Faults of one kind of work: a medium, a verb, `campaign`, `media` or `workers`."""
    tally, chance = Tally(), random.Random(seed)
    scans, verbs = {case.name: case for case in cases()}, {case.name: case for case in verb_cases()}
    if what == "media":
        MediaCampaignTrial(folder, chance, tally).run(faults)
    elif what == "campaign":
        CampaignTrial(folder, chance, tally).run(faults)
    elif what == "workers":
        for place in range(faults):
            kill_workers(scans["table"], folder / str(place), chance, tally)
    else:
        (VerbTrial(verbs[what], folder, chance, tally) if what in verbs else FaultTrial(scans[what], folder, chance, tally)).run(faults)
    return tally


def main() -> None:
    """One slice: `python -m parts.faults WHAT COUNT SEED` prints one JSON object."""
    what, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with TemporaryDirectory() as name:
        tally = some(what, count, Path(name), seed)
    print(json.dumps({"what": what, **vars(tally)}))


if __name__ == "__main__":
    main()
