"""A result of any verb as the renderings read it: checked, plain, with None where nothing was measured.  Draws nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evenhand.disk import read_sealed
from evenhand.errors import InvalidArgument, StoreError
from evenhand.report import version_1

VERSION = 2
"""The version of the result that these renderings read; version 1 is converted."""

SCHEMA_FILE = f"result_version_{VERSION}.schema.json"

Verb = Literal["scan", "measure", "certify", "repair", "synth", "bench", "campaign", "compare", "doctor", "replay", "gate"]


class RecordPart(BaseModel):
    """What all parts of a result share: they may carry more than is read here."""

    model_config = ConfigDict(frozen=True, extra="allow")


class DataHeader(RecordPart):
    """Which data."""

    name: str = ""
    digest: str | None = None
    rows: int | None = None


class DomainHeader(RecordPart):
    """What an input may be, and which part of it is protected."""

    digest: str | None = None
    protected: list[str] = Field(default_factory=list)
    label: str | None = None
    favourable: list[Any] = Field(default_factory=list)
    classes: list[Any] = Field(default_factory=list)


class SubjectHeader(RecordPart):
    """A model or a medium; of a medium, the attributes whose twins a learned editor makes."""

    kind: str | None = None
    digest: str | None = None
    learned_twins: list[str] = Field(default_factory=list)


class HeaderRecord(RecordPart):
    """What was asked of which model, and what makes the same run again."""

    evenhand: str | None = None
    date: str | None = None
    command: str | None = None
    seed: int | None = None
    budget: dict[str, Any] | None = None
    data: DataHeader = Field(default_factory=DataHeader)
    domain: DomainHeader = Field(default_factory=DomainHeader)
    model: SubjectHeader = Field(default_factory=SubjectHeader)
    medium: SubjectHeader = Field(default_factory=SubjectHeader)
    oracle: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    details: dict[str, Any] = Field(default_factory=dict)


class CheckRecord(RecordPart):
    """One thing that was decided by itself: a method, a figure, a repair, a wire of the model."""

    name: str
    outcome: Literal["pass", "violation", "inconclusive", "failed"]
    message: str = ""


class RateRecord(RecordPart):
    """A share of a named population with its exact bounds."""

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = Field(default=0, ge=0)
    confidence: float | None = None
    population: str = ""
    unfair: int | None = None
    whole: bool = False
    name: str = ""
    meaning: str = ""

    @property
    def is_measured(self) -> bool:
        """Whether there is an estimate with bounds."""
        return self.n > 0 and None not in (self.estimate, self.low, self.high)


class RunRecord(RecordPart):
    """One method's search."""

    method: str
    candidates: int = Field(ge=0)
    duplicates: int = Field(ge=0)
    findings: int = Field(ge=0)
    model_rows: int = Field(ge=0)
    ended: str = ""
    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    facts: dict[str, Any] = Field(default_factory=dict)
    curve: dict[str, list[float]] | None = None

    @property
    def is_interrupted(self) -> bool:
        """Whether somebody ended it early."""
        return self.ended == "interrupted"

    @property
    def per_second(self) -> float | None:
        """Findings per CPU-second; None when the time was too short to be measured."""
        return self.findings / self.cpu_seconds if self.cpu_seconds else None


class WitnessRecord(RecordPart):
    """A pair of rows, and both outcomes.  `pictures`: person, twin and difference, each a PNG file's name or a data URI."""

    id: str
    protected: list[str] = Field(default_factory=list)
    person: dict[str, Any]
    twin: dict[str, Any]
    outcome: Any = None
    twin_outcome: Any = None
    gap: float | None = None
    changed: dict[str, dict[str, Any]] = Field(default_factory=dict)
    real_row: int | None = None
    method: str = ""
    pictures: dict[str, str] = Field(default_factory=dict)
    texts: dict[str, str] = Field(default_factory=dict)
    readings: dict[str, list[str]] = Field(default_factory=dict)
    source: str = ""

    @property
    def differing(self) -> list[str]:
        """The columns in which the two differ."""
        return [name for name in self.columns if self.person.get(name) != self.twin.get(name)]

    @property
    def columns(self) -> list[str]:
        """All columns, in the person's order."""
        return [*self.person, *(name for name in self.twin if name not in self.person)]


class StudyRecord(RecordPart):
    """What a study of a medium found, judged before it came here: figures by name, sentences, checks.

    A figure is a number, a share with its bounds (estimate, low, high, n), or a list or mapping of these.
    """

    figures: dict[str, Any] = Field(default_factory=dict)
    sentences: list[str] = Field(default_factory=list)
    checks: list[CheckRecord] = Field(default_factory=list)


