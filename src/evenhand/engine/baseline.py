"""What was so before: a result to which later ones are held, so that a gate fails only on what is new or worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.errors import DataError
from evenhand.statistics.intervals import Interval
from evenhand.statistics.share_change import ShareChange, TwiceJudged, independent_change

if TYPE_CHECKING:
    from evenhand.engine.policy import Held


@dataclass(frozen=True)
class Baseline:
    """An earlier result beside the present one, both as dictionaries.

    A rate with a tolerance is judged by its interval: worse only where the change is shown.  Where none is tolerated, single real rows
    and pairs are compared: one that is new fails.  A figure that the baseline does not have is new.
    """

    before: Mapping[str, Any]
    now: Mapping[str, Any]
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        for part in ("protected",):
            then, today = (each["header"]["domain"].get(part) for each in (self.before, self.now))
            if then != today:
                raise DataError(f"the baseline was made with other protected columns ({then}) than this run ({today}); make a new one")
        if self.before["header"].get("oracle") != self.now["header"].get("oracle") and self.before["verb"] == self.now["verb"]:
            raise DataError(f"the baseline was judged by another oracle ({self.before['header'].get('oracle')}); make a new one")

    def knows(self, each: Held, is_strict: bool) -> str:
        """Why a violation is no worse than before; empty where it is new or worse."""
        if each.name.startswith("witness "):
            return self._witness(each.name.removeprefix("witness "))
        if each.name == "rate":
            return self._rate(is_strict)
        return self._condition(each)

    def against(self, each: Held) -> str:
        """What a violation that is new or worse is beside the baseline."""
        change, twice = self.change, self.twice_judged
        if each.name != "rate" or change is None:
            return "new, or worse than in the baseline"
        fresh = f"; unfair real rows that were not before: {twice.new:,}" if twice is not None and twice.new else ""
        return f"against the baseline {change.sentence}{fresh}"

    @property
    def is_same_model(self) -> bool:
        """Whether both are of one model on the same data."""
        parts = [(each["header"]["model"].get("digest"), each["header"]["data"].get("digest")) for each in (self.before, self.now)]
        return parts[0] == parts[1] and None not in parts[0]

    @property
    def change(self) -> ShareChange | None:
        """The change of the rate; paired where both judged every row of the same data."""
        twice = self.twice_judged
        rates = [(each["body"].get("rates") or [None])[0] for each in (self.before, self.now)]
        if None in rates or rates[0]["population"] != rates[1]["population"]:
            return None
        if twice is not None:
            bounds = twice.bounds(rates[1]["confidence"])
            return ShareChange(rates[0]["estimate"], rates[1]["estimate"], bounds.low, bounds.high)
        intervals = [Interval(r["estimate"], r["low"], r["high"], r["n"], r["confidence"]) for r in rates]
        return independent_change(*intervals)

    @property
    def twice_judged(self) -> TwiceJudged | None:
        """Every row of the same data before and now; None where one of the two did not ask all, or had other data."""
        sides = [(each["header"]["data"].get("digest"), each["body"].get("unfair_rows"), each) for each in (self.before, self.now)]
        if sides[0][0] is None or sides[0][0] != sides[1][0] or any(rows is None for _, rows, _ in sides):
            return None
        then, today = set(sides[0][1]), set(sides[1][1])
        return TwiceJudged(self.now["header"]["data"]["rows"], len(today - then), len(then - today))

    def _rate(self, is_strict: bool) -> str:
        change, twice = self.change, self.twice_judged
        if change is not None and change.low > self.tolerance:
            return ""
        if self.is_same_model and (twice is None or not twice.new):  # a digest of some answers does not see every change
            return "the model is the one of the baseline"
        if change is None:
            return ""
        if not is_strict:
            return f"no worse than the baseline: {change.sentence}"
        if twice is not None:
            return f"every unfair real row was so in the baseline; {change.sentence}" if twice.new == 0 else ""
        then, today = ({pair["id"] for pair in each["witnesses"]} for each in (self.before, self.now))
        return f"every pair was known to the baseline; {change.sentence}" if today <= then else ""

    def _witness(self, name: str) -> str:
        then = {pair["id"] for pair in self.before["witnesses"]}
        return "the baseline knows this pair" if name in then else ""

    def _conditions(self) -> list[Mapping[str, Any]]:
        """The baseline's conditions; where it was judged by no policy, its figures of groups, of which those that differ count."""
        body = self.before["body"]
        figures = [{**one, "name": f"{one['metric']} by {one['attribute']}"} for one in body.get("groups") or ()]
        return [*(body.get("conditions") or ()), *figures]

    def _condition(self, each: Held) -> str:
        """Another condition: known where the baseline violated it too and the two intervals are not apart."""
        old = next((one for one in self._conditions() if one["name"] == each.name), None)
        if old is None or (old.get("outcome") != "violation" and old.get("verdict") != "different"):
            return ""
        if each.low is None or each.high is None or old.get("low") is None or old.get("high") is None:
            return "the baseline violates it too"
        is_worse = each.high < old["low"] - self.tolerance if each.unit == "ratio" else each.low > old["high"] + self.tolerance
        return "" if is_worse else "no worse than the baseline"
