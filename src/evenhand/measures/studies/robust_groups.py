"""Robustness by group: whether a change that leaves the person as they are costs one group more right answers than another.

Each change of `media/disturbances` is made to every picture.  Of the pictures that were read rightly before, the share that is lost is
compared between groups, within every true label and weighed by how common the labels are, so that a group whose label is lost more often
is not blamed for that.  A difference counts where an exact test and bounds of its size both show it, corrected for all changes and groups,
and where its whole interval lies beyond what is tolerated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Labels, Mask, Reals
from evenhand.claims import Claim, Span
from evenhand.contract import Disturbance, StudyCase, StudySection, labels_of
from evenhand.errors import InvalidArgument
from evenhand.measures.group_figures import Figure, GroupPart, corrected
from evenhand.measures.groups import Grouping, groupings
from evenhand.media.disturbances import chosen_disturbances
from evenhand.media.parts.disturbed_medium import DisturbedMedium
from evenhand.models.meter import Meter
from evenhand.models.shown import ShownModel
from evenhand.statistics import gaps
from evenhand.statistics.gaps import Bounds, Size
from evenhand.statistics.permutation import Stratum, shares_test

FEWEST = 20
"""Pictures that were read rightly which a group needs to be compared."""
DRAWS = 1_999
POWER = 0.8
"""The share of cases in which the gap that is called detectable would be found."""


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
        found = []
        for name, change in chosen_disturbances(names).items():
            lost = right & (labels_of(self._seen(case, change).scores(case.rows)) != truth)
            found += [_figure(Lost(name, change.words, lost[right], truth[right]), _only(each, right), case, rng) for each in divided]
        return _section(corrected(found), case)

    def _seen(self, case: StudyCase, change: Disturbance) -> Meter:
        """The same model, shown changed pictures."""
        model = case.model.model
        if not isinstance(model, ShownModel):
            raise InvalidArgument("study robust_groups needs a model that is shown pictures")
        return Meter(replace(model, medium=DisturbedMedium(model.medium, change)))


@dataclass(frozen=True, eq=False)
class Lost:
    """Of the pictures that were read rightly, which are not any more after one change."""

    change: str
    words: str
    lost: Mask
    truth: Labels

    @property
    def strata(self) -> tuple[int, ...]:
        """The true labels that there are."""
        return tuple(int(label) for label in np.unique(self.truth))


def _only(grouping: Grouping, kept: Mask) -> Grouping:
    return replace(grouping, codes=grouping.codes[kept])


def _figure(lost: Lost, grouping: Grouping, case: StudyCase, rng: np.random.Generator) -> Figure:
    """One change over one division."""
    counted = [_stratum(lost, grouping, label) for label in lost.strata]
    weights = np.array([each.sizes.sum() for each in counted], dtype=np.float64)
    rows = np.sum([each.sizes for each in counted], axis=0)
    # A group without one of the labels cannot be weighed by it; it is left out and named.
    enough = (rows >= FEWEST) & np.all([each.sizes > 0 for each in counted], axis=0)
    shares, errors = _standardised(counted, weights / weights.sum(), enough)
    single = gaps.mean_bounds(shares, errors, np.full(len(rows), 1e6), gaps.each_confidence(case.confidence, max(1, int(enough.sum()))))
    parts = tuple(_part(grouping.names[at], int(rows[at]), single, at, bool(enough[at])) for at in range(len(rows)))
    sizes = _sizes(shares[enough], errors[enough])
    test = shares_test([Stratum(each.hits[enough], each.sizes[enough]) for each in counted], rng, DRAWS)
    meaning = f"share of the right answers that are lost {lost.words}, within every true label"
    title = f"Lost {lost.words}"
    alpha = 1 - case.confidence
    facts = (lost.change, title, meaning, grouping.name, "share", parts)
    return Figure(*facts, sizes(case.confidence), test, alpha, test.p_value, False, sizes=sizes)


def _stratum(lost: Lost, grouping: Grouping, label: int) -> Stratum:
    mine, groups = lost.truth == label, len(grouping.names)
    hits = np.bincount(grouping.codes[mine & lost.lost], minlength=groups)
    return Stratum(hits.astype(np.int64), np.bincount(grouping.codes[mine], minlength=groups).astype(np.int64))


def _standardised(counted: list[Stratum], weights: Reals, enough: Mask) -> tuple[Reals, Reals]:
    """For every group the share that is lost if its labels were as common as everybody's, and its standard error."""
    shares, variances = np.zeros(len(enough)), np.zeros(len(enough))
    for stratum, weight in zip(counted, weights, strict=True):
        sizes = np.maximum(stratum.sizes, 1)
        share, shrunk = stratum.hits / sizes, (stratum.hits + 0.5) / (sizes + 1)  # the shrunk one is never 0 or 1
        shares += weight * share
        variances += weight**2 * shrunk * (1 - shrunk) / sizes
    return np.where(enough, shares, np.nan), np.sqrt(variances)


def _sizes(shares: Reals, errors: Reals) -> Callable[[float], Size]:
    def sizes(confidence: float) -> Size:
        each = gaps.pair_confidence(confidence, max(2, len(shares)))
        return gaps.pair_gap(gaps.mean_bounds(shares, errors, np.full(len(shares), 1e6), each)) if len(shares) > 1 else gaps.UNKNOWN

    return sizes


def _part(name: str, rows: int, bounds: Bounds, at: int, is_enough: bool) -> GroupPart:
    if not is_enough:
        return GroupPart(name, rows, None, None, None, None, FEWEST, False)
    low, high = max(0.0, float(bounds.low[at])), min(1.0, float(bounds.high[at]))
    return GroupPart(name, rows, float(bounds.estimate[at]), low, high, None, FEWEST, True)


def _section(figures: list[Figure], case: StudyCase) -> StudySection:
    seen = [_detectable(each, len(figures)) for each in figures]
    told = [{**each.as_dict(), "detectable": gap} for each, gap in zip(figures, seen, strict=True)]
    body: dict[str, Any] = {"changes": told, "tolerated": case.tolerance}
    claims = tuple(_claim(each, case.tolerance, gap) for each, gap in zip(figures, seen, strict=True))
    return StudySection(body, tuple(_sentence(each) for each in figures), claims)


def _detectable(each: Figure, comparisons: int) -> float:
    """The smallest gap that so many pictures would show in four cases of five, all comparisons corrected for each other; at most 1."""
    if each.sizes is None:
        return 1.0
    level = each.alpha / comparisons
    size = each.sizes(1 - level)
    if size.high is None or size.estimate is None:
        return 1.0
    pairs = max(1, sum(part.is_enough for part in each.groups) * (sum(part.is_enough for part in each.groups) - 1) // 2)
    reach = NormalDist().inv_cdf(1 - level / (2 * pairs))
    return min(1.0, (size.high - size.estimate) * (1 + NormalDist().inv_cdf(POWER) / reach))


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


def _claim(each: Figure, tolerance: float, detectable: float) -> Claim:
    """That the losses of no two groups are further apart than what is tolerated."""
    name, sentence = f"{each.title.lower()}, by {each.attribute}", _sentence(each)
    few = f"{tolerance:.1%} is tolerated, and so few pictures show a gap of {detectable:.1%} or more"
    unclear = f"it is not shown that groups are hurt alike: {sentence}; {few}"
    low, high = each.size.low, each.size.high
    if low is None or high is None:
        return Claim(name, open=unclear)
    broken = f"one group is hurt more: {sentence}; {tolerance:.1%} is tolerated"
    return Claim(name, broken, unclear, sentence, (Span(low if each.verdict == "different" else 0.0, high, tolerance),))
