"""AITEST's group fairness: favourable shares of the groups when the protected cells are made independent of everything else.

Paper: Saha, Aggarwal, Hans, "Data Synthesis for Testing Black-Box Machine Learning Models", arXiv 2111.02161, 2022:
the protected attribute is drawn by itself, so that what
goes along with a group in the data cannot explain a difference; a disparate impact below 0.8 uncovers bias (the four-fifths rule).

The people are the data's; their protected cells are dealt out among them at random, and deals that break a constraint are left out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import StudyCase, StudySection
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DomainError
from evenhand.limits import Count, check_limits
from evenhand.measures.coverage.properties import GroupFairness, group_fairness, privileged_fairness

FOUR_FIFTHS = 0.8


@dataclass(frozen=True)
class IndependentGroups:
    """Disparate impact, parity difference and parity ratio with intervals, on people whose group was dealt out by chance.

    people: how many are drawn from the data, with replacement.  privileged: who is compared with everybody else, as a rule of the
    language such as `sex == 'Male'`; without one, every protected group is compared with the one that is favoured most.
    """

    people: Count = 10_000
    privileged: str = ""

    media: ClassVar[tuple[str, ...]] = ("table", "text")
    on_request: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_limits(self)

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """Shares of every group, and what they make of the four-fifths rule."""
        if not case.domain.has_classes:
            raise DomainError("study independent_groups compares favourable shares, and the label has no classes")
        drawn = case.rows[rng.integers(0, len(case.rows), self.people)]
        rows = dealt(drawn, case.domain, rng)
        found = (
            privileged_fairness(case.model, rows, case.domain, rng, self.privileged)
            if self.privileged
            else group_fairness(case.model, rows, case.domain, rng)
        )
        figures: dict[str, Any] = {"shares": {name: share.as_dict() for name, share in found.shares.items()}}
        for name in ("disparate_impact", "parity_difference", "parity_ratio"):
            # A ratio to nobody at all is infinite, which JSON has no word for.
            figures[name] = {part: value if np.isfinite(value) else None for part, value in asdict(getattr(found, name)).items()}
        return StudySection(figures, (_sentence(found),))


def dealt(rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> Rows:
    """The rows with one of the compared combinations each, by chance; those that then break a constraint are left out."""
    mixed = domain.twin(rows, rng.integers(0, len(domain.combinations), len(rows)))
    mixed[:, list(domain.free_places)] = rows[:, list(domain.free_places)]  # what is implied is independent here too
    return mixed[domain.contains(mixed)]


def _sentence(found: GroupFairness) -> str:
    impact = found.disparate_impact
    rule = "below" if impact.high < FOUR_FIFTHS else "not below" if impact.low >= FOUR_FIFTHS else "not clearly on one side of"
    worst, *_, best = sorted(found.shares, key=lambda name: found.shares[name].estimate)  # two names also where all shares are equal
    return (
        f"with the group dealt out by chance, {found.shares[worst].estimate:.1%} of {worst!r} and {found.shares[best].estimate:.1%} of "
        f"{best!r} are favoured: disparate impact {impact.value:.2f} ({impact.low:.2f} to {impact.high:.2f}), {rule} four fifths"
    )
