"""The figures of groups as tasks that do not need each other, each with a generator of its own, for whoever carries them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from evenhand.measures.group import AMOUNTS, BY_NAME, SHARES, WHERE_NOBODY_HOPES
from evenhand.measures.group_curve import ProtectedNumber, curve_figure
from evenhand.measures.group_figures import Figure, GroupSettings, figure
from evenhand.measures.groups import Grouping
from evenhand.statistics import gaps
from evenhand.statistics.permutation import table_test
from evenhand.verbs.measurement import Answer

BY_CLASS = ("statistical_parity", "equal_opportunity", "predictive_equality", "calibration")
"""What is measured of each class against all others where there are more than two."""
OF_TWO = ("equal_opportunity",)
"""The same where there are two and neither is favourable: whatever else is asked of one is told by the other."""
BY_ERRORS = ("equal_opportunity", "predictive_equality")
"""The same where none of three or more is favourable and the truth is known: how often a class is said, and calibration, follow from how
common it is in a group even where everybody is read alike."""
OF_AMOUNTS = ("mean_error", "absolute_error")
"""What is measured of amounts that nobody hopes for, such as ages, among people with like true ones."""
OF_EVERYBODY = "equal_opportunity"
"""What is measured where every picture should get the favourable outcome: how often it does.  Parity and accuracy would say the same thing
again, and there is nobody to get it wrongly."""
METRICS = (*SHARES, *AMOUNTS)


@dataclass(frozen=True)
class FigureTask:
    """One metric over one division of the rows, all classes over one, or one metric along a number."""

    kind: Literal["metric", "classes", "curve"]
    place: int  # of the grouping or the number
    metric: int = 0
    rng: np.random.Generator = field(default_factory=np.random.default_rng, repr=False)


@dataclass(frozen=True, eq=False)
class FigureWork:
    """What every worker needs: the answers, the divisions of the rows, and how finely is measured."""

    answer: Answer
    groupings: tuple[Grouping, ...]
    numbers: tuple[ProtectedNumber, ...]
    classes: tuple[Any, ...]
    settings: GroupSettings

    def every(self) -> list[FigureTask]:
        """All tasks, in the order of their figures."""
        metrics = self._metrics
        found = []
        for place in range(len(self.groupings)):
            found += [FigureTask("metric", place, metric) for metric in metrics] + [FigureTask("classes", place)]
        along = metrics or (METRICS.index(BY_NAME["accuracy"]),)
        return found + [FigureTask("curve", place, metric) for place in range(len(self.numbers)) for metric in along]

    @property
    def _due(self) -> str:
        """The class of every picture, where all are of one."""
        return "" if self.answer.truth is None else str(self.classes[int(self.answer.truth.max())])

    @property
    def _metrics(self) -> tuple[int, ...]:
        """Places of the metrics that hold for the answer as a whole."""
        if self.answer.is_due_to_all:
            return (METRICS.index(BY_NAME[OF_EVERYBODY]),)
        if self.answer.has_favourable:
            return tuple(range(len(METRICS)))
        return tuple(METRICS.index(BY_NAME[name]) for name in OF_AMOUNTS) if self._says_amounts else ()

    @property
    def _says_amounts(self) -> bool:
        return self.answer.outcomes.amount is not None

    def open(self) -> Callable[[FigureTask], list[Figure]]:
        """One task after the other."""
        return self._made

    def _made(self, task: FigureTask) -> list[Figure]:
        if task.kind == "classes":
            return self._by_class(self.groupings[task.place], task.rng)
        metric = METRICS[task.metric]
        if task.kind == "curve":
            outcomes = self.answer.outcomes if self.answer.has_favourable or self._says_amounts else self.answer.rightness
            made = curve_figure(metric, outcomes, self.numbers[task.place], self.settings, task.rng) if outcomes else None
        else:
            within = None if self.answer.has_favourable else self.answer.outcomes.actual
            made = figure(metric, self.answer.outcomes, self.groupings[task.place], self.settings, task.rng, within)
        if made and self.answer.is_due_to_all:
            made = replace(
                made, title=WHERE_NOBODY_HOPES[OF_EVERYBODY][0], meaning=f"share answered {self._due!r}, which is right for everybody"
            )
        return [made] if made else []

    def _by_class(self, grouping: Grouping, rng: np.random.Generator) -> list[Figure]:
        """More than two outcomes, or none favourable: whether their distribution differs, and each of them against the others.

        Where none is favourable, groups are compared among people of one true class: a group with more people of a class that is hard to
        read is not treated worse for that.
        """
        if self._says_amounts or (len(self.classes) < 3 and self.answer.has_favourable):
            return []
        found = [self._distribution(grouping, rng)] if self._counts_how_often else []
        within = None if self._counts_how_often else self.answer.truth
        if (right := self.answer.rightness) and (each := figure(BY_NAME["accuracy"], right, grouping, self.settings, rng, within)):
            meaning = (
                "share whose label is said" if within is None else "share whose label is said, compared among people of one true label"
            )
            found += [replace(each, metric="label_accuracy", title="Accuracy of the label", meaning=meaning)]
        for name, outcomes in self.answer.by_class(self.classes):
            for metric in self._of_each_class:
                each = figure(BY_NAME[metric], outcomes, grouping, self.settings, rng, within)
                found += [self._of_class(each, metric, name)] if each else []
        return found

    @property
    def _counts_how_often(self) -> bool:
        """Whether it matters how often a class is said: not where nobody hopes for one and the truth is known."""
        return self.answer.has_favourable or self.answer.truth is None

    @property
    def _of_each_class(self) -> tuple[str, ...]:
        if len(self.classes) < 3:
            return OF_TWO
        return BY_CLASS if self._counts_how_often else BY_ERRORS

    def _of_class(self, each: Figure, metric: str, name: str) -> Figure:
        """With the class in its name; where nobody hopes for one, no opportunity is at stake."""
        title, meaning = (
            (each.title, each.meaning) if self.answer.has_favourable else WHERE_NOBODY_HOPES.get(metric, (each.title, each.meaning))
        )
        return replace(each, metric=f"{metric}[{name}]", title=f"{title}: {name}", meaning=meaning)

    def _distribution(self, grouping: Grouping, rng: np.random.Generator) -> Figure:
        table = np.zeros((len(grouping.names), len(self.classes)), dtype=np.int64)
        np.add.at(table, (grouping.codes, self.answer.labels), 1)
        test = table_test(table, rng, self.settings.draws)
        meaning = "the largest gap in how often one outcome is given"
        facts = ("outcome_distribution", "Outcome distribution", meaning, grouping.name, "share", ())
        rows, columns = table.sum(axis=1).astype(np.float64), table.T.astype(np.float64)

        def sizes(confidence: float) -> gaps.Size:
            level = gaps.pair_confidence(confidence, len(rows), len(columns))
            return gaps.largest_of([gaps.pair_gap(gaps.share_bounds(column, rows, level)) for column in columns])

        return Figure(*facts, sizes(self.settings.confidence), test, self.settings.alpha, test.p_value, sizes=sizes)
