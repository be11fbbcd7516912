"""compare(): is the second better or worse than the first, which pairs are new, and which are gone?  Of more than two: how did it go?

Two models are asked about the same rows, so that every row is its own control; of two results only the rates' intervals are known.
Of scenes the verdicts on classes of objects are compared: every recogniser loses something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Mask
from evenhand.campaign.class_changes import ClassChange, class_changes, classes_claim
from evenhand.claims import Claim, Span
from evenhand.contract import Model, Outcome, Result, population_words
from evenhand.engine import witness
from evenhand.engine.findings import findings_of
from evenhand.engine.gate import Gate, checks_of
from evenhand.engine.header import COMMAND, Header, header_of, kind_of
from evenhand.engine.result import Telling, result_dict
from evenhand.engine.shrunk_findings import Hearing
from evenhand.engine.subject import Data, Plan, Subject, oracle_for, subject_of
from evenhand.errors import DataError, InvalidArgument
from evenhand.limits import ConfidenceLevel, Count, ShareBelowOne, check_limits
from evenhand.measures.rates import DRAWN, Sample, judge_all, rate_of, real_sample, uniform_sample
from evenhand.measures.studies.classes import class_measure
from evenhand.media.scenes import Scenes
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.models.readings import reading_of, readings_told
from evenhand.oracles import OracleChoice
from evenhand.report.rendered import Rendered
from evenhand.statistics.intervals import clopper_pearson
from evenhand.verbs.compare_series import SeriesResult, SeriesTerms, doubted_in, point_of, reading_in, series_of_results

if TYPE_CHECKING:
    import pandas as pd

MOST_WITNESSES = 12
"""Pairs of each kind that are shown."""


@dataclass(frozen=True)
class CompareOptions:
    """How two are compared.

    oracle: what decides that an input is treated unfairly: a name or an oracle; None takes what fits the model's answers.
    rate_rows: people judged in each population, the same for both models; None for 10,000, and for all real rows where they can be.
    confidence: of every interval.
    tolerance: by how much the rate may rise without being worse.

    >>> CompareOptions(rate_rows=2_000, tolerance=0.01).confidence
    0.95
    """

    oracle: OracleChoice | None = None
    rate_rows: Count | None = None
    confidence: ConfidenceLevel = 0.95
    tolerance: ShareBelowOne = 0.001

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True)
class RateChange:
    """The rate in one population, before and after, and the difference with its interval."""

    population: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    n: int

    @property
    def verdict(self) -> str:
        """Better, worse, or not shown."""
        return "better" if self.high < 0 else "worse" if self.low > 0 else "not shown"

    @property
    def claim(self) -> Claim:
        """That the rate has fallen."""
        told = {word: self.sentence if self.verdict == word else "" for word in ("worse", "not shown")}
        return Claim(f"rate in {self.population}", told["worse"], told["not shown"], self.sentence)

    @property
    def sentence(self) -> str:
        """For a reader."""
        told = f"{self.before:.2%} before, {self.after:.2%} after: {100 * self.difference:+.2f} points"
        return f"Rate among {population_words(self.population)}: {told} ({100 * self.low:+.2f} to {100 * self.high:+.2f}); {self.verdict}."


@dataclass(frozen=True)
class ComparedWitnesses:
    """Pairs by what became of them: only the second treats the new ones differently, only the first the gone ones."""

    new: tuple[Mapping[str, Any], ...] = ()
    gone: tuple[Mapping[str, Any], ...] = ()
    kept: tuple[Mapping[str, Any], ...] = ()

    @property
    def sentence(self) -> str:
        """For a reader."""
        return f"Pairs: {len(self.new)} new, {len(self.gone)} gone, {len(self.kept)} as before."


@dataclass(frozen=True, repr=False)
class CompareResult(Rendered):
    """What has changed from the first to the second."""

    header: Header
    changes: tuple[RateChange, ...]
    witnesses: ComparedWitnesses
    outcome: Outcome
    reason: str
    classes: tuple[ClassChange, ...] = ()  # of scenes, what became of each class of objects
    is_same: bool = False  # whether nothing can have changed: one model, and every row is judged as before
    wiring_doubt: str = ""  # why one of the two may not have been asked what it should be

    def summary(self) -> str:
        """A few lines for a person."""
        lines = [f"{self.outcome.upper()}: {self.reason}.", *(change.sentence for change in self.changes), self.witnesses.sentence]
        lines += self._model_changed
        lines += [f"{change.claim.holds}." for change in self.classes]
        for word, pairs in (("new ", self.witnesses.new), ("gone", self.witnesses.gone)):
            lines += [f"{word} {pair['id']}  {_sentence(pair)}" for pair in pairs[:5]]
        return "\n".join(lines)

    @property
    def _model_changed(self) -> list[str]:
        """That two results are of different models, an endpoint that was changed being one; nothing where it is not known."""
        first = (self.header.details.get("first") or {}).get("digest")
        now = (self.header.model or {}).get("digest")
        return [f"The model changed: {first} before, {now} after."] if first and now and first != now else []

    def frame(self) -> pd.DataFrame:
        """One row for each population."""
        import pandas as pd

        return pd.DataFrame([asdict(change) | {"verdict": change.verdict} for change in self.changes])

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        claims = [Claim("rate", holds=self.reason)] if self.is_same else [each.claim for each in self.classes or self.changes]
        checks = checks_of(claims, self.wiring_doubt)
        marked = {"new": self.witnesses.new, "gone": self.witnesses.gone}
        pairs = [{**pair, "method": f"{word}: {pair.get('method', '')}".rstrip(": ")} for word, each in marked.items() for pair in each]
        told = [*(change.sentence for change in self.changes), self.witnesses.sentence, *self._model_changed]
        ids = {word: [pair["id"] for pair in getattr(self.witnesses, word)] for word in ("new", "gone", "kept")}
        body = {"changes": [asdict(change) | {"verdict": change.verdict} for change in self.changes], "pairs": ids}
        body |= {"classes": [asdict(change) for change in self.classes], "wiring_doubt": self.wiring_doubt}
        return result_dict(self, Telling(told, checks, pairs, body))


def compare(
    first: Model | Result | Mapping[str, Any] | str | Path,
    second: Model | Result | Mapping[str, Any] | str | Path,
    data: Data | None = None,
    *,
    protected: Sequence[str] | None = None,
    seed: int = 0,
    options: CompareOptions | None = None,
) -> CompareResult:
    """Whether the second is better or worse than the first; `compare_over_time` takes more than two.

    first, second: two models, with `data` to ask them about; or two results of `scan` (as returned, as dictionaries, or as files).
    protected: columns instead of the data's own.  seed: of the people that are drawn.  options: oracle, sample size, tolerance.

    >>> import evenhand as eh
    >>> data = eh.open("credit", protected=["age"])
    >>> model = eh.wrap(lambda frame: 50 + frame["age"] - frame["duration"], data, returns="score", threshold=60)
    >>> milder = eh.wrap(lambda frame: 150 - 0.2 * frame["age"] - frame["duration"], data, returns="score", threshold=120)
    >>> eh.compare(milder, model, data).outcome
    'violation'
    """
    options = options or CompareOptions()
    if isinstance(first, Model) and isinstance(second, Model):
        if data is None:
            raise InvalidArgument("data: two models need data to be asked about; pass what evenhand.open returns")
        return _models(subject_of(first, data, protected), second, data.name, seed, options)
    if isinstance(first, Model) or isinstance(second, Model):
        raise InvalidArgument("first and second must be two models or two results; one of each cannot be compared")
    return _results(_content(first), _content(second), options)


def compare_over_time(
    results: Sequence[Result | Mapping[str, Any] | str | Path],
    *,
    names: Sequence[str] | None = None,
    options: CompareOptions | None = None,
) -> SeriesResult:
    """How a rate went over several results of one thing, the oldest first, and whether the newest is worse.

    results: of `scan`, `measure` or `gate`, as returned, as dictionaries, or as files.  names: what each is called; files have their own.
    options: tolerance and confidence, which is that of all comparisons together: each is compared with the one before and with the first.

    >>> def told(unfair, date):
    ...     rate = {"estimate": unfair / 1000, "low": 0, "high": 1, "n": 1000, "unfair": unfair, "population": "data", "confidence": 0.95}
    ...     return {"evenhand_result": 2, "verb": "scan", "outcome": "violation", "reason": "", "header": {"date": date},
    ...             "witnesses": [], "body": {"rates": [rate]}}
    >>> compare_over_time([told(20, "2026-01-01"), told(25, "2026-02-01"), told(90, "2026-03-01")]).outcome
    'violation'
    """
    if len(results) < 2:
        raise InvalidArgument(f"results: a series has at least two; got {len(results)}")
    options = options or CompareOptions()
    contents = [_content(each) for each in results]
    called = names or [_series_name(each, content) for each, content in zip(results, contents, strict=True)]
    if len(called) != len(contents):
        raise InvalidArgument(f"names: {len(contents)} results need as many names; got {len(called)}")
    return series_of_results(contents, called, SeriesTerms(options.confidence, options.tolerance))


def _series_name(given: Any, content: Mapping[str, Any]) -> str:
    """A file's own name, else the day and the model."""
    if isinstance(given, str | Path):
        return str(given)
    header = content["header"]
    return " ".join(str(part) for part in (header.get("date"), (header.get("model") or {}).get("digest")) if part) or "a result"


