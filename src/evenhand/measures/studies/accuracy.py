"""AITEST's accuracy: how often the model says the true label, for everybody and for every protected group.

Paper: Saha, Aggarwal, Hans, "Data Synthesis for Testing Black-Box Machine Learning Models", arXiv 2111.02161, 2022.
Where rows have no label, they are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import StudyCase, StudySection, labels_of
from evenhand.domain.tabular import describe_combination
from evenhand.errors import DataError
from evenhand.statistics.intervals import Interval, clopper_pearson


@dataclass(frozen=True)
class LabelAccuracy:
    """The share of labelled people whose label the model says, with exact intervals."""

    media: ClassVar[tuple[str, ...]] = ("table", "text", "album", "portraits")
    on_request: ClassVar[bool] = True

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:  # noqa: ARG002  (nothing is drawn)
        """Overall, and group by group."""
        if case.labels is None or not (case.labels >= 0).any():
            raise DataError("study accuracy needs true labels, and there are none; declare a label, or leave the study out")
        known = case.labels >= 0
        right = labels_of(case.model.scores(case.rows[known])) == case.labels[known]
        own = case.domain.own_combination(case.rows[known])
        groups = {
            ", ".join(str(value) for value in describe_combination(case.domain, at).values()): _share(right[own == at], case.confidence)
            for at in range(len(case.domain.combinations))
            if (own == at).any()
        }
        every = _share(right, case.confidence)
        figures = {"accuracy": every.as_dict(), "groups": {name: share.as_dict() for name, share in groups.items()}}
        worst = min(groups, key=lambda name: groups[name].estimate) if groups else ""
        least = f"; least often of {worst!r}, {groups[worst]}" if groups else ""
        return StudySection(figures, (f"the model says the true label of {every} of the labelled people{least}",))


def _share(right: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], confidence: float) -> Interval:
    return clopper_pearson(int(right.sum()), len(right), confidence)
