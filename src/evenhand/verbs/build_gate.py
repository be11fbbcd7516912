"""gate(): whether a model keeps a policy: kept pairs are asked again in seconds, then a short search and, where asked for, groups.

One result for a build: every condition with its interval, what the baseline knows, and what is waived until when.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.contract import Model, Outcome, Watch
from evenhand.domain.project_sections import GateSettings
from evenhand.engine.baseline import Baseline
from evenhand.engine.gate import Gate
from evenhand.engine.header import Header
from evenhand.engine.policy import GroupLimit, Policy, PolicyRuling, Waiver
from evenhand.engine.subject import Data
from evenhand.errors import StoreError, UnknownName
from evenhand.limits import Count
from evenhand.measures.group import BY_NAME
from evenhand.models.budget import Budget
from evenhand.oracles import OracleChoice
from evenhand.report.rendered import Rendered
from evenhand.verbs.measure import measure
from evenhand.verbs.measure_result import MeasureOptions
from evenhand.verbs.replay import replay
from evenhand.verbs.scan import DEFAULT_METHODS, Options, scan

if TYPE_CHECKING:
    import pandas as pd

SHORT = Budget(candidates=5_000)
"""What a build can spend where nobody says how much."""


@dataclass(frozen=True)
class GateOptions:
    """What is asked beside the policy.

    witnesses: a folder of kept pairs; they are asked again first.  baseline: an earlier result, as its file or its dictionary.
    budget: of the search; 5,000 candidates by default.  methods: of the search.  today: the day that waivers are held against.
    tolerance: by how much a rate may rise above the baseline's.

    >>> GateOptions().budget.candidates
    5000
    """

    witnesses: Path | None = None
    baseline: Path | Mapping[str, Any] | None = None
    budget: Budget = SHORT
    methods: Sequence[str] = DEFAULT_METHODS
    oracle: OracleChoice | None = None
    rate_rows: Count | None = None
    today: date | None = None
    tolerance: float = 0.0
    watch: Watch | None = None


@dataclass(frozen=True, repr=False)
class GateResult(Rendered):
    """What the policy says, and everything that it rests on."""

    header: Header
    ruling: PolicyRuling
    content: Mapping[str, Any]  # the parts' dictionary that the ruling stands on

    @property
    def outcome(self) -> Outcome:
        """Pass, violation or inconclusive."""
        return self.ruling.outcome

    @property
    def reason(self) -> str:
        """Why."""
        return self.ruling.reason

    def summary(self) -> str:
        """One line for each condition."""
        marks = {"pass": "ok  ", "violation": "FAIL", "inconclusive": "?   "}
        lines = [f"{marks[each.check()['outcome']]} {each.name}: {each.check()['message']}" for each in self.ruling.held]
        return "\n".join([f"{self.outcome.upper()}: {self.reason}.", *lines, *self.content["sentences"][:2]])

    def frame(self) -> pd.DataFrame:
        """One row for each condition."""
        import pandas as pd

        return pd.DataFrame([asdict(each) for each in self.ruling.held])

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads, and that a later gate takes as its baseline."""
        told = self.ruling.on(self.content)
        return {**told, "verb": "gate", "header": self.header.as_dict()}


def gate(
    model: Model,
    data: Data,
    policy: Policy | None = None,
    *,
    protected: Sequence[str] | None = None,
    seed: int = 0,
    options: GateOptions | None = None,
) -> GateResult:
    """Whether the model keeps the policy.

    policy: what is demanded; by default that nobody is treated differently.  model, data, protected, seed: as for `scan`.
    options: kept pairs, a baseline, the budget.

    >>> import evenhand as eh
    >>> data = eh.open("credit", protected=["age"])
    >>> model = eh.wrap(lambda frame: 50 + frame["age"] - frame["duration"], data, returns="score", threshold=60)
    >>> eh.gate(model, data, eh.Policy(eh.Gate(max_rate=0.01))).outcome
    'violation'
    """
    policy, options = policy or Policy(), options or GateOptions()
    kept = _kept_pairs(model, data, options)
    chosen = Options(rate_rows=options.rate_rows, gate=policy.gate, watch=options.watch)
    scanned = scan(
        model, data, protected=protected, methods=options.methods, oracle=options.oracle, budget=options.budget, seed=seed, options=chosen
    )  # fmt: skip
    results = [*kept, scanned.as_dict()]
    if policy.needs_groups:
        results.append(_groups(model, data, policy, protected, seed, options))
    content = joined(results)
    baseline = _baseline(options, content)
    details = {"gate": asdict(policy.gate), "policy": policy_told(policy), "preflight": scanned.header.details.get("preflight")}
    header = replace(scanned.header, verb="gate", details={**details, "baseline": _baseline_told(baseline)})
    return GateResult(header, policy.judge(results, baseline, options.today), content)


