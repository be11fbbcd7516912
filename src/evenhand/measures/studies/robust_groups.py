"""Robustness by group: whether a change that leaves the person as they are costs one group more right answers than another.

Each change of `media/disturbances` is made to every picture.  Of the pictures that were read rightly before, the share that is lost is
compared between groups, within every true label and weighed by how common the labels are, so that a group whose label is lost more often
is not blamed for that.  A difference counts where an exact test shows it, corrected for all changes and groups, and where its whole
interval lies beyond what is tolerated; the intervals hold together over all changes and groups, which are asked about the same pictures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Mask, Reals
from evenhand.claims import Claim, Span
from evenhand.contract import Disturbance, StudyCase, StudySection, labels_of
from evenhand.errors import InvalidArgument
from evenhand.measures.disturbed_pictures import ChangedAnswers, examples
from evenhand.measures.group_figures import Figure, GroupPart, corrected
from evenhand.measures.groups import Grouping, groupings
from evenhand.measures.standardised_shares import Lost, added_parts, standardised, stratum_of
from evenhand.media.disturbances import chosen_disturbances
from evenhand.media.parts.disturbed_medium import DisturbedMedium
from evenhand.models.meter import Meter
from evenhand.models.shown import ShownModel
from evenhand.statistics import gaps
from evenhand.statistics.contrasts import Contrasts, reaches
from evenhand.statistics.gaps import Bounds, Size
from evenhand.statistics.permutation import Stratum, shares_test

FEWEST = 20
"""Pictures that were read rightly which a group needs to be compared."""
DRAWS = 1_999
POWER = 0.8
"""The share of cases in which the gap that is called detectable would be found."""
WORTH_FINDING = 0.05
"""A gap so far beyond what is tolerated is what the needed number of pictures is told for."""


@dataclass(frozen=True)
class RobustGroups:
    """What every change costs every group.  changes: names of `media/disturbances`, separated by plus signs; all of them without."""

    changes: str = ""

    media: ClassVar[tuple[str, ...]] = ("album", "portraits")
    on_request: ClassVar[bool] = True

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """Shares of right answers that are lost, by group, for every change."""
        before = labels_of(case.model.scores(case.rows))
        truth = before if case.labels is None else case.labels
        right = (before == truth) & (truth >= 0)
        divided = groupings(case.rows, case.domain)
        names = tuple(name.strip() for name in self.changes.split("+") if name.strip())
        found, shown = [], []
        for name, change in chosen_disturbances(names).items():
            seen = self._seen(case, change)
            after = labels_of(Meter(seen).scores(case.rows))
            lost = right & (after != truth)
            found += [_compared(Lost(name, change.words, lost[right], truth[right]), _only(each, right), case, rng) for each in divided]
            shown.append(examples(case, ChangedAnswers(change.words, seen.medium, before, after, truth)))
        return _section(_bounded(found, case, rng), [each for each in shown if each], case)

    def _seen(self, case: StudyCase, change: Disturbance) -> ShownModel:
        """The same model, shown changed pictures."""
        model = case.model.model
        if not isinstance(model, ShownModel):
            raise InvalidArgument("study robust_groups needs a model that is shown pictures")
        return replace(model, medium=DisturbedMedium(model.medium, change))


@dataclass(frozen=True, eq=False)
class ComparedLosses:
    """One change over one division: its figure, and the differences between every two groups."""

    figure: Figure
    pairs: Contrasts
    detectable: float = 1.0  # the smallest gap that so many pictures would show in four cases of five
    needed: int = 0  # pictures that would show a gap that is worth finding; 0 where groups are too thin to tell


def _only(grouping: Grouping, kept: Mask) -> Grouping:
    return replace(grouping, codes=grouping.codes[kept])


def _compared(lost: Lost, grouping: Grouping, case: StudyCase, rng: np.random.Generator) -> ComparedLosses:
    """One change over one division, its bounds still to come."""
    counted = [stratum_of(lost, grouping, label) for label in lost.strata]
    weights = np.array([each.sizes.sum() for each in counted], dtype=np.float64)
    rows = np.sum([each.sizes for each in counted], axis=0)
    # A group without one of the labels cannot be weighed by it; it is left out and named.
    enough = (rows >= FEWEST) & np.all([each.sizes > 0 for each in counted], axis=0)
    shares, errors = standardised(counted, weights / weights.sum(), enough)
    single = gaps.mean_bounds(shares, errors, np.full(len(rows), 1e6), gaps.each_confidence(case.confidence, max(1, int(enough.sum()))))
    parts = tuple(_part(grouping.names[at], int(rows[at]), single, at, bool(enough[at])) for at in range(len(rows)))
    test = shares_test([Stratum(each.hits[enough], each.sizes[enough]) for each in counted], rng, DRAWS)
    meaning = f"share of the right answers that are lost {lost.words}, within every true label"
    facts = (lost.change, f"Lost {lost.words}", meaning, grouping.name, "share", parts)
    figure = Figure(*facts, gaps.UNKNOWN, test, 1 - case.confidence, test.p_value, False)
    added = added_parts(lost, grouping, counted, weights / weights.sum())
    return ComparedLosses(figure, Contrasts.of_pairs(shares[enough], errors[enough], added[:, enough]))


def _bounded(found: list[ComparedLosses], case: StudyCase, rng: np.random.Generator) -> list[ComparedLosses]:
    """With bounds that hold together, p-values that are corrected for each other, and what more pictures would show."""
    every = Contrasts.joined([each.pairs for each in found])
    reach = np.split(reaches(every, case.tolerance, case.confidence, rng), np.cumsum([len(each.pairs) for each in found])[:-1])
    sized = [replace(each.figure, size=_size(each.pairs, far)) for each, far in zip(found, reach, strict=True)]
    told = zip(found, corrected(sized), reach, strict=True)
    return [replace(each, figure=figure, **_prospect(each.pairs, far, case)) for each, figure, far in told]


def _size(pairs: Contrasts, reach: Reals) -> Size:
    """The largest gap of two groups, with bounds."""
    if not len(pairs):
        return gaps.UNKNOWN
    apart, around = np.abs(pairs.estimate), reach * pairs.error
    return Size(float(apart.max()), max(0.0, float((apart - around).max())), min(1.0, float((apart + around).max())))


def _prospect(pairs: Contrasts, reach: Reals, case: StudyCase) -> dict[str, Any]:
    """What so many pictures would show, and how many would show what is worth finding, of the two groups that are told least exactly."""
    if not len(pairs):
        return {}
    around = float(((reach + NormalDist().inv_cdf(POWER)) * pairs.error).max())
    return {
        "detectable": min(1.0, case.tolerance + around),
        "needed": ceil(len(case.rows) * (around / WORTH_FINDING) ** 2),
    }


def _part(name: str, rows: int, bounds: Bounds, at: int, is_enough: bool) -> GroupPart:
    if not is_enough:
        return GroupPart(name, rows, None, None, None, None, FEWEST, False)
    low, high = max(0.0, float(bounds.low[at])), min(1.0, float(bounds.high[at]))
    return GroupPart(name, rows, float(bounds.estimate[at]), low, high, None, FEWEST, True)


def _section(found: list[ComparedLosses], shown: list[dict[str, Any]], case: StudyCase) -> StudySection:
    told = [{**each.figure.as_dict(), "detectable": each.detectable, "needed_pictures": each.needed} for each in found]
    body: dict[str, Any] = {"changes": told, "tolerated": case.tolerance, "pictures": shown}
    claims = tuple(_claim(each, case.tolerance) for each in found)
    return StudySection(body, tuple(_sentence(each.figure) for each in found), claims)


def _sentence(each: Figure) -> str:
    known = [part for part in each.groups if part.estimate is not None]
    if len(known) < 2:
        return (
            f"{each.title.lower()}: fewer than two groups by {each.attribute} have {FEWEST} pictures of every label that were read rightly"
        )
    worst, best = max(known, key=_value), min(known, key=_value)
    return (
        f"{each.title.lower()}: {_value(worst):.1%} of the right answers about {worst.name} ({worst.rows} pictures), "
        f"{_value(best):.1%} of those about {best.name} ({best.rows}); corrected p {each.adjusted:.2g}"
    )


def _value(part: GroupPart) -> float:
    return part.estimate or 0.0


def _claim(each: ComparedLosses, tolerance: float) -> Claim:
    """That the losses of no two groups are further apart than what is tolerated."""
    figure, sentence = each.figure, _sentence(each.figure)
    name = f"{figure.title.lower()}, by {figure.attribute}"
    low, high = figure.size.low, figure.size.high
    if low is None or high is None:
        return Claim(name, open=f"it is not shown that groups are hurt alike: {sentence}")
    bounds = f"between {low:.1%} and {high:.1%}, {tolerance:.1%} is tolerated"
    unclear = f"it is not shown that groups are hurt alike: {sentence}; the gap lies {bounds}; {_power(each, tolerance)}"
    broken = f"one group is hurt more: {sentence}; the gap lies {bounds}"
    return Claim(name, broken, unclear, sentence, (Span(low if figure.verdict == "different" else 0.0, high, tolerance),))


def _power(each: ComparedLosses, tolerance: float) -> str:
    """What so many pictures can show."""
    return (
        f"so many pictures show a gap of {each.detectable:.1%} or more in four cases of five; "
        f"one of {tolerance + WORTH_FINDING:.1%} needs about {each.needed:,} pictures like these"
    )
