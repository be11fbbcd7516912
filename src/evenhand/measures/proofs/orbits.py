"""Trees that say what they add for every twin at once, and the bounds of that over batches of boxes of the grid.

A box is a set of cells on every axis, kept as bits.  A tree of twins has a leaf for every way in which the twins of one input can
fall into the leaves of the original tree, so that what the twins share cancels exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals
from evenhand.errors import MissingAbility
from evenhand.measures.proofs.grid import Grid
from evenhand.measures.proofs.tree_sums import LEAF, Ensemble, Tree

MOST_LEAVES = 20_000
"""Leaves of one tree of twins."""

Words: TypeAlias = list[NDArray[np.unsignedinteger[Any]]]  # one array (n,) per word of the layout


@dataclass(frozen=True)
class Layout:
    """Where the cells of each axis are among the words of a box."""

    words: tuple[tuple[int, ...], ...]  # of each axis
    types: tuple[Any, ...]  # of each word
    cells: tuple[int, ...]  # of each axis

    @classmethod
    def of(cls, grid: Grid) -> Layout:
        """The smallest words that hold every axis."""
        words: list[tuple[int, ...]] = []
        types: list[Any] = []
        for axis in grid.axes:
            count = -(-axis.cells // 64)
            small = next(t for t, bits in _TYPES if axis.cells <= bits or bits == 64)
            words.append(tuple(range(len(types), len(types) + count)))
            types += [small] * count
        return cls(tuple(words), tuple(types), tuple(axis.cells for axis in grid.axes))

    def pack(self, axis: int, cells: Mask) -> list[tuple[int, Any]]:
        """A set of cells as (word, bits) pairs."""
        flags = np.zeros(64 * len(self.words[axis]), dtype=np.uint8)
        flags[: len(cells)] = cells
        whole = np.packbits(flags, bitorder="little").view(np.uint64)
        return [(word, self.types[word](bits)) for word, bits in zip(self.words[axis], whole, strict=True)]

    def unpack(self, axis: int, boxes: Words) -> NDArray[np.bool_]:
        """The cells of one axis, (n, cells)."""
        whole = np.stack([boxes[word].astype(np.uint64) for word in self.words[axis]], axis=1)
        return np.unpackbits(whole.view(np.uint8), axis=1, bitorder="little")[:, : self.cells[axis]].astype(bool)

    def whole(self) -> list[Any]:
        """The bits of the box that holds everything."""
        return [bits for axis, count in enumerate(self.cells) for _, bits in self.pack(axis, np.ones(count, dtype=bool))]


_TYPES = ((np.uint8, 8), (np.uint16, 16), (np.uint32, 32), (np.uint64, 64))


@dataclass(frozen=True)
class OrbitSplit:
    """A question as a set of cells of one axis: the box inside it, and the box outside."""

    axis: int
    inside: tuple[tuple[int, Any], ...]


@dataclass
class TwinTree:
    """One tree for all twins.

    Nodes are listed parents first; each but the root is reached from its parent where the box meets its cells.
    """

    variant: Index  # (combinations,): which variant of the tree each combination follows
    columns: Index  # the margins that it adds to
    parent: list[int] = field(default_factory=list)
    cells: list[tuple[tuple[int, Any], ...]] = field(default_factory=list)  # what a box must meet, as (word, bits)
    children: list[tuple[int, int] | None] = field(default_factory=list)
    split: list[OrbitSplit | None] = field(default_factory=list)
    leaf: list[int] = field(default_factory=list)  # number of the leaf, or LEAF
    values: list[Reals] = field(default_factory=list)  # per leaf (variants, columns)
    low: NDArray[np.float64] = field(init=False)  # (variants * columns, chunks, 256)
    high: NDArray[np.float64] = field(init=False)
    unequal: NDArray[np.bool_] = field(init=False)  # (chunks, 256): whether a reached leaf tells twins apart

    def finish(self) -> None:
        """Tables of the bounds for every set of eight neighbouring leaves."""
        flat = np.array(self.values).reshape(len(self.values), -1)
        chunks = -(-len(flat) // 8)
        low: NDArray[Any] = np.full((chunks * 8, flat.shape[1]), np.inf)
        high: NDArray[Any] = np.full((chunks * 8, flat.shape[1]), -np.inf)
        apart: NDArray[Any] = np.zeros(chunks * 8, dtype=bool)
        low[: len(flat)], high[: len(flat)] = flat, flat
        apart[: len(flat)] = [bool((value != value[:1]).any()) for value in self.values]
        reached = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(bool)  # (256, 8)
        low, high, apart = low.reshape(chunks, 1, 8, -1), high.reshape(chunks, 1, 8, -1), apart.reshape(chunks, 1, 8)
        self.low = np.ascontiguousarray(np.moveaxis(np.where(reached[None, :, :, None], low, np.inf).min(axis=2), 2, 0))
        self.high = np.ascontiguousarray(np.moveaxis(np.where(reached[None, :, :, None], high, -np.inf).max(axis=2), 2, 0))
        self.unequal = np.asarray((reached[None] & apart).any(axis=2))

    def reach(self, boxes: Words) -> list[Mask | None]:
        """For every node, which boxes reach it; None for all of them."""
        reached: list[Mask | None] = [None]
        for node in range(1, len(self.parent)):
            here: Mask | None = None
            for word, bits in self.cells[node]:
                meets = (boxes[word] & bits) != 0
                here = meets if here is None else here | meets
            above = reached[self.parent[node]]
            if above is not None and here is not None:
                here &= above
            reached.append(here)
        return reached

    def bounds(self, boxes: Words) -> tuple[Reals, Reals, Mask]:
        """Lowest and highest values (variants * columns, n), and whether any twins can differ, (n,)."""
        n = len(boxes[0])
        reached = self.reach(boxes)
        codes = np.zeros((self.low.shape[1], n), dtype=np.uint8)
        for node, leaf in enumerate(self.leaf):
            if leaf != LEAF:
                held = reached[node]
                bit = np.uint8(1 << (leaf % 8))
                codes[leaf // 8] |= bit if held is None else held.view(np.uint8) * bit
        return self._looked_up(codes)

    def _looked_up(self, codes: NDArray[np.uint8]) -> tuple[Reals, Reals, Mask]:
        low, high = np.empty((2, len(self.low), codes.shape[1]))
        apart = np.take(self.unequal[0], codes[0])
        for at in range(len(self.low)):
            np.take(self.low[at, 0], codes[0], out=low[at], mode="clip")
            np.take(self.high[at, 0], codes[0], out=high[at], mode="clip")
            for chunk in range(1, len(codes)):
                np.minimum(low[at], np.take(self.low[at, chunk], codes[chunk]), out=low[at])
                np.maximum(high[at], np.take(self.high[at, chunk], codes[chunk]), out=high[at])
        for chunk in range(1, len(codes)):
            apart |= np.take(self.unequal[chunk], codes[chunk])
        return low, high, apart

    def first_open(self, boxes: Words) -> Index:
        """For every box the first node, from the root, both of whose branches it reaches; -1 where it is in one leaf."""
        reached = self.reach(boxes)
        found = np.full(len(boxes[0]), -1, dtype=np.intp)
        for node in range(len(self.parent) - 1, -1, -1):
            pair = self.children[node]
            if pair is not None:
                left, right = reached[pair[0]], reached[pair[1]]
                assert left is not None
                assert right is not None
                found[left & right] = node
        return found


@dataclass(frozen=True)
class Orbits:
    """All trees of twins, and how margins decide labels.

    A margin is the difference of two classes' scores: `pairs[p]` are the classes that a positive and a negative margin p speak for.
    """

    layout: Layout
    trees: tuple[TwinTree, ...]
    offset: Reals  # (margins,)
    pairs: tuple[tuple[int, int], ...]
    classes: int
    combinations: int
    tolerance: float


def orbits_of(ensemble: Ensemble, grid: Grid) -> Orbits:
    """Every tree for all twins at once."""
    classes = max(2, ensemble.offset.shape[0])
    pairs = ((1, 0),) if classes == 2 else tuple(combinations(range(classes), 2))
    layout = Layout.of(grid)
    trees = [_Builder(tree, grid, layout, pairs).build() for tree in ensemble.trees]
    trees = [tree for tree in trees if len(tree.values) > 1 or np.abs(tree.values[0]).max() > 0]
    return Orbits(
        layout,
        tuple(trees),
        _margins(ensemble.offset, pairs),
        pairs,
        classes,
        grid.combinations,
        ensemble.tolerance * len(pairs[0]) if classes > 2 else ensemble.tolerance,
    )


def _margins(scores: Reals, pairs: tuple[tuple[int, int], ...]) -> Reals:
    """Scores (..., classes) as margins (..., pairs); a single column is a margin already."""
    if scores.shape[-1] == 1:
        return scores
    return np.stack([scores[..., first] - scores[..., second] for first, second in pairs], axis=-1)


class _Builder:
    """Builds one tree of twins by walking all combinations down the tree at once."""

    def __init__(self, tree: Tree, grid: Grid, layout: Layout, pairs: tuple[tuple[int, int], ...]) -> None:
        self.tree, self.grid, self.layout = tree, grid, layout
        self.axis_of = grid.axis_of
        self.margins = _margins(tree.value, pairs)
        asked = sorted({int(q) for q in tree.question if q != LEAF and int(q) in self.axis_of})
        tables = [self._table(q) for q in asked if len(self._table(q)) > 1]
        joined = np.packbits(np.concatenate(tables, axis=1), axis=1) if tables else np.zeros((grid.combinations, 1), dtype=np.uint8)
        _, first, variant = np.unique(joined, axis=0, return_index=True, return_inverse=True)
        self.leaders = first  # one combination of each variant
        columns = np.flatnonzero((self.margins != 0).any(axis=0))
        self.made = TwinTree(variant.ravel().astype(np.intp), columns if len(columns) else np.zeros(1, dtype=np.intp))

    def _table(self, question: int) -> NDArray[np.bool_]:
        return self.grid.axes[self.axis_of[question]].answers[question]

    def build(self) -> TwinTree:
        region = [np.ones(axis.cells, dtype=bool) for axis in self.grid.axes]
        self._grow(tuple([0] * len(self.leaders)), region, -1, ())
        self.made.finish()
        return self.made

    def _grow(self, nodes: tuple[int, ...], region: list[Mask], parent: int, cells: tuple[tuple[int, Any], ...]) -> int:
        made = self.made
        at = len(made.parent)
        made.parent.append(parent)
        made.cells.append(cells)
        made.children.append(None)
        made.split.append(None)
        made.leaf.append(LEAF)
        nodes = tuple(self._advanced(node, variant, region) for variant, node in enumerate(nodes))
        opened = next((variant for variant, node in enumerate(nodes) if self.tree.question[node] != LEAF), None)
        if opened is None:
            self._close(at, nodes)
            return at
        axis, inside = self._cells(int(self.tree.question[nodes[opened]]), opened)
        made.split[at] = OrbitSplit(axis, tuple(self.layout.pack(axis, inside)))
        below = []
        for side in (region[axis] & inside, region[axis] & ~inside):
            met = tuple((word, bits) for word, bits in self.layout.pack(axis, side) if bits)
            below.append(self._grow(nodes, [*region[:axis], side, *region[axis + 1 :]], at, met))
        made.children[at] = (below[0], below[1])
        return at

    def _close(self, at: int, nodes: tuple[int, ...]) -> None:
        self.made.leaf[at] = len(self.made.values)
        self.made.values.append(self.margins[list(nodes)][:, self.made.columns])
        if len(self.made.values) > MOST_LEAVES:
            raise MissingAbility(
                f"a tree falls into more than {MOST_LEAVES:,} parts under {self.grid.combinations} protected combinations; "
                "declare fewer compared values or bins for the protected columns"
            )

    def _cells(self, question: int, variant: int) -> tuple[int, Mask]:
        axis = self.axis_of[question]
        table = self.grid.axes[axis].answers[question]
        return axis, table[self.leaders[variant]] if len(table) > 1 else table[0]

    def _advanced(self, node: int, variant: int, region: list[Mask]) -> int:
        """Down the tree as long as the region leaves no choice."""
        while (question := int(self.tree.question[node])) != LEAF:
            if question in self.grid.fixed:
                goes_left = self.grid.fixed[question]
            else:
                axis, inside = self._cells(question, variant)
                here = inside[region[axis]]
                if here.any() and not here.all():
                    return node
                goes_left = bool(here.any())
            node = int(self.tree.left[node] if goes_left else self.tree.right[node])
        return node
