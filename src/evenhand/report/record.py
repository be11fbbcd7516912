"""The result of a scan as the renderings read it: checked, plain, with None where nothing was measured.  Draws nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evenhand.errors import InvalidArgument, StoreError

VERSION = 1
"""The version of the result that these renderings read."""


class RecordPart(BaseModel):
    """What all parts of a result share: they may carry more than is read here."""

    model_config = ConfigDict(frozen=True, extra="allow")


class RateRecord(RecordPart):
    """A share of a named population with its exact bounds."""

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = Field(default=0, ge=0)
    confidence: float | None = None
    population: str = ""
    unfair: int | None = None

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

    @property
    def is_interrupted(self) -> bool:
        """Whether somebody ended it early."""
        return self.ended == "interrupted"

    @property
    def per_second(self) -> float | None:
        """Findings per CPU-second; None when the time was too short to be measured."""
        return self.findings / self.cpu_seconds if self.cpu_seconds else None


class WitnessRecord(RecordPart):
    """A pair of people, and both outcomes."""

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

    @property
    def differing(self) -> list[str]:
        """The columns in which the two people differ."""
        return [name for name in self.columns if self.person.get(name) != self.twin.get(name)]

    @property
    def columns(self) -> list[str]:
        """All columns, in the person's order."""
        return [*self.person, *(name for name in self.twin if name not in self.person)]


class Record(RecordPart):
    """A whole result."""

    evenhand_result: int
    header: dict[str, Any]
    outcome: Literal["pass", "violation", "inconclusive"]
    reason: str
    rates: list[RateRecord]
    runs: list[RunRecord]
    failures: dict[str, str]
    witnesses: list[WitnessRecord]
    valid_share: float | None = None
    where: dict[str, Any] | None = None
    anytime: dict[str, Any] | None = None

    @property
    def protected(self) -> list[str]:
        """The names of the protected columns."""
        listed = self.header.get("protected")
        return [str(name) for name in listed] if isinstance(listed, list) else []

    @property
    def findings(self) -> int:
        """The findings of all searches together."""
        return sum(run.findings for run in self.runs)


def read(result: Mapping[str, Any]) -> Record:
    """A result given as a dictionary, checked."""
    fault = _fault(plain(result))
    if fault:
        raise InvalidArgument(f"result: {fault}; pass ScanResult.as_dict() or what evenhand.report.load returns")
    return Record.model_validate(plain(result))


def load(path: Path) -> dict[str, Any]:
    """A result read from its file, checked."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist; `evenhand scan` writes a result.json to its run folder") from None
    except IsADirectoryError:
        raise StoreError(f"{path} is a folder; name the result.json in it") from None
    except OSError as fault:
        raise StoreError(f"cannot read {path}: {fault.strerror or fault}") from fault
    except (ValueError, RecursionError) as fault:
        raise StoreError(f"{path} is not readable as JSON ({fault}); render the result.json that a scan wrote") from None
    wrong = _fault(content)
    if wrong:
        raise StoreError(f"{path} is not a result that can be rendered: {wrong}")
    kept: dict[str, Any] = content
    return kept


def plain(value: Any) -> Any:
    """The same content in JSON's own types: text keys, lists, None for what is not a finite number."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value)
    item = getattr(value, "tolist", None)  # a NumPy scalar or array
    return plain(item()) if callable(item) else str(value)


def _fault(content: object) -> str:
    """What keeps this from being a result; empty when nothing does."""
    if not isinstance(content, dict) or "evenhand_result" not in content:
        return 'it has no "evenhand_result": it is not the result of a scan'
    version = content["evenhand_result"]
    if isinstance(version, bool) or version != VERSION:
        return f"it has version {version!r} of the result format, and this release reads version {VERSION}; use the release that wrote it"
    try:
        Record.model_validate(plain(content))
    except ValidationError as faults:
        first = faults.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        return f"{place}: {first['msg'].lower()}"
    return ""
