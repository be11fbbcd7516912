"""Partitions of the input space that findings are counted in: rules of unfairness, and pairs of leaves of opposite label.

Both are small decision trees over one pool of judged rows.  They are fitted once for a model, so that every method is held
against the same ones, and never see a method's findings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.contract import Model, Oracle, Population, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.measures.rates import judge_all

RULE_LEAVES, RULE_ROWS = 256, 20
"""Leaves of the tree of rules at most, and rows of the pool in each at least."""
IMITATION_LEAVES, IMITATION_ROWS = 512, 5
"""The same of the tree that imitates the model: fine enough to split by protected columns that matter little."""
FINDINGS_PER_RULE = 3
"""A rule is found when at least this many findings lie in its leaf."""

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class PoolJudge:
    """Who judges a pool: the model in its domain, and the oracle."""

    domain: TabularDomain
    model: Model
    oracle: Oracle


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """The columns that a tree looks at, by place, and every column's lowest code."""

    places: tuple[int, ...]
    lowest: Reals  # (columns,) what stands for a missing cell

    def copies(self, rows: Rows) -> NDArray[np.float32]:
        """What trees read: 32 bits, a missing cell below everything else."""
        cells, lowest = rows[:, list(self.places)], self.lowest[list(self.places)]
        missing = np.isnan(cells)
        if missing.any():
            cells = np.where(missing, np.where(np.isfinite(lowest), lowest, 0.0) - 1.0, cells)
        return np.ascontiguousarray(np.clip(cells, -_LARGEST, _LARGEST), dtype=np.float32)


