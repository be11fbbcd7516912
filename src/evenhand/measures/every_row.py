"""Every row of a table that is not read whole, asked once: how often individuals and groups are treated differently, counted exactly.

Nothing is kept of a part but its counts, which add up, so memory does not grow with the table.  What rests on chance, as tests and
curves do, is measured on drawn rows by others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.contract import Model, Oracle, StudySection, Verdict, labels_of, words_of
from evenhand.domain.tabular import TabularDomain
from evenhand.measures.rates import Rate, judge_all
from evenhand.statistics.intervals import clopper_pearson

MOST_VALUES = 50
"""Protected columns with more different codes have no table of groups here."""


class TablePart(Protocol):
    """Some rows with their labels."""

    @property
    def rows(self) -> Rows:
        """Inside the domain."""

    @property
    def labels(self) -> Labels:
        """Their labels."""


@dataclass
class EveryRow:
    """The counts of all parts so far."""

    domain: TabularDomain
    model: Model
    oracle: Oracle
    has_labels: bool = True
    asked: int = 0
    unfair: int = 0
    counts: dict[str, Any] = field(default_factory=dict)  # (values, labels, answers) for each protected column

    def add(self, part: TablePart) -> None:
        """Ask about one more part."""
        rows = part.rows
        verdict = judge_all(rows, self.domain, self.model, self.oracle)
        self.asked += len(rows)
        self.unfair += int(verdict.unfair.sum())
        if len(self.model.classes) < 2 or not len(rows):
            return
        answers = self._answers(rows, verdict)
        labels = part.labels if self.has_labels else np.zeros(len(rows), dtype=np.intp)
        for place, name in self._columns():
            self.counts[name] = self.counts.get(name, 0) + self._counted(rows[:, place], labels, answers, place)

    def _answers(self, rows: Rows, verdict: Verdict) -> Labels:
        """What the model says of the rows themselves; the verdict knows that of rows that are one of their own twins."""
        if verdict.labels.shape[1] != len(self.domain.combinations) or verdict.pairs is not None:
            return labels_of(self.model.scores(rows))
        own = self.domain.own_combination(rows)
        answers = verdict.labels[np.arange(len(rows)), own].astype(np.intp)
        unknown = (own < 0) | (answers < 0)
        if unknown.any():
            answers[unknown] = labels_of(self.model.scores(rows[unknown]))
        return answers

    def _columns(self) -> Iterator[tuple[int, str]]:
        for place in self.domain.protected_places:
            column = self.domain.columns[place]
            if column.cardinality is not None and column.cardinality <= MOST_VALUES:
                yield place, column.name

    def _counted(self, codes: Any, labels: Labels, answers: Labels, place: int) -> Any:
        column, classes = self.domain.columns[place], len(self.model.classes)
        values, known = int(column.highest - column.lowest) + 1, ~np.isnan(codes)
        group = (codes[known] - column.lowest).astype(np.intp)
        at = (group * classes + labels[known]) * classes + answers[known]
        return np.bincount(at, minlength=values * classes * classes).reshape(values, classes, classes)

    def rate(self, confidence: float) -> Rate:
        """How often it happens among all rows."""
        interval = clopper_pearson(self.unfair, self.asked, confidence)
        return Rate(interval, "data", self.unfair, words_of(self.oracle), whole=True)

    def section(self, confidence: float) -> StudySection:
        """The rate, and for every value of every protected column how many there are and how they are answered."""
        favoured = self._favoured()
        groups = {f"{name}: {value}": told for name in self.counts for value, told in self._groups(name, favoured)}
        return StudySection({"rows asked": self.asked, **groups}, (f"Of every row: {self.rate(confidence).sentence}",))

    def _favoured(self) -> list[int]:
        label = self.domain.label
        chosen = [at for at, name in enumerate(self.model.classes) if label is not None and name in label.favourable]
        return chosen or [len(self.model.classes) - 1]

    def _groups(self, name: str, favoured: list[int]) -> Iterator[tuple[str, dict[str, Any]]]:
        column = self.domain.columns[self.domain.place(name)]
        for at, table in enumerate(self.counts[name]):
            total = int(table.sum())
            if not total:
                continue
            told: dict[str, Any] = {"rows": total, "favourable answers": float(table[:, favoured].sum() / total)}
            if self.has_labels:
                deserving = table[favoured].sum()
                told["right answers"] = float(np.trace(table) / total)
                told["favourable answers among favourable labels"] = float(table[np.ix_(favoured, favoured)].sum() / max(1, deserving))
            yield str(column.value(column.lowest + at)), told


def every_row(parts: Iterable[TablePart], counting: EveryRow) -> EveryRow:
    """Go through all parts."""
    for part in parts:
        counting.add(part)
    return counting
