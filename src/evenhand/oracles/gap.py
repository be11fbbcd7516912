"""The same person with a different protected value gets a clearly different score, whatever the label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeAlias

from evenhand.arrays import Rows
from evenhand.contract import Model, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.limits import Limit, check_limits
from evenhand.oracles.parts.people import People, Tolerance, given_pairs, twins_of

BetweenZeroAndOne: TypeAlias = Annotated[float, Limit(above=0, below=1)]


@dataclass(frozen=True)
class ScoreGap:
    """Unfair when the scores of two possible twins differ by more than a threshold.

    threshold: how far apart the scores of one class may be; between 0 and 1.
    """

    threshold: BetweenZeroAndOne = 0.1

    shows_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_limits(self)

    @property
    def words(self) -> str:
        """For a sentence."""
        return f"would get a score more than {self.threshold:g} away with a different protected value"

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input, over every protected combination."""
        return self._judge(twins_of(rows, domain), model)

    def judge_pairs(self, first: Rows, second: Rows, _domain: TabularDomain, model: Model) -> Verdict:
        """One entry per pair."""
        return self._judge(given_pairs(first, second), model)

    def _judge(self, people: People, model: Model) -> Verdict:
        if model.is_hard:
            raise InvalidArgument("oracle gap needs scores, but this model only says labels; use flip")
        if len(model.classes) == 1:
            raise InvalidArgument("oracle gap compares scores of classes, but this model answers amounts; use amounts, with a tolerance")
        return people.ask(model).judge(Tolerance(self.threshold))

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)
