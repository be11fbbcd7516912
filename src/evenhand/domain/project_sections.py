"""What a project file holds, section by section: data, model, medium, scan, gate; read and written by `project_file`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.domain.columns import Value
from evenhand.domain.frames import MISSING_VALUES, TextFormat, read_formatted
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DataError, DomainError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class DataSource:
    """The table of a project, and how it is read."""

    path: Path
    delimiter: str | None = None
    encoding: str = "utf-8"
    missing_values: tuple[str, ...] = MISSING_VALUES
    database: str | None = None  # the URL of a database's table, whose file or name the path is

    @property
    def source(self) -> str | Path:
        """What is opened."""
        return self.database or self.path

    def read(self, numbers: Sequence[str] = ()) -> pd.DataFrame:
        """The table; `numbers` are columns that hold numbers, whatever zeros stand before them."""
        if self.database is not None:
            raise DataError("a database is not read whole; write down what a rule should be learned from it (a map for a dependency)")
        form = TextFormat(self.delimiter, self.encoding, self.missing_values, tuple(numbers))
        return read_formatted(self.path, form)


@dataclass(frozen=True)
class ModelSource:
    """The model of a project: a file, a name or an endpoint, and how it is wrapped.

    `http`, `prepare` and `objects` hold only what the file sets.
    """

    path: Path | None = None
    url: str | None = None
    trusted: bool = False
    takes: str | None = None
    returns: str | None = None
    threshold: float | str | None = None
    classes: tuple[Value, ...] | None = None
    http: Mapping[str, Any] = field(default_factory=dict)
    prepare: Mapping[str, Any] = field(default_factory=dict)
    objects: Mapping[str, Any] = field(default_factory=dict)
    output: int | None = None


@dataclass(frozen=True)
class MethodChoice:
    """A method by name, with the parameters that the file sets."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScanSettings:
    """How a project is searched; None leaves the choice to the scan."""

    methods: tuple[MethodChoice, ...] = ()
    candidates: int | None = None
    model_rows: int | None = None
    seconds: float | None = None
    seed: int = 0
    population: str | None = None
    runs: Path = Path("runs")
    rate_rows: int | None = None


@dataclass(frozen=True)
class GroupLimitSettings:
    """What is tolerated in one group measure; by None for every attribute."""

    metric: str
    most: float | None = None
    least: float | None = None
    by: str | None = None


@dataclass(frozen=True)
class WaiverSettings:
    """A violation that somebody answers for, until a day."""

    of: str
    owner: str
    reason: str
    expires: str


@dataclass(frozen=True)
class GateSettings:
    """When a result passes.  All thresholds are engineering tolerances."""

    max_rate: float = 0.0
    confidence: float = 0.95
    resolution: float = 0.001
    groups: tuple[GroupLimitSettings, ...] = ()
    classes: tuple[str, ...] = ("all",)
    worst_gap: float | None = None
    witnesses: Path | None = None
    baseline: Path | None = None
    waivers: tuple[WaiverSettings, ...] = ()


@dataclass(frozen=True)
class MediumSource:
    """The medium of a project: its kind, the settings of that kind, and what the data is to be read for."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    label: str | None = None
    favourable: tuple[Value, ...] = ()
    protected: tuple[str, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)  # of the settings in their file

    def line(self, name: str) -> int:
        """Where a setting stands; where the medium does, for one that is not there."""
        return self.lines.get(name, self.lines.get("kind", 0))


@dataclass(frozen=True)
class Project:
    """Everything that an evenhand.yaml says.  Paths are taken from the folder of the file.

    A table declares its domain.  The domain of another medium is known once its data is opened.
    """

    declared: TabularDomain | None
    data: DataSource | None = None
    model: ModelSource | None = None
    scan: ScanSettings = field(default_factory=ScanSettings)
    gate: GateSettings = field(default_factory=GateSettings)
    medium: MediumSource | None = None
    oracle: str | Mapping[str, Any] | None = None

    @property
    def domain(self) -> TabularDomain:
        """What a row may be."""
        if self.declared is None:
            raise DomainError("the domain of this project is made by its medium: open its data first")
        return self.declared

    def table(self) -> pd.DataFrame:
        """The data of a table, whose declared numbers are read as numbers."""
        if self.data is None:
            raise DomainError("the file names no data; add `data: table.csv` (or .parquet)")
        label = self.domain.label
        numbers = [column.name for column in self.domain.columns if column.kind in ("integer", "real")]
        if label is not None and all(isinstance(value, int) and not isinstance(value, bool) for value in label.values):
            numbers.append(label.column)
        return self.data.read(numbers)
