"""Frequencies of cells at the nodes of one tree, each backed off to its parent and so to the whole column.

Categories: a node gives away a fixed part of a row for every different cell that it shows (absolute discounting), so one that shows a
single cell in hundreds of rows stays nearly certain, and one that shows many cells once each leans on its parent.  Numbers: cells are
halved again and again, and each halving leans on the parent's the more the finer it is, so a leaf of few rows says where a number
lies roughly, and its ancestors say what numbers look like there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows

Counts = NDArray[np.float32]  # whole numbers, exact below 2 ** 24; half the memory of larger ones, which is what halving costs

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


class NodeShares(Protocol):
    """Frequencies of cells at the nodes of one tree."""

    def of(self, nodes: Index) -> Rows:
        """(nodes, cells) of some nodes."""
        ...

    def at(self, nodes: Index, cells: Index) -> Reals:
        """Of one cell at each of some nodes."""
        ...

    def kept(self, nodes: Index) -> NodeShares:
        """The same of a tree with only these nodes, numbered in their order."""
        ...


def node_shares(branches: Branches, counts: Counts, is_number: bool, has_missing: bool = False) -> NodeShares:
    """Frequencies from the counts (leaves, cells) of the leaves; with `has_missing` the last cell is the missing one."""
    overall = counts.sum(axis=0, dtype=np.float64) + 1.0 / counts.shape[1]
    overall /= overall.sum()
    if is_number:
        return HalvedShares.counted(branches, counts, overall, has_missing and counts.shape[1] > 1)
    gathered = _gathered(branches, counts)
    rows = gathered.sum(axis=1, keepdims=True)
    return ListedShares(_flattened(rows, _discounted(branches, gathered, overall), overall))


def _flattened(rows: Rows, shares: Rows, overall: Reals) -> Rows:
    """A little of the whole column's frequencies beside those of so many rows; changes `shares`."""
    shares *= rows / (rows + FLAT_ROWS)
    shares += FLAT_ROWS / (rows + FLAT_ROWS) * overall
    return shares


@dataclass(frozen=True, eq=False)
class ListedShares:
    """Every cell at every node."""

    shares: Rows  # (nodes, cells)

    def of(self, nodes: Index) -> Rows:
        """(nodes, cells) of some nodes."""
        return self.shares[nodes]

    def at(self, nodes: Index, cells: Index) -> Reals:
        """Of one cell at each of some nodes."""
        return self.shares[nodes, cells]

    def kept(self, nodes: Index) -> NodeShares:
        """The same of a tree with only these nodes."""
        return ListedShares(self.shares[nodes])


def _discounted(branches: Branches, counts: Rows, overall: Reals) -> Rows:
    shares = np.tile(overall, (len(counts), 1))
    for level in branches.depths[1:]:
        kept = np.maximum(counts[level] - DISCOUNT, 0.0)
        total = counts[level].sum(axis=1, keepdims=True)
        above = shares[branches.parent[level]]
        shares[level] = np.divide(kept + (total - kept.sum(axis=1, keepdims=True)) * above, total, out=above, where=total > 0)
    return shares


