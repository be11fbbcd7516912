"""run_campaign(): every run of a campaign file, by whoever carries them out, in one report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.campaign.campaign_file import CampaignPlan, read_campaign
from evenhand.campaign.campaign_folder import CampaignFolder, frame_of
from evenhand.campaign.conduct import Settings, carried_out
from evenhand.campaign.contest import DONE, FAILED, INTERRUPTED
from evenhand.campaign.estimates import CampaignEstimate, estimate
from evenhand.claims import Claim, Span
from evenhand.contract import Executor, Outcome, Watch, population_words
from evenhand.engine.gate import Gate, checks_of
from evenhand.engine.header import Header
from evenhand.engine.result import Telling, result_dict
from evenhand.report.rendered import Rendered

if TYPE_CHECKING:
    import pandas as pd

MOST_SHOWN = 400
"""Grounds that a page lists, those with the highest rates first; `records.parquet` in the folder has all of them."""
UNKEPT = ("curve", "facts", "naturalness")
"""Parts of a record that stay on disk: a thousand runs fit into memory without them."""


@dataclass(frozen=True, repr=False)
class CampaignResult(Rendered):
    """What all runs say together: the rate of every model on every table, and what failed."""

    header: Header
    records: tuple[Mapping[str, Any], ...]
    events: tuple[Mapping[str, Any], ...] = ()
    max_rate: float = 0.0
    ordered: int = 0

    @property
    def is_interrupted(self) -> bool:
        """Whether some runs have not been made."""
        return len(self.records) < self.ordered or any(record["status"] == INTERRUPTED for record in self.records)

    @cached_property
    def grounds(self) -> list[dict[str, Any]]:
        """One entry for every table, protected set and model: the rate, the findings of all runs, and the verdict."""
        found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
        for record in self.records:
            found.setdefault((str(record["dataset"]), str(record["protected"]), str(record["model"])), []).append(record)
        told = [self._ground(names, records) for names, records in found.items()]
        return sorted(told, key=lambda each: -(each["high"] if each["high"] is not None else 2.0))

    def _ground(self, names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        done = [record for record in records if record["status"] == DONE]
        rate: Mapping[str, Any] = done[0]["rate"] if done else {}
        failed = next((str(record["reason"]) for record in records if record["status"] == FAILED), "")
        found = max((int(record["findings"]) for record in done), default=0)
        told = {"dataset": names[0], "protected": names[1], "model": names[2], "runs": len(records), "most_findings": found}
        return {**told, **{name: rate.get(name) for name in ("estimate", "low", "high", "population")}, "failed": failed}

    def _claim(self, ground: Mapping[str, Any]) -> Claim:
        name = f"{ground['model']} on {ground['dataset']} ({ground['protected']})"
        if ground["estimate"] is None:
            return Claim(name, failed=ground["failed"] or "no run was finished")
        low, high = float(ground["low"]), float(ground["high"])
        told = f"between {low:.2%} and {high:.2%} of {population_words(ground['population'])} are treated differently"
        return Claim(name, told, told, told, (Span(low, high, self.max_rate),))

    @cached_property
    def _claims(self) -> list[Claim]:
        return [self._claim(ground) for ground in self.grounds]

    @property
    def outcome(self) -> Outcome:
        """A violation where one model violates; a pass where every run was made and every model passes."""
        said = [Gate.rule(claim).outcome for claim in self._claims]
        broken = self.reason if "violation" in said else ""
        undecided = self.reason if "inconclusive" in said or self.is_interrupted else ""
        return Gate.rule(Claim("campaign", broken, undecided, self.reason)).outcome

    @property
    def reason(self) -> str:
        """How many models there are, and how many of them violate."""
        said = [Gate.check(claim).outcome for claim in self._claims]
        counts = [f"{said.count(each)} {word}" for each, word in WORDS.items() if each in said]
        missing = self.ordered - len(self.records)
        pairs = f"{len(said):,} pairs of a model and a table" if len(said) != 1 else "one model and its table"
        told = f"{len(self.records):,} runs on {pairs}: {', '.join(counts)}{self._highest}"
        return f"{told}; {missing:,} runs are missing" if missing else told

    @property
    def _highest(self) -> str:
        """The highest rate with its interval; empty where none was measured."""
        ground = next((each for each in self.grounds if each["estimate"] is not None), None)
        if ground is None:
            return ""
        rate = f"{ground['estimate']:.2%} of {population_words(ground['population'])} ({ground['low']:.2%} to {ground['high']:.2%})"
        return f"; the highest rate is {rate}, of {ground['model']} on {ground['dataset']} ({ground['protected']})"

    def summary(self) -> str:
        """The verdict, and the models with the highest rates."""
        lines = [f"{self.outcome}: {self.reason}."]
        for ground in self.grounds[:10]:
            rate = f"{ground['estimate']:.2%}" if ground["estimate"] is not None else f"failed: {ground['failed']}"
            lines.append(f"  {ground['model']} on {ground['dataset']} ({ground['protected']}): {rate}")
        return "\n".join(lines)

    def frame(self) -> pd.DataFrame:
        """One row for each run."""
        return frame_of(self.records)

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        body = {"tables": [self._table(), self._happened()], "campaign": {"runs": len(self.records), "ordered": self.ordered}}
        return result_dict(self, Telling([f"{self.reason}."], checks_of(self._claims[:MOST_SHOWN]), (), body))

    def _table(self) -> dict[str, Any]:
        heads = ["Model", "Table", "Protected", "Rate", "Low", "High", "Most findings of a run", "Runs", "Failed"]
        shown = [
            [
                *(each[name] for name in WHICH),
                *(_percent(each[name]) for name in BOUNDS),
                *(each[name] for name in COUNTS),
                each["failed"] or "–",
            ]
            for each in self.grounds[:MOST_SHOWN]
        ]
        more = len(self.grounds) - len(shown)
        sentence = f"The {len(shown)} with the highest rates; {more:,} more are in records.parquet." if more > 0 else ""
        return {"title": "Every model", "sentence": sentence, "heads": heads, "rows": shown}

    def _happened(self) -> dict[str, Any]:
        rows = [[event.get("time", ""), event.get("event", ""), event.get("detail", "")] for event in self.events]
        return {"title": "What happened", "heads": ["When", "What", "About"], "rows": rows[-MOST_SHOWN:]}


WHICH, BOUNDS, COUNTS = ("model", "dataset", "protected"), ("estimate", "low", "high"), ("most_findings", "runs")
WORDS = {"violation": "in violation", "inconclusive": "undecided", "failed": "failed", "pass": "passed"}


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"


@dataclass(frozen=True)
class CampaignOptions:
    """Who carries a campaign out, and who is told of its headway; none of it changes what is found.

    retry: make runs again that failed before.  keep_findings: keep every run's findings, too.
    fresh: make every run again and ask endpoints everything again; what was kept before stays aside in the folder.

    >>> CampaignOptions(retry=True).keep_findings
    False
    """

    executor: Executor | None = None
    watch: Watch | None = None
    retry: bool = False
    keep_findings: bool = False
    fresh: bool = False


def run_campaign(file: str | Path, options: CampaignOptions | None = None) -> CampaignResult:
    """Make every run of a campaign file that has not been made before.

    file: a YAML file with data, protected, models, methods, seeds and budgets; its runs are kept in a folder beside it, so that the
    same call goes on after an interruption, and an extended file adds only what is new.

    >>> import tempfile, pathlib, evenhand as eh
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "night.yaml"
    >>> _ = file.write_text("data: credit\\nmodels: forest\\nprotected: age\\nmethods: themis\\nbudgets: {candidates: 200}\\n")
    >>> len(eh.run_campaign(file).records)
    1
    """
    options, plan = options or CampaignOptions(), read_campaign(Path(file))
    usual = Settings(folder=plan.folder, keep_findings=options.keep_findings, retry=options.retry, watch=options.watch, leave_out=UNKEPT)
    usual = replace(usual, fresh=options.fresh)
    settings = usual if options.executor is None else replace(usual, executor=options.executor)
    for source in plan.sources:
        source.check()
    records = carried_out(plan.sources, plan.orders, settings)
    events = CampaignFolder(plan.folder).events()
    return CampaignResult(_header(plan), tuple(records), tuple(events), plan.max_rate, len(plan.orders))


def estimated(file: str | Path) -> CampaignEstimate:
    """What a campaign file will cost: runs, model rows, money, and time by a few small runs."""
    plan = read_campaign(Path(file))
    return estimate(plan, CampaignFolder(plan.folder).by_order())


def _header(plan: CampaignPlan) -> Header:
    told = [source.describe() for source in plan.sources]
    protected = dict.fromkeys(name for each in told for name in each["protected"].split(",") if name)
    named = {part: ", ".join(list(dict.fromkeys(each[part] for each in told))[:8]) for part in ("dataset", "model")}
    return Header(
        verb="campaign",
        seed=plan.orders[0].cell.seed,
        budget=asdict(plan.orders[0].terms.budget),
        data={"name": named["dataset"], "digest": None, "rows": None},
        domain={"digest": None, "protected": list(protected), "label": None, "favourable": [], "classes": []},
        model={"kind": named["model"], "digest": None},
        oracle=plan.orders[0].terms.oracle or "usual",
        details={"runs": len(plan.orders)},
    )