def _kept_pairs(model: Model, data: Data, options: GateOptions) -> list[dict[str, Any]]:
    """Kept pairs asked again; a folder that is not there, or is empty, has none."""
    folder = options.witnesses
    if folder is None or not folder.is_dir() or not any(folder.glob("*.json")):
        return []
    return [replay(folder, model, data).as_dict()]


def _groups(model: Model, data: Data, policy: Policy, protected: Sequence[str] | None, seed: int, options: GateOptions) -> dict[str, Any]:
    """Groups alone: what the search measured already is not measured again."""
    asked = MeasureOptions(
        confidence=policy.gate.confidence, max_rate=policy.gate.max_rate, rate_rows=options.rate_rows, groups_only=True,
        watch=options.watch,
    )  # fmt: skip
    return measure(model, data, protected=protected, oracle=options.oracle, seed=seed, options=asked).as_dict()


def joined(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several results as one: the search's, with the groups of a measurement and the pairs of a replay."""
    first = next(each for each in results if each["verb"] != "replay")
    body = dict(first["body"])
    for each in results:
        if each["verb"] == "measure":
            body["groups"] = each["body"]["groups"]
            body["notes"] = [*body.get("notes", []), *each["body"]["notes"]]
    pairs = {pair["id"]: pair for each in results for pair in each["witnesses"]}
    return {**first, "body": body, "checks": [], "witnesses": list(pairs.values())}


def _baseline(options: GateOptions, content: Mapping[str, Any]) -> Baseline | None:
    from evenhand.report import load

    given = options.baseline
    if given is None:
        return None
    if isinstance(given, Path) and not given.exists():
        raise StoreError(f"the baseline {given} does not exist; `evenhand gate --json > {given}` makes one of this run")
    return Baseline(load(given) if isinstance(given, Path) else given, content, options.tolerance)


def ruled(content: Mapping[str, Any], policy: Policy, baseline: Path | None) -> PolicyRuling | None:
    """What a policy says of one result where there is a baseline or a waiver; None where the result's own ruling stands."""
    if baseline is None and not policy.waivers:
        return None
    return policy.judge([content], _baseline(GateOptions(baseline=baseline), content))


def every_group(policy: Policy, content: Mapping[str, Any], most: float) -> Policy:
    """The policy; without limits of groups of its own, with one for every figure that was measured."""
    if policy.groups:
        return policy
    named = {figure["metric"]: figure["unit"] for figure in content["body"].get("groups") or ()}
    limits = tuple(
        GroupLimit(name, least=1 - most) if unit == "ratio" else GroupLimit(name, most=most if unit == "share" else 0.0)
        for name, unit in named.items()
    )
    return replace(policy, groups=limits)


def _baseline_told(baseline: Baseline | None) -> dict[str, Any] | None:
    if baseline is None:
        return None
    change = baseline.change
    then = baseline.before["header"]
    told = {"date": then.get("date"), "model": then.get("model", {}).get("digest")}
    return told if change is None else {**told, **asdict(change), "verdict": change.verdict}


def policy_told(policy: Policy) -> dict[str, Any]:
    """A policy for JSON: conditions and waivers, in plain words."""
    waivers = [{**asdict(each), "expires": each.expires.isoformat()} for each in policy.waivers]
    return {
        "groups": [asdict(each) for each in policy.groups],
        "classes": list(policy.classes),
        "worst_gap": policy.worst_gap,
        "waivers": waivers,
    }


def policy_of(settings: GateSettings) -> Policy:
    """The policy that a project file describes.

    >>> policy_of(GateSettings(max_rate=0.05)).gate.max_rate
    0.05
    """
    for limit in settings.groups:
        if limit.metric not in BY_NAME:
            raise UnknownName("group measure", limit.metric, BY_NAME)
    return Policy(
        Gate(settings.max_rate, settings.confidence, settings.resolution),
        tuple(GroupLimit(each.metric, each.most, each.least, each.by) for each in settings.groups),
        settings.classes,
        settings.worst_gap,
        tuple(Waiver(each.of, each.owner, each.reason, date.fromisoformat(each.expires)) for each in settings.waivers),
    )
