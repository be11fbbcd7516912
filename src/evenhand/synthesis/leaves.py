"""Frequencies of cells at the nodes of one tree, each backed off to its parent and so to the whole column.

Categories: a node gives away a fixed part of a row for every different cell that it shows (absolute discounting), so one that shows a
single cell in hundreds of rows stays nearly certain, and one that shows many cells once each leans on its parent.  Numbers: cells are
halved again and again, and each halving leans on the parent's the more the finer it is, so a leaf of few rows says where a number
lies roughly, and its ancestors say what numbers look like there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.arrays import Index, Reals, Rows

DISCOUNT = 0.1
"""The part of a row that every different cell of a category gives away."""
HALVING_ROWS = 0.3
GROWTH = 2.0
"""Rows' worth of its parent's halving that a node's first halving is mixed with, and how much more each finer one."""
FLAT_ROWS = 0.01
"""Every leaf gets this much of a row of the whole column's frequencies, so that every valid row stays possible."""


@dataclass(frozen=True)
class Branches:
    """The shape of a tree: the children of every node, -1 for none.  A single leaf is one node."""

    left: Index
    right: Index
    rows: Index  # that each node was grown on

    @classmethod
    def of(cls, tree: Any) -> Branches:
        """The shape of one of scikit-learn's trees; None is a single leaf."""
        if tree is None:
            return cls(np.array([-1]), np.array([-1]), np.array([0]))
        return cls(tree.children_left.astype(np.intp), tree.children_right.astype(np.intp), tree.n_node_samples.astype(np.intp))

    @cached_property
    def parent(self) -> Index:
        """The node above each; the root is its own."""
        above = np.zeros(len(self.left), dtype=np.intp)
        inner = np.flatnonzero(self.left >= 0)
        above[self.left[inner]] = above[self.right[inner]] = inner
        return above

    @cached_property
    def depths(self) -> tuple[Index, ...]:
        """The nodes by depth, the root first."""
        found = [np.zeros(1, dtype=np.intp)]
        while (branching := found[-1][self.left[found[-1]] >= 0]).size:
            found.append(np.concatenate([self.left[branching], self.right[branching]]))
        return tuple(found)

    @cached_property
    def leaves(self) -> Index:
        """The nodes that end a path, in ascending order."""
        return np.sort(np.concatenate([level[self.left[level] < 0] for level in self.depths]))

    def ends(self, leaf_rows: int) -> Ends | None:
        """Where the tree ends if no node of fewer than twice so many rows is split; None where that changes nothing."""
        too_small = self.rows < 2 * leaf_rows
        if not too_small[self.left >= 0].any():
            return None
        stands = np.arange(len(self.left))
        for level in self.depths[1:]:
            above = self.parent[level]
            stands[level] = np.where(too_small[above], stands[above], level)
        return Ends(stands)

    def leaf_of_node(self) -> Index:
        """The number of the leaf at every node; -1 at inner nodes."""
        number = np.full(len(self.left), -1, dtype=np.intp)
        number[self.leaves] = np.arange(len(self.leaves))
        return number


@dataclass(frozen=True, eq=False)
class Ends:
    """A tree cut short: for every node the one that stands for it."""

    stands: Index

    @cached_property
    def kept(self) -> Index:
        """The nodes that are left, in their order."""
        return np.flatnonzero(self.stands == np.arange(len(self.stands)))

    @cached_property
    def number(self) -> Index:
        """The new number of every node that is left."""
        numbers = np.full(len(self.stands), -1, dtype=np.intp)
        numbers[self.kept] = np.arange(len(self.kept))
        return numbers

    def cut(self, tree: Any) -> Any:
        """One of scikit-learn's trees with the nodes that are left; None for a single leaf."""
        if len(self.kept) == 1:
            return None
        make, given, state = tree.__reduce__()
        nodes = state["nodes"][self.kept]
        for side in ("left_child", "right_child"):
            nodes[side] = np.where(nodes[side] >= 0, self.number[nodes[side]], -1)
        # A node whose children were cut has lost both, and is a leaf then as scikit-learn marks one.
        nodes["right_child"][nodes["left_child"] < 0] = -1
        smaller = make(*given)
        smaller.__setstate__(state | {"nodes": nodes, "node_count": len(nodes), "values": state["values"][self.kept]})
        return smaller


