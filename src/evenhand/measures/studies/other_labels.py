"""Several labels at once, as of CelebA: right answers, and yes among those who are and who are not, for every label beside the main one.

Nobody has said that one of their values is better to get.  So groups are compared among people of one true value: a label that is more
common in a group is said more often there by a model that reads everybody alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from evenhand.claims import Claim, Span
from evenhand.contract import StudyCase, StudySection
from evenhand.measures.group import BY_NAME, UNKNOWN, WHERE_NOBODY_HOPES, Outcomes
from evenhand.measures.group_figures import Figure, GroupSettings, corrected, figure
from evenhand.measures.groups import groupings
from evenhand.media.picture_batches import batches
from evenhand.models.picture_tasks import ManyLabels

RIGHT = "accuracy"
JUDGED = ("equal_opportunity", "predictive_equality")
YES = ("yes", "1", "true")
NO = ("no", "0", "-1", "false")


@dataclass(frozen=True)
class OtherLabels:
    """Group figures of the labels that a function says besides the data's own; all corrected for each other."""

    media: ClassVar[tuple[str, ...]] = ("album",)
    needs_function: ClassVar[type] = ManyLabels

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """Each label that the album knows."""
        asked = function_of(case.model.model)
        assert isinstance(asked, ManyLabels)
        names = [name for name in asked.names if name != asked.main and name in case.frame.columns]
        said, settings = _said(case, asked), GroupSettings(case.confidence)
        found: list[Figure] = []
        for name in names:
            truth = _truth(case.frame[name])
            outcomes = Outcomes(said[:, asked.names.index(name)] >= 0.5, truth)
            for grouping in groupings(case.rows, case.domain):
                made = [figure(BY_NAME[metric], outcomes, grouping, settings, rng, truth.astype(np.intp)) for metric in (RIGHT, *JUDGED)]
                found += [_of_label(each, name) for each in made if each]
        figures = corrected(found)
        missing = [name for name in asked.names if name not in (*names, asked.main)]
        body = {"labels": names, "unknown": missing, "figures": [each.as_dict() for each in figures]}
        judged = [each for each in figures if each.metric.partition("[")[0] in JUDGED]  # right answers are made of these
        return StudySection(body, tuple(_sentences(figures, names)), tuple(_claim(each, case.tolerance) for each in judged))


def _of_label(each: Figure, name: str) -> Figure:
    title, meaning = WHERE_NOBODY_HOPES.get(each.metric, (each.title, each.meaning))
    return replace(each, metric=f"{each.metric}[{name}]", title=f"{title}: {name}", meaning=meaning)


def function_of(model: Any) -> Any:
    """What the user gave, behind a model that is shown pictures."""
    return getattr(getattr(model, "reader", None), "function", None)


def _said(case: StudyCase, asked: ManyLabels) -> Any:
    """Probabilities of yes, some pictures at a time."""
    size = getattr(case.medium, "picture_bytes", 0)
    return np.concatenate([asked.every(case.medium.show(case.rows[part])) for part in batches(len(case.rows), size)])


def _truth(words: Any) -> Any:
    codes = [1 if str(word).lower() in YES else 0 if str(word).lower() in NO else UNKNOWN for word in words]
    return np.array(codes, dtype=np.int8)


def _sentences(figures: list[Figure], names: list[str]) -> list[str]:
    told = []
    for name in names:
        different = [each for each in figures if each.metric.endswith(f"[{name}]") and each.verdict == "different"]
        apart = ", ".join(f"{each.title.split(':')[0]} by {each.attribute}" for each in different)
        told.append(f"label {name}: groups differ in {apart}" if apart else f"label {name}: no difference between groups is shown")
    return told


def _claim(each: Figure, tolerance: float) -> Claim:
    name = f"{each.title} by {each.attribute}"
    low, high = each.size.low, each.size.high
    told = f"label {each.title.partition(': ')[2]}, {each.meaning}, by {each.attribute}"
    if low is None or high is None:
        return Claim(name, open=f"too few pictures to say whether groups differ: {told}")
    bounds, most = f"{told}: {low:.1%} to {high:.1%} apart", f"by more than the tolerated {tolerance:.1%}"
    span = Span(low if each.verdict == "different" else 0.0, high, tolerance)
    return Claim(
        name, f"groups differ {most}: {bounds}", f"too few pictures to say whether groups differ {most}: {bounds}", bounds, (span,)
    )