def _models(subject: Subject, second: Model, data: str, seed: int, options: CompareOptions) -> CompareResult:
    """Both models about the same rows."""
    plan = Plan(seed, Budget(model_rows=options.rate_rows or DRAWN), oracle_for(subject, options.oracle))
    rng = np.random.default_rng([seed, 2])
    samples = [real_sample(subject.rows, options.rate_rows, subject.domain, subject.model, rng)] if subject.rows is not None else []
    samples.append(uniform_sample(subject.domain, options.rate_rows or DRAWN, rng))
    judged = [_judged(sample, subject, second, plan, options) for sample in samples]
    details = {"second": {"kind": kind_of(second), "digest": second.fingerprint()}, "tolerance": options.tolerance}
    header = header_of("compare", subject, data, plan, details)
    reading = readings_told((("first", reading_of(subject.model)), ("second", reading_of(second))))
    header = replace(header, details={**header.details, "reading": reading})
    changes = tuple(each.change for each in judged)
    classes = _classes(subject, second, seed)
    is_same = judged[0].is_unmoved and subject.model.fingerprint() == second.fingerprint()
    ruling = Gate.rule(classes_claim(classes) if classes and not is_same else _claim(changes[0], options, is_same=is_same))
    return CompareResult(header, changes, judged[0].witnesses, ruling.outcome, ruling.reason, classes, is_same)


