"""scan(): several methods over one model, a rate with its interval, witnesses, and a verdict that a pipeline can act on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.campaign.sharded_run import shard_count, sharded_run, write_findings
from evenhand.campaign.work_folder import happened
from evenhand.contract import (
    Describing,
    Doubtful,
    Executor,
    Growing,
    Method,
    Model,
    Oracle,
    Population,
    Watch,
    media_of,
    name_of,
    outcome_names,
    parameters,
)
from evenhand.datasets.large_dataset import LargeDataset
from evenhand.deadline import NEVER, Deadline
from evenhand.engine import witness
from evenhand.engine.findings import Findings
from evenhand.engine.gate import Gate, Ruling
from evenhand.engine.header import Header, header_of
from evenhand.engine.inner_view import inner_view
from evenhand.engine.pace import cost_in_words, with_cost
from evenhand.engine.preflight import preflight
from evenhand.engine.run import Run, check_ability, check_medium, run
from evenhand.engine.samples import JudgedSample, Sampling, judged_samples
from evenhand.engine.shrunk_findings import Hearing
from evenhand.engine.store import RunFolder
from evenhand.engine.subject import Data, Plan, Subject, oracle_for, subject_of
from evenhand.errors import EvenhandError
from evenhand.limits import Count, Positive, Share, check_limits
from evenhand.measures.exchanged_words import WordExchange, doubt_about, exchanges_of
from evenhand.measures.rate_stream import RateStream, population_of
from evenhand.measures.rates import DRAWN, Rate
from evenhand.measures.rules import JudgedRows, Rules, mine_in_time
from evenhand.measures.shared_vocabulary import check_vocabulary
from evenhand.measures.studies.classes import ClassMeasure, class_measure
from evenhand.measures.typicality import MOST_ROWS, Typicality, typicality
from evenhand.media.scenes import Scenes
from evenhand.methods import METHODS
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.models.paid_answers import paid_once
from evenhand.oracles import OracleChoice
from evenhand.oracles.flip import LabelFlip
from evenhand.oracles.gap import ScoreGap
from evenhand.oracles.parts.people import twins_of
from evenhand.statistics.anytime import AnytimeShare
from evenhand.verbs.jury_of_pairs import read_by_jury
from evenhand.verbs.scan_result import ScanResult
from evenhand.verbs.time_plan import TimePlan, timed_budget

DEFAULT_METHODS = ("evenhand",)

LIKELIHOOD_SECONDS = 0.05
"""What it takes to learn how likely rows are, for each column, at the most."""

MOST_UNFAIR_ROWS = 50_000
"""Positions of unfair real rows that a result keeps."""


@dataclass(frozen=True)
class Options:
    """What a scan does beside searching.

    population: plausible people, for one more rate.
    rate_rows: how many people are judged for each rate; None for 10,000, and for all real rows where they can be asked.
    most_witnesses: pairs that are kept for people to look at.
    gate: when the scan passes.  folder: where runs are kept, to be continued after an interruption.  watch: who is told of the headway.
    fresh: ask a model behind a network everything again, for it was changed; what was kept before stays aside in the folder.
    stream_share: people drawn beside the search for the anytime rate, per candidate; outside the budget, 0 for none.
    executor: who shares the work, in shards of the budget; what is found does not depend on how many there are.  None: one search, here.
    question_seconds: what one question costs under a budget of seconds, as the header of an earlier result has it; None: measured once.

    >>> Options(rate_rows=2_000).most_witnesses
    24
    """

    population: Population | None = None
    rate_rows: Count | None = None
    most_witnesses: int = 24
    gate: Gate = field(default_factory=Gate)
    folder: Path | None = None
    watch: Watch | None = None
    stream_share: Share = 0.1
    executor: Executor | None = None
    question_seconds: Positive | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass
class _Searches:
    """The runs of all methods, and those that failed."""

    runs: list[Run] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)

    @property
    def is_interrupted(self) -> bool:
        return any(r.ended == "interrupted" for r in self.runs)

    @property
    def doubt(self) -> str:
        """What keeps a search that found nothing from being a pass."""
        if self.failures:
            return f"{', '.join(self.failures)} failed, so that not everything was searched"
        return "the search was interrupted" if self.is_interrupted else ""

    def everybody(self, subject: Subject) -> str:
        """That a run judged the whole domain, in words; empty where none did, or where rows are pictures, which stand for others."""
        if subject.domain.numbers_things or getattr(subject.medium, "is_listed", False):
            return ""
        return next((str(run.facts["enumerated"]) for run in self.runs if "enumerated" in run.facts and run.ended == "method finished"), "")

    def happened(self) -> tuple[str, ...]:
        """What became of the runs on the way: interruptions, damage, and that they were taken up again."""
        return tuple(f"the run {folder.name}: {told}" for folder in self.folders for told in happened(RunFolder.open(folder).events()))

    def findings(self, columns: int) -> Findings:
        """All findings, each with its method as its phase."""
        named = [replace(r.findings, phase=np.broadcast_to(np.array(r.method, dtype=object), len(r.findings))) for r in self.runs]
        return named[0] if len(named) == 1 else Findings.join(named, columns)

    def distinct(self, subject: Subject) -> int:
        """How many different rows were found; one run finds each of them once."""
        if len(self.runs) <= 1:
            return sum(len(r.findings) for r in self.runs)
        return len(np.unique(np.concatenate([r.findings.keys(subject.domain) for r in self.runs])))


def scan(
    model: Model,
    data: Data,
    *,
    protected: Sequence[str] | None = None,
    methods: Sequence[str | Method] = DEFAULT_METHODS,
    oracle: OracleChoice | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    options: Options | None = None,
) -> ScanResult:
    """Search with each method under the same budget, measure the rate, and judge.

    model: what `evenhand.wrap` returns.  data: what `evenhand.open` returns, or any table with its domain.
    protected: columns instead of the data's own.  methods: names (`evenhand methods` lists them) or instances with parameters.
    oracle: what counts as unfair: a name, a line such as "gap:threshold=0.2", or an oracle; by default another label, or for a regression
    another amount.
    budget: of each method; 100,000 candidates by default.  A budget of seconds, times the number of methods, is what the whole scan
    takes: rates, rules and witnesses are made with fewer rows where it is short, and the result's notes say so.
    seed: of everything random.  options: rates, gate, witnesses, folder.

    >>> import evenhand as eh
    >>> data = eh.open("credit", protected=["age"])
    >>> model = eh.wrap(lambda frame: 50 + frame["age"] - frame["duration"], data, returns="score", threshold=60)
    >>> result = eh.scan(model, data, budget=eh.Budget(candidates=1_000), seed=7)
    >>> result.outcome, len(result.findings) > 100
    ('violation', True)
    """
    order = _Order(protected, tuple(methods), oracle, budget or Budget(candidates=100_000), seed)
    options = options or Options()
    with paid_once(model, options.folder, {"verb": "scan", "data": data.name, **vars(order)}, options.fresh) as paid:
        result = _scanned(paid.model, data, order, options)
        if not result.is_interrupted:
            paid.settle()
    return replace(result, model=model)


@dataclass(frozen=True)
class _Order:
    """What is to be searched for, how, and how long."""

    protected: Sequence[str] | None
    methods: Sequence[str | Method]
    oracle: OracleChoice | None
    budget: Budget
    seed: int


def _scanned(model: Model, data: Data, order: _Order, options: Options) -> ScanResult:
    """The scan itself; why each part comes where it does is said there."""
    budget, seed = order.budget, order.seed
    time_plan = TimePlan.of(budget, len(order.methods))
    subject = subject_of(model, data, order.protected, options.population)
    check_vocabulary(subject.model)
    chosen = _chosen(order.methods, subject)
    looked = preflight(subject, time_plan.deadline.seconds_left)
    plan = with_cost(Plan(seed, budget, oracle_for(subject, order.oracle), question_seconds=options.question_seconds), subject)
    stream = _stream(subject, plan, options)
    plan = replace(plan, beside=stream)
    details = {"gate": asdict(options.gate), "preflight": looked.sentence, "parameters": _parameters(chosen), **cost_in_words(plan)}
    header = header_of("scan", subject, data.name, plan, details)
    # What needs no search comes before it, so that the search has all the time that is left.
    rng = np.random.default_rng([seed, 2])
    samples = judged_samples(subject, plan.oracle, Sampling(options.rate_rows, options.gate.confidence), rng, time_plan.for_rates())
    rules = where(samples, subject, np.random.default_rng([seed, 5]), time_plan.for_rules())
    view = inner_view(subject, samples[0], np.random.default_rng([seed, 11]), plan.question_seconds, time_plan.deadline)
    classes = _classes(subject, samples[0], options.rate_rows or DRAWN, np.random.default_rng([seed, 6]))
    searched = _search(chosen, subject, plan, options, Recording(header, time_plan.before_evidence(looked.patient.seconds)))
    found, names = searched.findings(len(subject.domain.columns)), outcome_names(plan.oracle, subject.model)
    ruling = _ruling(options.gate, samples[0].rate, searched, subject, classes)
    words = _exchanged(ruling, subject, plan.oracle)
    ruling = ruling.if_proven(doubt_about(words, options.gate.confidence))
    looked = looked.knowing(samples[0].rate.unfair if subject.rows is not None else 0)
    doubt = looked.drifted() or looked.doubt
    ruling = ruling.unless(searched.doubt).unless(looked.reserve).if_wired(doubt)
    hearing = Hearing(subject.domain, subject.model, plan.oracle, subject.medium, time_plan.for_evidence())
    witnesses = _evidence(samples[0].unfair, found, subject, hearing, options.most_witnesses)
    read = read_by_jury(witnesses, subject.medium, not time_plan.deadline.is_set, np.random.default_rng([seed, 12]))
    paths = view.paths(found, np.random.default_rng([seed, 10]), time_plan.deadline)
    return ScanResult(
        domain=subject.domain,
        model=model,
        runs=tuple(searched.runs),
        rates=tuple(each.rate for each in samples),
        witnesses=read.pairs,
        outcome=ruling.outcome,
        reason=ruling.reason,
        header=header,
        failures=searched.failures,
        folders=tuple(searched.folders),
        anytime=stream.as_dict() if stream is not None and stream.share.n else None,
        where=replace(rules, worst=_worst([*(each.unfair for each in samples), found], hearing, names)),
        outcomes=names,
        classes=classes,
        looked=looked.checks,
        severity=None if isinstance(subject.medium, Scenes) else samples[0].severity,
        notes=(
            *time_plan.notes(samples, searched.runs),
            *_notes(data, subject),
            *searched.happened(),
            *(each.sentence for each in words),
            *read.notes,
        ),
        wiring_doubt=doubt,
        unfair_rows=_unfair_rows(samples[0], subject),
        natural=_natural(subject, found, time_plan.deadline, np.random.default_rng([seed, 9])),
        inner=view.as_dict(paths),
    )


def _ruling(gate: Gate, rate: Rate, searched: _Searches, subject: Subject, classes: ClassMeasure | None) -> Ruling:
    """What the figures and the pairs say, before the wiring is thought of."""
    if classes is not None and gate.max_rate == 0.0:  # every recogniser loses something: what counts is whether one class is worse off
        ruling = gate.rule(classes.claim())
    else:
        ruling = gate.decide(rate, searched.distinct(subject), searched.everybody(subject))
    return ruling.if_proven(subject.medium.doubt) if isinstance(subject.medium, Doubtful) else ruling


def _exchanged(ruling: Ruling, subject: Subject, oracle: Oracle) -> Sequence[WordExchange]:
    """Of texts that are blamed, what an exchange of words that say nothing does to the answers."""
    if ruling.outcome != "violation":
        return ()
    return exchanges_of(subject.medium, Meter(subject.model), oracle, subject.domain, subject.rows)


def _notes(data: Data, subject: Subject) -> Iterator[str]:
    """What a reader should know of the data."""
    if isinstance(data, LargeDataset):
        yield data.note
    if left_out := getattr(subject.medium, "left_out", ""):
        yield left_out


def _chosen(methods: Sequence[str | Method], subject: Subject) -> list[Method]:
    """The methods; a single one that cannot work here is refused before anything is asked of the model."""
    chosen = [METHODS.make(m) if isinstance(m, str) else m for m in methods]
    if len(chosen) == 1:
        check_medium(chosen[0], subject.medium)
        check_ability(chosen[0], subject.model)
    return chosen


def _parameters(methods: Sequence[Method]) -> dict[str, Any]:
    """What each method was given, by its name."""
    return {name_of(method): dict(parameters(method)) for method in methods}


def _natural(subject: Subject, found: Findings, deadline: Deadline, rng: np.random.Generator) -> Typicality | None:
    """How likely findings are beside real rows; only where a row is made of columns, and where there is time for it."""
    if subject.rows is None or getattr(subject.medium, "is_listed", False) or subject.domain.numbers_things:
        return None
    if deadline.seconds_left < LIKELIHOOD_SECONDS * len(subject.domain.columns):
        return None
    some = found if len(found) <= MOST_ROWS else found[rng.choice(len(found), MOST_ROWS, replace=False)]
    return typicality(subject.rows, some.rows, subject.domain, rng)


def _unfair_rows(sample: JudgedSample, subject: Subject) -> tuple[int, ...] | None:
    """The positions of the unfair real rows, so that a later run can say which are new; None where not all were asked in their order."""
    if not sample.rate.whole or subject.rows is None or not sample.holds_in_order(subject.rows):
        return None
    marked = np.flatnonzero(sample.marks)
    return tuple(int(place) for place in marked) if len(marked) <= MOST_UNFAIR_ROWS else None


def _classes(subject: Subject, sample: JudgedSample, most: int, rng: np.random.Generator) -> ClassMeasure | None:
    """Of scenes, how classes of objects are treated, over all changes where these are not too many; None for other media."""
    if not isinstance(subject.medium, Scenes):
        return None
    every = subject.rows is not None and len(subject.rows) <= most
    return class_measure(Meter(subject.model), subject.rows if every else sample.rows, rng)


def _stream(subject: Subject, plan: Plan, options: Options) -> RateStream | None:
    """The rate that is measured while the search runs, from its own draws; None where it is not wanted."""
    if not options.stream_share or getattr(subject.medium, "is_listed", False):
        return None
    population = population_of(subject.population, subject.rows, subject.domain)
    share, rng = AnytimeShare(options.gate.confidence), np.random.default_rng([plan.seed, 4])
    return RateStream(population, subject.domain, subject.model, plan.oracle, rng, share, options.stream_share)


@dataclass(frozen=True)
class Recording:
    """What every run is written down under, and when the last one must have ended."""

    header: Header
    deadline: Deadline


def _search(methods: Sequence[Method], subject: Subject, plan: Plan, options: Options, recording: Recording) -> _Searches:
    """Every method's run; the failure of one of several does not end the others."""
    searched = _Searches()
    for left, method in zip(range(len(methods), 0, -1), methods, strict=True):
        folder = RunFolder.for_header(options.folder, _run_header(method, subject, plan, options, recording)) if options.folder else None
        timed = replace(plan, budget=timed_budget(plan.budget, recording.deadline.part(1 / left)))
        try:
            searched.runs.append(_one(method, subject, timed, folder, options))
        except EvenhandError as fault:
            if len(methods) == 1:
                raise
            searched.failures[name_of(method)] = str(fault)
        if folder:
            searched.folders.append(folder.path)
        if searched.is_interrupted:
            break
    return searched


