"""The one gate: pass, violation or inconclusive, and why, for a rate with its interval and for bounds that are proved.

Nothing that was computed is changed here; what could not be shown either way is never called a pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.contract import Outcome
from evenhand.errors import InvalidArgument
from evenhand.measures.rates import Rate


@dataclass(frozen=True)
class Ruling:
    """What a gate says, and why."""

    outcome: Outcome
    reason: str

    def unless(self, doubt: str) -> Ruling:
        """The same; but a pass becomes inconclusive where there is a doubt."""
        return Ruling("inconclusive", doubt) if doubt and self.outcome == "pass" else self


@dataclass(frozen=True)
class Gate:
    """When a result passes.  With max_rate 0, one proven pair is a violation, and "nothing found" passes only when the rate's upper
    bound is below `resolution`; with a larger max_rate, the interval of the rate must lie on one side of it.

    max_rate: the share of people treated differently that is tolerated.  confidence: of every interval.
    resolution: how small an upper bound must be for "nothing found" to pass.
    """

    max_rate: float = 0.0
    confidence: float = 0.95
    resolution: float = 0.001

    def __post_init__(self) -> None:
        for name in ("max_rate", "resolution"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise InvalidArgument(f"gate {name}={getattr(self, name)!r} must be a share of at least 0 and below 1")
        if not 0.0 < self.confidence < 1.0:
            raise InvalidArgument(f"gate confidence={self.confidence!r} must lie strictly between 0 and 1")

    def decide(self, rate: Rate, findings: int = 0) -> Ruling:
        """On a rate with its interval, and on what a search found."""
        return self._on_any(rate, findings) if self.max_rate == 0.0 else self._on_share(rate)

    def _on_any(self, rate: Rate, findings: int) -> Ruling:
        """Nobody may be treated differently."""
        high, population = rate.interval.high, f"the population “{rate.population}”"
        if findings:
            return Ruling("violation", f"none is tolerated, and pairs prove that there are people who {rate.words}")
        if rate.unfair:
            return Ruling("violation", f"{rate.unfair:,} of {rate.interval.n:,} people of {population} are treated differently")
        if high <= self.resolution:
            return Ruling("pass", f"nothing found, and at most {high:.3%} of {population} can be affected")
        doubt = f"nothing found, but with {rate.interval.n:,} judged the rate may still be {high:.3%}, above {self.resolution:.3%}"
        return Ruling("inconclusive", f"{doubt}; raise rate_rows")

    def _on_share(self, rate: Rate) -> Ruling:
        """A share is tolerated."""
        low, high = rate.interval.low, rate.interval.high
        if low > self.max_rate:
            return Ruling("violation", f"the rate is at least {low:.2%}, above the tolerated {self.max_rate:.2%}")
        if high <= self.max_rate:
            return Ruling("pass", f"the rate is at most {high:.2%}, within the tolerated {self.max_rate:.2%}")
        between = f"the rate lies between {low:.2%} and {high:.2%}, and {self.max_rate:.2%} is between"
        return Ruling("inconclusive", f"{between}; raise rate_rows")