def _classes(subject: Subject, second: Model, seed: int) -> tuple[ClassChange, ...]:
    """Of scenes, both recognisers' verdicts on every class of objects; nothing for other media."""
    if not isinstance(subject.medium, Scenes):
        return ()
    told = [class_measure(Meter(each), subject.rows, np.random.default_rng([seed, 6])) for each in (subject.model, second)]
    return class_changes(*(checks_of(each.claims()) for each in told))


@dataclass(frozen=True)
class _Judged:
    """One population: the change of the rate, and pairs that show it."""

    change: RateChange
    witnesses: ComparedWitnesses
    is_unmoved: bool  # whether every row of the data was asked, and none is judged otherwise by the second


def _judged(sample: Sample, subject: Subject, second: Model, plan: Plan, options: CompareOptions) -> _Judged:
    domain, oracle = subject.domain, plan.oracle
    before = judge_all(sample.rows, domain, Meter(subject.model), oracle)
    after = judge_all(sample.rows, domain, Meter(second), oracle)
    rates = [rate_of(verdict, sample.population, options.confidence).interval for verdict in (before, after)]
    only = {"new": after.unfair & ~before.unfair, "gone": before.unfair & ~after.unfair, "kept": before.unfair & after.unfair}
    low, high = paired_difference(only["new"], only["gone"], options.confidence)
    change = RateChange(
        sample.population, rates[0].estimate, rates[1].estimate, rates[1].estimate - rates[0].estimate, low, high, rates[0].n
    )
    shown = {}
    for word, mask in only.items():
        verdict, model = (before, subject.model) if word == "gone" else (after, second)
        every = findings_of(sample.rows, verdict, domain, np.arange(len(sample.rows)), sample.population)
        found = every[np.isin(every.candidate, np.flatnonzero(mask))]
        chosen = found[witness.select(found, domain, MOST_WITNESSES)]
        shown[word] = tuple(asdict(each) for each in witness.witnesses_of(chosen, None, Hearing(domain, model, oracle)))
    return _Judged(change, ComparedWitnesses(**shown), sample.is_whole and not (only["new"] | only["gone"]).any())


def paired_difference(new: Mask, gone: Mask, confidence: float) -> tuple[float, float]:
    """Bounds on the change of a share, from rows judged twice: exact bounds on the share of the rows that changed which got worse.

    Conditional on how many rows changed, a row that changed got worse with some probability p; the difference of the shares is
    (2p - 1) times the share that changed.  The share that changed is bounded too, each part at half of the error that is allowed.
    """
    n, worse, changed = len(new), int(new.sum()), int(new.sum() + gone.sum())
    if not n or not changed:
        most = clopper_pearson(0, max(n, 1), confidence).high if n else 1.0
        return -most, most
    each = 1 - (1 - confidence) / 2
    share, direction = clopper_pearson(changed, n, each), clopper_pearson(worse, changed, each)
    lean = 2 * direction.low - 1, 2 * direction.high - 1
    low = lean[0] * (share.low if lean[0] > 0 else share.high)
    high = lean[1] * (share.high if lean[1] > 0 else share.low)
    return low, high


