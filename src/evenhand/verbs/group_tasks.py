"""The figures of groups as tasks that do not need each other, each with a generator of its own, for whoever carries them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from evenhand.measures.group import AMOUNTS, BY_NAME, SHARES
from evenhand.measures.group_curve import ProtectedNumber, curve_figure
from evenhand.measures.group_figures import Figure, GroupSettings, figure
from evenhand.measures.groups import Grouping
from evenhand.statistics import gaps
from evenhand.statistics.permutation import table_test
from evenhand.verbs.measurement import Answer

BY_CLASS = ("statistical_parity", "equal_opportunity", "predictive_equality", "calibration")
"""What is measured of each class against all others where there are more than two."""
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
        found = []
        for place in range(len(self.groupings)):
            found += [FigureTask("metric", place, metric) for metric in range(len(METRICS))] + [FigureTask("classes", place)]
        return found + [FigureTask("curve", place, metric) for place in range(len(self.numbers)) for metric in range(len(METRICS))]

    def open(self) -> Callable[[FigureTask], list[Figure]]:
        """One task after the other."""
        return self._made

    def _made(self, task: FigureTask) -> list[Figure]:
        if task.kind == "classes":
            return self._by_class(self.groupings[task.place], task.rng)
        metric, outcomes = METRICS[task.metric], self.answer.outcomes
        if task.kind == "curve":
            made = curve_figure(metric, outcomes, self.numbers[task.place], self.settings, task.rng)
        else:
            made = figure(metric, outcomes, self.groupings[task.place], self.settings, task.rng)
        return [made] if made else []

    def _by_class(self, grouping: Grouping, rng: np.random.Generator) -> list[Figure]:
        """More than two outcomes: whether their distribution differs, and each of them against the others."""
        if len(self.classes) < 3:
            return []
        found = [self._distribution(grouping, rng)]
        if (right := self.answer.rightness) and (each := figure(BY_NAME["accuracy"], right, grouping, self.settings, rng)):
            found += [replace(each, metric="label_accuracy", title="Accuracy of the label", meaning="share whose label is said")]
        for name, outcomes in self.answer.by_class(self.classes):
            for metric in BY_CLASS:
                each = figure(BY_NAME[metric], outcomes, grouping, self.settings, rng)
                found += [replace(each, metric=f"{metric}[{name}]", title=f"{each.title}: {name}")] if each else []
        return found

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
