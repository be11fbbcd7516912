"""scan(): several methods over one model, a rate with its interval, witnesses, and a verdict that a pipeline can act on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.contract import Method, Model, Oracle, Population, name_of, parameters
from evenhand.domain.tabular import TabularDomain
from evenhand.engine import witness
from evenhand.engine.digest import domain_digest, rows_digest
from evenhand.engine.findings import Findings, findings_of
from evenhand.engine.run import Ledger, Plan, Run, Subject, Watch, run
from evenhand.engine.store import RunFolder
from evenhand.errors import DataError, EvenhandError, InvalidArgument
from evenhand.measures.rate_stream import RateStream, population_of
from evenhand.measures.rates import Rate, Sample, data_sample, judge_all, rate_of, uniform_sample
from evenhand.measures.rules import JudgedRows, Rules, mine_rules
from evenhand.methods import METHODS
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.oracles import oracle as named_oracle
from evenhand.report.version_1 import nested_header
from evenhand.statistics.anytime import AnytimeShare

if TYPE_CHECKING:
    import pandas as pd

Outcome = Literal["pass", "violation", "inconclusive"]
DEFAULT_METHODS = ("evenhand",)


class Data(Protocol):
    """A table with its domain: `datasets.Dataset`, or anything like it."""

    @property
    def name(self) -> str:
        """What a reader sees."""

    @property
    def domain(self) -> TabularDomain:
        """What a row may be."""

    @property
    def rows(self) -> Rows:
        """The encoded rows that lie inside the domain."""

    @property
    def labels(self) -> Labels:
        """Their labels."""


@dataclass(frozen=True)
class Gate:
    """When a scan passes.  With max_rate 0, one proven pair is a violation, and "nothing found" passes only when the rate's upper
    bound is below `resolution`; with a larger max_rate, the interval of the rate must lie on one side of it."""

    max_rate: float = 0.0
    confidence: float = 0.95
    resolution: float = 0.001

    def __post_init__(self) -> None:
        for name in ("max_rate", "resolution"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise InvalidArgument(f"gate {name}={getattr(self, name)!r} must be a share of at least 0 and below 1")
        if not 0.0 < self.confidence < 1.0:
            raise InvalidArgument(f"gate confidence={self.confidence!r} must lie strictly between 0 and 1")

    def decide(self, rate: Rate, findings: int) -> tuple[Outcome, str]:
        """Pass, violation or inconclusive, and why."""
        low, high = rate.interval.low, rate.interval.high
        if self.max_rate == 0.0:
            if findings:
                return "violation", f"{findings:,} different people were found whom another protected value would give another outcome"
            if rate.unfair:
                return (
                    "violation",
                    f"{rate.unfair:,} of {rate.interval.n:,} people of the population “{rate.population}” are treated differently",
                )
            if high <= self.resolution:
                return "pass", f"nothing found, and at most {high:.3%} of the population “{rate.population}” can be affected"
            return "inconclusive", (
                f"nothing found, but with {rate.interval.n:,} judged the rate may still be {high:.3%}, "
                f"above {self.resolution:.3%}; raise rate_rows"
            )
        if low > self.max_rate:
            return "violation", f"the rate is at least {low:.2%}, above the tolerated {self.max_rate:.2%}"
        if high <= self.max_rate:
            return "pass", f"the rate is at most {high:.2%}, within the tolerated {self.max_rate:.2%}"
        return "inconclusive", f"the rate lies between {low:.2%} and {high:.2%}, and {self.max_rate:.2%} is between; raise rate_rows"


@dataclass(frozen=True)
class Options:
    """What a scan does beside searching."""

    oracle: str = "label_flip"
    population: Population | None = None
    rate_rows: int = 10_000
    most_witnesses: int = 24
    gate: Gate = field(default_factory=Gate)
    folder: Path | None = None
    watch: Callable[[str], Watch] | None = None  # for each method's name, what to call with its ledger
    stream_share: float = 0.1  # people drawn beside the search for the anytime rate, per candidate; outside the budget, 0 for none

    def __post_init__(self) -> None:
        if not 0.0 <= self.stream_share <= 1.0:
            raise InvalidArgument(f"stream_share={self.stream_share!r} must lie between 0 and 1")


class Measured(NamedTuple):
    """A rate, the unfair rows of its sample, and all rows of it."""

    rate: Rate
    unfair: Findings
    rows: Rows


@dataclass(frozen=True)
class ScanResult:
    """Everything that a scan computed; reports are renderings of it."""

    domain: TabularDomain
    model: Model
    runs: tuple[Run, ...]
    rates: tuple[Rate, ...]
    witnesses: tuple[witness.Witness, ...]
    outcome: Outcome
    reason: str
    header: Mapping[str, Any]
    failures: Mapping[str, str]
    folders: tuple[Path, ...] = ()
    anytime: Mapping[str, Any] | None = None
    where: Rules | None = None

    @property
    def rate(self) -> Rate:
        """The rate in the most realistic population at hand."""
        return self.rates[0]

    @property
    def findings(self) -> FindingsView:
        """All findings of all runs."""
        joined = Findings.join([r.findings for r in self.runs], len(self.domain.columns))
        names = np.repeat([r.method for r in self.runs], [len(r.findings) for r in self.runs])
        return FindingsView(joined, names, self.domain, self.model.classes)

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended a run early."""
        return any(r.ended == "interrupted" for r in self.runs)

    def summary(self) -> str:
        """A few lines for a person."""
        lines = [f"{self.outcome.upper()}: {self.reason}."]
        lines += [rate.sentence for rate in self.rates]
        lines += [f"While searching, from people drawn beside the search: {self.anytime['sentence']}."] if self.anytime else []
        for r in self.runs:
            lines.append(
                f"{r.method}: {r.ledger.findings:,} findings among {r.ledger.candidates:,} candidates "
                f"({r.ledger.duplicates:,} duplicates), {r.ledger.model_rows:,} model rows, {r.cpu_seconds:.2f} CPU-seconds; {r.ended}."
            )
        lines += [f"{name} FAILED: {why}" for name, why in self.failures.items()]
        if self.where is not None and self.where.rules:
            lines.append(f"Where it concentrates, in the population “{self.where.population}”, on held-out rows:")
            lines += [f"  {rule.sentence} (others {rule.others:.1%}, corrected p {rule.p_value:.2g})" for rule in self.where.rules[:3]]
        lines += [f"{w.id}  {w.sentence}" for w in self.witnesses[:5]]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        return {
            "evenhand_result": 2,
            "verb": "scan",
            "header": nested_header(self.header),
            "outcome": self.outcome,
            "reason": self.reason,
            "sentences": [rate.sentence for rate in self.rates],
            "checks": self.checks(),
            "witnesses": [asdict(w) for w in self.witnesses],
            "body": {
                "rates": [rate.as_dict() for rate in self.rates],
                "runs": [r.as_dict() for r in self.runs],
                "failures": dict(self.failures),
                "valid_share": _valid_share(self.runs),
                "anytime": dict(self.anytime) if self.anytime else None,
                "where": self.where.as_dict() if self.where else None,
            },
        }

    def checks(self) -> list[dict[str, Any]]:
        """What each method decides: with a violation, one that found something has its share in it; a failed one decides nothing."""
        return [self._check(r) for r in self.runs] + [
            {"name": name, "outcome": "failed", "message": why} for name, why in self.failures.items()
        ]

    def _check(self, done: Run) -> dict[str, Any]:
        found, tried = len(done.findings), done.ledger.candidates
        outcome, message = "pass", f"{found:,} findings among {tried:,} candidates"
        if self.outcome == "violation" and found:
            outcome = "violation"
        elif done.ended == "interrupted":
            outcome, message = "inconclusive", f"interrupted after {tried:,} candidates"
        return {"name": done.method, "outcome": outcome, "message": message, "seconds": done.wall_seconds}

    def report(self, path: str | Path) -> Path:
        """Write the result as one self-contained HTML page."""
        from evenhand.report.html import write

        return write(self.as_dict(), Path(path))


