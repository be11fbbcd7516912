"""Domains and projects as YAML files that a person reads and edits; every mistake is reported with file and line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.arrays import Rows
from evenhand.disk import write_whole
from evenhand.domain import moments
from evenhand.domain.columns import Column
from evenhand.domain.constraints import CompiledConstraint, compile_constraint, is_learned
from evenhand.domain.databases import database_file, is_database, seen_from
from evenhand.domain.frames import MISSING_VALUES
from evenhand.domain.infer import Proposal
from evenhand.domain.layout import MEDIUM_HEAD, domain_text, section_text
from evenhand.domain.project_sections import (
    DataSource,
    GateSettings,
    GroupLimitSettings,
    MediumSource,
    MethodChoice,
    ModelSource,
    Project,
    ScanSettings,
    WaiverSettings,
)
from evenhand.domain.schema import ColumnSection, ModelSection, ScanSection
from evenhand.domain.tabular import Label, TabularDomain, satisfiable
from evenhand.domain.twins import Comparison, Implied, check_implied
from evenhand.domain.validation import validated
from evenhand.domain.yamltext import read_yaml
from evenhand.errors import ConstraintError, DataError, DomainError, EvenhandError, UnknownName

if TYPE_CHECKING:
    pass


def save(domain: TabularDomain, path: str | Path) -> None:
    """Write a domain so that `load` gives back an equal one."""
    _write(Path(path), domain_text(domain))


def save_project(project: Project, path: str | Path, proposal: Proposal | None = None) -> None:
    """Write a project file; what a proposal suggests stands in it as comments, for a person to decide."""
    base = Path(path).parent
    text = domain_text(project.domain, proposal) if project.medium is None else medium_text(project.medium)
    for title, section in _sections(project, base):
        text += section_text(title, section)
    _write(Path(path), text)


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text)
    except OSError as fault:
        raise DomainError(f"the file cannot be written: {fault.strerror or fault}", file=str(path)) from fault


def _sections(project: Project, base: Path) -> list[tuple[str, object]]:
    """The sections after the domain, without what is left at its default."""
    found: list[tuple[str, object]] = []
    if project.data is not None:
        plain = DataSource(project.data.path)
        found.append(("data", project.data.database or _without_defaults(project.data, plain, base, "path")))
    if project.model is not None:
        found.append(("model", _without_defaults(project.model, ModelSource(), base)))
    scan = _without_defaults(project.scan, ScanSettings(), base)
    assert isinstance(scan, dict)
    if budget := {name: scan.pop(name) for name in ("candidates", "model_rows", "seconds") if name in scan}:
        scan["budget"] = budget
    if "methods" in scan:
        scan["methods"] = [m.name if not m.parameters else {m.name: dict(m.parameters)} for m in project.scan.methods]
    gate = _gate_section(project.gate, base)
    return found + [(title, section) for title, section in (("oracle", project.oracle), ("scan", scan), ("gate", gate)) if section]


def _gate_section(gate: GateSettings, base: Path) -> object:
    """The gate without its defaults; limits of groups by name, waivers as mappings."""
    kept = _without_defaults(replace(gate, groups=(), waivers=()), GateSettings(), base)
    section: dict[str, Any] = dict(kept) if isinstance(kept, dict) else {}
    if gate.groups:
        section["groups"] = {}
        for limit in gate.groups:
            told = {name: value for name, value in asdict(limit).items() if name != "metric" and value is not None}
            section["groups"].setdefault(limit.metric, []).append(told)
    if gate.waivers:
        section["waivers"] = [asdict(each) for each in gate.waivers]
    return section


def _without_defaults(settings: Any, defaults: Any, base: Path, always: str = "") -> object:
    kept = {}
    for one in fields(settings):
        value = getattr(settings, one.name)
        if value != getattr(defaults, one.name) or one.name == always:
            kept[one.name] = _relative(value, base) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
    if kept.get("runs") == "runs":
        del kept["runs"]
    return next(iter(kept.values())) if list(kept) in (["path"], ["url"]) else kept


def _relative(path: Path, base: Path) -> str:
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else path.as_posix()


def medium_text(medium: MediumSource) -> str:
    """The head of a project file whose domain a medium makes."""
    settings = {name: value for name, value in medium.settings.items() if name != "unit" or medium.label is None}
    text = MEDIUM_HEAD + section_text("medium", {"kind": medium.kind, **settings} if settings else medium.kind)
    if medium.label is not None:
        favourable = {"favourable": list(medium.favourable)} if medium.favourable else {}
        unit = {"unit": medium.settings["unit"]} if medium.settings.get("unit") is not None else {}
        text += section_text("label", {"column": medium.label, **favourable, **unit})
    return text + (section_text("protected", list(medium.protected)) if medium.protected else "")


def load(path: str | Path, rows: Rows | None = None) -> TabularDomain:
    """The domain in a file.  `rows` are what dependencies without a map are learned from; else the file's own data is read."""
    return _Reader(Path(path), rows).domain()


