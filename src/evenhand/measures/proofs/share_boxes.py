"""Boxes that are not decided but bounded: of every open box the share that is unfair lies between two bounds, and the box that leaves most
open is halved next.  For ensembles with two labels; `additive_bounds` says how a box is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.contract import Watch
from evenhand.measures.proofs.additive_bounds import (
    FAIR,
    OPEN,
    UNFAIR,
    ToldBoxes,
    halve_boxes,
    judge_boxes,
    said_of,
    said_together,
    scratch,
    told,
)
from evenhand.measures.proofs.branch_and_bound import Frontier, ProofLimits, ProofOutcome, Step, watched
from evenhand.measures.proofs.flat_trees import FlatTrees
from evenhand.measures.proofs.tree_boxes import MOST_PROVEN, ROWS_AT_ONCE, TreeJudge, drawn_rows
from evenhand.measures.proofs.undecided import Region

AT_ONCE = 512
MOST_OPEN = 1_000_000
"""So many open boxes are kept; beyond that the lightest are halved first, which decides them."""


@dataclass(frozen=True, eq=False)
class SharedBoxes:
    """Boxes with what is known of them, one line each."""

    cells: NDArray[np.uint8]  # (n, cells), a bit each
    possible: Index  # which set of twins can be
    weights: Reals
    said: ToldBoxes

    @property
    def open(self) -> Reals:
        """The weight that is left open."""
        return self.weights * (self.said.high - self.said.low)

    def taken(self, chosen: Index | Mask | slice) -> SharedBoxes:
        """Some of them."""
        return SharedBoxes(self.cells[chosen], self.possible[chosen], self.weights[chosen], said_of(self.said, chosen))

    @classmethod
    def joined(cls, parts: list[SharedBoxes]) -> SharedBoxes:
        """All parts as one."""
        if len(parts) == 1:
            return parts[0]
        cells, possible, weights = (np.concatenate([getattr(part, name) for part in parts]) for name in ("cells", "possible", "weights"))
        return cls(cells, possible, weights, said_together([part.said for part in parts]))


@dataclass(eq=False)
class ShareJudge:
    """Bounds the unfair share of boxes; where rounding decides a single cell, the plain judge asks the model."""

    plain: TreeJudge
    flat: FlatTrees
    examples: list[tuple[float, Rows]] = field(default_factory=list)
    draws_rows: bool = True

    def __post_init__(self) -> None:
        self._work = scratch(self.flat)
        self._proven: list[SharedBoxes] = []

    @property
    def asked(self) -> int:
        """How many rows the model itself decided."""
        return self.plain.asked

    def start(self) -> SharedBoxes:
        """The whole domain, by sets of possible twins."""
        boxes, weights = self.plain.start()
        layout = self.plain.orbits.layout
        cells = np.concatenate([layout.unpack(axis, boxes) for axis in range(len(layout.cells))], axis=1).astype(np.uint8)
        return self.judged(cells, np.asarray(boxes[-1], dtype=np.intp), weights)

    def compile(self) -> None:
        """Everything once: what is compiled and then kept is no part of a search's time."""
        boxes = self.start()
        self.halved(boxes.taken(boxes.said.part >= 0))

    def judged(self, cells: NDArray[np.uint8], possible: Index, weights: Reals) -> SharedBoxes:
        """These boxes with what the trees say of them."""
        said = told(len(cells))
        judge_boxes(cells, self.plain.possible[possible], self.flat, self._work, said)
        return SharedBoxes(np.packbits(cells, axis=1), possible, weights, said)

    def halved(self, boxes: SharedBoxes) -> SharedBoxes:
        """Both halves of every box, judged."""
        cells = self.cells(boxes)
        halves, shares = np.empty((2 * len(cells), cells.shape[1]), dtype=np.uint8), np.empty(2 * len(cells))
        halve_boxes(cells, boxes.said, self.flat, halves, shares)
        return self.judged(halves, np.repeat(boxes.possible, 2), np.repeat(boxes.weights, 2) * shares)

    def cells(self, boxes: SharedBoxes) -> NDArray[np.uint8]:
        """(n, cells): which cells each box meets."""
        return np.unpackbits(boxes.cells, axis=1, count=len(self.flat.weights))

    def ask(self, boxes: SharedBoxes) -> None:
        """Put single cells that rounding decides to the model."""
        first = self.flat.axis_first
        cells = self.cells(boxes)
        places = [cells[:, begin:end].argmax(axis=1) for begin, end in pairwise(first)]
        self.plain.later.add(self.plain.grid.rows(places), boxes.weights)

    def keep(self, boxes: SharedBoxes) -> None:
        """Remember boxes that are unfair for certain, the heaviest."""
        if len(boxes.weights):
            self._proven.append(boxes)
            if sum(len(each.weights) for each in self._proven) > 2 * MOST_PROVEN:
                self._proven = [self._heaviest(MOST_PROVEN)]

    def _heaviest(self, most: int) -> SharedBoxes:
        joined = SharedBoxes.joined(self._proven)
        return joined.taken(np.argsort(-joined.weights, kind="stable")[:most])

    @property
    def proven(self) -> Region | None:
        """The heaviest boxes that are unfair for certain."""
        if not self._proven:
            return None
        heaviest = self._heaviest(MOST_PROVEN)
        return Region(self, heaviest, heaviest.weights)

    def finish(self) -> None:
        """Rows in the heaviest proven boxes become examples."""
        if self._proven:
            heaviest = self._heaviest(8)
            rows = self.draw(heaviest, np.random.default_rng(0))
            self.examples = [(float(weight), row) for weight, row in zip(heaviest.weights, rows, strict=True)]

    def take(self, boxes: SharedBoxes, chosen: Index | Mask | slice) -> SharedBoxes:
        """Some of the boxes."""
        return boxes.taken(chosen)

    def join(self, parts: list[SharedBoxes]) -> SharedBoxes:
        """All parts as one."""
        return SharedBoxes.joined(parts)

    def draw(self, boxes: SharedBoxes, rng: np.random.Generator) -> Rows:
        """One row of each box, by the domain's own measure."""
        cells, first = self.cells(boxes).astype(bool), self.flat.axis_first
        return drawn_rows(self.plain.grid, lambda axis: cells[:, first[axis] : first[axis + 1]], len(cells), rng)


