"""bench(): methods side by side under one budget, one counting rule and one oracle, over tables, models and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand.campaign.arena_ground import POOL_ROWS
from evenhand.campaign.campaign_folder import frame_of
from evenhand.campaign.conduct import Settings, conduct
from evenhand.campaign.contest import DONE, FAILED, INTERRUPTED, Entrant, Terms
from evenhand.campaign.sources import ArenaSource, Named
from evenhand.campaign.standings import Standings
from evenhand.claims import Claim
from evenhand.contract import Outcome
from evenhand.engine.gate import Gate, checks_of
from evenhand.engine.header import Header
from evenhand.engine.result import Telling, result_dict
from evenhand.limits import Count, check_limits
from evenhand.models.budget import Budget
from evenhand.models.readings import readings_told
from evenhand.report.rendered import Rendered

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class BenchResult(Rendered):
    """One record for every run, and what they say together."""

    header: Header
    records: tuple[Mapping[str, Any], ...]

    @cached_property
    def standings(self) -> Standings:
        """Means and intervals, ranks, duels, curves."""
        return Standings(self.records)

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended it early."""
        return bool(self.records) and self.records[-1]["status"] == INTERRUPTED

    @property
    def all_failed(self) -> bool:
        """Whether not one run could be made."""
        return bool(self.records) and all(record["status"] == FAILED for record in self.records)

    @property
    def outcome(self) -> Outcome:
        """A pass where every run that applies was finished; methods are compared here, models are not judged."""
        return Gate.rule(Claim("runs", open=self.reason if self._is_unfinished else "", holds=self.reason)).outcome

    @property
    def _is_unfinished(self) -> bool:
        return any(record["status"] in (FAILED, INTERRUPTED) for record in self.records)

    @property
    def reason(self) -> str:
        """How many runs, and how many of them are not finished."""
        standings = self.standings
        places = f"{len(standings.grounds)} ground{'s' * (len(standings.grounds) != 1)}"
        told = f"{len(self.records):,} runs of {len(standings.methods)} methods on {places}"
        unfinished = sum(record["status"] != DONE for record in self.records)
        return f"{told}; {unfinished} were not finished" if unfinished else told

    def summary(self) -> str:
        """Mean ranks and first places, a line for each method."""
        lines = [f"{self.reason}."]
        for figure, groups in self.standings.as_dict()["rankings"].items():
            ranked = list(groups.values())[-1]
            ranks = ranked.get("mean_ranks", {})
            lines.append(f"By {figure.replace('_', ' ')}:")
            best = sorted(self.standings.methods, key=lambda name: ranks.get(name, float("inf")))
            lines += [
                f"  {name:<16} mean rank {ranks[name]:.2f}, first on {ranked['wins'][name]} of {ranked['grounds']}"
                for name in best
                if name in ranks
            ]
        return "\n".join(lines)

    def frame(self) -> pd.DataFrame:
        """One row for each run."""
        return frame_of(self.records)

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        told = {name: value for name, value in self.standings.as_dict().items() if name != "evenhand_arena"}
        checks = checks_of(
            Claim(each["method"], failed=f"{each['status']} on {', '.join(each['grounds'])}: {each['reason']}") for each in told["troubles"]
        )
        body = {"standings": told, "records": [dict(record) for record in self.records]}
        return result_dict(self, Telling([f"{self.reason}."], checks, (), body))


@dataclass(frozen=True)
class BenchOptions:
    """How a benchmark is carried out.

    oracle: what counts as unfair; None for what fits each model: labels that differ, amounts apart, objects.
    likeness: also the slower figures of naturalness.  repair: also retrain on each run's findings.
    pool_rows: plausible rows judged outside every budget, which say what there is to be found; fewer where a row is expensive to show.
    settings: who carries it out, the folder that keeps records and continues them, who is told of the headway; none changes what is found.

    >>> BenchOptions(oracle="gap:threshold=0.2").repair
    False
    """

    oracle: str | None = None
    likeness: bool = False
    repair: bool = False
    settings: Settings = field(default_factory=Settings)
    pool_rows: Count = POOL_ROWS

    def __post_init__(self) -> None:
        check_limits(self)


def bench(
    methods: Sequence[str | Entrant],
    sources: Sequence[str | ArenaSource] = ("adult",),
    *,
    budget: Budget | None = None,
    seeds: Sequence[int] = (0,),
    options: BenchOptions | None = None,
) -> BenchResult:
    """Run every method on every source with every seed.

    methods: names, or entrants with parameters.  sources: embedded tables by name, or what they are fought on (`campaign.sources.Named`
    for a table with protected columns and a model, `Given` for what is in memory).  budget: of each run; 100,000 candidates by default.

    >>> import evenhand as eh
    >>> result = eh.bench(["themis", "aequitas"], ["credit"], budget=eh.Budget(candidates=500))
    >>> len(result.summary()) > 0
    True
    """
    options, budget = options or BenchOptions(), budget or Budget(candidates=100_000)
    grounds = [Named(each) if isinstance(each, str) else each for each in sources]
    terms = Terms(budget, options.oracle, options.likeness, options.repair, pool_rows=options.pool_rows)
    records = conduct(methods, grounds, seeds, terms, options.settings)
    return BenchResult(_header(records, terms, seeds), tuple(records))


def _header(records: Sequence[Mapping[str, Any]], terms: Terms, seeds: Sequence[int]) -> Header:
    """What fixes the campaign; each record has the id of its own run's header."""

    def named(part: str) -> str:
        return ", ".join(dict.fromkeys(str(record[part]) for record in records))

    columns = dict.fromkeys(name for record in records for name in str(record["protected"]).split(",") if name)
    return Header(
        verb="bench",
        seed=seeds[0],
        budget=asdict(terms.budget),
        data={"name": named("dataset"), "digest": None, "rows": None},
        domain={"digest": None, "protected": list(columns), "label": None, "favourable": [], "classes": []},
        model={"kind": named("model"), "digest": None},
        oracle=terms.oracle or "usual",
        details={"seeds": list(seeds), "runs": [record["id"] for record in records], "reading": readings_of(records)},
    )


def readings_of(records: Sequence[Mapping[str, Any]]) -> str:
    """How the answers of each model were read; the model is named where there are several."""
    return readings_told((f"{record['model']} on {record['dataset']}", str(record.get("reading") or "")) for record in records)
