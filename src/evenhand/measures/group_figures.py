"""How far groups are apart in one metric: whether there is a difference, how large it is, and which groups are too small to be judged.

Whether: a test whose level holds at every size, and bounds that leave out "no difference"; both, so that verdict and bounds agree.
How large: bounds that hold for all groups together, at the level that the correction leaves to the figure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from evenhand.arrays import Index, Mask, Reals
from evenhand.measures.group import AmountMetric, Cases, Outcomes, ShareMetric
from evenhand.measures.groups import Grouping
from evenhand.statistics import gaps
from evenhand.statistics.gaps import Bounds, Size
from evenhand.statistics.multiplicity import holm
from evenhand.statistics.permutation import NOTHING, Amounts, Stratum, Test, amounts_test, group_against_rest, shares_test

Verdict = Literal["different", "not shown", "insufficient"]
CALIBRATION_STRATA = 20
LIKE_ROWS = 16
"""Rows of like true amounts that are compared with each other: the fewer, the smaller is what a jump between two amounts explains."""
SAME_TEST = {"disparate_impact": "statistical_parity", "equalized_odds": "average_odds"}
"""Figures that ask in another unit whether the same shares are equal."""
LESS_IS_BETTER = ("false_omission", "absolute_error")
"""Figures of which a group would rather have less; of the outcomes that a person hopes for, it would rather have more."""


@dataclass(frozen=True)
class GroupSettings:
    """How sure, and how small a gap matters."""

    confidence: float = 0.95
    smallest_gap: float = 0.1
    draws: int = 4_999

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return 1 - self.confidence


@dataclass(frozen=True)
class GroupPart:
    """One group in one figure."""

    name: str
    rows: int
    estimate: float | None
    low: float | None
    high: float | None
    p_value: float | None  # against all others, corrected for the number of groups
    needed: int
    is_enough: bool


def _value(part: GroupPart) -> float:
    return 0.0 if part.estimate is None else part.estimate


@dataclass(frozen=True)
class Figure:
    """One metric over one division of the rows."""

    metric: str
    title: str
    meaning: str
    attribute: str
    unit: str  # "share", "ratio" or "amount"
    groups: tuple[GroupPart, ...]
    size: Size
    test: Test
    alpha: float
    adjusted: float = 1.0
    exact: bool = True
    curve: dict[str, list[float]] | None = None
    every: float | None = None  # the size over all groups, the insufficient ones too, as Fairlearn counts it
    sizes: Callable[[float], Size] | None = field(default=None, compare=False, repr=False)  # the size at a confidence

    @property
    def insufficient(self) -> tuple[GroupPart, ...]:
        """The groups that are too small for a gap that matters to be noticed."""
        return tuple(part for part in self.groups if not part.is_enough)

    @property
    def worst(self) -> GroupPart | None:
        """The group with the lowest value among those with enough rows; with the highest where less is better."""
        known = [part for part in self.groups if part.is_enough and part.estimate is not None]
        if not known:
            return None
        return max(known, key=_value) if self.metric.partition("[")[0] in LESS_IS_BETTER else min(known, key=_value)

    @property
    def none(self) -> float:
        """What no difference is: 1 for a ratio, else 0."""
        return 1.0 if self.unit == "ratio" else 0.0

    @property
    def p_value(self) -> float:
        """Of the test and of the bounds together: both must show a difference."""
        if self.sizes is None or self.test.kind == "impossible":
            return self.test.p_value
        return max(self.test.p_value, gaps.level_of(self.sizes, self.none))

    def at_level(self, level: float) -> Figure:
        """With bounds at the level that is left to it; where the test shows nothing, they hold no difference too."""
        size = self.size if self.sizes is None else self.sizes(1.0 - min(max(level, 1e-12), 0.999))
        if self.verdict != "different" and gaps.leaves_out(size, self.none):
            size = replace(size, high=1.0) if self.unit == "ratio" else replace(size, low=0.0)
        return replace(self, size=size)

    @property
    def verdict(self) -> Verdict:
        """Whether groups differ, at the corrected level."""
        if self.test.kind != "impossible" and self.adjusted <= self.alpha:
            return "different"
        is_enough = sum(part.is_enough for part in self.groups) >= 2 if self.groups else self.size.estimate is not None
        return "not shown" if is_enough and self.test.kind != "impossible" else "insufficient"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "metric": self.metric, "title": self.title, "meaning": self.meaning, "attribute": self.attribute, "unit": self.unit,
            "verdict": self.verdict, "p_value": self.test.p_value, "p_adjusted": self.adjusted, "test": self.test.kind,
            **self.size.as_dict(), "exact_bounds": self.exact, "groups": [vars(part) for part in self.groups], "curve": self.curve,
            "estimate_all_groups": self.every, "worst": self.worst.name if self.worst else None,
        }  # fmt: skip


def figure(
    metric: ShareMetric | AmountMetric,
    outcomes: Outcomes,
    grouping: Grouping,
    settings: GroupSettings,
    rng: np.random.Generator,
    within: Index | Reals | None = None,
) -> Figure | None:
    """One metric over one division; None where the outcomes lack what it needs.

    within: what is true of each row, a class or an amount.  Shares are then tested among rows of one class, and amounts among those of like
    ones, so that what the mix of true values in each group explains is no difference.
    """
    if isinstance(metric, AmountMetric):
        return _amount_figure(metric, outcomes, grouping, settings, rng, within)
    cases = metric.cases(outcomes)
    if cases is None:
        return None
    counted = [_count(case, outcomes.weights, grouping) for case in cases]
    tested = cases if within is None else _split(cases, within)
    test = _share_test(tested, outcomes, grouping, settings, rng)
    return _share_figure(metric, counted, test, grouping, settings)


def _split(cases: tuple[Cases, ...], within: Index | Reals) -> tuple[Cases, ...]:
    """The same cases, those of each code apart."""
    return tuple(replace(case, rows=case.rows & (within == code)) for case in cases for code in np.unique(within[case.rows]))


@dataclass(frozen=True)
class _Counted:
    """Rows, hits and effective rows of every group in one kind of cases."""

    rows: Index
    share: Reals
    effective: Reals

    @property
    def stratum(self) -> Stratum:
        return Stratum(np.rint(self.share * self.rows).astype(np.int64), self.rows.astype(np.int64))


def _count(case: Cases, weights: Reals | None, grouping: Grouping) -> _Counted:
    inside = case.rows & (grouping.codes >= 0)
    codes, hits, groups = grouping.codes[inside], case.hits[inside], len(grouping.names)
    rows = np.bincount(codes, minlength=groups).astype(np.intp)
    if weights is None:
        found = np.bincount(codes[hits], minlength=groups)
        return _Counted(rows, np.divide(found, rows, out=np.zeros(groups), where=rows > 0), rows.astype(np.float64))
    w = weights[inside]
    total, squares = np.bincount(codes, w, groups), np.bincount(codes, w * w, groups)
    share = np.divide(np.bincount(codes[hits], w[hits], groups), total, out=np.zeros(groups), where=total > 0)
    effective = np.divide(total**2, squares, out=np.zeros(groups), where=squares > 0)
    return _Counted(np.where(total > 0, rows, 0), share, effective)


def _share_test(
    cases: tuple[Cases, ...], outcomes: Outcomes, grouping: Grouping, settings: GroupSettings, rng: np.random.Generator
) -> Test:
    if outcomes.weights is None:
        return shares_test([_count(case, None, grouping).stratum for case in cases], rng, settings.draws)
    inside = [case.rows & (grouping.codes >= 0) & (outcomes.weights > 0) for case in cases]
    tests = [
        amounts_test(
            Amounts(case.hits[rows].astype(np.float64), grouping.codes[rows], len(grouping.names), outcomes.weights[rows]),
            rng,
            min(settings.draws, 999),
        )
        for case, rows in zip(cases, inside, strict=True)
    ]
    smallest = min(tests, key=lambda test: test.p_value)
    return replace(smallest, p_value=min(1.0, smallest.p_value * len(tests)))


def _share_figure(metric: ShareMetric, counted: list[_Counted], test: Test, grouping: Grouping, settings: GroupSettings) -> Figure:
    groups = len(grouping.names)
    each = gaps.each_confidence(settings.confidence, len(counted) * groups)
    bounds = [gaps.share_bounds(c.share * c.effective, c.effective, each) for c in counted]
    parts = _parts(counted, bounds, grouping, settings)
    enough = np.array([part.is_enough for part in parts])
    sizes = _share_sizes(metric, counted, enough)
    unit = "ratio" if metric.size == "ratio" else "share"
    is_exact = all(np.array_equal(c.effective, c.rows) for c in counted)
    every = _SIZES[metric.size](bounds).estimate
    size = sizes(settings.confidence)
    return Figure(
        metric.name, metric.title, metric.meaning, grouping.name, unit, parts, size, test, settings.alpha, test.p_value, is_exact, None,
        every, sizes,
    )  # fmt: skip


def _share_sizes(metric: ShareMetric, counted: list[_Counted], enough: Mask) -> Callable[[float], Size]:
    """The size at a confidence.  With fewer than two groups of enough rows, the bounds of all of them are wide and still hold."""
    chosen = enough if enough.sum() >= 2 else np.ones(len(enough), dtype=bool)

    def sizes(confidence: float) -> Size:
        each = gaps.pair_confidence(confidence, int(chosen.sum()), len(counted))
        return _SIZES[metric.size]([gaps.share_bounds(c.share * c.effective, c.effective, each).only(chosen) for c in counted])

    return sizes


_SIZES: dict[str, Callable[[list[Bounds]], Size]] = {
    "gap": lambda bounds: gaps.pair_gap(bounds[0]),
    "ratio": lambda bounds: gaps.pair_ratio(bounds[0]),
    "mean gap": lambda bounds: gaps.mean_of([gaps.pair_gap(b) for b in bounds]),
    "largest gap": lambda bounds: gaps.largest_of([gaps.pair_gap(b) for b in bounds]),
}


def _parts(counted: list[_Counted], bounds: list[Bounds], grouping: Grouping, settings: GroupSettings) -> tuple[GroupPart, ...]:
    single = len(counted) == 1
    is_plain = single and np.array_equal(counted[0].effective, counted[0].rows)
    against_rest = holm(group_against_rest(counted[0].stratum)) if is_plain else None
    parts = []
    for group, name in enumerate(grouping.names):
        needed = max(_needed(c, group, settings) for c in counted)
        rows = min(int(c.rows[group]) for c in counted)
        effective = min(float(c.effective[group]) for c in counted)
        shown = _shown(bounds[0], group) if single and rows else (None, None, None)
        p_value = None if against_rest is None else float(against_rest[group])
        parts.append(GroupPart(name, rows, *shown, p_value, needed, effective >= needed))
    return tuple(parts)


def _shown(bounds: Bounds, group: int) -> tuple[float | None, float | None, float | None]:
    """One group's estimate and bounds; None for what is not finite."""
    low, estimate, high = (float(each[group]) if np.isfinite(each[group]) else None for each in (bounds.low, bounds.estimate, bounds.high))
    return estimate, low, high


