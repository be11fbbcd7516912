"""The one gate: pass, violation or inconclusive, and why, of every claim that a verb or a measure brings; nothing else decides.

Nothing that was computed is changed here; what could not be shown either way is never called a pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from evenhand.claims import Claim, Span
from evenhand.contract import Checked, Outcome, StudySection, population_words
from evenhand.limits import ConfidenceLevel, ShareBelowOne, check_limits
from evenhand.measures.rates import Rate


@dataclass(frozen=True)
class Ruling:
    """What a gate says, and why."""

    outcome: Outcome
    reason: str

    def unless(self, doubt: str) -> Ruling:
        """The same; but a pass becomes inconclusive where there is a doubt, and what was open already is so because of the doubt first."""
        if not doubt or self.outcome not in ("pass", "inconclusive"):
            return self
        is_new = self.outcome == "inconclusive" and self.reason not in doubt
        return Ruling("inconclusive", f"{doubt}; besides, {self.reason}" if is_new else doubt)

    def if_wired(self, doubt: str) -> Ruling:
        """The same; but nothing is decided where it is in doubt whether the model was asked what it should be; what was seen is told."""
        if not doubt:
            return self
        is_more = self.outcome != "pass" and self.reason not in doubt
        joint = "if it is wired right after all" if self.outcome == "violation" else "besides"
        return Ruling("inconclusive", f"{doubt}; {joint}, {self.reason}" if is_more else doubt)

    def if_proven(self, doubt: str) -> Ruling:
        """The same; but a violation becomes inconclusive where pairs are no proof."""
        return Ruling("inconclusive", doubt) if doubt and self.outcome == "violation" else self


@dataclass(frozen=True)
class Gate:
    """When a result passes.  With max_rate 0, one proven pair is a violation, and "nothing found" passes only when the rate's upper
    bound is below `resolution`; with a larger max_rate, the interval of the rate must lie on one side of it.

    max_rate: the share of people treated differently that is tolerated.  confidence: of every interval.
    resolution: how small an upper bound must be for "nothing found" to pass.

    >>> Gate.rule(Claim("rate", broken="too many", open="too few to say", spans=(Span(0.0, 0.2, tolerated=0.1),)))
    Ruling(outcome='inconclusive', reason='too few to say')
    """

    max_rate: ShareBelowOne = 0.0
    confidence: ConfidenceLevel = 0.95
    resolution: ShareBelowOne = 0.001

    def __post_init__(self) -> None:
        check_limits(self)

    @staticmethod
    def rule(claim: Claim) -> Ruling:
        """The outcome of one claim: every outcome of the package is made here."""
        if claim.failed:
            return Ruling("inconclusive", claim.failed)
        if any(span.low > span.tolerated for span in claim.spans) or (claim.broken and not claim.spans):
            return Ruling("violation", claim.broken)
        if any(span.high > span.tolerated for span in claim.spans) or (claim.open and not claim.spans):
            return Ruling("inconclusive", claim.open)
        return Ruling("pass", claim.holds)

    @staticmethod
    def check(claim: Claim) -> Checked:
        """One claim among others of a result."""
        if claim.failed:
            return Checked(claim.name, "failed", claim.failed)
        ruling = Gate.rule(claim)
        return Checked(claim.name, ruling.outcome, ruling.reason)

    def decide(self, rate: Rate, findings: int = 0, everybody: str = "") -> Ruling:
        """On a rate with its interval, and on what a search found.  everybody: says that nobody was left out, where that is so."""
        if everybody and not findings and not rate.unfair:
            return self.rule(Claim("rate", holds=f"{everybody}: none of them {rate.words}"))
        return self.rule(self._on_any(rate, findings) if self.max_rate == 0.0 else self._on_share(rate))

    def _on_any(self, rate: Rate, findings: int) -> Claim:
        """Nobody may be treated differently."""
        high, population = rate.interval.high, population_words(rate.population)
        broken = f"{rate.unfair:,} of {rate.interval.n:,} of {population} are treated differently" if rate.unfair else ""
        if findings:
            broken = f"pairs prove that there are cases that {rate.words}, and none is tolerated"
        doubt = f"nothing found, but with {rate.interval.n:,} judged the rate may still be {high:.3%}, above {self.resolution:.3%}"
        holds = f"nothing found, and at most {high:.3%} of {population} can be affected"
        nothing = () if broken else (Span(0.0, high, self.resolution),)
        return Claim("rate", broken, f"{doubt}; {self._cure(rate)}", holds, nothing)

    def _cure(self, rate: Rate) -> str:
        """What would let "nothing found" pass: so many clean people are needed for the exact bound to fall to the resolution."""
        if not self.resolution:
            return _more(rate)
        return f"{_more(rate)} ({math.ceil(math.log((1.0 - self.confidence) / 2.0) / math.log1p(-self.resolution)):,} are needed)"

    def _on_share(self, rate: Rate) -> Claim:
        """A share is tolerated."""
        low, high = rate.interval.low, rate.interval.high
        return Claim(
            "rate",
            f"the rate is at least {low:.2%}, above the tolerated {self.max_rate:.2%}",
            f"the rate lies between {low:.2%} and {high:.2%}, and {self.max_rate:.2%} is between; {_more(rate)}",
            f"the rate is at most {high:.2%}, within the tolerated {self.max_rate:.2%}",
            (Span(low, high, self.max_rate),),
        )


def _more(rate: Rate) -> str:
    return "every row was asked already: bring more rows" if rate.whole else "raise rate_rows or the budget"


UNDECIDED = "undecided, for the wiring of the model is in doubt"


def checks_of(claims: Iterable[Claim], doubt: str = "") -> list[dict[str, Any]]:
    """Claims as a result's checks, for JSON; none is decided where there is a doubt about the wiring of the model."""
    return [asdict(_if_wired(Gate.check(claim), doubt)) for claim in claims]


def _if_wired(checked: Checked, doubt: str) -> Checked:
    if not doubt or checked.outcome not in ("pass", "violation"):
        return checked
    return replace(checked, outcome="inconclusive", message=f"{checked.message} ({UNDECIDED})")


def section_dict(section: StudySection, doubt: str = "") -> dict[str, Any]:
    """A study as a part of a result's body, its claims decided."""
    return {"figures": dict(section.figures), "sentences": list(section.sentences), "checks": checks_of(section.claims, doubt)}
