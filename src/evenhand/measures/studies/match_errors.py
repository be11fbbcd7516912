"""Verification by group: how often different people are taken for one (false matches), and one person for two (false non-matches)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.claims import Claim, Span
from evenhand.contract import StudyCase, StudySection, labels_of
from evenhand.measures.group import Cases, Outcomes, ShareMetric
from evenhand.measures.group_figures import Figure, GroupSettings, corrected, figure
from evenhand.measures.groups import groupings


def _cases(truth: int) -> Any:
    """Pairs of this kind, and which of them are answered wrongly."""

    def cases(outcomes: Outcomes) -> tuple[Cases, ...] | None:
        if outcomes.chosen is None or outcomes.truth is None:
            return None
        return (Cases(outcomes.truth == truth, outcomes.chosen != (truth == 1)),)

    return cases


ERRORS = (
    ShareMetric("false_match", "False matches", "share of pairs of different people that are taken for one person", "gap", _cases(0)),
    ShareMetric("false_non_match", "False non-matches", "share of pairs of one person that are taken for two people", "gap", _cases(1)),
)


@dataclass(frozen=True)
class MatchErrors:
    """False matches and false non-matches of every group, with bounds that hold together."""

    media: ClassVar[tuple[str, ...]] = ("album",)
    needs_label: ClassVar[str] = "same"

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """Both errors, by every value and intersection."""
        assert case.labels is not None  # `same` is known of every pair
        outcomes = Outcomes(labels_of(case.model.scores(case.rows)) == 1, case.labels.astype(np.int8))
        settings = GroupSettings(case.confidence)
        every = [figure(metric, outcomes, each, settings, rng) for each in groupings(case.rows, case.domain) for metric in ERRORS]
        found = corrected([each for each in every if each is not None])
        claims = tuple(_claim(each, case.tolerance) for each in found)
        return StudySection({"errors": [each.as_dict() for each in found]}, tuple(_sentence(each) for each in found), claims)


def _sentence(each: Figure) -> str:
    parts = [f"{part.estimate:.1%} of {part.rows} pairs of {part.name}" for part in each.groups if part.estimate is not None]
    return f"{each.title.lower()} by {each.attribute}: {', '.join(parts) or 'no pairs'}; corrected p {each.adjusted:.2g}"


def _claim(each: Figure, tolerance: float) -> Claim:
    name, sentence = f"{each.title.lower()} by {each.attribute}", _sentence(each)
    low, high = each.size.low, each.size.high
    unclear = f"too few pairs to say whether groups differ by more than the tolerated {tolerance:.1%}: {sentence}"
    if low is None or high is None:
        return Claim(name, open=unclear)
    span = Span(low if each.verdict == "different" else 0.0, high, tolerance)
    return Claim(name, f"groups differ: {sentence}; {tolerance:.1%} is tolerated", unclear, sentence, (span,))
