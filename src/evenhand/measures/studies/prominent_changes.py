"""AITEST's robustness score: the share of people whose label turns when one of their most prominent cells changes.

Paper: Saha, Aggarwal, Hans, "Data Synthesis for Testing Black-Box Machine Learning Models", arXiv 2111.02161, 2022:
LIME says which half of the columns matters for each
person; each of these takes every category, or every step within three units.  The oracle `robustness` searches for such people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import StudyCase, StudySection
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, Positive, ShareAboveZero, TwoOrMore, check_limits
from evenhand.measures.coverage.properties import Perturbation, robustness


@dataclass(frozen=True)
class ProminentChanges:
    """How many people have a neighbour with another label.

    people: how many of the data are tried.  share: of the columns, the most prominent ones.  reach: of numbers.
    lime_rows: perturbed rows behind the prominence.
    """

    people: Count = 1_000
    share: ShareAboveZero = 0.5
    reach: Positive = 3.0
    lime_rows: TwoOrMore = 1_000

    media: ClassVar[tuple[str, ...]] = ("table", "text")
    on_request: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_limits(self)

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """The paper's RS with its interval."""
        if len(case.model.classes) == 1:
            raise InvalidArgument("study prominent_changes compares labels, but this model answers amounts; use the oracle robustness")
        people = case.rows[rng.permutation(len(case.rows))[: self.people]]
        how = Perturbation(self.share, self.reach, self.lime_rows, data=case.rows)
        found = robustness(case.model, people, case.domain, rng, how)
        figures = {
            "score": found.score.as_dict(),
            "people": len(people),
            "neighbours": found.neighbours,
            "failing_neighbours": found.failing_neighbours,
        }
        share = found.score
        sentence = (
            f"{share.estimate:.1%} of {len(people):,} people ({share.low:.1%} to {share.high:.1%}) get another label when one of their "
            f"most prominent cells changes a little; {found.failing_neighbours:,} of {found.neighbours:,} changes did it"
        )
        return StudySection(figures, (sentence,))
