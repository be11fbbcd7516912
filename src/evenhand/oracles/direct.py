"""Only the protected cells are changed, and nothing that is declared to follow from them: the plainest question there is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from evenhand.arrays import Rows
from evenhand.contract import Model, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.oracles.parts.people import given_pairs, twins_of
from evenhand.oracles.parts.tolerated import Tolerated


@dataclass(frozen=True)
class DirectFlip(Tolerated):
    """Unfair when changing the protected cells alone changes the label.  A model that does not read them always passes.

    tolerance: compare scores or amounts instead of labels, and call them different when they are further apart than this.
    """

    shows_pairs: ClassVar[bool] = True
    because: ClassVar[str] = "if the protected cells alone were different"

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input, over every protected combination."""
        self.check(model, "direct")
        return twins_of(rows, replace(domain, implied=())).ask(model).judge(self.apart)

    def judge_pairs(self, first: Rows, second: Rows, _domain: TabularDomain, model: Model) -> Verdict:
        """One entry per pair."""
        return given_pairs(first, second).ask(model).judge(self.apart)

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)
