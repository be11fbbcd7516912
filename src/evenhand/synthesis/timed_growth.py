"""Chained trees that are grown in a given time: on fewer rows, and at the end by each column's own frequencies.

Where no time is given, every column is grown on all rows, and nothing depends on a clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.deadline import Deadline
from evenhand.synthesis.links import Link
from evenhand.synthesis.tree_growth import TreeGrowth
from evenhand.values import tell_watcher

if TYPE_CHECKING:
    from evenhand.synthesis.guides import ChainPlan

FIRST_ROWS, FEWEST_ROWS = 1_000, 250
"""Rows of the first column where time is short, and below how many a tree is not worth growing."""


@dataclass
class TimedGrowth:
    """One link after the other, each in its even share of what is left of the time."""

    growth: TreeGrowth
    deadline: Deadline
    least_rows: int = 0  # the fewest rows that a tree was grown on
    alone: int = 0  # columns that got no tree
    _thinned: dict[int, TreeGrowth] = field(default_factory=dict)

    def links(self, plan: ChainPlan, rng: np.random.Generator) -> tuple[Link, ...]:
        """The links of the chain, in its order."""
        self.least_rows = every = len(self.growth.rows)
        if not self.deadline.is_set:
            return self.growth.links(plan, rng)
        links, size = [], min(FIRST_ROWS, every)
        for step in range(len(plan.order)):
            tell_watcher("learning the population", step + 1, len(plan.order))
            left = self.deadline.seconds_left
            share = left / (len(plan.order) - step)
            links.append(self._link(plan, step, size if share > 0 else 0, rng))
            taken = left - self.deadline.seconds_left
            if taken > share:
                size = size // 2 if size > FEWEST_ROWS else 0
            elif taken < share / 3:
                size = min(every, max(2 * size, FEWEST_ROWS))
        return tuple(links)

    def _link(self, plan: ChainPlan, step: int, size: int, rng: np.random.Generator) -> Link:
        """Grown on so many rows; without any, the column's own frequencies, whatever stands before it."""
        at, guide = plan.order[step], plan.guides.get(plan.order[step])
        if size:
            self.least_rows = min(self.least_rows, size)
            return self._on(size).link(plan.order, step, rng, guide)
        self.alone += 1
        return self._on(min(FIRST_ROWS, len(self.growth.rows))).link((at,), 0, rng, guide)

    def _on(self, size: int) -> TreeGrowth:
        """The same growth on the first rows; structure and held-out rows are drawn from all over, so the first are a sample too."""
        if size not in self._thinned:
            chosen = np.sort(np.concatenate([self.growth.held, self.growth.structure])[:: max(1, len(self.growth.rows) // size)][:size])
            place = np.full(len(self.growth.rows), -1)
            place[chosen] = np.arange(len(chosen))
            held, structure = (found[found >= 0] for found in (place[self.growth.held], place[self.growth.structure]))
            rows, copies = self.growth.rows[chosen], self.growth.copies[chosen]
            self._thinned[size] = replace(self.growth, rows=rows, copies=copies, held=held, structure=structure)
        return self._thinned[size] if size < len(self.growth.rows) else self.growth

    @property
    def cut(self) -> str:
        """What a reader must know of it; empty where nothing was cut."""
        every, columns = len(self.growth.rows), self.growth.rows.shape[1]
        rows = f"trees were grown on {self.least_rows:,} to {every:,} rows" if self.least_rows < every else ""
        alone = f"{self.alone:,} of {columns:,} columns are drawn by their own frequencies" if self.alone else ""
        return "; ".join(part for part in (rows, alone) if part)
