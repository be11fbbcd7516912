"""Frequencies of cells in the leaves of one tree, each smoothed towards its parent node and so towards the whole column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Index, Reals, Rows

WEIGHTS = (0.1, 1.0, 10.0, 30.0, 100.0)
"""How many rows' worth of its parent's frequencies a node may be mixed with; the data choose."""
FLAT_ROWS = 1.0
"""Every leaf gets this many rows' worth of the whole column's frequencies, so that every valid row stays possible."""


@dataclass(frozen=True)
class _Nodes:
    """Counts at every node of a tree, and the nodes by depth, the root first."""

    counts: Rows  # (nodes, cells)
    parent: Index
    depths: tuple[Index, ...]
    is_leaf: np.ndarray[Any, np.dtype[np.bool_]]


def leaf_numbers(tree: Any) -> Index:
    """The number of every leaf by tree node; -1 for inner nodes.  No tree is a single leaf."""
    if tree is None:
        return np.zeros(1, dtype=np.intp)
    is_leaf = tree.children_left == -1
    return np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.intp)


def leaf_shares(tree: Any, counts: Rows, smoothing: float | None) -> Rows:
    """Smoothed frequencies (leaves, cells) from counts (leaves, cells)."""
    overall = counts.sum(axis=0) + 1.0 / counts.shape[1]
    overall /= overall.sum()
    in_leaf = counts.sum(axis=1, keepdims=True)
    if tree is None:
        shares = overall[None]
    else:
        nodes = _gather(tree, counts)
        weight = smoothing if smoothing is not None else _best_weight(nodes, overall)
        shares = _smooth(nodes, overall, weight)[nodes.is_leaf]
    smoothed: Rows = (in_leaf * shares + FLAT_ROWS * overall) / (in_leaf + FLAT_ROWS)
    return smoothed


def _gather(tree: Any, counts: Rows) -> _Nodes:
    inner = np.flatnonzero(tree.children_left >= 0)
    parent = np.zeros(tree.node_count, dtype=np.intp)
    parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
    depths = [np.zeros(1, dtype=np.intp)]
    while (branching := depths[-1][tree.children_left[depths[-1]] >= 0]).size:
        depths.append(np.concatenate([tree.children_left[branching], tree.children_right[branching]]))
    is_leaf = tree.children_left == -1
    gathered = np.zeros((tree.node_count, counts.shape[1]))
    gathered[is_leaf] = counts
    for nodes in depths[:0:-1]:
        np.add.at(gathered, parent[nodes], gathered[nodes])
    return _Nodes(gathered, parent, tuple(depths), is_leaf)


def _smooth(nodes: _Nodes, overall: Reals, weight: float) -> Rows:
    shares = np.empty_like(nodes.counts)
    shares[0] = overall
    for level in nodes.depths[1:]:
        total = nodes.counts[level].sum(axis=1, keepdims=True)
        shares[level] = (nodes.counts[level] + weight * shares[nodes.parent[level]]) / (total + weight)
    return shares


def _best_weight(nodes: _Nodes, overall: Reals) -> float:
    """The weight under which every row is likeliest in a leaf that was counted without it."""
    leaves = np.flatnonzero(nodes.is_leaf)
    at, cells = np.nonzero(nodes.counts[leaves])
    often, total = nodes.counts[leaves[at], cells], nodes.counts[leaves].sum(axis=1)[at]

    def likelihood(weight: float) -> float:
        above = _smooth(nodes, overall, weight)[nodes.parent[leaves[at]], cells]
        return float((often * np.log((often - 1 + weight * above) / (total - 1 + weight))).sum())

    return max(WEIGHTS, key=likelihood)
