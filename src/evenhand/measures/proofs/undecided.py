"""What is known of the undecided boxes without deciding them: the model is asked about rows drawn in them.

The share so found is no proof.  It comes with an interval that is wrong with a stated, tiny probability, whenever one stops drawing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from evenhand.arrays import Mask, Reals, Rows
from evenhand.measures.proofs.branch_and_bound import ProofOutcome
from evenhand.statistics.intervals import SequentialShare

ERROR = 1e-6
"""How often such an interval may be wrong."""
FIRST_ROWS = 4_096
MOST_ROWS = 1 << 21
CLOSE_ENOUGH = 1.4
"""No more rows are drawn once the upper bound is this many times the lower one."""
SEED = 20_261_117


@runtime_checkable
class DrawsRows(Protocol):
    """A judge of boxes that can draw a row of each box, every one as likely as the domain's own measure says."""

    def draw(self, boxes: Any, rng: np.random.Generator) -> Rows:
        """One row for each box."""

    def take(self, boxes: Any, chosen: Any) -> Any:
        """Some of the boxes."""


@dataclass(frozen=True, eq=False)
class Region:
    """Boxes with their weights, and rows drawn in them."""

    judge: DrawsRows
    boxes: Any
    weights: Reals

    @property
    def weight(self) -> float:
        """Their share of the domain."""
        return float(self.weights.sum())

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows of the domain inside these boxes, drawn by its own measure."""
        return self.judge.draw(self.some(n, rng), rng)

    def some(self, n: int, rng: np.random.Generator) -> Any:
        """So many of the boxes, each as often as its weight says."""
        running = np.cumsum(self.weights)
        chosen = np.searchsorted(running, rng.random(n) * running[-1], side="right")
        return self.judge.take(self.boxes, np.minimum(chosen, len(running) - 1))


@dataclass(frozen=True)
class Likely:
    """Bounds of the whole share that hold but for an error probability, and how many rows they rest on."""

    lower: float
    upper: float
    rows: int
    error: float = ERROR


def likely_bounds(outcome: ProofOutcome, region: Region, flips: Callable[[Rows], Mask], seconds: float | None) -> Likely:
    """Draw in the undecided boxes, twice as many rows each time, until the bounds are close or the time is over; what is proved holds."""
    share, rng, begun = SequentialShare(1.0 - ERROR), np.random.default_rng(SEED), time.monotonic()
    upper = min(1.0, max(outcome.unfair, 1.0 - outcome.fair))
    outside = outcome.unfair if outcome.outside is None else outcome.outside
    room = upper - outcome.unfair if outcome.outside is None else region.weight
    n = FIRST_ROWS
    while True:
        share.add(int(flips(region.draw(n, rng)).sum()), n)
        seen = share.look()
        low, high = max(outcome.unfair, outside + room * seen.low), min(upper, outside + room * seen.high)
        found = Likely(min(low, upper), max(high, outcome.unfair), share.n)
        n = share.n
        is_late = seconds is not None and 2.0 * (time.monotonic() - begun) > seconds
        if found.upper <= CLOSE_ENOUGH * found.lower or is_late or share.n >= MOST_ROWS:
            return found