def _makes_pictures(method: Method, subject: Subject) -> bool:
    """Whether the method adds what it makes to the medium: such rows are numbered as they come, so one search makes them all."""
    return isinstance(subject.medium, Growing) and bool(media_of(method))


def _run_header(method: Method, subject: Subject, plan: Plan, options: Options, recording: Recording) -> dict[str, Any]:
    """What fixes a run; one that is made in shards is another than one that is not."""
    fixed = recording.header.for_run(method)
    return (
        fixed
        if options.executor is None or _makes_pictures(method, subject)
        else {**fixed, "shards": shard_count(plan.budget, getattr(options.executor, "workers", 1))}
    )


def _one(method: Method, subject: Subject, plan: Plan, folder: RunFolder | None, options: Options) -> Run:
    """A run, kept in its folder when it has one.  The header makes a repeated run equal, so it is replayed from its journal."""
    if folder is None:
        return _made(method, subject, plan, folder, options)
    with folder.locked():
        if folder.journal() is not None or (folder.path / "shards").exists():
            folder.log("resumed")
        finished = _made(method, subject, plan, folder, options)
        if finished.ended == "interrupted":
            folder.log("interrupted", f"{finished.ledger.candidates} candidates")
        elif folder.result is None:
            if "shards" in finished.facts:
                write_findings(folder, finished, subject.domain, outcome_names(plan.oracle, subject.model))
            folder.finish(finished.as_dict())
    return finished


