"""Boxes of the grid judged by a tree ensemble: surely fair, surely unfair, or halved where the trees are most undecided."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.measures.proofs.branch_and_bound import Judged
from evenhand.measures.proofs.grid import Grid
from evenhand.measures.proofs.orbits import Orbits, TwinTree, Words
from evenhand.measures.proofs.undecided import Region

BATCH = 16_384
ROWS_AT_ONCE = 4_096
MOST_PROVEN = 65_536
"""So many unfair boxes are kept, the heaviest."""
PROVEN_PARTS = 64
Ask = Callable[[Rows], Mask]
"""The model itself: which rows have twins with different labels."""

Boxes = Words
"""The words of the layout, and as the last array the number of the set of possible twins."""


class Later:
    """Rows that only the model itself can decide, kept until there are enough of them for one question."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.asked = 0
        self.rows: list[Rows] = []
        self.weights: list[Reals] = []

    def add(self, rows: Rows, weights: Reals) -> None:
        """Put these off."""
        self.rows.append(rows)
        self.weights.append(weights)

    def settle(self, least: int) -> tuple[float, float]:
        """Weights of the fair and the unfair ones, once there are at least so many."""
        count = sum(len(weights) for weights in self.weights)
        if count < least:
            return 0.0, 0.0
        rows, weights = np.concatenate(self.rows), np.concatenate(self.weights)
        self.rows, self.weights = [], []
        flips = self.ask(rows)
        self.asked += count
        return float(weights[~flips].sum()), float(weights[flips].sum())


@dataclass(frozen=True)
class Remembered:
    """What a judge of boxes remembers: examples by weight, rows that the model decided, and boxes that are unfair for certain."""

    examples: list[tuple[float, Rows]]
    asked: int
    boxes: Any = None
    weights: Reals = field(default_factory=lambda: np.empty(0))


def heaviest_examples(parts: list[Remembered], most: int = 8) -> list[tuple[float, Rows]]:
    """The heaviest of all."""
    return sorted((each for part in parts for each in part.examples), key=lambda pair: -pair[0])[:most]