@dataclass(frozen=True)
class FindingsView:
    """Findings with the words to show them in."""

    findings: Findings
    methods: np.ndarray[Any, Any]
    domain: TabularDomain
    classes: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.findings)

    def frame(self) -> pd.DataFrame:
        """One row per finding: the person, the twin's changed cells, both outcomes."""
        frame = self.findings.frame(self.domain, self.classes)
        frame["evenhand.method"] = self.methods
        return frame


def scan(
    model: Model,
    data: Data,
    *,
    protected: Sequence[str] | None = None,
    methods: Sequence[str | Method] = DEFAULT_METHODS,
    budget: Budget | None = None,
    seed: int = 0,
    options: Options | None = None,
) -> ScanResult:
    """Search with each method under the same budget, measure the rate, and judge."""
    options, budget = options or Options(), budget or Budget(candidates=100_000)
    subject = subject_of(model, data, protected, options.population)
    plan = Plan(seed, budget, named_oracle(options.oracle))
    header = scan_header(subject, data.name, plan)
    stream = _stream(subject, plan, options)
    runs, failures, folders = _search(methods, subject, plan, _streaming(options, stream), header)
    rng = np.random.default_rng([seed, 2])
    measured = measure_rates(subject, plan.oracle, options, rng)
    rates = [each.rate for each in measured]
    found = Findings.join([r.findings for r in runs], len(subject.domain.columns))
    seen = _evidence(measured[0].unfair, runs, subject, plan.oracle, options.most_witnesses)
    outcome, reason = options.gate.decide(rates[0], len(np.unique(subject.domain.keys(found.rows))))
    if failures and outcome == "pass":
        outcome, reason = "inconclusive", f"{', '.join(failures)} failed, so that not everything was searched"
    if any(r.ended == "interrupted" for r in runs) and outcome == "pass":
        outcome, reason = "inconclusive", "the search was interrupted"
    return ScanResult(
        subject.domain,
        model,
        tuple(runs),
        tuple(rates),
        tuple(seen),
        outcome,
        reason,
        header | {"gate": asdict(options.gate)},
        failures,
        folders,
        stream.as_dict() if stream.share.n else None,
        where(measured, found, subject, np.random.default_rng([seed, 5])),
    )