def _made(method: Method, subject: Subject, plan: Plan, folder: RunFolder | None, options: Options) -> Run:
    """By whoever works."""
    if options.executor is None or _makes_pictures(method, subject):
        return run(method, subject, plan, folder, options.watch)
    return sharded_run(method, subject, plan, options.executor, folder, options.watch)


def where(samples: Sequence[JudgedSample], subject: Subject, rng: np.random.Generator, deadline: Deadline = NEVER) -> Rules:
    """Rules for where unfair treatment concentrates, in the most realistic population that shows enough of it."""
    medium = subject.medium if isinstance(subject.medium, Describing) else None
    domain = medium.description if medium else subject.domain
    # Numbered things are described once each: drawn again and again, one of them would look like a rule.
    told = samples[:1] if medium else samples
    judged = [JudgedRows(medium.described(each.rows) if medium else each.rows, each.marks, each.rate.population) for each in told]
    mined = [mine_in_time(judged[0], domain, rng, deadline.part(1 / len(judged)))]
    mined += [mine_in_time(each, domain, rng, deadline) for each in judged[1:]] if not mined[0].rules else []
    return next((rules for rules in mined if rules.rules), mined[0])


def _worst(seen: Sequence[Findings], hearing: Hearing, names: Sequence[Any]) -> dict[str, Any]:
    """The pair with the widest gap of scores among all that were seen."""
    if not any(len(found) for found in seen):
        return {}
    found = max((found for found in seen if len(found)), key=lambda found: float(found.gap.max()))
    worst = found[[int(np.argmax(found.gap))]]
    pair, labels = (worst.rows[0], worst.twins[0]), worst.said(0, names)
    if isinstance(hearing.oracle, LabelFlip | ScoreGap) and len(hearing.domain.combinations) > 2:
        # A finding shows the row itself and one twin, while its gap is that of the furthest two of all its twins.
        apart = twins_of(worst.rows, hearing.domain).ask(hearing.model).furthest()
        pair, labels = (apart.rows[0], apart.partners[0]), (names[apart.labels[0, 0]], names[apart.labels[0, 1]])
    cells = [{c.name: c.value(code) for c, code in zip(hearing.domain.columns, row, strict=True)} for row in pair]
    return {"person": cells[0], "twin": cells[1], "outcome": labels[0], "twin_outcome": labels[1], "gap": float(worst.gap[0])}


def _evidence(real: Findings, found: Findings, subject: Subject, hearing: Hearing, most: int) -> list[witness.Witness]:
    """Witnesses for people to look at: real rows for one half, the methods' findings for the other."""
    real = real if subject.rows is not None else Findings.none(len(subject.domain.columns))
    shown_real = witness.select(real, subject.domain, max(most // 2, most - len(found)))
    shown_found = witness.select(found, subject.domain, most - len(shown_real))
    evidence = Findings.join([real[shown_real], found[shown_found]], len(subject.domain.columns))
    return witness.witnesses_of(evidence, subject.rows, hearing)