class TreeJudge:
    """Judges boxes by the bounds that the trees give; where rounding decides, the model itself is asked."""

    def __init__(self, orbits: Orbits, grid: Grid, ask: Ask) -> None:
        self.orbits, self.grid = orbits, grid
        self.batch = BATCH
        self.later = Later(ask)
        self.examples: list[tuple[float, Rows]] = []
        self._tables = [_byte_tables(axis.weights, len(orbits.layout.words[at])) for at, axis in enumerate(grid.axes)]
        self.possible = np.ones((1, orbits.combinations), dtype=bool)
        self._proven: list[tuple[Boxes, Reals]] = []

    def start(self) -> tuple[Boxes, Reals]:
        """One box for every set of possible twins."""
        whole = self.orbits.layout.whole()
        tied = next((at for at, axis in enumerate(self.grid.axes) if len(axis.allowed) > 1), None)
        if tied is None or self.grid.axes[tied].allowed.all():
            return [np.array([bits]) for bits in whole] + [np.zeros(1, dtype=np.int32)], np.ones(1)
        axis = self.grid.axes[tied]
        self.possible, which = np.unique(axis.allowed.T, axis=0, return_inverse=True)
        boxes = [np.full(len(self.possible), bits) for bits in whole]
        for number in range(len(self.possible)):
            for word, bits in self.orbits.layout.pack(tied, which.ravel() == number):
                boxes[word][number] = bits
        weights: Reals = np.bincount(which.ravel(), weights=axis.weights).astype(np.float64)
        return [*boxes, np.arange(len(weights), dtype=np.int32)], weights

    def take(self, boxes: Boxes, chosen: Index | Mask | slice) -> Boxes:
        """Some of the boxes."""
        return [word[chosen] for word in boxes]

    def join(self, parts: list[Boxes]) -> Boxes:
        """All parts as one."""
        return parts[0] if len(parts) == 1 else [np.concatenate(words) for words in zip(*parts, strict=True)]

    def judge(self, boxes: Boxes, weights: Reals) -> Judged[Boxes]:
        """Decide or halve every box."""
        fair, unfair, spread = self._decided(boxes)
        left = np.flatnonzero(~(fair | unfair))
        total_fair, total_unfair = float(weights[fair].sum()), float(weights[unfair].sum())
        self._keep_examples(boxes, weights, unfair)
        if not left.size:
            return Judged(total_fair, total_unfair, self.take(boxes, left), weights[left])
        boxes, weights = self.take(boxes, left), weights[left]
        axis, inside = self._choose(boxes, spread[:, left])
        closed = np.flatnonzero(axis < 0)
        if closed.size:
            self.later.add(self.rows(self.take(boxes, closed)), weights[closed])
        halves, split = self._halves(boxes, weights, axis, inside)
        asked = self.later.settle(ROWS_AT_ONCE)
        return Judged(total_fair + asked[0], total_unfair + asked[1], halves, split)

    def flush(self) -> tuple[float, float]:
        """Ask the model about everything that was put off."""
        return self.later.settle(1)

    @property
    def asked(self) -> int:
        """How many rows the model itself decided."""
        return self.later.asked

    def fresh(self) -> TreeJudge:
        """The same judge, who remembers nothing of what it has judged."""
        other = copy.copy(self)
        other.later, other.examples, other._proven = Later(self.later.ask), [], []
        return other

    def remembered(self) -> Remembered:
        """Examples, rows that were asked, and the heaviest unfair boxes."""
        proven = self.proven
        return Remembered(self.examples, self.asked, proven.boxes, proven.weights)

    def merged(self, parts: list[Remembered]) -> Remembered:
        """What several judges remember as one."""
        weights = np.concatenate([part.weights for part in parts])
        heaviest = np.argsort(-weights, kind="stable")[:MOST_PROVEN]
        boxes = self.take(self.join([part.boxes for part in parts]), heaviest)
        return Remembered(heaviest_examples(parts), sum(part.asked for part in parts), boxes, weights[heaviest])

    def recall(self, remembered: Remembered) -> None:
        """Take up what another judge remembers."""
        self.examples, self.later.asked = list(remembered.examples), remembered.asked
        self._proven = [(remembered.boxes, remembered.weights)]

    def _decided(self, boxes: Boxes) -> tuple[Mask, Mask, NDArray[np.float32]]:
        """Which boxes are surely fair and surely unfair, and how undecided each tree is, (trees, n)."""
        orbits, n = self.orbits, len(boxes[0])
        low = np.empty((orbits.combinations, len(orbits.pairs), n))
        low[:] = orbits.offset[:, None]
        high = low.copy()
        spread = np.empty((len(orbits.trees), n), dtype=np.float32)
        apart = np.zeros(n, dtype=bool)
        for at, tree in enumerate(orbits.trees):
            lowest, highest, differ = tree.bounds(boxes)
            spread[at] = (highest - lowest).max(axis=0)
            add_bounds(low, lowest, tree)
            add_bounds(high, highest, tree)
            apart |= differ
        possible = self.possible[boxes[-1]] if len(self.possible) > 1 else None
        fair, unfair = settled_labels(low, high, possible, self.orbits)
        return fair | ~apart, unfair & apart, spread

    def labels(self, boxes: Boxes) -> NDArray[np.int16]:
        """(n, combinations): the label that everybody of a box surely has under each protected combination, -1 where none is sure."""
        low, high = (np.empty((self.orbits.combinations, len(self.orbits.pairs), len(boxes[0]))) for _ in range(2))
        low[:] = high[:] = self.orbits.offset[:, None]
        for tree in self.orbits.trees:
            lowest, highest, _ = tree.bounds(boxes)
            add_bounds(low, lowest, tree)
            add_bounds(high, highest, tree)
        labels = np.stack([_only_label(possible_labels(low[k], high[k], self.orbits)) for k in range(len(low))], axis=1)
        return np.where(self.possible[boxes[-1]], labels, np.int16(-1))

    def _choose(self, boxes: Boxes, spread: NDArray[np.float32]) -> tuple[Index, list[tuple[Index, TwinTree, int]]]:
        """For every box the axis to halve it on, -1 where nothing is open; and the boxes by tree and node that halve them."""
        axis = np.full(len(boxes[0]), -1, dtype=np.intp)
        chosen = spread.argmax(axis=0) if len(spread) else axis
        todo: list[tuple[Index, TwinTree, int]] = []
        for at in np.unique(chosen) if len(spread) else ():
            here = np.flatnonzero(chosen == at)
            tree = self.orbits.trees[at]
            nodes = tree.first_open(self.take(boxes, here))
            for node in np.unique(nodes[nodes >= 0]):
                split = tree.split[node]
                assert split is not None
                axis[here[nodes == node]] = split.axis
                todo.append((here[nodes == node], tree, int(node)))
        return axis, todo

    def _halves(self, boxes: Boxes, weights: Reals, axis: Index, todo: list[tuple[Index, TwinTree, int]]) -> tuple[Boxes, Reals]:
        order = np.concatenate([here for here, _, _ in todo]) if todo else np.empty(0, dtype=np.intp)
        inside = self.take(boxes, order)
        outside = [word.copy() for word in inside]
        at = 0
        for here, tree, node in todo:
            split = tree.split[node]
            assert split is not None
            part = slice(at, at + len(here))
            for word, bits in split.inside:
                inside[word][part] &= bits
                outside[word][part] &= ~bits
            at += len(here)
        sides = [self._side_weights(half, axis[order]) for half in (inside, outside)]
        total = sides[0] + sides[1]
        split_weights = np.concatenate([weights[order] * side / total for side in sides])
        return self.join([inside, outside]), split_weights

    def _side_weights(self, boxes: Boxes, axis: Index) -> Reals:
        """The share of each box's cells on its own axis."""
        found = np.zeros(len(axis))
        for at in np.unique(axis):
            here = np.flatnonzero(axis == at)
            for word, tables in zip(self.orbits.layout.words[at], self._tables[at], strict=True):
                bits = np.ascontiguousarray(boxes[word][here].astype(np.uint64)).view(np.uint8).reshape(-1, 8)
                for byte, table in enumerate(tables):
                    found[here] += table[bits[:, byte]]
        return found

    def rows(self, boxes: Boxes) -> Rows:
        """One row of the domain inside each box."""
        cells = [self.orbits.layout.unpack(at, boxes).argmax(axis=1) for at in range(len(self.grid.axes))]
        return self.grid.rows(cells)

    def draw(self, boxes: Boxes, rng: np.random.Generator) -> Rows:
        """One row of each box, by the domain's own measure."""
        return drawn_rows(self.grid, lambda axis: self.orbits.layout.unpack(axis, boxes), len(boxes[0]), rng)

    @property
    def proven(self) -> Region:
        """The heaviest boxes that are unfair for certain."""
        if len(self._proven) > 1:
            boxes, weights = self.join([kept for kept, _ in self._proven]), np.concatenate([share for _, share in self._proven])
            heaviest = np.argsort(-weights, kind="stable")[:MOST_PROVEN]
            self._proven = [(self.take(boxes, heaviest), weights[heaviest])]
        boxes, weights = self._proven[0] if self._proven else (self.take(self.start()[0], slice(0, 0)), np.empty(0))
        return Region(self, boxes, weights)

    def _keep_examples(self, boxes: Boxes, weights: Reals, unfair: Mask, most: int = 8) -> None:
        """The unfair boxes, as many as are kept, and rows in the heaviest."""
        found = np.flatnonzero(unfair)
        if found.size:
            self._proven.append((self.take(boxes, found), weights[found]))
            self._proven = self._proven if len(self._proven) < PROVEN_PARTS else [(self.proven.boxes, self.proven.weights)]
            heaviest = found[np.argsort(-weights[found])[:most]]
            rows = self.rows(self.take(boxes, heaviest))
            self.examples += [(float(weights[box]), row) for box, row in zip(heaviest, rows, strict=True)]
            self.examples = sorted(self.examples, key=lambda pair: -pair[0])[:most]