def node_shares(branches: Branches, counts: Rows, is_number: bool, has_missing: bool = False) -> Rows:
    """Frequencies (nodes, cells) from the counts (leaves, cells) of the leaves; with `has_missing` the last cell is the missing one."""
    overall = counts.sum(axis=0) + 1.0 / counts.shape[1]
    overall /= overall.sum()
    gathered = np.zeros((len(branches.left), counts.shape[1]))
    gathered[branches.leaves] = counts
    for level in branches.depths[-2::-1]:
        inner = level[branches.left[level] >= 0]
        gathered[inner] = gathered[branches.left[inner]] + gathered[branches.right[inner]]
    if not is_number:
        shares = _discounted(branches, gathered, overall)
    else:
        shares = (_beside_missing if has_missing and counts.shape[1] > 1 else _halved)(branches, gathered, overall)
    rows = gathered.sum(axis=1, keepdims=True)
    mixed: Rows = (rows * shares + FLAT_ROWS * overall) / (rows + FLAT_ROWS)
    return mixed


def _discounted(branches: Branches, counts: Rows, overall: Reals) -> Rows:
    shares = np.tile(overall, (len(counts), 1))
    for level in branches.depths[1:]:
        kept = np.maximum(counts[level] - DISCOUNT, 0.0)
        total = counts[level].sum(axis=1, keepdims=True)
        above = shares[branches.parent[level]]
        shares[level] = np.divide(kept + (total - kept.sum(axis=1, keepdims=True)) * above, total, out=above, where=total > 0)
    return shares


def _beside_missing(branches: Branches, counts: Rows, overall: Reals) -> Rows:
    """Whether a number is missing first, then the number: a missing cell is no neighbour of the largest ones."""
    numbers, flat = counts[:, :-1], overall[:-1]
    whole = counts.sum(axis=1, keepdims=True)
    there = np.stack([numbers.sum(axis=1), counts[:, -1]], axis=1)
    known = _left_parts(branches, whole, there, flat.sum(keepdims=True), HALVING_ROWS)
    shares: Rows = np.hstack([known * _halved(branches, numbers, flat / flat.sum()), 1.0 - known])
    return shares


def _halved(branches: Branches, counts: Rows, overall: Reals) -> Rows:
    """Halvings of halvings down to the cells, each a mixture of the node's own and its parent's."""
    cells = counts.shape[1]
    depth = max(1, int(np.ceil(np.log2(cells))))
    room = ((0, 0), (0, (1 << depth) - cells))
    own, flat = _sums(np.pad(counts, room), depth), _sums(np.pad(overall[None], room), depth)
    shares: Rows = np.ones((len(counts), 1))
    for step in range(depth):
        first = np.divide(flat[step + 1][:, ::2], flat[step], out=np.full_like(flat[step], 0.5), where=flat[step] > 0)
        left = _left_parts(branches, own[step], own[step + 1], first[0], HALVING_ROWS * GROWTH**step)
        halves = np.empty((len(counts), left.shape[1], 2))
        np.multiply(shares, left, out=halves[:, :, 0])
        np.subtract(shares, halves[:, :, 0], out=halves[:, :, 1])
        shares = halves.reshape(len(counts), -1)
    return shares[:, :cells]


def _sums(counts: Rows, depth: int) -> list[Rows]:
    """Counts of all cells together, of both halves, of their halves, down to the cells."""
    found = [counts]
    for _ in range(depth):
        found.append(found[-1][:, ::2] + found[-1][:, 1::2])
    return found[::-1]


def _left_parts(branches: Branches, whole: Rows, halves: Rows, first: Reals, weight: float) -> Rows:
    """The part that lies in the left half of every stretch of cells, at every node: (nodes, stretches)."""
    left = np.empty(whole.shape)
    left[0] = first
    for level in branches.depths[1:]:
        left[level] = (halves[level, ::2] + weight * left[branches.parent[level]]) / (whole[level] + weight)
    return left
