"""What a campaign will cost before it is begun: runs, model rows, money, and time by a few runs that are made small."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evenhand.campaign.campaign_file import CampaignPlan
from evenhand.campaign.contest import DONE, contend
from evenhand.campaign.run_maker import CampaignWork, RunMaker, RunOrder
from evenhand.errors import EvenhandError
from evenhand.models.budget import Budget

PILOT_CANDIDATES = 500
MOST_PILOTS = 4
"""Sources on which one small run each is timed."""


@dataclass(frozen=True)
class CampaignEstimate:
    """How much there is to do; `seconds` is of one worker, None where no pilot could be made."""

    runs: int
    made_before: int
    model_rows: int
    money: float
    seconds: float | None
    pilots: int

    def sentence(self, workers: int) -> str:
        """For a person who is about to start it."""
        told = f"{self.runs:,} runs, {self.made_before:,} of them made before; the rest asks at most about {self.model_rows:,} model rows"
        told += f", which costs at most about {self.money:,.2f}" if self.money else ""
        if self.seconds is None:
            return f"{told}; how long it takes could not be tried"
        return f"{told} and takes about {words_of_time(self.seconds / workers)} with {workers} worker{'s' if workers > 1 else ''}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def estimate(plan: CampaignPlan, made: Mapping[str, Any]) -> CampaignEstimate:
    """What is still to be done; `made` are the records there are, by the digest of what was ordered."""
    work = CampaignWork(plan.sources, folder=plan.folder)
    missing = [order for order in plan.orders if work.digest(order) not in made]
    chosen = _spread([order for order in missing if order.cell == missing[0].cell and order.terms == missing[0].terms]) if missing else []
    pilots = [pilot for order in chosen if (pilot := _pilot(order, work)) is not None]
    twins = max((pilot.rows_per_candidate for pilot in pilots), default=2.0)
    rows = sum(_most_rows(order.terms.budget, twins) for order in missing)
    seconds = sum(_seconds(order.terms.budget, pilots) for order in missing) if pilots or not missing else None
    money = rows * plan.price_per_thousand_rows / 1_000
    return CampaignEstimate(len(plan.orders), len(plan.orders) - len(missing), round(rows), money, seconds, len(pilots))


@dataclass(frozen=True)
class _Pilot:
    """A small run: what opening its source took, and what a candidate costs."""

    opening: float
    per_candidate: float
    rows_per_candidate: float


def _spread(orders: Sequence[RunOrder]) -> Sequence[RunOrder]:
    """A few of them, evenly chosen."""
    step = max(1, len(orders) // MOST_PILOTS)
    return orders[::step][:MOST_PILOTS]


def _pilot(order: RunOrder, work: CampaignWork) -> _Pilot | None:
    """One run of few candidates; a source that cannot be opened tells nothing."""
    small, started = replace(order.terms, budget=Budget(candidates=PILOT_CANDIDATES)), time.perf_counter()
    ground = RunMaker(work).ground(order.place, small.oracle, small.pool_rows)
    if isinstance(ground, EvenhandError):
        return None
    record, _ = contend(order.cell, ground, small)
    whole = time.perf_counter() - started
    if record["status"] != DONE or not record["candidates"]:
        return None
    searching = record["wall_seconds"]
    return _Pilot(whole - searching, searching / record["candidates"], record["model_rows"] / record["candidates"])


def _most_rows(budget: Budget, per_candidate: float) -> float:
    limits = [budget.candidates * per_candidate if budget.candidates else None, budget.model_rows]
    return min((limit for limit in limits if limit is not None), default=0.0)


def _seconds(budget: Budget, pilots: Sequence[_Pilot]) -> float:
    """The mean of the pilots, scaled to the budget; what was loaded once is counted for each run, so this is rather too long."""
    opening = sum(pilot.opening for pilot in pilots) / len(pilots)
    pace = sum(pilot.per_candidate for pilot in pilots) / len(pilots)
    rows = sum(pilot.rows_per_candidate for pilot in pilots) / len(pilots)
    candidates = [budget.candidates, None if budget.model_rows is None else budget.model_rows / rows]
    limits = [pace * count for count in candidates if count is not None] + [each for each in (budget.seconds, budget.cpu_seconds) if each]
    return opening + min(limits)


def words_of_time(seconds: float) -> str:
    """Seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:,.0f} seconds"
    return f"{seconds / 60:,.0f} minutes" if seconds < 7_200 else f"{seconds / 3_600:,.1f} hours"