class ShareSearch:
    """Halves the boxes that leave most open, until nothing is, or a limit is reached.

    before: what another search proved in the time before; its bounds hold as well
    """

    def __init__(self, judge: ShareJudge, limits: ProofLimits, watch: Watch | None, before: ProofOutcome) -> None:
        self.judge, self.limits, self.watch, self.before = judge, limits, watch, before
        self.frontier: Frontier[SharedBoxes] = Frontier(judge)  # type: ignore[arg-type]  # it takes and joins boxes, no more
        self.outcome = ProofOutcome(boxes=before.boxes, steps=before.steps[:], cpu_seconds=before.cpu_seconds)
        self.partly_fair = self.partly_unfair = 0.0  # of the open boxes, what is proved

    def go(self) -> ProofOutcome:
        """Search; an interruption leaves the bounds that hold so far."""
        begun, outcome = self.limits.clock(), self.outcome
        try:
            self._put(self.judge.start())
            while self.frontier.size:
                boxes, _ = self.frontier.pull(AT_ONCE, deepest=self.frontier.size > MOST_OPEN)
                self._count(boxes, -1.0)
                self._put(self.judge.halved(boxes))
                step = self._step(begun)
                watched(outcome, step, self.limits, self.watch)
                if ended := self.limits.reached(step):
                    outcome.ended = ended
                    break
        except KeyboardInterrupt:
            outcome.ended = "interrupted"
        return self._finished(begun)

    def _put(self, boxes: SharedBoxes) -> None:
        """Boxes that were just judged: decided ones are counted, single cells put to the model, the others kept."""
        verdict, outcome = boxes.said.verdict, self.outcome
        outcome.boxes += len(verdict)
        outcome.fair += float(boxes.weights[verdict == FAIR].sum())
        outcome.unfair += float(boxes.weights[verdict == UNFAIR].sum())
        self.judge.keep(boxes.taken(verdict == UNFAIR))
        is_cell = (verdict == OPEN) & (boxes.said.part < 0)
        if is_cell.any():
            self.judge.ask(boxes.taken(is_cell))
            self._settle(ROWS_AT_ONCE)
        left = boxes.taken((verdict == OPEN) & ~is_cell)
        self._count(left, 1.0)
        self.frontier.put(left, left.open)

    def _settle(self, least: int) -> None:
        fair, unfair = self.judge.plain.later.settle(least)
        self.outcome.fair, self.outcome.unfair = self.outcome.fair + fair, self.outcome.unfair + unfair

    def _count(self, boxes: SharedBoxes, sign: float) -> None:
        self.partly_unfair += sign * float((boxes.weights * boxes.said.low).sum())
        self.partly_fair += sign * float((boxes.weights * (1.0 - boxes.said.high)).sum())

    def _step(self, begun: float) -> Step:
        fair, unfair = max(self.before.fair, self.outcome.fair + self.partly_fair), self._unfair
        seconds = self.limits.clock() - begun
        upper = unfair if not self.frontier.size and self.outcome.is_complete else min(1.0, max(unfair, 1.0 - fair))
        return Step(unfair, upper, self.outcome.boxes, self.frontier.size, seconds)

    @property
    def _unfair(self) -> float:
        return max(self.before.unfair, self.outcome.unfair + self.partly_unfair)

    def _finished(self, begun: float) -> ProofOutcome:
        """The bounds with what is proved of the open boxes."""
        self._settle(1)
        outcome, size = self.outcome, self.frontier.size
        if not outcome.ended:
            outcome.ended = "exact" if outcome.is_complete and not size else "resolution"
        outcome.steps.append(self._step(begun))
        settled = outcome.unfair
        if size:
            outcome.open_boxes, _ = self.frontier.pull(size, deepest=False)
            outcome.open_weights = outcome.open_boxes.weights
            outcome.fair, outcome.unfair = max(self.before.fair, outcome.fair + self.partly_fair), self._unfair
        outcome.outside = settled
        self.judge.finish()
        return outcome