def _stream(subject: Subject, plan: Plan, options: Options) -> RateStream:
    """The rate that is measured while the search runs, from its own draws."""
    population = population_of(subject.population, subject.rows, subject.domain)
    share = AnytimeShare(options.gate.confidence)
    return RateStream(population, subject.domain, subject.model, plan.oracle, np.random.default_rng([plan.seed, 4]), share)


def _streaming(options: Options, stream: RateStream) -> Options:
    """The same options with a watcher that also lets the stream go on and tells what it knows."""
    if not options.stream_share:
        return options

    def start(name: str) -> Watch:
        inner = options.watch(name) if options.watch else None

        def update(ledger: Ledger) -> None:
            # All methods share one stream: it never goes back, and goes on only as far as the longest of them.
            stream.advance(int(options.stream_share * ledger.candidates))
            ledger.note = stream.sentence
            if inner:
                inner(ledger)

        return update

    return replace(options, watch=start)


def subject_of(model: Model, data: Data, protected: Sequence[str] | None, population: Population | None = None) -> Subject:
    """The model in the data's domain, with these columns protected."""
    domain = data.domain.protect(*protected) if protected is not None else data.domain
    if not domain.protected:
        raise InvalidArgument("protected: name at least one protected column; nothing is protected in this domain")
    if not len(data.rows):
        raise DataError(f"{data.name}: no row lies inside the domain")
    return Subject(domain, model, data.rows, data.labels if domain.label else None, population, getattr(data, "medium", None))


def scan_header(subject: Subject, data_name: str, plan: Plan) -> dict[str, Any]:
    """What fixes a scan; equal headers give equal findings."""
    from evenhand import __version__

    return {
        "evenhand": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        "data": data_name,
        "data_digest": rows_digest(subject.rows),
        "domain": domain_digest(subject.domain),
        "protected": list(subject.domain.protected),
        "model": subject.model.fingerprint(),
        "model_kind": type(subject.model).__name__,
        "classes": [str(c) for c in subject.model.classes],
        "favourable": [str(c) for c in subject.domain.label.favourable] if subject.domain.label else [],
        "oracle": repr(plan.oracle),
        "seed": plan.seed,
        "budget": asdict(plan.budget),
    }


def run_header(header: Mapping[str, Any], method: Method) -> dict[str, Any]:
    """A scan's header for one method's run; the date is no part of what fixes it."""
    fixed = {name: value for name, value in header.items() if name not in ("date", "classes", "favourable", "model_kind")}
    return {"method": name_of(method), "parameters": dict(parameters(method)), **fixed}


def _search(
    methods: Sequence[str | Method], subject: Subject, plan: Plan, options: Options, header: Mapping[str, Any]
) -> tuple[list[Run], dict[str, str], tuple[Path, ...]]:
    runs: list[Run] = []
    failures: dict[str, str] = {}
    folders: list[Path] = []
    made = [METHODS.make(m) if isinstance(m, str) else m for m in methods]
    for method in made:
        name = name_of(method)
        folder = RunFolder.for_header(options.folder, run_header(header, method)) if options.folder else None
        watch = options.watch(name) if options.watch else None
        try:
            runs.append(_one(method, subject, plan, folder, watch))
        except EvenhandError as fault:
            if len(made) == 1:
                raise
            failures[name] = str(fault)
        if folder:
            folders.append(folder.path)
        if runs and runs[-1].ended == "interrupted":
            break
    return runs, failures, tuple(folders)


