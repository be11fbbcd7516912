"""Leaning: whether a classifier of pictures moves one way when a protected attribute goes from one value to another.

Every classifier flips some labels near its borders, in both directions alike.  A bias shows as flips that mostly go one way, so it is
the difference of the two directions that is tested, against a tolerance rather than against zero.  Twins that were drawn again are exact;
those of a learned editor change more than the attribute, so that what a classifier does under them, or does not, is weighed first
(`learned_twins`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Labels, Reals, Rows
from evenhand.claims import Claim, Span
from evenhand.contract import Medium, StudyCase, StudySection, labels_of
from evenhand.measures.border_shares import doubt_about
from evenhand.measures.learned_twins import Turned, Weighed, weighed
from evenhand.statistics.intervals import Interval, clopper_pearson
from evenhand.statistics.net import net_interval

UPWARD = "up the order"
"""The name of the change that ordered classes add: labels that move up minus labels that move down."""

COARSE = 2.0
"""Twins that show a change only beyond so many times what is tolerated are no means of finding a leaning, and that is said."""

MOST_VALUES = 12
"""An attribute with more values than this is compared only between the first of them and each other one."""


@dataclass(frozen=True)
class Leaning:
    """Whether a classifier leans one way: per class, how its share changes when the attribute goes from one value to another."""

    net: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    tolerance: float
    confidence: float
    pairs: int
    along: str = ""  # from which of the attribute's values to which
    weighed: Weighed | None = None  # where the twins are a learned editor's

    @property
    def found(self) -> bool:
        """Whether some class's change lies beyond the tolerance, with all of its interval."""
        return any(self.low[name] > self.tolerance or self.high[name] < -self.tolerance for name in self.net)

    @property
    def is_still(self) -> bool:
        """Whether every class's change lies within the tolerance, with all of its interval."""
        return all(-self.tolerance <= self.low[name] and self.high[name] <= self.tolerance for name in self.net)

    @property
    def strongest(self) -> str:
        """The class that changes most."""
        return max(self.net, key=lambda name: abs(self.net[name]))

    @property
    def sentence(self) -> str:
        """For a reader."""
        name = self.strongest
        bounds = f"{self.low[name]:+.1%} to {self.high[name]:+.1%}, {self.pairs:,} pairs"
        if name == UPWARD:
            order = ", ".join(each for each in self.net if each != UPWARD)
            up, down = ("up", "down") if self.net[name] >= 0 else ("down", "up")
            return f"when {self.along}, {abs(self.net[name]):.1%} more pictures move {up} than {down} in the order {order} ({bounds})"
        return f"when {self.along}, {name!r} changes by {self.net[name]:+.1%} ({bounds})"

    @property
    def claim(self) -> Claim:
        """That no class changes beyond the tolerance, either way."""
        if self.weighed is not None and (doubt := self._doubt(self.weighed)):
            return Claim(self.along, open=f"{self.sentence}, with twins of a learned editor; {doubt}")
        both = (
            (Span(self.low[name], self.high[name], self.tolerance), Span(-self.high[name], -self.low[name], self.tolerance))
            for name in self.net
        )
        return Claim(
            self.along,
            f"the classifier leans: {self.sentence}, beyond the tolerated {self.tolerance:.1%}",
            f"too few pairs to say: {self.sentence}; {self.tolerance:.1%} is tolerated",
            f"no leaning beyond the tolerated {self.tolerance:.1%}: {self.sentence}",
            tuple(span for spans in both for span in spans),
        )

    def _doubt(self, weighed: Weighed) -> str:
        """Why a movement is no leaning of the classifier's, or why standing still is no fairness; empty where it is.

        Where there are too few pairs for either, what would stand against a verdict on more of them is told as well.
        """
        if not (self.found or self.is_still):
            against = weighed.reason or doubt_about(weighed.near) or self._too_coarse(weighed)
            besides = f"; besides, {against}" if against else ""
            return f"too few pairs to say, and {self.tolerance:.1%} is tolerated{besides}"
        if weighed.reason:
            coarse = self._too_coarse(weighed)
            return f"{weighed.reason}; {coarse}" if coarse else weighed.reason
        if self.is_still:
            most = max(max(-weighed.low[name], weighed.high[name]) for name in weighed.beyond)
            moved = f"beside an independent reader of the label it may move by up to {most:.1%}" if most > self.tolerance else ""
            return moved or doubt_about(weighed.near)
        if any(weighed.low[name] > self.tolerance or weighed.high[name] < -self.tolerance for name in weighed.beyond):
            return ""
        coarse = self._too_coarse(weighed)
        beyond = f"beyond what an independent reader of the label does, it is not shown to exceed {self.tolerance:.1%}"
        return f"{beyond}; {coarse}" if coarse else beyond

    def _too_coarse(self, weighed: Weighed) -> str:
        """From which change on these twins show one, where that is far beyond what is tolerated."""
        if not weighed.reach > COARSE * self.tolerance:  # nothing is known of twins that readers allow no claim about
            return ""
        return f"these twins would show a change of the pictures as they came only from about {weighed.reach:.0%} on"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "strongest": self.strongest}