def _needed(counted: _Counted, group: int, settings: GroupSettings) -> int:
    total = float(counted.effective.sum())
    share = float((counted.share * counted.effective).sum() / total) if total else 0.5
    return gaps.rows_needed(share, int(total - counted.effective[group]), settings.smallest_gap, settings.alpha)


def _amount_figure(
    metric: AmountMetric,
    outcomes: Outcomes,
    grouping: Grouping,
    settings: GroupSettings,
    rng: np.random.Generator,
    within: Reals | Index | None = None,
) -> Figure | None:
    values = metric.values(outcomes)
    if values is None:
        return None
    counts = np.isfinite(values) & (grouping.codes >= 0)
    if outcomes.weights is not None:
        counts &= outcomes.weights > 0
    weights = None if outcomes.weights is None else outcomes.weights[counts]
    like = metric.strata(outcomes) if within is None else within
    most = CALIBRATION_STRATA if within is None else max(CALIBRATION_STRATA, int(counts.sum()) // LIKE_ROWS)
    strata = None if like is None else _strata(like[counts], most)
    amounts = Amounts(values[counts], grouping.codes[counts], len(grouping.names), weights, strata)
    tested = amounts if within is None else _levelled(amounts, within[counts])
    test = amounts_test(tested, rng, min(settings.draws, 999)) if len(amounts.values) else NOTHING
    found = _amount_parts(amounts, grouping, settings)
    return Figure(
        metric.name, metric.title, metric.meaning, grouping.name, "amount", found.parts, found.sizes(settings.confidence), test,
        settings.alpha, test.p_value, False, None, found.every, found.sizes,
    )  # fmt: skip


def _levelled(amounts: Amounts, actual: Reals | Index) -> Amounts:
    """Without what the true amount tells: a curve of third degree, as strata have a width, and what is left of each stratum's mean.

    Both are fitted without regard to groups, so that they may take a part of their difference too, and never add one.
    """
    if not len(actual) or amounts.strata is None:
        return amounts
    curve = ((actual - actual.mean()) / (actual.std() or 1.0))[:, None] ** np.arange(4)
    left = amounts.values - curve @ np.linalg.lstsq(curve, amounts.values, rcond=None)[0]
    rows = np.bincount(amounts.strata)
    means = np.divide(np.bincount(amounts.strata, left), rows, out=np.zeros(len(rows)), where=rows > 0)
    return replace(amounts, values=left - means[amounts.strata])


def _strata(scores: Reals | Index, most: int) -> Index:
    """Rows with like scores: as many in each stratum, equal scores never apart."""
    edges = np.quantile(scores, np.linspace(0, 1, most + 1)[1:-1]) if len(scores) else np.empty(0)
    return np.searchsorted(np.unique(edges), scores, side="left").astype(np.intp)


@dataclass(frozen=True)
class _AmountParts:
    """The groups of a figure of amounts, how far they are apart at a confidence, and over all groups."""

    parts: tuple[GroupPart, ...]
    sizes: Callable[[float], Size]
    every: float | None


def _amount_parts(amounts: Amounts, grouping: Grouping, settings: GroupSettings) -> _AmountParts:
    groups = amounts.count
    w = np.ones(len(amounts.values)) if amounts.weights is None else amounts.weights
    total, squares = np.bincount(amounts.groups, w, groups), np.bincount(amounts.groups, w * w, groups)
    rows = np.bincount(amounts.groups, minlength=groups)
    mean = np.divide(np.bincount(amounts.groups, w * amounts.values, groups), total, out=np.full(groups, np.nan), where=total > 0)
    off = (w * (amounts.values - mean[amounts.groups])) ** 2
    freedom = np.divide(total**2, squares, out=np.zeros(groups), where=squares > 0) - 1
    error = np.sqrt(np.divide(np.bincount(amounts.groups, off, groups), total**2, out=np.zeros(groups), where=total > 0))
    error *= np.sqrt(np.maximum(rows, 2) / np.maximum(rows - 1, 1))
    bounds = gaps.mean_bounds(mean, error, freedom, gaps.each_confidence(settings.confidence, groups))
    # Even shares deviate by one half, so that a gap of .1 is a fifth of a deviation; the same is asked of amounts.
    others = (freedom + 1).sum() - freedom - 1
    needed = [gaps.rows_needed(0.5, int(others[g]), settings.smallest_gap, settings.alpha) for g in range(groups)]
    parts = tuple(
        GroupPart(name, int(rows[g]), *_shown(bounds, g), None, needed[g], bool(freedom[g] + 1 >= needed[g]))
        for g, name in enumerate(grouping.names)
    )
    enough = np.array([part.is_enough for part in parts], dtype=bool)
    chosen = enough if enough.sum() >= 2 else np.ones(groups, dtype=bool)

    def sizes(confidence: float) -> Size:
        each = gaps.pair_confidence(confidence, int(chosen.sum()))
        return gaps.pair_gap(gaps.mean_bounds(mean, error, freedom, each).only(chosen))

    return _AmountParts(parts, sizes, gaps.gap(bounds).estimate)


def corrected(figures: list[Figure]) -> list[Figure]:
    """The same figures with p-values that allow for all of them being looked at (Holm).

    Two figures of one hypothesis, such as a gap and a ratio of the same shares, count as one test.
    """
    tests = {_hypothesis(each): each.test for each in reversed(figures)}
    largest: dict[tuple[str, str], float] = dict.fromkeys(tests, 0.0)
    for each in figures:
        largest[_hypothesis(each)] = max(largest[_hypothesis(each)], replace(each, test=tests[_hypothesis(each)]).p_value)
    adjusted = dict(zip(largest, holm(list(largest.values())), strict=True))
    found = []
    for each in figures:
        key = _hypothesis(each)
        p_value, corrected_p = largest[key], float(adjusted[key])
        level = each.alpha * p_value / corrected_p if corrected_p else each.alpha
        test = replace(tests[key], p_value=p_value)
        found.append(replace(each, test=test, adjusted=corrected_p).at_level(level))
    return found


def _hypothesis(each: Figure) -> tuple[str, str]:
    """What a figure asks about."""
    return each.attribute, SAME_TEST.get(each.metric, each.metric)
