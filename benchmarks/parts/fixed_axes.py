"""What a proof by boxes takes at least: axes are fixed one after the other, cell by cell, until the bounds of the boxes are close.

Boxes are drawn, not enumerated: what is told is an estimate of the bounds that all of them together would give, and no proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Index, Reals
from evenhand.measures.proofs import tree_judge
from evenhand.measures.proofs.additive_bounds import OPEN
from evenhand.measures.proofs.flat_trees import FlatTrees, flat_trees
from evenhand.measures.proofs.share_boxes import ShareJudge

CLOSE = 0.1
"""Bounds so far apart, as a share of the upper one, are close enough to stop."""


@dataclass(frozen=True)
class FixedAxes:
    """So many axes fixed: how many boxes that makes, the bounds that these give, and the share of them that is still open."""

    axes: int
    boxes: float  # cells that are much lighter than others count less: the exponential of the entropy
    low: float
    high: float
    open_share: float

    @property
    def gap(self) -> float:
        """How far apart the bounds are."""
        return self.high - self.low


@dataclass(frozen=True)
class DrawnBoxes:
    """Boxes of single cells on some axes, drawn by their weights, and everything on the others."""

    judge: ShareJudge
    cells: dict[int, Index]  # of each axis: one for every box

    @classmethod
    def of(cls, judge: ShareJudge, boxes: int, rng: np.random.Generator) -> DrawnBoxes:
        """So many; axes of one cell are left out."""
        flat = judge.flat
        open_axes = [at for at in range(len(flat.axis_first) - 1) if len(_weights(flat, at)) > 1]
        return cls(judge, {at: rng.choice(len(_weights(flat, at)), boxes, p=_weights(flat, at)) for at in open_axes})

    def told(self, fixed: tuple[int, ...]) -> FixedAxes:
        """What is said of them with these axes fixed."""
        flat, boxes = self.judge.flat, len(next(iter(self.cells.values())))
        met = np.ones((boxes, len(flat.weights)), dtype=np.uint8)
        for at in fixed:
            met[:, flat.axis_first[at] : flat.axis_first[at + 1]] = 0
            met[np.arange(boxes), flat.axis_first[at] + self.cells[at]] = 1
        said = self.judge.judged(met, np.zeros(boxes, dtype=np.intp), np.full(boxes, 1.0 / boxes)).said
        count = float(np.prod([effective_cells(_weights(flat, at)) for at in fixed]))
        return FixedAxes(len(fixed), count, float(said.low.mean()), float(said.high.mean()), float((said.verdict == OPEN).mean()))


def _weights(flat: FlatTrees, axis: int) -> Reals:
    weights = flat.weights[flat.axis_first[axis] : flat.axis_first[axis + 1]]
    return weights / weights.sum()


def effective_cells(weights: Reals) -> float:
    """As many equal cells as these are worth."""
    kept = weights[weights > 0]
    return float(np.exp(-(kept * np.log(kept)).sum()))


def fixed_axes(model: Any, domain: Any, boxes: int, rng: np.random.Generator) -> Iterator[FixedAxes]:
    """One axis more each time, that which brings the bounds together most for the boxes that it costs."""
    plain = tree_judge(model, domain)[0]
    flat = flat_trees(plain.orbits, plain.grid)
    assert flat is not None, "two labels, and not too many segments"
    drawn = DrawnBoxes.of(ShareJudge(plain, flat), boxes, rng)
    fixed: tuple[int, ...] = ()
    now = drawn.told(fixed)
    while len(fixed) < len(drawn.cells) and now.gap > CLOSE * now.high:
        tried = {at: drawn.told((*fixed, at)) for at in drawn.cells if at not in fixed}
        gains = {at: np.log((now.gap + 1e-6) / (told.gap + 1e-6)) / np.log(told.boxes / now.boxes) for at, told in tried.items()}
        best = max(gains, key=lambda at: float(gains[at]))
        fixed, now = (*fixed, best), tried[best]
        yield now
