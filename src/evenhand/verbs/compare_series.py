"""Three results or more as one series, the oldest first: how the rate went, which steps are shown, and whether the newest is worse.

Each is compared with the one before and with the first.  All intervals hold together: the error that is allowed is shared among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from evenhand.claims import Claim, Span
from evenhand.contract import Outcome, population_words
from evenhand.engine.gate import Gate, checks_of
from evenhand.engine.header import COMMAND, Header
from evenhand.engine.result import Telling, result_dict
from evenhand.errors import DataError
from evenhand.models.readings import readings_told
from evenhand.report.rendered import Rendered
from evenhand.statistics.intervals import Interval, clopper_pearson
from evenhand.statistics.share_change import ShareChange, TwiceJudged, independent_change

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SeriesPoint:
    """One result of a series: its rate in one population, and what the model, the data and the pairs were."""

    name: str
    date: str
    model: str
    unfair: int
    judged: int
    data: str | None = None  # the digest of the rows
    rows: frozenset[int] | None = None  # the unfair rows among them, where every one was asked
    pairs: frozenset[str] = frozenset()
    is_whole: bool = False  # whether every row of the data was asked
    draw: str = ""  # equal where the same rows were drawn: seed, domain and version; empty where that is not known

    def rate(self, confidence: float) -> Interval:
        """The share of unfair rows."""
        return clopper_pearson(self.unfair, self.judged, confidence)

    def is_of_same(self, other: SeriesPoint) -> bool:
        """Whether model and data have the same digests, which are often only of the answers to a few hundred fixed rows."""
        return bool(self.model and self.data) and (self.model, self.data) == (other.model, other.data)

    def is_as_before(self, other: SeriesPoint) -> bool:
        """Whether the digests are the same and every row, asked both times, is judged the same: then the rate has not moved at all."""
        is_equal = (self.judged, self.unfair, self.rows) == (other.judged, other.unfair, other.rows)
        return self.is_of_same(other) and self.is_whole and other.is_whole and is_equal

    def _drew_the_same(self, other: SeriesPoint) -> bool:
        """Whether a model with the same digest was asked about the same drawn rows, and as many of them are unfair."""
        is_equal = (self.judged, self.unfair) == (other.judged, other.unfair)
        return self.is_of_same(other) and bool(self.draw) and self.draw == other.draw and is_equal

    def change_to(self, later: SeriesPoint, confidence: float) -> ShareChange:
        """What has changed; row by row where both asked every one of the same rows, or drew the same and nothing moved."""
        if self._drew_the_same(later):
            bounds = TwiceJudged(self.judged, 0, 0).bounds(confidence)
            return ShareChange(self.unfair / self.judged, later.unfair / later.judged, bounds.low, bounds.high)
        if self.rows is None or later.rows is None or self.data is None or self.data != later.data:
            return independent_change(self.rate(confidence), later.rate(confidence))
        twice = TwiceJudged(self.judged, len(later.rows - self.rows), len(self.rows - later.rows))
        bounds = twice.bounds(confidence)
        return ShareChange(self.unfair / self.judged, later.unfair / later.judged, bounds.low, bounds.high)


@dataclass(frozen=True)
class SeriesStep:
    """A result of the series beside the one before and the first; None where there is no earlier one."""

    point: SeriesPoint
    since_before: ShareChange | None
    since_first: ShareChange | None
    new_pairs: int = 0
    gone_pairs: int = 0

    def told(self, confidence: float) -> dict[str, Any]:
        """For JSON."""
        rate = self.point.rate(confidence)
        return {
            **{name: getattr(self.point, name) for name in ("name", "date", "model", "unfair")},
            "estimate": rate.estimate,
            "low": rate.low,
            "high": rate.high,
            "n": rate.n,
            "since_before": _told(self.since_before),
            "since_first": _told(self.since_first),
            "new_pairs": self.new_pairs,
            "gone_pairs": self.gone_pairs,
        }


def _told(change: ShareChange | None) -> dict[str, Any] | None:
    return None if change is None else {**asdict(change), "difference": change.difference, "verdict": change.verdict}


@dataclass(frozen=True, repr=False)
class SeriesResult(Rendered):
    """How a rate went over several results, and whether the newest is worse than the first or than the one before."""

    header: Header
    population: str
    steps: tuple[SeriesStep, ...]
    confidence: float
    tolerance: float
    notes: tuple[str, ...] = ()
    witnesses: tuple[Mapping[str, Any], ...] = ()  # that the newest has and the one before has not
    wiring_doubt: str = ""  # why the model of one of them may not have been asked what it should be

    @property
    def outcome(self) -> Outcome:
        """A violation where the newest is shown to be worse."""
        return Gate.rule(self.claim).if_wired(self.wiring_doubt).outcome

    @property
    def reason(self) -> str:
        """Why."""
        return Gate.rule(self.claim).if_wired(self.wiring_doubt).reason

    @property
    def newest(self) -> dict[str, ShareChange]:
        """The changes that decide, by what they are measured from; where every row is judged as before, there is none."""
        last, first, before = self.steps[-1], self.steps[0], self.steps[-2]
        changes = (("the first", first, last.since_first), ("the one before", before, last.since_before))
        return {name: each for name, other, each in changes if each is not None and not last.point.is_as_before(other.point)}

    @property
    def claim(self) -> Claim:
        """That the newest is no worse than the first, and no worse than the one before."""
        if not self.newest:
            every = f"each of the {self.steps[-1].point.judged:,} rows is judged as before"
            return Claim("newest", holds=f"the newest is of the same model as the first and the one before, and {every}")
        spans = tuple(Span(each.low, each.high, self.tolerance) for each in self.newest.values())
        worse = [f"{name} by at least {100 * each.low:.2f} points" for name, each in self.newest.items() if each.low > self.tolerance]
        most = max(each.high for each in self.newest.values())
        rate = f"the newest rate among {population_words(self.population)}"
        return Claim(
            "newest",
            f"{rate} is above {' and '.join(worse)}",
            f"{rate} may be up to {100 * most:.2f} points higher, more than the tolerated {100 * self.tolerance:.2f}; "
            "judge more people, or tolerate more",
            f"{rate} is at most {100 * max(most, 0.0):.2f} points above {' and '.join(self.newest)}",
            spans,
        )

    def sentences(self) -> list[str]:
        """For a reader: the newest first, then the steps that are shown."""
        first, last = self.steps[0].point.rate(self.confidence), self.steps[-1].point.rate(self.confidence)
        told = [f"From {first.estimate:.2%} at first to {last.estimate:.2%} over {len(self.steps)} results."]
        for place, step in enumerate(self.steps[1:], 2):
            if step.since_before is not None and step.since_before.verdict != "not shown":
                told.append(f"Result {place}, {step.point.name}: {step.since_before.sentence}.")
        return told if len(told) > 1 else [*told, "No single step is shown to be better or worse than the one before."]

    def summary(self) -> str:
        """A few lines for a person."""
        lines = [f"{self.outcome.upper()}: {self.reason}.", *self.sentences()]
        for place, step in enumerate(self.steps, 1):
            rate = step.point.rate(self.confidence)
            lines.append(f"{place:>3}  {rate.estimate:7.2%}  ({rate.low:.2%} to {rate.high:.2%}, n = {rate.n:,})  {step.point.name}")
        return "\n".join([*lines, *self.notes])

    def frame(self) -> pd.DataFrame:
        """One row for each result."""
        import pandas as pd

        return pd.json_normalize([step.told(self.confidence) for step in self.steps], sep="_")

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        changes = [{"name": f"Since {name}", "population": self.population, **(_told(each) or {})} for name, each in self.newest.items()]
        series = {"population": self.population, "confidence": self.confidence, "steps": [s.told(self.confidence) for s in self.steps]}
        body = {"changes": changes, "series": series, "notes": list(self.notes), "wiring_doubt": self.wiring_doubt}
        pairs = [{**pair, "method": f"new: {pair.get('method', '')}".rstrip(": ")} for pair in self.witnesses]
        return result_dict(self, Telling(self.sentences(), checks_of([self.claim], self.wiring_doubt), pairs, body))


@dataclass(frozen=True)
class SeriesTerms:
    """Confidence of all intervals together, and by how much the rate may rise."""

    confidence: float
    tolerance: float


def steps_of(points: Sequence[SeriesPoint], confidence: float) -> tuple[SeriesStep, ...]:
    """Every result beside the one before and the first, with the error shared among all comparisons."""
    each = 1 - (1 - confidence) / max(1, 2 * len(points) - 3)  # the second result's two comparisons are one
    found = [SeriesStep(points[0], None, None)]
    for before, point in pairwise(points):
        change, since_first = before.change_to(point, each), points[0].change_to(point, each)
        found.append(SeriesStep(point, change, since_first, len(point.pairs - before.pairs), len(before.pairs - point.pairs)))
    return tuple(found)


def series_of_results(contents: Sequence[Mapping[str, Any]], names: Sequence[str], terms: SeriesTerms) -> SeriesResult:
    """Results of one thing as a series, by the rate of the first population that all have measured."""
    _check_alike(contents)
    population = _shared_population(contents)
    points = [point_of(content, name, population) for content, name in zip(contents, names, strict=True)]
    reading = readings_told(zip(names, (reading_in(content) for content in contents), strict=True))
    header = Header(**{
        **contents[-1]["header"], "verb": "compare", "command": COMMAND.get(),
        "details": {"results": len(points), "tolerance": terms.tolerance, "reading": reading},
    })  # fmt: skip
    before = {pair["id"] for pair in contents[-2]["witnesses"]}
    new = tuple(pair for pair in contents[-1]["witnesses"] if pair["id"] not in before)
    steps = steps_of(points, terms.confidence)
    doubt = doubted_in(contents, names)
    return SeriesResult(header, population, steps, terms.confidence, terms.tolerance, _notes(contents), new, doubt)


def doubted_in(contents: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """The first doubt about the wiring that one of these results tells of, with its name; empty without any."""
    doubts = ((name, content["body"].get("wiring_doubt")) for name, content in zip(names, contents, strict=True))
    return next((f"of {name}, {doubt}" for name, doubt in doubts if doubt), "")


def reading_in(content: Mapping[str, Any]) -> str:
    """How the answers were read that a result is about; empty where it does not say."""
    return str(content["header"].get("details", {}).get("reading") or "")


def point_of(content: Mapping[str, Any], name: str, population: str) -> SeriesPoint:
    """What a series needs to know of a result."""
    header, body = content["header"], content["body"]
    rate = next(each for each in body["rates"] if each["population"] == population)
    unfair = rate["unfair"] if rate.get("unfair") is not None else round(rate["estimate"] * rate["n"])
    rows = body.get("unfair_rows") if population == "data" and rate.get("whole") else None
    return SeriesPoint(
        name,
        str(header.get("date") or ""),
        str((header.get("model") or {}).get("digest") or ""),
        int(unfair),
        int(rate["n"]),
        (header.get("data") or {}).get("digest"),
        None if rows is None else frozenset(rows),
        frozenset(str(pair["id"]) for pair in content["witnesses"]),
        population == "data" and bool(rate.get("whole")),
        _draw(header),
    )


def _draw(header: Mapping[str, Any]) -> str:
    """What fixes the rows that were drawn; empty where a part of it is not known."""
    parts = (header.get("seed"), (header.get("domain") or {}).get("digest"), header.get("evenhand"))
    return "" if None in parts else ":".join(map(str, parts))


def _shared_population(contents: Sequence[Mapping[str, Any]]) -> str:
    """The first population whose rate all results have measured."""
    measured = [[rate["population"] for rate in content["body"].get("rates", ()) if rate.get("n")] for content in contents]
    shared = [name for name in measured[-1] if all(name in each for each in measured)]
    if not shared:
        raise DataError("the results measured no rate in the same population, so that nothing can be compared")
    return str(shared[0])


def _check_alike(contents: Sequence[Mapping[str, Any]]) -> None:
    """What makes a series of different things."""
    for word, values in (
        ("protected columns", [content["header"].get("domain", {}).get("protected") for content in contents]),
        ("oracles", [content["header"].get("oracle") for content in contents]),
        ("media", [content["header"].get("medium", {}).get("kind") for content in contents]),
    ):
        different = list(dict.fromkeys(str(value) for value in values))
        if len(different) > 1:
            raise DataError(f"the results have different {word}: {' and '.join(different)}; a series is of one thing over time")


def _notes(contents: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What a reader of a series must know: over time the data changes too."""
    digests = {part: {content["header"].get(part, {}).get("digest") for content in contents} for part in ("data", "domain")}
    changed = [word for word, each in (("data", digests["data"]), ("domain", digests["domain"])) if len(each) > 1]
    if not changed:
        return ()
    return (f"The {' and the '.join(changed)} changed within the series, so that a change of the rate may be theirs and not the model's.",)
