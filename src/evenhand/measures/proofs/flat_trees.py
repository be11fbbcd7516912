"""Trees of twins as flat arrays, for loops that look at one box after the other.

Of an axis that a tree asks about, cells that all its questions answer alike are one segment; a leaf is a set of segments on some axes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals
from evenhand.measures.proofs.grid import Grid
from evenhand.measures.proofs.orbits import Orbits, TwinTree

MOST_SEGMENTS = 64
"""A set of segments is one word."""

Whole = NDArray[np.int64]
Sets = NDArray[np.uint64]


class FlatTrees(NamedTuple):
    """All trees one after the other: `*_first[t]` is where those of tree t begin, and `*_first[t + 1]` where they end.

    A pair of a tree and one of its axes is called a part.
    """

    axis_first: Whole  # (axes + 1,): of cells
    weights: Reals  # (cells,)
    part_first: Whole  # (trees + 1,)
    part_axis: Whole  # (parts,)
    part_segments: Whole  # (parts,): how many
    segment_first: Whole  # (parts,): of `segment`
    segment: Whole  # for every part, the segment of each cell of its axis
    leaf_first: Whole  # (trees + 1,)
    limit_first: Whole  # (leaves + 1,): of the parts that a leaf limits
    limit_part: Whole  # number of the part within its tree
    limit_set: Sets  # segments that lead to the leaf
    values: Reals  # (leaves, twins)
    node_first: Whole  # (trees + 1,)
    node_part: Whole  # number of the part within its tree, -1 for a leaf
    node_inside: Sets  # segments that go to the first child
    node_children: Whole  # (nodes, 2): numbers within the tree
    offset: float
    tolerance: float


@dataclass
class _Lists:
    """What the arrays are made of."""

    part_first: list[int] = field(default_factory=lambda: [0])
    part_axis: list[int] = field(default_factory=list)
    part_segments: list[int] = field(default_factory=list)
    segment_first: list[int] = field(default_factory=list)
    segment: list[Whole] = field(default_factory=list)
    leaf_first: list[int] = field(default_factory=lambda: [0])
    limit_first: list[int] = field(default_factory=lambda: [0])
    limit_part: list[int] = field(default_factory=list)
    limit_set: list[int] = field(default_factory=list)
    values: list[Reals] = field(default_factory=list)
    node_first: list[int] = field(default_factory=lambda: [0])
    node_part: list[int] = field(default_factory=list)
    node_inside: list[int] = field(default_factory=list)
    node_children: list[tuple[int, int]] = field(default_factory=list)


def flat_trees(orbits: Orbits, grid: Grid) -> FlatTrees | None:
    """The trees as arrays; None where there are more than two classes, or a tree cuts an axis into too many segments."""
    if len(orbits.pairs) > 1:
        return None
    lists = _Lists()
    for tree in orbits.trees:
        if not _add(lists, tree, orbits):
            return None
    first = np.concatenate([[0], np.cumsum([axis.cells for axis in grid.axes])])
    whole = {name: np.array(getattr(lists, name), dtype=np.int64) for name in _WHOLE}
    return FlatTrees(
        axis_first=first.astype(np.int64),
        weights=np.concatenate([axis.weights for axis in grid.axes]),
        segment=np.concatenate(lists.segment) if lists.segment else np.empty(0, dtype=np.int64),
        limit_set=np.array(lists.limit_set, dtype=np.uint64),
        values=np.array(lists.values, dtype=np.float64).reshape(-1, orbits.combinations),
        node_inside=np.array(lists.node_inside, dtype=np.uint64),
        node_children=np.array(lists.node_children, dtype=np.int64).reshape(-1, 2),
        offset=float(orbits.offset[0]),
        tolerance=float(orbits.tolerance),
        **whole,
    )


_WHOLE = ("part_first", "part_axis", "part_segments", "segment_first", "leaf_first", "limit_first", "limit_part", "node_first", "node_part")


def _add(lists: _Lists, tree: TwinTree, orbits: Orbits) -> bool:
    """One more tree; False where an axis has too many segments."""
    inside = {node: _inside(tree, node, orbits) for node in range(len(tree.parent)) if tree.split[node] is not None}
    axes = sorted({_axis(tree, node) for node in inside})
    parts = {axis: number for number, axis in enumerate(axes)}
    segments = {axis: _segments([cells for node, cells in inside.items() if _axis(tree, node) == axis]) for axis in axes}
    if any(each.max() >= MOST_SEGMENTS for each in segments.values()):
        return False
    for axis in axes:
        lists.part_axis.append(axis)
        lists.part_segments.append(int(segments[axis].max()) + 1)
        lists.segment_first.append(sum(map(len, lists.segment)))
        lists.segment.append(segments[axis])
    sets = {node: _as_set(segments[_axis(tree, node)][cells]) for node, cells in inside.items()}
    every = {axis: _as_set(each) for axis, each in segments.items()}
    _add_nodes(lists, tree, _Walk(parts, sets, every))
    for name, grown in (("part", lists.part_axis), ("leaf", lists.values), ("node", lists.node_part)):
        getattr(lists, f"{name}_first").append(len(grown))
    return True


@dataclass(frozen=True)
class _Walk:
    """Of one tree: the number of each axis, for every asking node the segments that go to its first child, and all of each axis."""

    parts: dict[int, int]
    inside: dict[int, int]
    every: dict[int, int]


def _add_nodes(lists: _Lists, tree: TwinTree, walk: _Walk) -> None:
    """Nodes in their order, and the leaves with what limits them on the way from the root."""
    limits: list[dict[int, int]] = [{} for _ in tree.parent]
    for node, pair in enumerate(tree.children):
        axis = _axis(tree, node) if pair is not None else -1
        lists.node_part.append(walk.parts.get(axis, -1))
        lists.node_inside.append(walk.inside.get(node, 0))
        lists.node_children.append(pair if pair is not None else (-1, -1))
        if pair is None:
            lists.limit_part += [walk.parts[limited] for limited in limits[node]]
            lists.limit_set += list(limits[node].values())
            lists.limit_first.append(len(lists.limit_part))
            lists.values.append(tree.values[tree.leaf[node]][tree.variant][:, 0])
            continue
        before, here = limits[node].get(axis, walk.every[axis]), walk.inside[node]
        limits[pair[0]] = {**limits[node], axis: before & here}
        limits[pair[1]] = {**limits[node], axis: before & ~here}


def _axis(tree: TwinTree, node: int) -> int:
    split = tree.split[node]
    assert split is not None
    return split.axis


def _inside(tree: TwinTree, node: int, orbits: Orbits) -> Mask:
    """The cells of its axis that go to a node's first child."""
    split, layout = tree.split[node], orbits.layout
    assert split is not None
    words: list[Any] = [np.zeros(1, dtype=each) for each in layout.types]
    for word, bits in split.inside:
        words[word][:] = bits
    cells: Mask = layout.unpack(split.axis, words)[0]
    return cells


def _segments(questions: list[Mask]) -> Whole:
    """For every cell the number of its segment."""
    _, number = np.unique(np.array(questions), axis=1, return_inverse=True)
    return np.asarray(number.ravel(), dtype=np.int64)


def _as_set(segments: Whole) -> int:
    return sum(1 << int(each) for each in np.unique(segments))