class Body(RecordPart):
    """What a verb found out, by topic.  A verb fills in what it knows; a page shows what is there."""

    rates: list[RateRecord] = Field(default_factory=list)
    anytime: dict[str, Any] | None = None
    weighted: dict[str, Any] | None = None
    runs: list[RunRecord] = Field(default_factory=list)
    folders: list[str] = Field(default_factory=list)
    failures: dict[str, str] = Field(default_factory=dict)
    valid_share: float | None = None
    where: dict[str, Any] | None = None
    alarms: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    wiring_doubt: str = ""
    groups: list[dict[str, Any]] = Field(default_factory=list)
    fairlearn: list[dict[str, Any]] = Field(default_factory=list)
    conditions: list[dict[str, Any]] = Field(default_factory=list)
    unfair_rows: list[int] | None = None
    severity: dict[str, Any] | None = None
    naturalness: dict[str, Any] | None = None
    paths: dict[str, Any] | None = None
    neurons: dict[str, Any] | None = None
    oracles: dict[str, Any] | None = None
    certificate: dict[str, Any] | None = None
    repairs: dict[str, Any] | None = None
    standings: dict[str, Any] | None = None
    series: dict[str, Any] | None = None
    studies: dict[str, StudyRecord] = Field(default_factory=dict)
    sheets: list[dict[str, Any]] = Field(default_factory=list)
    synthesis: dict[str, Any] | None = None
    tables: list[dict[str, Any]] = Field(default_factory=list)


class Record(RecordPart):
    """A whole result."""

    evenhand_result: Literal[2]
    verb: Verb
    header: HeaderRecord
    outcome: Literal["pass", "violation", "inconclusive"]
    reason: str
    sentences: list[str] = Field(default_factory=list)
    checks: list[CheckRecord] = Field(default_factory=list)
    witnesses: list[WitnessRecord] = Field(default_factory=list)
    body: Body = Field(default_factory=Body)

    @property
    def protected(self) -> list[str]:
        """The names of the protected columns."""
        return self.header.domain.protected

    @property
    def findings(self) -> int:
        """The findings of all searches together."""
        return sum(run.findings for run in self.body.runs)

    @property
    def gate(self) -> Mapping[str, Any]:
        """The rule that made the verdict; empty where the result does not say."""
        told = self.header.details.get("gate")
        return told if isinstance(told, Mapping) else {}


def schema() -> dict[str, Any]:
    """The JSON Schema of a result, as it ships beside this file."""
    text = (resources.files("evenhand.report") / SCHEMA_FILE).read_text(encoding="utf-8")
    told: dict[str, Any] = json.loads(text)
    return told


def made_schema() -> dict[str, Any]:
    """The JSON Schema made again from the classes above; the shipped file must be equal to it."""
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:evenhand:result:{VERSION}",
        "title": f"A result of Evenhand, version {VERSION}",
        "description": "What every verb writes as result.json and every report renders. Parts may carry more than is described here.",
    }
    made = Record.model_json_schema()
    return {**about, **{name: value for name, value in made.items() if name not in about}}


def read(result: Mapping[str, Any]) -> Record:
    """A result given as a dictionary, checked; one of version 1 is converted first."""
    try:
        return _checked(plain(result))
    except _Fault as fault:
        raise InvalidArgument(f"result: {fault}; pass what as_dict() of a result or evenhand.report.load returns") from None


def load(path: Path) -> dict[str, Any]:
    """A result read from its file, checked, in the present version."""
    if not path.exists():
        raise StoreError(f"{path} does not exist; `evenhand scan` writes a result.json to its run folder")
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name the result.json in it")
    content = read_sealed(path, required=False)
    try:
        _checked(plain(content))
    except _Fault as fault:
        raise StoreError(f"{path} is not a result that can be rendered: {_run_record(path) or fault}") from None
    return version_1.converted(content)


_PLAIN = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Any:
    """The same content in JSON's own types: text keys, lists, None for what is not a finite number."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    # Most of a large result are such cells: they are passed on without a call each.
    if kind is dict or isinstance(value, Mapping):
        return {str(name): each if type(each) in _PLAIN else plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [each if type(each) in _PLAIN else plain(each) for each in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (bool, int, str)):
        return value
    item = getattr(value, "tolist", None)  # a NumPy scalar or array
    return plain(item()) if callable(item) else str(value)


def _run_record(path: Path) -> str:
    """Where the result stands that a single run is a part of; empty where the file is not the record of a run."""
    whole = path.absolute().parent.parent / path.name
    is_record = (path.parent / "header.json").exists() and whole.exists()
    return f"it is the record of one run; the result of the whole command is {whole}" if is_record else ""


class _Fault(Exception):
    """What keeps something from being a result."""


def _checked(content: object) -> Record:
    """A plain dictionary as a result of the present version; a fault where it is none."""
    if not isinstance(content, dict) or not (version_1.is_old(content) or "evenhand_result" in content):
        raise _Fault('it has no "evenhand_result": it is not a result of Evenhand')
    version = content.get("evenhand_result", 1)
    if isinstance(version, bool) or version not in (1, VERSION):
        known = f"this release reads versions 1 and {VERSION}; use a newer release"
        raise _Fault(f"it has version {version!r} of the result format, and {known}")
    try:
        return Record.model_validate(version_1.converted(content))
    except ValidationError as faults:
        first = faults.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise _Fault(f"{place}: {first['msg'].lower()}") from None
    except version_1.NotConvertible as fault:
        raise _Fault(str(fault)) from None
