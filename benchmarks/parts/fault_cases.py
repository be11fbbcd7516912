"""What faults are put into: scans of every medium, verbs that go on after an interruption, and campaigns, all of them short."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.campaign.bench_records import Arena
from evenhand.campaign.conduct import Settings, conduct
from evenhand.campaign.contest import Terms
from evenhand.campaign.executors.serial import Serial
from evenhand.campaign.repair_trial import Effort
from evenhand.campaign.sources import Given
from evenhand.checks.examples import recogniser_subject
from evenhand.checks.method_checks import picture_subject, standard_subject
from evenhand.contract import Executor
from evenhand.engine.findings import Findings
from evenhand.engine.subject import Subject
from evenhand.measures.proofs import ProofLimits
from evenhand.planted.letters import letters
from evenhand.synthesis import chunks


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


CAMPAIGN = """data: {file: people.csv, label: decision}
protected: group
models: forest
methods: themis
seeds: 8
budgets: {candidates: 300}
"""


@dataclass(frozen=True)
class CampaignCase:
    """A campaign whose runs are told as texts that are equal for equal findings."""

    name: str
    records: str  # the folder of its records, below the one that it is made in
    make: Callable[[Path], list[str]]


def table_campaign() -> CampaignCase:
    """Of a table, from its file, eight runs."""

    def told(base: Path) -> list[str]:
        base.mkdir(parents=True, exist_ok=True)
        if not (base / "people.csv").exists():
            subject = standard_subject(n=300)
            frame = subject.domain.decode(subject.rows)
            frame["decision"] = np.array(["refused", "granted"])[subject.labels]
            frame.to_csv(base / "people.csv", index=False)
        (base / "night.yaml").write_text(CAMPAIGN, encoding="utf-8")
        return [record["findings_digest"] for record in eh.run_campaign(base / "night.yaml").records]

    return CampaignCase("campaign", "night-runs/records", told)


def media_campaign(seeds: int = 3) -> CampaignCase:
    """Of every medium, in memory, each with a few seeds."""
    sources = [_given(case) for case in cases()]

    def told(base: Path) -> list[str]:
        terms = Terms(eh.Budget(candidates=200), pool_rows=0)
        records = conduct(["themis"], sources, list(range(seeds)), terms, Settings(folder=base, keep_findings=True))
        assert all(record["status"] == "done" for record in records), [record["reason"] for record in records]
        return [f"{record['dataset']} {record['seed']} {record['findings_digest']}" for record in records]

    return CampaignCase("media_campaign", "records", told)


def _given(case: FaultCase) -> Given:
    subject = case.subject
    return Given(Arena(SubjectData(subject, case.name), subject.domain.protected, subject.model, f"model of {case.name}"))
