"""Tests on a row and their best choice: a value, a threshold, or m of n such tests (TREPAN)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evenhand.arrays import Labels, Mask, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.box import Box

THRESHOLDS = 32
MOST_BOXES = 32
MOST_PARTNERS = 12
LEAST_GAIN = 1e-9


@dataclass(frozen=True)
class SplitTest:
    """`column = value` for a category, `column <= value` for a number; a missing cell fails both."""

    place: int
    value: float
    is_listed: bool

    def holds(self, rows: Rows) -> Mask:
        """Which rows pass."""
        with np.errstate(invalid="ignore"):
            cells = rows[:, self.place]
            return np.asarray(cells == self.value if self.is_listed else cells <= self.value)

    def narrowed(self, box: Box, domain: TabularDomain, is_true: bool) -> Box:
        """The box cut to where the test passes, or fails."""
        column = domain.columns[self.place]
        if self.is_listed:
            allowed = np.arange(len(column.values)) == self.value
            return box.with_values(self.place, allowed if is_true else ~allowed)
        if is_true:
            return box.with_interval(self.place, -np.inf, self.value)
        above = np.floor(self.value) + 1 if column.is_integral else np.nextafter(self.value, np.inf)
        return box.with_interval(self.place, float(above), np.inf)

    def text(self, domain: TabularDomain, is_true: bool = True) -> str:
        """For a reader."""
        column = domain.columns[self.place]
        if self.is_listed:
            return f"{column.name} {'=' if is_true else '!='} {column.value(self.value)}"
        return f"{column.name} {'at most' if is_true else 'above'} {self.value:g}"


@dataclass(frozen=True)
class Split:
    """Passed when at least `needed` of the literals hold."""

    needed: int
    literals: tuple[SplitTest, ...]

    def holds(self, rows: Rows) -> Mask:
        """Which rows pass."""
        if len(self.literals) == 1:
            return self.literals[0].holds(rows)
        return np.asarray(np.sum([literal.holds(rows) for literal in self.literals], axis=0) >= self.needed)

    def boxes(self, box: Box, domain: TabularDomain, is_true: bool) -> list[Box]:
        """Boxes that together are the part of a box where the split passes, or fails."""
        count = self.needed if is_true else len(self.literals) - self.needed + 1
        found = []
        for chosen in combinations(self.literals, count):
            cut = box
            for literal in chosen:
                cut = literal.narrowed(cut, domain, is_true)
            if not cut.is_empty:
                found.append(cut)
        return found

    def text(self, domain: TabularDomain, is_true: bool = True) -> str:
        """For a reader."""
        if len(self.literals) == 1:
            return self.literals[0].text(domain, is_true)
        words = f"{self.needed} of ({'; '.join(literal.text(domain) for literal in self.literals)})"
        return words if is_true else f"not {words}"


def best_split(rows: Rows, labels: Labels, domain: TabularDomain, m_of_n: int = 1, fewest: int = 1) -> Split | None:
    """The split with the largest gain of information of those with enough rows on either side; None where none gains anything."""
    return next(ranked_splits(rows, labels, domain, m_of_n, fewest), None)


def ranked_splits(rows: Rows, labels: Labels, domain: TabularDomain, m_of_n: int = 1, fewest: int = 1) -> Iterator[Split]:
    """The best split of every column that gains anything, the largest gain of information first, each with enough rows on either side."""
    scored = sorted(_scored(rows, labels, domain, fewest), key=lambda pair: -pair[1])
    partners = _Partners([literal for literal, _ in scored[:MOST_PARTNERS]], rows, labels, m_of_n, fewest)
    for literal, gain in scored:
        if gain > LEAST_GAIN:
            yield _grown(Split(1, (literal,)), gain, partners)


@dataclass(frozen=True, eq=False)
class _Partners:
    """Literals that may join a split, and the rows that decide whether they do."""

    literals: list[SplitTest]
    rows: Rows
    labels: Labels
    most: int
    fewest: int = 1

    def gain(self, option: Split) -> float:
        """What the split tells about the labels; nothing where a side is too small."""
        passed = option.holds(self.rows)
        if min(passed.sum(), (~passed).sum()) < self.fewest:
            return 0.0
        return _gain(self.labels, passed, int(self.labels.max()) + 1)


def _grown(best: Split, gain: float, partners: _Partners) -> Split:
    """Greedy m-of-n search: add a literal, with or without raising m, while the gain grows by a tenth."""
    while len(best.literals) < partners.most:
        options = [
            Split(needed, (*best.literals, extra))
            for extra in partners.literals
            if extra.place not in {literal.place for literal in best.literals}
            for needed in (best.needed, best.needed + 1)
        ]
        gains = [partners.gain(option) for option in options]
        if not gains or max(gains) < 1.1 * gain:
            return best
        best, gain = options[int(np.argmax(gains))], max(gains)
    return best


def _gain(labels: Labels, passed: Mask, classes: int) -> float:
    whole = np.bincount(labels, minlength=classes)
    inside = np.bincount(labels[passed], minlength=classes)
    return float(_gains(whole, inside[None])[0])


def _scored(rows: Rows, labels: Labels, domain: TabularDomain, fewest: int) -> Iterator[tuple[SplitTest, float]]:
    whole = np.bincount(labels)
    classes = len(whole)
    for place, column in enumerate(domain.columns):
        cells = rows[:, place]
        known = ~np.isnan(cells)
        if column.is_listed:
            codes = cells[known].astype(np.intp)
            table = np.bincount(codes * classes + labels[known], minlength=len(column.values) * classes).reshape(-1, classes)
            values = np.arange(len(column.values), dtype=np.float64)
        else:
            values = _thresholds(cells[known], column.is_integral)
            bins = np.searchsorted(values, cells[known])
            table = np.bincount(bins * classes + labels[known], minlength=(len(values) + 1) * classes).reshape(-1, classes)
            table = np.cumsum(table, axis=0)[:-1]
        if len(values):
            passed = table.sum(axis=1)
            gains = np.where((passed >= fewest) & (len(rows) - passed >= fewest), _gains(whole, table), 0.0)
            best = int(np.argmax(gains))
            yield SplitTest(place, float(values[best]), column.is_listed), float(gains[best])


def _thresholds(cells: Reals, is_integral: bool) -> Reals:
    distinct = np.unique(cells)
    if len(distinct) < 2:
        return np.empty(0)
    if len(distinct) > THRESHOLDS:
        distinct = np.unique(np.quantile(cells, np.linspace(0, 1, THRESHOLDS + 1), method="lower"))
    return distinct[:-1] if is_integral else (distinct[:-1] + distinct[1:]) / 2


def _gains(whole: np.ndarray[tuple[int], np.dtype[np.intp]], inside: Rows | np.ndarray[tuple[int, int], np.dtype[np.intp]]) -> Reals:
    """Gain of information for every row of the table of counts inside."""
    n = whole.sum()
    outside = whole - inside
    share = inside.sum(axis=1) / n
    after = share * _entropy(inside) + (1 - share) * _entropy(outside)
    return np.where((share > 0) & (share < 1), _entropy(whole[None])[0] - after, 0.0)


def _entropy(counts: Rows | np.ndarray[tuple[int, int], np.dtype[np.intp]]) -> Reals:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    found: Reals = -(shares * np.log2(shares, out=np.zeros_like(shares, dtype=np.float64), where=shares > 0)).sum(axis=1)
    return found
