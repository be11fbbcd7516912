"""The one policy: what a project demands of its model, judged on results; behind Python, the command line and pytest alike.

Thresholds are engineering tolerances, not legal limits.  A baseline forgives what was so before, a waiver what somebody answers for.
Reads results as dictionaries and asks no model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any, Literal

from evenhand.claims import Claim, Span
from evenhand.contract import Outcome
from evenhand.engine.baseline import Baseline
from evenhand.engine.gate import UNDECIDED, Gate, Ruling
from evenhand.errors import InvalidArgument
from evenhand.limits import ShareBelowOne, check_limits
from evenhand.measures.rates import Rate
from evenhand.statistics.intervals import Interval

Standing = Literal["", "known", "waived", "waiver expired"]
"""What takes a violation's force away, or no longer does."""

MOST_NAMED = 3


@dataclass(frozen=True)
class GroupLimit:
    """What is tolerated in one group measure: at most so much of a gap, or at least so much of a ratio.

    metric: as `measure` names it, such as statistical_parity or disparate_impact.  by: an attribute; None for every one.

    >>> GroupLimit("disparate_impact", least=0.8).names({"metric": "disparate_impact", "attribute": "sex"})
    True
    """

    metric: str
    most: float | None = None
    least: float | None = None
    by: str | None = None

    def __post_init__(self) -> None:
        if (self.most is None) == (self.least is None):
            raise InvalidArgument(f"gate groups {self.metric}: give `most` or `least`, one of the two")

    def names(self, figure: Mapping[str, Any]) -> bool:
        """Whether it is about this figure."""
        return figure.get("metric") == self.metric and self.by in (None, figure.get("attribute"))


@dataclass(frozen=True)
class Waiver:
    """Somebody answers for a violation until a day, which counts.

    of: the id of a witness, or a condition's name as the gate prints it: "rate", "statistical_parity by sex", "class person".

    >>> Waiver("rate", "Ada", "retraining is under way", date(2030, 1, 31)).holds(date(2030, 1, 31))
    True
    """

    of: str
    owner: str
    reason: str
    expires: date

    def __post_init__(self) -> None:
        for name in ("of", "owner", "reason"):
            if not str(getattr(self, name)).strip():
                raise InvalidArgument(f"waiver {name}={getattr(self, name)!r} must not be empty: a waiver says what, who and why")

    def holds(self, today: date) -> bool:
        """Whether it is still good on this day."""
        return today <= self.expires

    @property
    def sentence(self) -> str:
        """For a reader."""
        return f"waived by {self.owner} until {self.expires.isoformat()}: {self.reason}"


@dataclass(frozen=True)
class Worded:
    """What is said of an interval that lies beyond what is tolerated, on both sides of it, or within."""

    beyond: str
    between: str
    inside: str

    def within(self, low: float, high: float, tolerated: float) -> Ruling:
        """What the gate says of where the interval lies."""
        return Gate.rule(Claim("interval", self.beyond, self.between, self.inside, (Span(low, high, tolerated),)))


@dataclass(frozen=True)
class Held:
    """One condition, held against a result: its outcome, the interval that decided, and what became of a violation."""

    name: str
    outcome: Outcome
    message: str
    low: float | None = None
    high: float | None = None
    estimate: float | None = None
    tolerated: float | None = None
    unit: str = "share"
    standing: Standing = ""

    @property
    def fails(self) -> bool:
        """Whether it makes the gate fail."""
        return self.outcome == "violation" and self.standing not in ("known", "waived")

    def check(self) -> dict[str, Any]:
        """As a result's check: what is forgiven passes, and says why."""
        outcome = "pass" if self.outcome == "violation" and not self.fails else self.outcome
        return {"name": self.name, "outcome": outcome, "message": f"{self.standing}: {self.message}" if self.standing else self.message}