def _content(given: Model | Result | Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    """A result as its dictionary, checked."""
    from evenhand.report import load
    from evenhand.report.record import read

    if isinstance(given, str | Path):
        path = Path(given)
        return load(path / "result.json" if path.is_dir() else path)
    content = given.as_dict() if isinstance(given, Result) else given
    if not isinstance(content, Mapping):
        raise InvalidArgument(f"first and second must be models, results, or files of results; got a {type(given).__name__}")
    read(content)
    return content


def _results(first: Mapping[str, Any], second: Mapping[str, Any], options: CompareOptions) -> CompareResult:
    """Two results by their rates' intervals and their witnesses."""
    _check_comparable(first, second)
    rates = [{rate["population"]: rate for rate in content["body"].get("rates", ())} for content in (first, second)]
    changes = tuple(_change(rates[0][name], rates[1][name]) for name in rates[0] if name in rates[1])
    if not changes:
        raise DataError("the two results measured no rate in the same population, so that nothing can be compared")
    reading = readings_told(zip(("first", "second"), (reading_in(first), reading_in(second)), strict=True))
    header = Header(**{
        **second["header"], "verb": "compare", "command": COMMAND.get(),
        "details": {"first": first["header"].get("model"), "tolerance": options.tolerance, "reading": reading},
    })  # fmt: skip
    before, after = ({pair["id"]: pair for pair in content["witnesses"]} for content in (first, second))
    pairs = ComparedWitnesses(
        tuple(pair for name, pair in after.items() if name not in before),
        tuple(pair for name, pair in before.items() if name not in after),
        tuple(pair for name, pair in after.items() if name in before),
    )
    points = [point_of(content, "", changes[0].population) for content in (first, second)]
    is_same = first == second or points[1].is_as_before(points[0])
    classes = class_changes(*(content["body"].get("studies", {}).get("classes", {}).get("checks", ()) for content in (first, second)))
    doubt = doubted_in((first, second), ("the first", "the second"))
    claim = classes_claim(classes) if classes and not is_same else _claim(changes[0], options, is_same=is_same)
    ruling = Gate.rule(claim).if_wired(doubt)
    return CompareResult(header, changes, pairs, ruling.outcome, ruling.reason, classes, is_same, doubt)


def _check_comparable(first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
    for part, field in (("domain", "digest"), ("data", "digest"), ("domain", "protected")):
        values = [content["header"].get(part, {}).get(field) for content in (first, second)]
        if None not in values and values[0] != values[1]:
            raise DataError(
                f"the two results differ in their {part} ({field} {values[0]} and {values[1]}); only results on one {part} can be compared"
            )
    if first["header"].get("oracle") != second["header"].get("oracle"):
        raise DataError(f"the two results have different oracles: {first['header'].get('oracle')} and {second['header'].get('oracle')}")


def _change(before: Mapping[str, Any], after: Mapping[str, Any]) -> RateChange:
    """Newcombe's interval for the difference of two independent shares, from their own intervals."""
    (p, low, high), (q, floor, ceiling) = ((rate["estimate"], rate["low"], rate["high"]) for rate in (before, after))
    down, up = float(np.hypot(q - floor, high - p)), float(np.hypot(ceiling - q, p - low))
    return RateChange(before["population"], p, q, q - p, q - p - down, q - p + up, min(before["n"], after["n"]))


def _claim(change: RateChange, options: CompareOptions, *, is_same: bool) -> Claim:
    """That the rate does not rise, in the most realistic population.  is_same: nothing can have changed, so there is nothing to bound."""
    if is_same:
        return Claim("rate", holds=f"both are of one and the same model, and each of the {change.n:,} rows asked is judged as before")
    people, low, high = f"the rate among {population_words(change.population)}", 100 * change.low, 100 * change.high
    fall = f"falls by at least {-high:.2f} points" if high < 0 else f"rises by at most {high:.2f} points"
    between = f"{people} changes by {low:+.2f} to {high:+.2f} points, which may be more than the tolerated {100 * options.tolerance:.2f}"
    return Claim(
        "rate",
        f"{people} rises by at least {low:.2f} points",
        f"{between}; judge more people, or tolerate more",
        f"{people} {fall}",
        (Span(change.low, change.high, options.tolerance),),
    )


def _sentence(pair: Mapping[str, Any]) -> str:
    differing = [name for name in pair["person"] if pair["person"][name] != pair["twin"].get(name)]
    change = ", ".join(f"{name} {pair['person'][name]!r} to {pair['twin'][name]!r}" for name in differing)
    return f"{change}: {pair['outcome']!r} becomes {pair['twin_outcome']!r}"
