"""What `measure` is asked for and what it returns: its options, and a measurement that every rendering reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.claims import Claim
from evenhand.contract import Executor, Outcome, StudySection, Watch
from evenhand.domain.causal_graph import CausalGraph
from evenhand.engine.gate import checks_of, section_dict
from evenhand.engine.header import Header
from evenhand.engine.result import Telling, result_dict
from evenhand.engine.witness import Witness
from evenhand.errors import InvalidArgument
from evenhand.limits import ConfidenceLevel, Count, InnerShare, RandomDeals, ShareBelowOne, WholeNumber, check_limits
from evenhand.measures.group_fairlearn import FairlearnFigure
from evenhand.measures.group_figures import Figure, GroupPart
from evenhand.measures.oracles_side_by_side import OracleComparison
from evenhand.measures.rates import Rate
from evenhand.measures.reweighted_rate import WeightedRate
from evenhand.report.rendered import Rendered
from evenhand.verbs.measured_evidence import MeasuredEvidence
from evenhand.verbs.measurement import summary_of

if TYPE_CHECKING:
    import pandas as pd

LEADING = ("label_accuracy", "accuracy", "statistical_parity")
"""The figure of groups that leads where nothing is said about individuals: the first of these that was measured."""


@dataclass(frozen=True)
class MeasureOptions:
    """What is measured, and how finely.

    labels, weights: one per row of the data, instead of what the data holds; a missing label is allowed.  weights may name a column.
    smallest_gap: the gap between groups that matters; groups too small to show it are named insufficient.
    max_gap, max_rate: what is tolerated; 0 means that any proven difference is a violation.
    tolerance: for amounts, how far two answers must be apart to count; None takes a tenth of their standard deviation.
    graph: a causal graph for the resampled oracle; None learns the chain.  extra: more metrics of Fairlearn or scikit-learn by name.
    natural_candidates: budget of the natural search behind the weighted rate; 0 leaves it out.  null_draws: 0 leaves the null out.
    leaning: the net change of a class between two protected values of a picture that is tolerated.
    rate_rows: people judged for each rate; None for 10,000, and for all real rows where they can be asked.
    rare_people: plausible people judged to tell a share down to one in a million, by splitting; 0 leaves it out.  For labels only.
    studies: names of studies to make beside those that always fit the data; `evenhand methods --studies` lists them.
    ordered: whether the classes have an order, as age groups have.
    groups_only: leave out plausible people, the oracles side by side and studies, which no group needs.
    draws: random deals behind a permutation test; the smallest p-value that it can give is one over their number.
    executor: who shares the figures, the shuffles and, of pictures and scenes, the batches; what is measured is the same whoever it is.
    folder: where the answers of a model that is costly to ask (pictures, scenes, endpoints) are kept until all is measured, so that the
    same call goes on after an interruption.
    fresh: ask a model behind a network everything again, for it was changed; what was kept before stays aside in the folder.

    >>> MeasureOptions(max_gap=0.05, groups_only=True).confidence
    0.95
    """

    labels: Sequence[Any] | None = None
    weights: Sequence[float] | str | None = None
    confidence: ConfidenceLevel = 0.95
    smallest_gap: InnerShare = 0.1
    max_gap: ShareBelowOne = 0.0
    max_rate: ShareBelowOne = 0.0
    rate_rows: Count | None = None
    rare_people: WholeNumber = 0
    tolerance: float | None = None
    amounts: bool = False
    graph: CausalGraph | None = None
    compare_rows: WholeNumber = 2_000
    null_draws: WholeNumber = 19
    natural_candidates: WholeNumber = 20_000
    extra: tuple[str, ...] = ()
    studies: tuple[str, ...] = ()
    draws: RandomDeals = 4_999
    leaning: ShareBelowOne = 0.05
    ordered: bool = False
    groups_only: bool = False
    watch: Watch | None = None
    executor: Executor | None = None
    folder: Path | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True)
class IndividualRate:
    """A rate under the name that the papers give it."""

    name: str
    meaning: str
    rate: Rate

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"name": self.name, "meaning": self.meaning, **self.rate.as_dict()}


@dataclass(frozen=True, repr=False)
class Measurement(Rendered):
    """Everything that was measured; reports are renderings of it."""

    header: Header
    individual: tuple[IndividualRate, ...]
    anytime: dict[str, Any] | None
    weighted: WeightedRate | None
    figures: tuple[Figure, ...]
    fairlearn: tuple[FairlearnFigure, ...]
    comparison: OracleComparison | None
    outcome: Outcome
    reason: str
    alarms: tuple[str, ...]
    notes: tuple[str, ...]
    studies: Mapping[str, StudySection] = field(default_factory=dict)  # of what the rows show, by name
    evidence: MeasuredEvidence = field(
        default_factory=MeasuredEvidence
    )  # pairs of real rows, where they concentrate, and the model as a tree
    wiring_doubt: str = ""  # why it may not have been asked what it should be

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        """Pairs of real rows that are treated differently, for people to look at and to replay."""
        return self.evidence.witnesses

    def figure(self, metric: str, attribute: str | None = None) -> Figure:
        """One figure by its metric, and by the attribute where there are several."""
        for each in self.figures:
            if each.metric == metric and attribute in (None, each.attribute):
                return each
        known = ", ".join(sorted({f"{each.metric} by {each.attribute}" for each in self.figures}))
        raise InvalidArgument(f"metric={metric!r}, attribute={attribute!r} was not measured; there are: {known}")

    def summary(self) -> str:
        """A page of text for a person."""
        return summary_of(self.as_dict())

    def frame(self) -> pd.DataFrame:
        """One row for each figure of groups, with its interval, its corrected p-value and its verdict."""
        import pandas as pd

        told = [{name: value for name, value in each.as_dict().items() if name != "groups"} for each in self.figures]
        return pd.DataFrame(told or [each.as_dict() for each in self.individual])

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        body = {
            "rates": [each.as_dict() for each in self.individual],
            "anytime": self.anytime,
            "weighted": self.weighted.as_dict() if self.weighted else None,
            "groups": [each.as_dict() for each in self.figures],
            "fairlearn": [each.as_dict() for each in self.fairlearn],
            "oracles": self.comparison.as_dict() if self.comparison else None,
            "studies": {name: section_dict(section, self.wiring_doubt) for name, section in self.studies.items()},
            "alarms": list(self.alarms),
            "notes": list(self.notes),
            "wiring_doubt": self.wiring_doubt,
            **self.evidence.body,
        }
        first = [each.rate.sentence for each in self.individual[:1]] or [
            sentence for sentence in (worst_sentence(self.figures),) if sentence
        ]
        sentences = [*first, *(told for section in self.studies.values() for told in section.sentences)]
        return result_dict(self, Telling(sentences, self._checks(), self.evidence.pairs, body))

    def _checks(self) -> list[dict[str, Any]]:
        """What each figure of groups and each study decides; a difference is a violation unless the whole tolerated it."""
        figures = [self._claim(each) for each in self.figures]
        return checks_of([*figures, *(claim for section in self.studies.values() for claim in section.claims)], self.wiring_doubt)

    def _claim(self, each: Figure) -> Claim:
        is_broken = each.verdict == "different" and self.outcome != "pass"
        unclear = each.meaning if each.verdict == "insufficient" else ""
        return Claim(f"{each.title} by {each.attribute}", each.meaning if is_broken else "", unclear, each.meaning)


def worst_sentence(figures: Sequence[Figure]) -> str:
    """The group that fares worst in the leading figure, over every value and intersection; empty where no group has enough rows.

    A figure that shows a difference goes first, and the group that is lower still beside it; where none does, no group is called the worst.
    """
    leading = next((name for name in LEADING if any(each.metric == name for each in figures)), "")
    parts = [(each, each.worst) for each in figures if each.metric == leading]
    known = sorted(((each, part) for each, part in parts if part is not None), key=lambda one: one[1].estimate or 0.0)
    shown = next(((each, part) for each, part in known if each.verdict == "different"), None)
    if not known:
        return ""
    figure, worst = known[0]
    if shown is None:
        return f"no difference is shown in {figure.title.lower()} by {figure.attribute}; {worst.name}: {_told(worst)}"
    below = f"; {figure.attribute} = {worst.name} has {_told(worst)}, where no difference is shown" if figure.verdict != "different" else ""
    return f"{shown[0].title} is lowest for {shown[0].attribute} = {shown[1].name}: {_told(shown[1])}{below}"


def _told(part: GroupPart) -> str:
    return f"{part.estimate or 0.0:.1%} ({part.low:.1%} to {part.high:.1%}, {part.rows:,} rows)"
