"""A decision tree fitted to a model's answers, read as arrays: the box of every leaf, and the tests on every row's way down."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Labels, Mask, Reals, Rows
from evenhand.deadline import Deadline
from evenhand.domain.tabular import TabularDomain

TRIAL_ROWS, FITTING_SHARE, FITTING_POWER = 300, 0.08, 1.3
"""Where time is short, a tree is fitted to so many rows first; the whole one may then take this share of what is left, and is taken to
cost the rows to this power."""

NO_TEST = -1
"""The column of a place on a path behind the leaf."""


@dataclass(frozen=True)
class Boxes:
    """Closed intervals of codes, and whether a missing cell lies inside too, (boxes, columns) each."""

    low: Rows
    high: Rows
    missing: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, at: Index | Mask) -> Boxes:
        return Boxes(self.low[at], self.high[at], self.missing[at])

    def sample(self, domain: TabularDomain, rng: np.random.Generator) -> Rows:
        """One row in every box, each cell uniform by itself; a cell is missing as often as the domain says, or where nothing else fits."""
        empty = self.low > self.high
        span = np.where(empty, 0.0, self.high - self.low)
        drawn = rng.random(span.shape)
        whole = np.minimum(np.floor(drawn * (span + 1.0)), span)
        rows: Rows = self.low + np.where(domain.integral, whole, drawn * span)
        if self.missing.any():
            rows[self.missing & ((rng.random(span.shape) < domain.missing) | empty)] = np.nan
        return rows


@dataclass(frozen=True)
class Paths:
    """The tests on the way of every row from the root to its leaf, (rows, depth) each; beyond the leaf the column is NO_TEST."""

    column: Index
    threshold: Reals
    is_below: NDArray[np.bool_]  # whether the row went to the side "at most the threshold"
    confidence: Reals  # of the fitted rows that reached the test, the share that went the same way


@dataclass(frozen=True)
class FittedTree:
    """A tree of scikit-learn; labels are the positions that it was fitted with."""

    nodes: Any  # sklearn.tree._tree.Tree
    labels: Labels  # (nodes,)

    @classmethod
    def fit(cls, rows: Rows, labels: Labels, criterion: str, leaves: int | None, rng: np.random.Generator) -> FittedTree:
        """Grown until every leaf is pure or there are `leaves` of them; missing cells go where they fit best."""
        from sklearn.tree import DecisionTreeClassifier  # loaded only where a tree is fitted

        grown = DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=leaves, random_state=int(rng.integers(2**31)))
        grown.fit(rows, labels)
        nodes = grown.tree_
        return cls(nodes, np.asarray(grown.classes_[nodes.value[:, 0, :].argmax(axis=1)], dtype=np.intp))

    @property
    def is_leaf(self) -> Mask:
        """Which nodes are leaves."""
        return np.asarray(self.nodes.children_left < 0)

    def predict(self, rows: Rows) -> Labels:
        """The label of every row's leaf."""
        leaves: Index = self.nodes.apply(rows.astype(np.float32))
        return self.labels[leaves]

    def leaf_boxes(self, domain: TabularDomain) -> tuple[Boxes, Labels]:
        """The part of the domain that every leaf stands for, and its label; leaves without any row of the domain are left out."""
        count = self.nodes.node_count
        low, high = np.tile(domain.low, (count, 1)), np.tile(domain.high, (count, 1))
        missing = np.tile(domain.missing > 0, (count, 1))
        level = np.zeros(1, dtype=np.intp)
        while (level := level[~self.is_leaf[level]]).size:
            column, cut = self.nodes.feature[level], self.nodes.threshold[level]
            below, above = sides_of(cut, domain.integral[column])
            leftward = np.asarray(self.nodes.missing_go_to_left)[level] > 0
            left, right = self.nodes.children_left[level], self.nodes.children_right[level]
            for child in (left, right):
                low[child], high[child], missing[child] = low[level], high[level], missing[level]
            high[left, column] = np.minimum(high[left, column], below)
            low[right, column] = np.maximum(low[right, column], above)
            missing[left, column] &= leftward
            missing[right, column] &= ~leftward
            level = np.concatenate([left, right])
        fits = self.is_leaf & ((low <= high) | missing).all(axis=1)
        return Boxes(low, high, missing)[fits], self.labels[fits]

    def paths(self, rows: Rows) -> Paths:
        """Every row's tests, in the order in which they are met."""
        at, steps = np.zeros(len(rows), dtype=np.intp), []
        line = np.arange(len(rows))
        held = np.asarray(self.nodes.n_node_samples, dtype=np.float64)
        while not self.is_leaf[at].all():
            open_, column = ~self.is_leaf[at], np.maximum(self.nodes.feature[at], 0)
            cells, cut = rows[line, column], self.nodes.threshold[at]
            goes_left = np.where(np.isnan(cells), np.asarray(self.nodes.missing_go_to_left)[at] > 0, cells <= cut)
            child = np.where(open_, np.where(goes_left, self.nodes.children_left[at], self.nodes.children_right[at]), at)
            steps.append((np.where(open_, column, NO_TEST), cut, goes_left, held[child] / held[at]))
            at = child
        if not steps:
            return Paths(*(np.empty((len(rows), 0), dtype=kind) for kind in (np.intp, float, bool, float)))
        return Paths(*(np.stack(part, axis=1) for part in zip(*steps, strict=True)))


def few_enough(rows: Rows, labels: Labels, deadline: Deadline, rng: np.random.Generator) -> Index:
    """Which rows a tree can be fitted to in its share of what is left of the time: all of them, or as many as a trial says."""
    if not deadline.is_set or len(rows) <= TRIAL_ROWS:
        return np.arange(len(rows))
    order = rng.permutation(len(rows))
    started = time.perf_counter()
    FittedTree.fit(rows[order[:TRIAL_ROWS]], labels[order[:TRIAL_ROWS]], "gini", None, rng)
    allowed = max(0.0, FITTING_SHARE * deadline.seconds_left) / max(time.perf_counter() - started, 1e-9)
    return order[: max(TRIAL_ROWS, int(TRIAL_ROWS * allowed ** (1 / FITTING_POWER)))]


def sides_of(threshold: Reals, integral: Mask) -> tuple[Reals, Reals]:
    """The largest code on the side "at most the threshold", and the smallest on the other."""
    below = np.where(integral, np.floor(threshold), threshold)
    return below, np.where(integral, below + 1.0, np.nextafter(threshold, np.inf))
