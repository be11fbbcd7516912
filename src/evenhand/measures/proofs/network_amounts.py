"""Boxes of the domain judged by a network, or a linear model, that says an amount: how far apart twins can be, and at least are.

The two twins of a couple go through the layers together: an input that they share is one input of both, so that linear bounds of the
difference know that it is the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.measures.proofs.amount_boxes import CLOSE, AmountBounds, Distances, WorstGap, couples_of, distances_of
from evenhand.measures.proofs.dense_layers import Layer, Network
from evenhand.measures.proofs.linear_bounds import margin_bounds
from evenhand.measures.proofs.network_boxes import NetworkJudge, Stretches
from evenhand.measures.proofs.network_cells import CellStrip
from evenhand.measures.proofs.tree_boxes import Ask
from evenhand.oracles.parts.people import Tolerance

LEAST_BATCH = 16


class AmountNetworkJudge(NetworkJudge):
    """Judges boxes by linear bounds of the difference of every two twins' amounts; a single input is put to the model itself."""

    def __init__(self, network: Network, strips: list[CellStrip], domain: TabularDomain, ask: Ask, tolerance: Tolerance) -> None:
        super().__init__(network, strips, domain, ask)
        self.couples, self.tolerance = couples_of(self.combinations), tolerance
        fed = [strip.features for strip in strips if len(strip.low) > 1]  # what follows from the protected values
        self.moving: Index = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *fed])).astype(np.intp)
        self.paired = paired_layers(network.layers, self.moving)
        self.batch = max(LEAST_BATCH, self.batch // (4 * max(1, len(self.couples))))

    def _decided(self, boxes: Stretches) -> tuple[Mask, Mask, Reals]:
        told, influence = self._bounded(boxes)
        near, far = told.compared(self.tolerance)
        possible = self._possible_couples(boxes)
        return np.asarray((near | ~possible).all(axis=0)), np.asarray((far & possible).any(axis=0)), influence

    def _possible_couples(self, boxes: Stretches) -> Mask:
        """Which couples are two possible people, (couples, n)."""
        possible = self._possible[boxes[:, -1, 0]]
        both: Mask = possible[:, self.couples[:, 0]] & possible[:, self.couples[:, 1]]
        return both.T

    def _bounded(self, boxes: Stretches) -> tuple[Distances, Reals]:
        """The distances of all couples, and how much each axis adds to what is open, (n, axes)."""
        hulls = [self._hull(k, boxes) for k in range(self.combinations)]
        low, high = np.full((self.combinations, len(boxes)), -np.inf), np.full((self.combinations, len(boxes)), np.inf)
        least, most = np.empty((len(self.couples), len(boxes))), np.empty((len(self.couples), len(boxes)))
        influence = np.zeros((len(boxes), len(self._base)))
        for at, (first, second) in enumerate(self.couples):
            both = [np.concatenate([one, other[:, self.moving]], axis=1) for one, other in zip(hulls[first], hulls[second], strict=True)]
            bounds = margin_bounds(self.paired, *both)
            least[at], most[at] = bounds.low[:, 0], bounds.high[:, 0]
            for column, twin in ((1, first), (2, second)):
                low[twin] = np.maximum(low[twin], bounds.low[:, column])
                high[twin] = np.minimum(high[twin], bounds.high[:, column])
            influence += bounds.influence[:, : len(self._base)]
            influence[:, self.moving] += bounds.influence[:, len(self._base) :]
        # Every couple's difference is also that of the two amounts.
        one, other = self.couples.T
        least, most = np.maximum(least, low[one] - high[other]), np.minimum(most, high[one] - low[other])
        told = distances_of(AmountBounds(low, high, least, most), self.couples, self.tolerance, 0.0)
        return told, np.stack([influence[:, strip.features].sum(axis=1) for strip in self.strips], axis=1)

    def worst_gap(self, seconds: float, unit: str) -> WorstGap:
        """The largest distance of any two twins of the domain: boxes that may hold it are halved, the most promising first."""
        begun, lower, closed = time.monotonic(), 0.0, 0.0
        promising = self._met(self.start()[0])
        while True:
            lower = max(lower, self._largest_seen(promising.boxes))
            is_wide = (promising.boxes[:, :-1, 1] > promising.boxes[:, :-1, 0]).any(axis=1)
            closed = max(closed, float(promising.upper[~is_wide].max(initial=0.0)))  # single inputs and smallest cells
            left = promising.taken(np.flatnonzero(is_wide & (promising.upper > max(lower, closed) * (1 + CLOSE))))
            if not len(left.upper) or time.monotonic() - begun > seconds:
                return WorstGap(lower, max(lower, closed, float(left.upper.max(initial=0.0))), unit)
            order = np.argsort(-left.upper, kind="stable")
            first = left.taken(order[: self.batch])
            halves, _ = self._halves(first.boxes, first.upper, first.influence)
            promising = left.taken(order[self.batch :]).joined(self._met(halves))

    def _met(self, boxes: Stretches) -> _Wide:
        told, influence = self._bounded(boxes)
        return _Wide(boxes, np.where(self._possible_couples(boxes), told.most, 0.0).max(axis=0, initial=0.0), influence)

    def _largest_seen(self, boxes: Stretches) -> float:
        """The largest distance among the twins of one input of each of the newest boxes, as the layers say it."""
        rows = self.rows(boxes[-2 * self.batch :])
        twins = self.domain.twins(rows)
        amounts = np.stack([self._amounts(each) for each in twins.rows])
        one, other = self.couples.T
        possible = twins.valid[one] & twins.valid[other]
        apart = float(np.where(possible, np.abs(amounts[one] - amounts[other]), 0.0).max(initial=0.0))
        return max(0.0, apart - 2 * self.network.rounding)

    def _amounts(self, rows: Rows) -> Reals:
        return self.network.margins(rows)[:, 0]


@dataclass(frozen=True)
class _Wide:
    """Boxes, the most that two twins in each may be apart, and how much each axis adds to that."""

    boxes: Stretches
    upper: Reals  # (n,)
    influence: Reals  # (n, axes)

    def taken(self, chosen: Index) -> _Wide:
        """Some of them."""
        return _Wide(self.boxes[chosen], self.upper[chosen], self.influence[chosen])

    def joined(self, other: _Wide) -> _Wide:
        """Both together, the other's last."""
        upper, influence = np.concatenate([self.upper, other.upper]), np.concatenate([self.influence, other.influence])
        return _Wide(np.concatenate([self.boxes, other.boxes]), upper, influence)


def paired_layers(layers: Sequence[Layer], moving: Index) -> tuple[Layer, ...]:
    """The layers for two twins at once: inputs are the first one's, then the moving ones of the second.

    The last layer says the difference of the two amounts, then each of them.
    """
    weights, bias = layers[0]
    shared = weights.copy()
    shared[moving] = 0.0
    none = np.zeros((len(moving), weights.shape[1]))
    made = [(np.block([[weights, shared], [none, weights[moving]]]), np.concatenate([bias, bias]))]
    for weights, bias in layers[1:]:
        none = np.zeros_like(weights)
        made.append((np.block([[weights, none], [none, weights]]), np.concatenate([bias, bias])))
    told = np.array([[1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    return (*made[:-1], (made[-1][0] @ told, made[-1][1] @ told))