@dataclass(frozen=True, eq=False)
class HalvedShares:
    """Halvings of halvings down to the cells, each a mixture of the node's own and its parent's; cells are made of them when asked for.

    Stretches of cells are numbered as in a heap: 1 is all cells, 2 h and 2 h + 1 are the halves of h.
    """

    left: Counts  # (nodes, stretches): the part of each stretch that lies in its left half
    known: Reals  # (nodes,) the part that is not missing
    rows: Reals  # (nodes,)
    overall: Reals  # (cells,)
    has_missing: bool

    @classmethod
    def counted(cls, branches: Branches, counts: Counts, overall: Reals, has_missing: bool) -> HalvedShares:
        """From the counts of the leaves.  Whether a number is missing comes first: a missing cell is no neighbour of the largest ones."""
        numbers = counts.shape[1] - has_missing
        sums = _heaps(branches, counts[:, :numbers])
        stretches = sums.shape[1] // 2
        flat = overall[:numbers] / overall[:numbers].sum()
        weight = HALVING_ROWS * GROWTH ** np.floor(np.log2(np.maximum(np.arange(stretches), 1)))
        left = _mixed_parts(branches, (sums[:, ::2], sums[:, :stretches]), _left_of(flat, stretches), weight)
        there = sums[:, 1:2].astype(np.float64)
        if not has_missing:
            return cls(left, np.ones(len(left)), there[:, 0], overall, False)
        rows = there + _gathered(branches, counts[:, -1:])
        known = _mixed_parts(branches, (there, rows), overall[:numbers].sum(keepdims=True), np.array([HALVING_ROWS]))
        return cls(left, known[:, 0].astype(np.float64), rows[:, 0], overall, True)

    def of(self, nodes: Index) -> Rows:
        """(nodes, cells) of some nodes."""
        left = self.left[nodes]
        shares: Rows = self.known[nodes][:, None]
        for step in range(self.left.shape[1].bit_length() - 1):
            halves = np.empty((len(nodes), 1 << step, 2))
            np.multiply(shares, left[:, 1 << step : 2 << step], out=halves[:, :, 0])
            np.subtract(shares, halves[:, :, 0], out=halves[:, :, 1])
            shares = halves.reshape(len(nodes), -1)
        cells = np.empty((len(nodes), len(self.overall)))
        numbers = len(self.overall) - self.has_missing
        cells[:, :numbers] = shares[:, :numbers]
        if self.has_missing:
            cells[:, -1] = 1.0 - self.known[nodes]
        return _flattened(self.rows[nodes][:, None], cells, self.overall)

    def at(self, nodes: Index, cells: Index) -> Reals:
        """Of one cell at each of some nodes."""
        stretch = cells + self.left.shape[1]
        shares = np.ones(len(nodes))
        for _ in range(self.left.shape[1].bit_length() - 1):
            part = self.left[nodes, (half := stretch // 2) % self.left.shape[1]].astype(np.float64)
            shares *= np.where(stretch % 2, 1.0 - part, part)
            stretch = half
        is_missing = (cells == len(self.overall) - 1) & self.has_missing
        shares = np.where(is_missing, 1.0 - self.known[nodes], shares * self.known[nodes])
        rows = self.rows[nodes]
        found: Reals = (rows * shares + FLAT_ROWS * self.overall[cells]) / (rows + FLAT_ROWS)
        return found

    def kept(self, nodes: Index) -> NodeShares:
        """The same of a tree with only these nodes."""
        return HalvedShares(self.left[nodes], self.known[nodes], self.rows[nodes], self.overall, self.has_missing)


def _gathered(branches: Branches, counts: Counts) -> Rows:
    """(nodes, cells) from the counts of the leaves."""
    found = np.zeros((len(branches.left), counts.shape[1]))
    found[branches.leaves] = counts
    _add_up(branches, found)
    return found


def _add_up(branches: Branches, counts: Rows | Counts) -> None:
    """Give every inner node what its children have."""
    for level in branches.depths[-2::-1]:
        inner = level[branches.left[level] >= 0]
        counts[inner] = counts[branches.left[inner]] + counts[branches.right[inner]]


def _heaps(branches: Branches, counts: Counts) -> Counts:
    """(nodes, twice the stretches): for every node the counts of all stretches of cells and of the cells, numbered as in a heap."""
    stretches = 1 << max(1, int(np.ceil(np.log2(counts.shape[1]))))
    sums = np.zeros((len(branches.left), 2 * stretches), dtype=np.float32)
    sums[branches.leaves, stretches : stretches + counts.shape[1]] = counts
    _add_up(branches, sums[:, stretches:])
    step = stretches
    while step := step // 2:
        np.add(sums[:, 2 * step : 4 * step : 2], sums[:, 2 * step + 1 : 4 * step : 2], out=sums[:, step : 2 * step])
    return sums


def _left_of(flat: Reals, stretches: int) -> Reals:
    """(stretches,) of the whole column, the part of each stretch that lies in its left half; a half where it has no cells."""
    sums = np.zeros(2 * stretches)
    sums[stretches : stretches + len(flat)] = flat
    step = stretches
    while step := step // 2:
        sums[step : 2 * step] = sums[2 * step : 4 * step : 2] + sums[2 * step + 1 : 4 * step : 2]
    left: Reals = np.divide(sums[::2], sums[:stretches], out=np.full(stretches, 0.5), where=sums[:stretches] > 0)
    return left


def _mixed_parts(branches: Branches, counts: tuple[Rows | Counts, Rows | Counts], first: Reals, weight: Reals) -> Counts:
    """(nodes, stretches) the part of each stretch at every node, of counts of the part and of the whole, mixed with that of its parent."""
    part, whole = counts
    left = np.empty(whole.shape, dtype=np.float32)
    left[0] = first
    light = weight.astype(np.float32)
    for level in branches.depths[1:]:
        mixed = left[branches.parent[level]]
        mixed *= light
        mixed += part[level]
        mixed /= whole[level] + light
        left[level] = mixed
    return left