def _one(method: Method, subject: Subject, plan: Plan, folder: RunFolder | None, watch: Watch | None) -> Run:
    """A run, kept in its folder when it has one.  The header makes a repeated run equal, so it is replayed from its journal."""
    if folder is None:
        return run(method, subject, plan, None, watch)
    with folder.locked():
        if folder.journal() is not None:
            folder.log("resumed")
        finished = run(method, subject, plan, folder, watch)
        if finished.ended == "interrupted":
            folder.log("interrupted", f"{finished.ledger.candidates} candidates")
        elif folder.result is None:
            folder.finish(finished.as_dict())
    return finished


def measure_rates(subject: Subject, oracle: Oracle, options: Options, rng: np.random.Generator) -> list[Measured]:
    """The rate among real rows first, then over the whole domain, each from its own sample and outside the search's budget.

    Beside each rate the unfair rows of its sample: among real rows, the strongest evidence there is.
    """
    meter = Meter(subject.model)
    samples = [data_sample(subject.rows, options.rate_rows, rng)] if subject.rows is not None else []
    if subject.population is not None:
        samples.append(Sample(subject.population.sample(options.rate_rows, rng), subject.population.name))
    samples.append(uniform_sample(subject.domain, options.rate_rows, rng))
    measured = []
    for sample in samples:
        verdict = judge_all(sample.rows, subject.domain, meter, oracle)
        unfair = findings_of(sample.rows, verdict, subject.domain, np.arange(len(sample.rows)), sample.population)
        measured.append(Measured(rate_of(verdict, sample.population, options.gate.confidence), unfair, sample.rows))
    return measured


def where(measured: Sequence[Measured], found: Findings, subject: Subject, rng: np.random.Generator) -> Rules:
    """Rules for where unfair treatment concentrates, in the most realistic population that shows enough of it."""
    judged = [JudgedRows(each.rows, _marked(each), each.rate.population) for each in measured]
    mined = [mine_rules(judged[0], subject.domain, rng)]
    mined += [mine_rules(each, subject.domain, rng) for each in judged[1:]] if not mined[0].rules else []
    best = next((rules for rules in mined if rules.rules), mined[0])
    every = Findings.join([*(each.unfair for each in measured), found], len(subject.domain.columns))
    return replace(best, worst=_worst(every, subject))


def _marked(measured: Measured) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows of the sample are unfair; a finding knows its row by its number."""
    marked = np.zeros(len(measured.rows), dtype=bool)
    marked[measured.unfair.candidate] = True
    return marked


def _worst(found: Findings, subject: Subject) -> dict[str, Any]:
    """The pair with the widest gap of scores among all that were seen."""
    if not len(found):
        return {}
    at = int(np.argmax(found.gap))
    cells = [
        {c.name: c.value(code) for c, code in zip(subject.domain.columns, rows[at], strict=True)} for rows in (found.rows, found.twins)
    ]
    labels = [subject.model.classes[label] for label in found.outcomes[at]]
    return {"person": cells[0], "twin": cells[1], "outcome": labels[0], "twin_outcome": labels[1], "gap": float(found.gap[at])}


def _evidence(real: Findings, runs: Sequence[Run], subject: Subject, oracle: Oracle, most: int) -> list[witness.Witness]:
    """Witnesses for people to look at: real rows for one half, the methods' findings for the other."""
    real = real if subject.rows is not None else Findings.none(len(subject.domain.columns))
    found = Findings.join(
        [replace(r.findings, phase=np.full(len(r.findings), r.method, dtype=object)) for r in runs], len(subject.domain.columns)
    )
    shown_real = witness.select(real, subject.domain, max(most // 2, most - len(found)))
    shown_found = witness.select(found, subject.domain, most - len(shown_real))
    evidence = Findings.join([real[shown_real], found[shown_found]], len(subject.domain.columns))
    return witness.witnesses_of(evidence, subject.rows, subject.domain, subject.model, oracle)


def _valid_share(runs: Sequence[Run]) -> float | None:
    total = sum(len(r.findings) for r in runs)
    return sum(int(r.findings.valid.sum()) for r in runs) / total if total else None