@dataclass(frozen=True)
class PolicyRuling:
    """What a policy says of results: every condition, and the whole."""

    held: tuple[Held, ...]
    doubt: str = ""  # why the model may not have been asked what it should be

    @property
    def outcome(self) -> Outcome:
        """A violation where a condition fails, a pass where every one holds or is forgiven."""
        return self._ruling.outcome

    @property
    def reason(self) -> str:
        """Why, with the first conditions that decide."""
        return self._ruling.reason

    @property
    def _ruling(self) -> Ruling:
        return Gate.rule(self._claim).if_wired(self.doubt)

    @property
    def _claim(self) -> Claim:
        """That every condition holds or is forgiven."""
        if not self.held:
            return Claim("policy", open="no condition could be held against what was measured")
        failing = [each for each in self.held if each.fails]
        unclear = [each for each in self.held if each.outcome == "inconclusive"]
        forgiven = [each for each in self.held if each.outcome == "violation"]  # where none fails, these are known or waived
        holds = f"all {len(self.held)} conditions hold" if len(self.held) > 1 else self.held[0].message
        if forgiven:
            holds = f"nothing fails that is not known or waived: {forgiven[0].name}: {forgiven[0].message}"
        return Claim("policy", self._told(failing), self._told(unclear), f"{holds}{self._forgiven}")

    def _told(self, decisive: Sequence[Held]) -> str:
        """The first of these conditions; nothing where there is none."""
        told = "; ".join(f"{each.name}: {each.message}" for each in decisive[:MOST_NAMED])
        more = f"; and {len(decisive) - MOST_NAMED} more" if len(decisive) > MOST_NAMED else ""
        return f"{told}{more}{self._forgiven}" if decisive else ""

    @property
    def _forgiven(self) -> str:
        counts = {word: sum(each.standing == word for each in self.held) for word in ("known", "waived", "waiver expired")}
        told = [f"{count} {word}" for word, count in counts.items() if count]
        return f" ({', '.join(told)})" if told else ""

    def on(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """A result's dictionary with this ruling in place of its own."""
        body = {**content["body"], "conditions": [asdict(each) for each in self.held]}
        checks = [*(each.check() for each in self.held), *content["checks"]]
        return {**content, "outcome": self.outcome, "reason": self.reason, "checks": checks, "body": body}


@dataclass(frozen=True)
class Policy:
    """What is demanded: of rates, of group measures, of classes of objects, of the worst case, and of pairs that are kept.

    gate: of rates.  groups: of group measures.  classes: names of classes of objects whose verdicts count; "all" for every one.
    worst_gap: the widest gap of scores between two twins among real rows.  waivers: what somebody answers for.

    >>> Policy(groups=(GroupLimit("statistical_parity", most=0.1),)).needs_groups
    True
    """

    gate: Gate = field(default_factory=Gate)
    groups: tuple[GroupLimit, ...] = ()
    classes: tuple[str, ...] = ("all",)
    worst_gap: ShareBelowOne | None = None
    waivers: tuple[Waiver, ...] = ()

    def __post_init__(self) -> None:
        check_limits(self)

    @property
    def needs_groups(self) -> bool:
        """Whether groups must be measured for it."""
        return bool(self.groups)

    def judge(self, results: Sequence[Mapping[str, Any]], baseline: Baseline | None = None, today: date | None = None) -> PolicyRuling:
        """Hold every condition against what results say; then forgive what the baseline knows and what is waived.

        results: dictionaries of `scan`, `measure`, `certify` or `replay`.  today: the day that waivers are held against.
        """
        day = today or datetime.now(UTC).date()
        searched = any(result["verb"] == "scan" for result in results)
        doubt = next((told for result in results if (told := result["body"].get("wiring_doubt"))), "")
        seen = [_if_wired(each, doubt) for result in results for each in self._held(result, searched)]
        held = [self._standing(each, baseline, day) for each in seen]
        missing = [_missing(limit) for limit in self.groups if not any(_is_of(each, limit) for each in held)]
        return PolicyRuling((*held, *missing), doubt)

    def _held(self, result: Mapping[str, Any], searched: bool) -> Iterator[Held]:
        if result["verb"] == "replay":
            yield from (_pair(check) for check in result["checks"])
            return
        body = result["body"]
        classes = [each for each in _class_checks(body) if "all" in self.classes or each["name"].removeprefix("class ") in self.classes]
        has_rate = not classes or self.gate.max_rate > 0.0  # every recogniser loses something: only a named share of losses is judged
        if not has_rate or "all" not in self.classes:
            yield from (Held(each["name"], _settled(each["outcome"]), each["message"]) for each in classes)
        if has_rate and result["verb"] == "certify":
            proof = body.get("certificate") or {}
            bounds = proof.get("lower"), proof.get("upper")
            yield Held("proved share", result["outcome"], result["reason"], bounds[0], bounds[1], tolerated=self.gate.max_rate)
        elif has_rate and (result["verb"] == "scan" or not searched):  # a measurement beside a search says nothing new of the rate
            yield self._rate(result)
        if self.worst_gap is not None and result["verb"] == "scan":
            yield self._worst(result)
        for figure in body.get("groups") or ():
            yield from (_group(figure, limit) for limit in self.groups if limit.names(figure))

    def _rate(self, result: Mapping[str, Any]) -> Held:
        """The rate in the most realistic population; a doubt of the result keeps it from passing."""
        told = (result["body"].get("rates") or [None])[0]
        if told is None or not told.get("n"):
            return _unclear("rate", "no rate was measured")
        interval = Interval(told["estimate"], told["low"], told["high"], told["n"], told["confidence"])
        rate = Rate(interval, told["population"], told.get("unfair") or 0, told.get("words") or "are treated differently")
        found = sum(run["findings"] for run in result["body"].get("runs") or ())
        ruling = self.gate.decide(rate, found)
        if result["outcome"] == "inconclusive" and result["verb"] == "scan" and not result["body"].get("wiring_doubt"):
            ruling = ruling.unless(result["reason"])
        bounds = (interval.low, interval.high, interval.estimate)
        return Held("rate", ruling.outcome, ruling.reason, *bounds, self.gate.max_rate)

    def _worst(self, result: Mapping[str, Any]) -> Held:
        """The widest gap that was seen; within the tolerance it is a pass only where every real row was asked."""
        assert self.worst_gap is not None
        seen = ((result["body"].get("where") or {}).get("worst") or {}).get("gap") or 0.0
        rates = result["body"].get("rates") or [{}]
        high = seen if rates[0].get("whole") else 1.0
        words = Worded(
            f"the scores of two twins are {seen:.3f} apart, more than the tolerated {self.worst_gap:.3f}",
            f"no gap wider than {seen:.3f} was seen, but not every real row was asked; raise rate_rows",
            f"no two twins among the real rows are more than {seen:.3f} apart",
        )
        ruling = words.within(seen, high, self.worst_gap)
        return Held("worst case", ruling.outcome, ruling.reason, seen, high, seen, self.worst_gap)

    def _standing(self, each: Held, baseline: Baseline | None, today: date) -> Held:
        if each.outcome != "violation":
            return each
        if baseline is not None and (why := baseline.knows(each, self.gate.max_rate == 0.0)):
            return replace(each, standing="known", message=f"{each.message}; {why}")
        if baseline is not None:
            each = replace(each, message=f"{each.message}; {baseline.against(each)}")
        waiver = next((w for w in self.waivers if each.name in (w.of, f"witness {w.of}")), None)
        if waiver is None:
            return each
        word: Standing = "waived" if waiver.holds(today) else "waiver expired"
        told = waiver.sentence if word == "waived" else f"the waiver of {waiver.owner} expired on {waiver.expires.isoformat()}"
        return replace(each, standing=word, message=f"{each.message}; {told}")


def _if_wired(each: Held, doubt: str) -> Held:
    """The same; undecided where it is in doubt whether the model was asked what it should be."""
    is_open = not doubt or each.outcome == "inconclusive"
    return (
        each
        if is_open
        else replace(each, outcome=Ruling(each.outcome, "").if_wired(doubt).outcome, message=f"{each.message} ({UNDECIDED})")
    )


def _class_checks(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    study = (body.get("studies") or {}).get("classes") or {}
    return [each for each in study.get("checks") or () if str(each["name"]).startswith("class ")]


def _unclear(name: str, why: str, unit: str = "share") -> Held:
    """A condition that could not be held against anything."""
    ruling = Gate.rule(Claim(name, open=why))
    return Held(name, ruling.outcome, ruling.reason, unit=unit)


def _settled(outcome: str) -> Outcome:
    """A check that failed to be made settles nothing."""
    return Gate.rule(Claim("check", failed=outcome)).outcome if outcome == "failed" else outcome  # type: ignore[return-value]  # one of three


def _pair(check: Mapping[str, Any]) -> Held:
    return Held(f"witness {check['name']}", _settled(check["outcome"]), check["message"])


def _is_of(each: Held, limit: GroupLimit) -> bool:
    return each.name == limit.metric or each.name.startswith(f"{limit.metric} by ")


def _missing(limit: GroupLimit) -> Held:
    by = f" by {limit.by}" if limit.by else ""
    return _unclear(f"{limit.metric}{by}", "it was not measured: `evenhand measure` measures groups, and `evenhand gate` does so")


def _group(figure: Mapping[str, Any], limit: GroupLimit) -> Held:
    """A gap must lie below what is tolerated, a ratio above."""
    name, unit = f"{figure['metric']} by {figure['attribute']}", str(figure["unit"])
    low, high, estimate = figure.get("low"), figure.get("high"), figure.get("estimate")
    if low is None or high is None:
        return _unclear(name, "too few rows in its groups", unit)
    tolerated = limit.most if limit.most is not None else limit.least
    assert tolerated is not None
    word = "at most" if limit.most is not None else "at least"
    between = f"between {low:.4g} and {high:.4g}, and {word} {tolerated:.4g} is tolerated"
    words = Worded(between, f"{between}: more rows would settle it", between)
    # A ratio is turned around, so that larger is worse for every figure.
    ruling = words.within(low, high, tolerated) if limit.most is not None else words.within(-high, -low, -tolerated)
    insufficient = "a group is too small to be judged" if figure.get("verdict") == "insufficient" else ""
    ruling = ruling.unless(insufficient)
    return Held(name, ruling.outcome, ruling.reason, low, high, estimate, tolerated, unit)