def read_project(path: str | Path, rows: Rows | None = None) -> Project:
    """Everything in a project file."""
    return _Reader(Path(path), rows).project()


def project_of(text: str, path: str | Path, rows: Rows | None = None) -> Project:
    """Everything in the text of a project file that is not saved yet; paths are taken from the folder where it would be.

    >>> project_of("columns: {age: {kind: integer, low: 0, high: 9}}\\nprotected: [age]", "evenhand.yaml").domain.names
    ('age',)
    """
    return _Reader(Path(path), rows, text).project()


class _Reader:
    """One file while it is read: its values, its lines, and the rows that dependencies are learned from."""

    def __init__(self, path: Path, rows: Rows | None, text: str | None = None) -> None:
        self.path = path
        self.rows = rows
        self.document = read_yaml(_text(path) if text is None else text, str(path))
        self.content = validated(self.document)

    def project(self) -> Project:
        medium = self.medium()
        return Project(None if medium else self.domain(), self.data(), self.model(), self.scan(), self.gate(), medium, self.oracle())

    def medium(self) -> MediumSource | None:
        section = self.content.medium
        if section is None:
            return None
        for name in ("columns", "twins", "constraints", "relations"):
            if name in self.document.value:
                raise self.document.error(f"{name} are for a table; the medium {section.kind!r} makes its own: remove them", (name,))
        label = self.content.label
        lines = {name: self.document.line(("medium", name)) for name in ("kind", *(section.model_extra or {}))}
        amount = {"unit": label.unit} if label and label.unit is not None and section.kind == "album" else {}
        return MediumSource(
            section.kind,
            {**amount, **(section.model_extra or {})},
            label.column if label else None,
            tuple(label.favourable) if label else (),
            tuple(self.content.protected),
            lines,
        )

    def domain(self) -> TabularDomain:
        if self.content.columns is None:
            raise self.document.error("the key 'columns' is missing", ())
        columns = tuple(self._column(name, section) for name, section in self.content.columns.items())
        plain = TabularDomain(columns, label=self._label(columns))
        comparisons = self._comparisons(plain)
        self._check_protected(plain)
        rules = tuple(self._constraint("constraints", place, source, plain) for place, source in enumerate(self.content.constraints))
        relations = self.content.relations
        for place, source in enumerate(relations or ()):
            rules += (replace(self._constraint("relations", place, source, plain), is_relation=True),)
        domain: TabularDomain = self._at(
            ("protected",),
            lambda: TabularDomain(
                columns, tuple(self.content.protected), plain.label, rules, comparisons, self._implied(plain), relations is None
            ),
        )
        self._at(("constraints",), lambda: satisfiable(domain))
        return domain

    def _at(self, path: tuple[object, ...], make: Any) -> Any:
        """What `make` makes; its errors get the file and the line of the path."""
        try:
            return make()
        except DomainError as fault:
            if fault.line:
                raise
            raise type(fault)(fault.message, file=str(self.path), line=self.document.line(path)) from None
        except EvenhandError as fault:
            raise DomainError(str(fault), file=str(self.path), line=self.document.line(path)) from None

    def _column(self, name: str, section: ColumnSection) -> Column:
        return self._at(  # type: ignore[no-any-return]
            ("columns", name),
            lambda: Column(
                name, section.kind, tuple(section.values), *_limits(name, section), missing=float(section.missing), dtype=section.dtype
            ),
        )

    def _label(self, columns: Sequence[Column]) -> Label | None:
        section = self.content.label
        if section is None:
            return None
        if section.column in [column.name for column in columns]:
            message = f"label {section.column!r} is declared as an input column too; remove it from columns"
            raise self.document.error(message, ("label", "column"))
        unit = section.unit
        if section.values is None and unit is None:
            if section.favourable or (section.tolerance is None and section.share is None):
                message = "the key 'values' is missing in 'label': list its classes, or write unit: EUR (or another) if it is an amount"
                raise self.document.error(message, ("label",))
            unit = ""  # only amounts have a tolerance
        classes = tuple(section.values or ()), tuple(section.favourable)
        return self._at(  # type: ignore[no-any-return]
            ("label",), lambda: Label(section.column, *classes, unit, section.tolerance, section.share)
        )

    def _comparisons(self, plain: TabularDomain) -> dict[str, Comparison]:
        found = {}
        for name, section in self.content.twins.compare.items():
            path = ("twins", "compare", name)
            if section.values and section.bins:
                raise self.document.error(f"compare {name!r} has both values and bins; keep one of them", path)
            if not section.values and not section.bins:
                raise self.document.error(f"compare {name!r} needs values: [...] or bins: [...]", path)
            comparison = Comparison(tuple(section.values), tuple(section.bins))
            place = self._at(path, lambda name=name: plain.place(name))
            self._at(path, lambda comparison=comparison, place=place: comparison.codes(plain.columns[place]))
            found[name] = comparison
        return found

    def _check_protected(self, plain: TabularDomain) -> None:
        for place, name in enumerate(self.content.protected):
            if name not in plain.names:
                raise self.document.error(str(UnknownName("protected column", name, plain.names)), ("protected", place))
            if name in self.content.protected[:place]:
                raise self.document.error(f"protected column {name!r} is named twice; remove one", ("protected", place))

    def _implied(self, plain: TabularDomain) -> tuple[Implied, ...]:
        rules = []
        for place, section in enumerate(self.content.twins.implied):
            rule = Implied(section.column, section.source, section.target, section.changes, section.learnt)
            self._at(("twins", "implied", place), lambda rule=rule: check_implied([rule], plain.columns, self.content.protected))
            rules.append(rule)
        return tuple(rules)

    def _constraint(self, part: str, place: int, source: object, plain: TabularDomain) -> CompiledConstraint:
        def compiled() -> CompiledConstraint:
            rows = self._rows(plain) if self.rows is not None or is_learned(source) else None
            return compile_constraint(source, plain.columns, rows)

        return self._at((part, place), compiled)  # type: ignore[no-any-return]

    def _rows(self, plain: TabularDomain) -> Rows | None:
        data = self.data()
        if self.rows is None and data is not None:
            try:
                self.rows = plain.encode(data.read())
            except DataError as fault:
                raise ConstraintError(f"the data that this rule is learned from cannot be used: {fault}") from None
        return self.rows

    def data(self) -> DataSource | None:
        section = self.content.data
        if section is None:
            return None
        if is_database(section.path):
            url = seen_from(section.path, self.path.parent)
            return DataSource(database_file(url), database=url)
        marks = MISSING_VALUES if section.missing_values is None else tuple(section.missing_values)
        return DataSource(self.path.parent / section.path, section.delimiter, section.encoding, marks)

    def model(self) -> ModelSource | None:
        section = self.content.model
        if section is None:
            return None
        self._check_model(section)
        http, prepare, objects = (
            part.model_dump(exclude_none=True) if part else {} for part in (section.http, section.prepare, section.objects)
        )
        for part in (http, objects):
            if "cache" in part:
                part["cache"] = str(self.path.parent / part["cache"])
        classes = None if section.classes is None else tuple(section.classes)
        path = None if section.path is None else self.path.parent / section.path
        return ModelSource(
            path,
            section.url,
            section.trusted,
            section.takes,
            section.returns,
            section.threshold,
            classes,
            http,
            prepare,
            objects,
            section.output,
        )

    def _check_model(self, section: ModelSection) -> None:
        if (section.path is None) == (section.url is None):
            raise self.document.error("model needs either path: or url:, and not both", ("model",))
        if section.http and section.url is None:
            raise self.document.error("http: settings are for a model with a url:", ("model", "http"))
        if section.url is not None and not section.url.startswith(("http://", "https://", "${")):
            raise self.document.error(f"url {section.url!r} must begin with http:// or https://", ("model", "url"))

    def scan(self) -> ScanSettings:
        section: ScanSection = self.content.scan
        methods = []
        for place, entry in enumerate(section.methods):
            if isinstance(entry, dict) and len(entry) != 1:
                raise self.document.error("a method is a name, or one name with its parameters", ("scan", "methods", place))
            name, parameters = (entry, {}) if isinstance(entry, str) else next(iter(entry.items()))
            methods.append(MethodChoice(name, parameters))
        budget = section.budget.model_dump() if section.budget else {}
        if section.budget and not any(value is not None for value in budget.values()):
            raise self.document.error("budget needs at least one of candidates, model_rows, seconds", ("scan", "budget"))
        return ScanSettings(
            tuple(methods), seed=section.seed, population=section.population, runs=self.path.parent / section.runs,
            rate_rows=section.rate_rows, **budget,
        )  # fmt: skip

    def oracle(self) -> str | Mapping[str, Any] | None:
        """What counts as unfair, as it is written; the file of a causal graph is taken from the folder of this file."""
        chosen = self.content.oracle
        if not isinstance(chosen, dict):
            return chosen
        if len(chosen) != 1:
            raise self.document.error("oracle is a name, or one name with its parameters", ("oracle",))
        name, given = next(iter(chosen.items()))
        graph = given.get("graph")
        return {name: given | {"graph": str(self.path.parent / graph)} if isinstance(graph, str) and "<-" not in graph else given}

    def gate(self) -> GateSettings:
        section, folder = self.content.gate, self.path.parent
        return GateSettings(
            float(section.max_rate),
            float(section.confidence),
            float(section.resolution),
            tuple(limit for name, given in section.groups.items() for limit in self._group_limits(name, given)),
            tuple(section.classes),
            None if section.worst_gap is None else float(section.worst_gap),
            None if section.witnesses is None else folder / section.witnesses,
            None if section.baseline is None else folder / section.baseline,
            tuple(self._waiver(place, each) for place, each in enumerate(section.waivers)),
        )

    def _group_limits(self, name: str, given: Any) -> list[GroupLimitSettings]:
        """A number stands for the largest gap that is tolerated."""
        if isinstance(given, int | float):
            return [GroupLimitSettings(name, most=float(given))]
        limits = [GroupLimitSettings(name, each.most, each.least, each.by) for each in (given if isinstance(given, list) else [given])]
        for limit in limits:
            if (limit.most is None) == (limit.least is None):
                raise self.document.error(
                    f"{name} needs `most` (of a gap) or `least` (of a ratio), one of the two", ("gate", "groups", name)
                )
        return limits

    def _waiver(self, place: int, given: Any) -> WaiverSettings:
        try:
            date.fromisoformat(given.expires)
        except ValueError:
            raise self.document.error(
                f"expires: {given.expires!r} is no day; write it as 2027-01-31", ("gate", "waivers", place, "expires")
            ) from None
        return WaiverSettings(given.of, given.owner, given.reason, given.expires)


def _limits(name: str, section: ColumnSection) -> tuple[float | int | None, float | int | None]:
    """The ends of a column's range as codes; those of dates are written as texts."""
    ends = (section.low, section.high)
    if section.kind in moments.SECONDS:
        first, last = (None if end is None else int(moments.code_of(end, section.kind, name)) for end in ends)
        return first, last
    for end in ends:
        if isinstance(end, str):
            raise DomainError(f"column {name!r}: {end!r} is not a number (kind: {section.kind})")
    return ends  # type: ignore[return-value]


def _text(path: Path) -> str:
    if path.is_dir():
        raise DomainError("this is a folder; name the YAML file in it", file=str(path))
    if not path.exists():
        raise DomainError("there is no such file; `evenhand init data.csv` writes one", file=str(path))
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise DomainError("the file is not UTF-8; save it as UTF-8", file=str(path), line=raw[: fault.start].count(b"\n") + 1) from None
