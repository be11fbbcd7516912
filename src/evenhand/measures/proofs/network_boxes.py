"""Boxes of the domain judged by a ReLU network: surely fair, surely unfair, or halved along the axis that matters most."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.measures.proofs.branch_and_bound import Judged
from evenhand.measures.proofs.dense_layers import Network
from evenhand.measures.proofs.linear_bounds import margin_bounds
from evenhand.measures.proofs.network_cells import CellStrip
from evenhand.measures.proofs.tree_boxes import ROWS_AT_ONCE, Ask, Later, Remembered, heaviest_examples, settled_labels

NUMBERS_AT_ONCE = 300_000
Stretches = NDArray[np.int32]  # (n, axes + 1, 2): first and last cell on every axis; the last entry is the set of possible twins


class NetworkJudge:
    """Judges boxes by linear bounds; a box of one single input is put to the model itself."""

    def __init__(self, network: Network, strips: list[CellStrip], domain: TabularDomain, ask: Ask) -> None:
        self.network, self.strips, self.domain = network, strips, domain
        self.combinations = max(len(strip.low) for strip in strips)
        widest = max(len(bias) for _, bias in network.layers)
        inputs = max(widest, len(network.layers[0][0]))
        self.batch = int(np.clip(NUMBERS_AT_ONCE // (widest * inputs), 32, 2_048))
        self.later = Later(ask)
        self.examples: list[tuple[float, Rows]] = []
        self._sums = [np.concatenate([[0.0], np.cumsum(strip.weights)]) for strip in strips]
        self._possible = np.ones((1, self.combinations), dtype=bool)
        self._base = network.features(self._first_row())[0]

    def _first_row(self) -> Rows:
        row = np.empty((1, len(self.domain.columns)))
        for strip in self.strips:
            row[:, list(strip.places)] = strip.codes[:1]
        return row

    def start(self) -> tuple[Stretches, Reals]:
        """One box for every stretch of cells with the same possible twins."""
        whole = np.array([[0, len(strip.weights) - 1] for strip in self.strips] + [[0, 0]], dtype=np.int32)
        tied = next((at for at, strip in enumerate(self.strips) if not strip.allowed.all()), None)
        if tied is None:
            return whole[None], np.ones(1)
        strip = self.strips[tied]
        self._possible, which = np.unique(strip.allowed.T, axis=0, return_inverse=True)
        which = which.ravel()
        firsts = np.flatnonzero(np.append(True, which[1:] != which[:-1]))
        lasts = np.append(firsts[1:], len(which)) - 1
        boxes = np.repeat(whole[None], len(firsts), axis=0)
        boxes[:, tied, 0], boxes[:, tied, 1], boxes[:, -1, 0] = firsts, lasts, which[firsts]
        return boxes, self._sums[tied][lasts + 1] - self._sums[tied][firsts]

    def take(self, boxes: Stretches, chosen: Index | Mask | slice) -> Stretches:
        """Some of the boxes."""
        return boxes[chosen]

    def join(self, parts: list[Stretches]) -> Stretches:
        """All parts as one."""
        return np.concatenate(parts)

    def judge(self, boxes: Stretches, weights: Reals) -> Judged[Stretches]:
        """Decide or halve every box."""
        fair, unfair, influence = self._decided(boxes)
        self._keep_examples(boxes, weights, unfair)
        left = np.flatnonzero(~(fair | unfair))
        total_fair, total_unfair = float(weights[fair].sum()), float(weights[unfair].sum())
        boxes, weights, influence = boxes[left], weights[left], influence[left]
        wide = (boxes[:, :-1, 1] > boxes[:, :-1, 0]).any(axis=1)
        closed = np.flatnonzero(~wide)
        if closed.size and all(strip.is_point for strip in self.strips):
            self.later.add(self.rows(boxes[closed]), weights[closed])
        halves, split = self._halves(boxes[wide], weights[wide], influence[wide])
        asked = self.later.settle(ROWS_AT_ONCE)
        return Judged(total_fair + asked[0], total_unfair + asked[1], halves, split)

    def flush(self) -> tuple[float, float]:
        """Ask the model about everything that was put off."""
        return self.later.settle(1)

    @property
    def asked(self) -> int:
        """How many rows the model itself decided."""
        return self.later.asked

    def fresh(self) -> NetworkJudge:
        """The same judge, who remembers nothing of what it has judged."""
        other = copy.copy(self)
        other.later, other.examples = Later(self.later.ask), []
        return other

    def remembered(self) -> Remembered:
        """Examples, and how many rows were asked."""
        return Remembered(self.examples, self.asked)

    def merged(self, parts: list[Remembered]) -> Remembered:
        """What several judges remember as one."""
        return Remembered(heaviest_examples(parts), sum(part.asked for part in parts))

    def recall(self, remembered: Remembered) -> None:
        """Take up what another judge remembers."""
        self.examples, self.later.asked = list(remembered.examples), remembered.asked

    def _decided(self, boxes: Stretches) -> tuple[Mask, Mask, Reals]:
        shape = (self.combinations, len(self.network.pairs), len(boxes))
        low, high = np.empty(shape), np.empty(shape)
        influence = np.zeros((len(boxes), len(self.strips)))
        for k in range(self.combinations):
            bounds = margin_bounds(self.network.layers, *self._hull(k, boxes))
            low[k], high[k] = bounds.low.T, bounds.high.T
            for at, strip in enumerate(self.strips):
                influence[:, at] += bounds.influence[:, strip.features].sum(axis=1)
        possible = self._possible[boxes[:, -1, 0]] if len(self._possible) > 1 else None
        fair, unfair = settled_labels(low, high, possible, self.network)
        return fair, unfair, influence

    def _hull(self, k: int, boxes: Stretches) -> tuple[Reals, Reals]:
        low = np.tile(self._base, (len(boxes), 1))
        high = low.copy()
        for at, strip in enumerate(self.strips):
            if len(strip.features):
                low[:, strip.features], high[:, strip.features] = strip.hull(k, boxes[:, at, 0], boxes[:, at, 1])
        return low, high

    def _halves(self, boxes: Stretches, weights: Reals, influence: Reals) -> tuple[Stretches, Reals]:
        """Each box cut in the middle of the axis with the largest influence among those that can be cut."""
        line = np.arange(len(boxes))
        axis = np.where(boxes[:, :-1, 1] > boxes[:, :-1, 0], influence, -1.0).argmax(axis=1)
        first, last = boxes[line, axis, 0], boxes[line, axis, 1]
        middle = (first + last) // 2
        low, high = boxes.copy(), boxes.copy()
        low[line, axis, 1], high[line, axis, 0] = middle, middle + 1
        inside = np.zeros(len(boxes))
        for at in np.unique(axis):
            here = axis == at
            sums = self._sums[at]
            whole = sums[last[here] + 1] - sums[first[here]]
            inside[here] = (sums[middle[here] + 1] - sums[first[here]]) / np.where(whole > 0, whole, 1.0)
        return np.concatenate([low, high]), np.concatenate([weights * inside, weights * (1 - inside)])

    def rows(self, boxes: Stretches) -> Rows:
        """One row of the domain inside each box."""
        rows = np.empty((len(boxes), len(self.domain.columns)))
        for at, strip in enumerate(self.strips):
            rows[:, list(strip.places)] = strip.codes[boxes[:, at, 0]]
        return rows

    @property
    def draws_rows(self) -> bool:
        """Whether every cell is one value, so that a row can be drawn by choosing cells."""
        return all(strip.is_point for strip in self.strips)

    def draw(self, boxes: Stretches, rng: np.random.Generator) -> Rows:
        """One row of each box, by the domain's own measure."""
        rows = np.empty((len(boxes), len(self.domain.columns)))
        for at, strip in enumerate(self.strips):
            first, last = self._sums[at][boxes[:, at, 0]], self._sums[at][boxes[:, at, 1] + 1]
            level = first + rng.random(len(boxes)) * (last - first)
            cell = np.clip(np.searchsorted(self._sums[at], level, side="right") - 1, boxes[:, at, 0], boxes[:, at, 1])
            rows[:, list(strip.places)] = strip.codes[cell]
        return rows

    def _keep_examples(self, boxes: Stretches, weights: Reals, unfair: Mask, most: int = 8) -> None:
        found = np.flatnonzero(unfair)
        if found.size:
            heaviest = found[np.argsort(-weights[found])[:most]]
            self.examples += [(float(weights[box]), row) for box, row in zip(heaviest, self.rows(boxes[heaviest]), strict=True)]
            self.examples = sorted(self.examples, key=lambda pair: -pair[0])[:most]
