"""The plainest question: only the protected cells are changed, and nothing that would follow from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evenhand.arrays import Rows
from evenhand.contract import Model, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.oracles.twins_flip import LabelFlip


@dataclass(frozen=True)
class DirectFlip:
    """Unfair when changing the protected cells alone changes the label.  A model that does not read them always passes."""

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input, over every protected combination."""
        return LabelFlip().judge(rows, replace(domain, implied=()), model)

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)