@dataclass(frozen=True)
class Pool:
    """Rows judged outside any budget: half realistic, half uniform over the domain."""

    rows: Rows
    verdict: Verdict
    realistic: int = 0  # so many rows, the first ones, come from the population

    @classmethod
    def draw(cls, size: int, population: Population, judge: PoolJudge, rng: np.random.Generator) -> Pool:
        """Half the rows from the population, half from the domain."""
        rows = np.vstack([population.sample(size // 2, rng), judge.domain.sample(size - size // 2, rng)])
        return cls(rows, judge_all(rows, judge.domain, judge.model, judge.oracle), size // 2)


@dataclass(frozen=True)
class PartitionTree:
    """A fitted decision tree over some columns, its leaves numbered from 0."""

    grown: Any  # sklearn's compiled tree
    columns: TreeColumns

    @classmethod
    def grow(cls, rows: Rows, classes: NDArray[Any], columns: TreeColumns, size: tuple[int, int]) -> PartitionTree:
        """A tree over these columns' places and lowest codes; of so many leaves at most, with so many rows each at least."""
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(max_leaf_nodes=size[0], min_samples_leaf=size[1], random_state=0)
        tree.fit(columns.copies(rows), classes)
        return cls(tree.tree_, columns)

    @cached_property
    def nodes(self) -> Index:
        """The tree's nodes that are leaves, in order."""
        return np.flatnonzero(self.grown.children_left < 0)

    @property
    def count(self) -> int:
        """How many leaves there are."""
        return len(self.nodes)

    def leaves(self, rows: Rows) -> Index:
        """The number of every row's leaf."""
        if not len(rows):
            return np.empty(0, dtype=np.intp)
        numbers: Index = np.searchsorted(self.nodes, self.grown.apply(self.columns.copies(rows)))
        return numbers

    def boxes(self) -> tuple[Rows, Rows]:
        """Lower (excluded) and upper (included) borders of every leaf in every one of the tree's columns, (leaves, places)."""
        low = np.full((self.grown.node_count, len(self.columns.places)), -np.inf)
        high = np.full((self.grown.node_count, len(self.columns.places)), np.inf)
        for node in np.flatnonzero(self.grown.children_left >= 0):  # parents come before their children
            left, right, at = self.grown.children_left[node], self.grown.children_right[node], self.grown.feature[node]
            for child in (left, right):
                low[child], high[child] = low[node], high[node]
            high[left, at] = min(high[left, at], self.grown.threshold[node])
            low[right, at] = max(low[right, at], self.grown.threshold[node])
        return low[self.nodes], high[self.nodes]


@dataclass(frozen=True)
class LeafRules:
    """Leaves of a tree on the non-protected columns that separates unfair from fair; a rule is a leaf with unfair treatment in it."""

    tree: PartitionTree
    flip_rate: Reals  # (leaves,) the share of unfair rows of the pool
    mass: Reals  # (leaves,) the share of the population's unfair people who are in it

    @classmethod
    def of(cls, pool: Pool, domain: TabularDomain) -> LeafRules:
        """Grow the tree on the pool."""
        tree = PartitionTree.grow(pool.rows, pool.verdict.unfair, TreeColumns(domain.free_places, domain.low), (RULE_LEAVES, RULE_ROWS))
        leaves = tree.leaves(pool.rows)
        total = np.bincount(leaves, minlength=tree.count)
        affected = leaves[: pool.realistic][pool.verdict.unfair[: pool.realistic]]
        mass = np.bincount(affected, minlength=tree.count) / max(1, len(affected))
        return cls(tree, np.bincount(leaves, pool.verdict.unfair, minlength=tree.count) / np.maximum(total, 1), mass)

    @property
    def is_rule(self) -> Mask:
        """Which leaves are rules."""
        return self.flip_rate > 0

    def found(self, rows: Rows) -> int:
        """In how many rules at least three of these findings lie."""
        return int(self._reached(rows).sum())

    def covered(self, rows: Rows) -> float:
        """The share of the population's unfair people who are in the rules where at least three of these findings lie."""
        return float(self.mass[self._reached(rows)].sum())

    def _reached(self, rows: Rows) -> Mask:
        counts = np.bincount(self.tree.leaves(rows), minlength=self.tree.count)
        return np.asarray((counts >= FINDINGS_PER_RULE) & self.is_rule)


@dataclass(frozen=True)
class LeafPairs:
    """Pairs of leaves of opposite label of a tree that imitates the model; a finding and its twin join such a pair."""

    tree: PartitionTree
    label: Index  # (leaves,) the label of most pool rows
    may_change: tuple[int, ...]  # columns in which twins differ

    @classmethod
    def of(cls, pool: Pool, domain: TabularDomain, rng: np.random.Generator) -> LeafPairs:
        """Imitate the model on the pool, every row under a random protected combination."""
        combination = rng.integers(len(domain.combinations), size=len(pool.rows))
        line = np.arange(len(pool.rows))
        labels = pool.verdict.labels[line, combination].astype(np.intp)
        possible = labels >= 0
        rows = domain.twins(pool.rows).rows[combination, line]
        columns = TreeColumns(tuple(range(rows.shape[1])), domain.low)
        tree = PartitionTree.grow(rows[possible], labels[possible], columns, (IMITATION_LEAVES, IMITATION_ROWS))
        votes = np.zeros((tree.count, int(labels.max()) + 1))
        np.add.at(votes, (tree.leaves(rows[possible]), labels[possible]), 1.0)
        implied = {domain.place(name) for rule in domain.implied for name in rule.changes}
        return cls(tree, votes.argmax(axis=1), tuple(sorted({*domain.protected_places, *implied})))

    @cached_property
    def possible(self) -> int:
        """Pairs of leaves of opposite label whose boxes overlap in every column that twins share."""
        low, high = self.tree.boxes()
        shared = [at for at in range(low.shape[1]) if at not in self.may_change]
        below = np.maximum(low[:, None, shared], low[None, :, shared])
        overlap = (below < np.minimum(high[:, None, shared], high[None, :, shared])).all(axis=2)
        return int(np.triu(overlap & (self.label[:, None] != self.label[None, :]), 1).sum())

    def joined(self, rows: Rows, twins: Rows) -> int:
        """How many such pairs the findings join."""
        first, second = self.tree.leaves(rows), self.tree.leaves(twins)
        opposite = self.label[first] != self.label[second]
        pair = np.minimum(first, second) * self.tree.count + np.maximum(first, second)
        return len(np.unique(pair[opposite]))
