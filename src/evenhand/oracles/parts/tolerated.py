"""When two answers count as different: other labels, or numbers further apart than a tolerance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Model, Oracle
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import NotNegative, check_limits
from evenhand.oracles.parts.people import Apart, Tolerance, check_labels

SPREAD_SHARE = 0.1
"""Without a declared tolerance, amounts a tenth of their standard deviation apart count as different."""

MOST_ASKED = 2_000
"""Real people who are asked for that deviation."""


@dataclass(frozen=True)
class Tolerated:
    """An oracle that compares labels, or with a tolerance the scores or amounts."""

    tolerance: NotNegative | None = None

    because: ClassVar[str] = "with a different protected value"

    def __post_init__(self) -> None:
        check_limits(self)

    def learned(self, rows: Rows | None, domain: TabularDomain, model: Model) -> Oracle:
        """The same oracle with the tolerance that holds here; an oracle that learns more overrides this."""
        made: Any = replace(self, tolerance=usual_tolerance(self.tolerance, rows, domain, model))
        oracle: Oracle = made  # what inherits from here judges
        return oracle

    @property
    def apart(self) -> Apart | None:
        """None for labels."""
        return None if self.tolerance is None else Tolerance(self.tolerance)

    @property
    def words(self) -> str:
        """For a sentence."""
        what = "a different outcome" if self.tolerance is None else f"an answer more than {self.tolerance:g} away"
        return f"would get {what} {self.because}"

    def check(self, model: Model, name: str) -> None:
        """Raise for a regression without a tolerance, whose labels never differ."""
        if self.tolerance is None:
            check_labels(model, name, f"set a tolerance ({name}:tolerance=...)")


def usual_tolerance(tolerance: float | None, rows: Rows | None, domain: TabularDomain, model: Model) -> float | None:
    """The given tolerance; for a regression without one the label's, else a tenth of the deviation of its answers."""
    if tolerance is not None or len(model.classes) > 1:
        return tolerance
    if domain.label is not None and domain.label.tolerance is not None:
        return domain.label.tolerance
    asked = rows[:MOST_ASKED] if rows is not None and len(rows) else domain.sample(MOST_ASKED, np.random.default_rng(0))
    # Four digits are enough for a tolerance, and can be read and typed again.
    return float(f"{SPREAD_SHARE * float(np.std(model.scores(asked))):.4g}")
