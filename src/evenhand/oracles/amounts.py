"""Two twins are given clearly different amounts, such as prices or salaries: for regression models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from evenhand.arrays import Rows
from evenhand.contract import Model, Oracle, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.limits import NotNegative, Share, check_limits
from evenhand.oracles.parts.people import People, Tolerance, given_pairs, twins_of
from evenhand.oracles.parts.tolerated import usual_tolerance


@dataclass(frozen=True)
class AmountGap:
    """Unfair when the amounts of two possible twins differ by more than the tolerance; with both limits, by more than each.

    tolerance: in the label's unit.  share: of the larger of the two amounts.  Without either, the label's own tolerance holds, else a
    tenth of the standard deviation of the model's answers about real people.
    unit: what a reader sees behind an amount; the label's, if it has one.
    """

    tolerance: NotNegative | None = None
    share: Share | None = None
    unit: str = ""

    shows_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_limits(self)

    @property
    def words(self) -> str:
        """For a sentence."""
        unit = f" {self.unit}" if self.unit else ""
        limits = [f"{self.tolerance:,g}{unit}"] if self.tolerance else []
        limits += [f"{self.share:.3g} of it"] if self.share else []
        how = f"more than {' and '.join(limits)} away" if limits else "that differs"
        return f"would get an amount {how} with a different protected value"

    def learned(self, rows: Rows | None, domain: TabularDomain, model: Model) -> Oracle:
        """The same oracle with the limits that hold here."""
        unit = self.unit or (domain.label.unit or "" if domain.label else "")
        share = self.share
        if self.tolerance is None and share is None and domain.label is not None:
            share = domain.label.share
        tolerance = self.tolerance if share is not None else usual_tolerance(self.tolerance, rows, domain, model)
        return replace(self, tolerance=tolerance, share=share, unit=unit)

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input, over every protected combination."""
        return self._judge(twins_of(rows, domain), model)

    def judge_pairs(self, first: Rows, second: Rows, _domain: TabularDomain, model: Model) -> Verdict:
        """One entry per pair."""
        return self._judge(given_pairs(first, second), model)

    def _judge(self, people: People, model: Model) -> Verdict:
        if len(model.classes) > 1:
            raise InvalidArgument(
                f"oracle amounts needs a model that answers one amount, but this one has the classes {list(model.classes)}; use flip or gap"
            )
        return people.ask(model).judge(Tolerance(self.tolerance or 0.0, self.share or 0.0))

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)