def drawn_rows(grid: Grid, inside: Callable[[int], Mask], n: int, rng: np.random.Generator) -> Rows:
    """One row of each of n boxes, by the domain's own measure; `inside` gives the cells of an axis, (n, cells)."""
    domain = grid.domain
    rows = domain.sample(n, rng)  # columns that no tree asks about may be anything
    for at, axis in enumerate(grid.axes):
        if axis.answers or axis.members is not None:
            rows[:, list(axis.places)] = axis.draw(inside(at), domain.columns[axis.places[0]].is_integral, rng)
    return rows


class Margins(Protocol):
    """How margins decide labels: `pairs[p]` are the classes that a positive and a negative margin p speak for."""

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The two classes of every margin."""

    @property
    def classes(self) -> int:
        """How many there are."""

    @property
    def tolerance(self) -> float:
        """Margins this near to zero decide nothing."""


def settled_labels(low: Reals, high: Reals, possible: NDArray[np.bool_] | None, margins: Margins) -> tuple[Mask, Mask]:
    """From bounds of the margins (twins, margins, n) to the boxes whose twins all have one label, and those that surely have two.

    `possible` (n, twins) says which twins the constraints allow; a box with fewer than two has nobody to compare.
    """
    every = np.uint64((1 << margins.classes) - 1)
    union, common = np.zeros(low.shape[2], dtype=np.uint64), np.full(low.shape[2], every)
    for k in range(len(low)):
        can = possible_labels(low[k], high[k], margins)
        here = np.True_ if possible is None else possible[:, k]
        union |= np.where(here, can, np.uint64(0))
        common &= np.where(here, can, every)
    one = (union & (union - np.uint64(1))) == 0
    if possible is not None:
        one |= possible.sum(axis=1) < 2
    # If all twins had one label, every twin could have it: a label in common.
    return one, (common == 0) & ~one


def possible_labels(low: Reals, high: Reals, margins: Margins) -> NDArray[np.uint64]:
    """The labels that bounds of the margins (margins, n) leave to each box, a bit for each."""
    can = np.full(low.shape[1], np.uint64((1 << margins.classes) - 1))
    for p, (first, second) in enumerate(margins.pairs):
        can &= ~(np.where(high[p] < -margins.tolerance, np.uint64(1 << first), np.uint64(0)))
        can &= ~(np.where(low[p] > margins.tolerance, np.uint64(1 << second), np.uint64(0)))
    return can


def _only_label(can: NDArray[np.uint64]) -> NDArray[np.int16]:
    """The label where one is left, else -1."""
    is_one = (can != 0) & ((can & (can - np.uint64(1))) == 0)
    return np.where(is_one, np.log2(np.maximum(can, np.uint64(1))), -1).astype(np.int16)


def add_bounds(total: Reals, part: Reals, tree: TwinTree) -> None:
    """Add what one tree says to the bounds of every twin."""
    by_variant = part.reshape(-1, len(tree.columns), part.shape[1])
    for k, variant in enumerate(tree.variant):
        for at, column in enumerate(tree.columns):
            total[k, column] += by_variant[variant, at]


def _byte_tables(weights: Reals, words: int) -> list[list[Reals]]:
    """For every word and byte the weight of each of its 256 sets of cells."""
    padded = np.zeros(64 * words)
    padded[: len(weights)] = weights
    sets: NDArray[Any] = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    used = -(-len(weights) // 8)
    tables = [sets @ padded[8 * at : 8 * at + 8] for at in range(8 * words)]
    return [[table for at, table in enumerate(tables[8 * word : 8 * word + 8]) if 8 * word + at < used] for word in range(words)]