def leaning_of(lower: Labels, higher: Labels, classes: tuple[str, ...], rule: LeaningRule, along: str = "") -> Leaning:
    """Exact intervals of the net change of every class, holding all together (Bonferroni; two classes have one change only).

    Where classes have an order, such as age groups, the net movement along it is one more change, and the most telling one: a class in
    the middle gains here what it loses there.
    """
    moves = {name: ((higher == code) & (lower != code), (higher != code) & (lower == code)) for code, name in enumerate(classes)}
    if rule.ordered:
        moves[UPWARD] = (higher > lower, higher < lower)
    distinct = 1 if len(classes) == 2 else len(moves)
    each = 1.0 - (1.0 - rule.confidence) / (distinct * rule.comparisons)
    found = {name: net_interval(int(came.sum()), int(went.sum()), len(lower), each) for name, (came, went) in moves.items()}
    net, low = {name: one.estimate for name, one in found.items()}, {name: one.low for name, one in found.items()}
    high = {name: one.high for name, one in found.items()}
    return Leaning(net, low, high, rule.tolerance, rule.confidence, len(lower), along)


@dataclass(frozen=True)
class LeaningRule:
    """When a classifier is said to lean: beyond this net change, along the order of the classes too where they have one.

    comparisons: how many leanings are judged together; the confidence holds for all of them.
    """

    tolerance: float = 0.05
    confidence: float = 0.95
    ordered: bool = False
    comparisons: int = 1


@dataclass(frozen=True)
class LeaningStudy:
    """Every two values of every protected attribute, all pictures shown under both."""

    media: ClassVar[tuple[str, ...]] = ("album", "portraits")
    needs_twins: ClassVar[bool] = True

    def study(self, case: StudyCase, rng: np.random.Generator) -> StudySection:
        """Net changes with exact intervals that hold together; weighed where the twins are a learned editor's."""
        said = {name: _said(case, name) for name in case.domain.protected}
        pairs = [(name, *pair) for name, labels in said.items() for pair in _compared(len(labels))]
        rule = LeaningRule(case.tolerance, case.confidence, case.ordered, len(pairs))
        found = [self._one(case, said[name], Values(name, one, other), rule, rng) for name, one, other in pairs]
        unfair = {name: _unfair(labels, case.confidence) for name, labels in said.items()}
        figures = {
            "leanings": [each.as_dict() for each in found],
            "unfair_pictures": {name: share.as_dict() for name, share in unfair.items()},
        }
        sentences = [f"{share} of pictures get another label under another {name}" for name, share in unfair.items()]
        return StudySection(figures, (*sentences, *(each.sentence for each in found)), tuple(each.claim for each in found))

    def _one(self, case: StudyCase, said: Labels, values: Values, rule: LeaningRule, rng: np.random.Generator) -> Leaning:
        lower, higher = said[values.one], said[values.other]
        leaning = leaning_of(lower, higher, _words(case), rule, _along(case, values.name, values.one, values.other))
        is_decided = leaning.found or leaning.is_still
        if values.name not in learned_attributes(case.medium) or not (is_decided or len(said) == 2):  # many values take long
            return leaning
        rows = [_with(case.rows, case.domain.place(values.name), _codes(case, values.name)[at]) for at in (values.one, values.other)]
        return replace(leaning, weighed=weighed(case, Turned(values.name, rows[0], rows[1], lower, higher, leaning.found), rng))


@dataclass(frozen=True)
class Values:
    """Two values of an attribute, by their places among those that twins have."""

    name: str
    one: int
    other: int


def learned_attributes(medium: Medium) -> tuple[str, ...]:
    """The attributes whose twins a learned editor makes."""
    return tuple(editor.attribute for editor in getattr(medium, "editors", ()) if getattr(editor, "learns", True))


def _codes(case: StudyCase, name: str) -> Reals:
    """The codes of an attribute that twins have."""
    return np.unique(case.domain.combinations[:, case.domain.protected.index(name)])


def _said(case: StudyCase, name: str) -> Labels:
    """Labels of every row under every value of one attribute, (values, n)."""
    place = case.domain.place(name)
    return np.stack([labels_of(case.model.scores(_with(case.rows, place, value))) for value in _codes(case, name)])


def _with(rows: Rows, place: int, value: float) -> Rows:
    turned = rows.copy()
    turned[:, place] = value
    return turned


def _compared(values: int) -> list[tuple[int, int]]:
    """Which two values are compared: all pairs, or each with the first where there are many."""
    return list(combinations(range(values), 2)) if values <= MOST_VALUES else [(0, other) for other in range(1, values)]


def _along(case: StudyCase, name: str, one: int, other: int) -> str:
    column, values = case.domain.columns[case.domain.place(name)], _codes(case, name)
    return f"{name} goes from {column.value(float(values[one]))} to {column.value(float(values[other]))}"


def _words(case: StudyCase) -> tuple[str, ...]:
    return tuple(str(name) for name in case.model.classes)


def _unfair(labels: Labels, confidence: float) -> Interval:
    return clopper_pearson(int((labels != labels[0]).any(axis=0).sum()), labels.shape[1], confidence)
