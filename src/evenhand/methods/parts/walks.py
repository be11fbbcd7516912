"""How rows move: steps in the columns' own units, and walks that begin at findings and look for more around them."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.methods.parts.known import Known
from evenhand.search import Candidates, Verdict

PARTS_OF_A_RANGE = 100
"""A step of 1 moves a real number by this part of its column's range; whole codes move by 1."""

STEPS_TOGETHER = 8
"""A walk that does not wait for its verdicts has this many steps judged at once: a thousand walkers fill the model's batch."""

AUTHORS_ACCEPTANCE = float(np.exp(-1.0))
"""scipy's basinhopping at temperature 1, which the published codes call, keeps a step from a finding to a non-finding this often."""


@dataclass(frozen=True)
class Moves:
    """Steps that stay in the domain: cells at the border stay there, protected cells stay as they are."""

    domain: TabularDomain

    @cached_property
    def units(self) -> Rows:
        """The size of a step of 1 in every column; 0 in protected ones."""
        units = np.where(self.domain.integral, 1.0, (self.domain.high - self.domain.low) / PARTS_OF_A_RANGE)
        units[list(self.domain.protected_places)] = 0.0
        return units

    @cached_property
    def is_integral(self) -> bool:
        """Whether every column has whole codes."""
        return bool(self.domain.integral.all())

    @cached_property
    def free(self) -> Index:
        """Positions of the columns that may move."""
        return np.array(self.domain.free_places, dtype=np.intp)

    @cached_property
    def may_move(self) -> Mask:
        """Which columns may move."""
        return self.units > 0

    def step(self, rows: Rows, directions: Rows) -> Rows:
        """Rows moved by `directions` (in steps of each column), back into the ranges and the constraints."""
        moved: Rows = directions * self.units
        moved += rows
        if not self.is_integral:
            moved = self.domain.clip(moved)
        else:
            np.rint(moved, out=moved)
            np.clip(moved, self.domain.low, self.domain.high, out=moved)
        return self.domain.project(moved) if self.domain.constraints else moved

    def step_one(self, rows: Rows, places: Index, directions: Rows) -> Rows:
        """Rows moved in one column each."""
        if self.domain.constraints:
            everywhere = np.zeros(rows.shape)
            everywhere[np.arange(len(rows)), places] = directions
            return self.step(rows, everywhere)
        line = np.arange(len(rows))
        moved = rows.copy()
        cells = rows[line, places] + directions * self.units[places]
        whole = np.rint(cells)
        cells = whole if self.is_integral else np.where(self.domain.integral[places], whole, cells)
        moved[line, places] = np.clip(cells, self.domain.low[places], self.domain.high[places])
        return moved

    def random_directions(self, n: int, rng: np.random.Generator) -> Rows:
        """One random column and side for each of n rows: where to go when a gradient says nothing."""
        directions = np.zeros((n, len(self.units)))
        directions[np.arange(n), self.free[rng.integers(len(self.free), size=n)]] = signs(n, rng)
        return directions


def signs(n: int, rng: np.random.Generator) -> Rows:
    """-1 or 1, n times."""
    return np.where(rng.random(n) < 0.5, -1.0, 1.0)


def pick(cumulative: Rows, rng: np.random.Generator) -> Index:
    """One column per row, drawn with the weights whose running sums are given."""
    level = rng.random(len(cumulative)) * cumulative[:, -1]
    below = (cumulative <= level[:, None]).sum(axis=1)
    chosen: Index = np.minimum(below, cumulative.shape[1] - 1)  # a level may round up to the total
    return chosen


class Stepper(Protocol):
    """Says where every walker goes next."""

    @property
    def lost(self) -> Mask:
        """Which walkers had no gradient to go by in the last step."""

    def propose(self, rows: Rows, stale: Mask) -> Rows:
        """The next row of every walker; `stale` marks the walkers that stand elsewhere than at the last call."""


@dataclass(frozen=True)
class Walk:
    """How long walkers go on, and what they do when they are told that they have left the findings.

    `after_miss` is the probability that a walker who went from a finding to a non-finding stays there; otherwise it goes back to
    its last finding.  One who was outside already goes on.  1 follows wherever the steps lead, 0 never stays outside.
    """

    steps: int
    after_miss: float

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise InvalidArgument(f"steps={self.steps!r} of a local search must be a whole number of at least 0")
        if not 0.0 <= self.after_miss <= 1.0:
            raise InvalidArgument(f"after_miss={self.after_miss!r} must be a probability between 0 and 1")

    @property
    def together(self) -> int:
        """How many steps are taken between two hearings of the verdicts: one, unless no step depends on them."""
        return STEPS_TOGETHER if self.after_miss == 1.0 else 1

    def run(self, start: Rows, stepper: Stepper, known: Known, rng: np.random.Generator) -> Generator[Candidates, Verdict, None]:
        """All walkers, stretch by stretch."""
        rows, home = start, start.copy()
        stale, inside = np.ones(len(start), dtype=bool), np.ones(len(start), dtype=bool)
        for begun in range(0, self.steps, self.together):
            trail, asked = [], rows
            for _ in range(min(self.together, self.steps - begun)):
                asked, moved = rows, stepper.propose(rows, stale)
                stale = (moved != rows).any(axis=1)
                trail.append((np.flatnonzero(stale), moved))
                rows = moved
            before, inside = inside, inside.copy()
            yield from self._hear(trail, home, inside, known)
            back = self._returning(before & ~inside, rng) | (stepper.lost & ~inside)
            rows, inside = np.where(back[:, None], home, rows), inside | back
            stale[back] = (home[back] != asked[back]).any(axis=1)

    def _hear(self, trail: list[tuple[Index, Rows]], home: Rows, inside: Mask, known: Known) -> Generator[Candidates, Verdict, None]:
        """Learn where every walker last met a finding, and whether it stands on one."""
        walkers = np.concatenate([who for who, _ in trail])
        if not walkers.size:
            return
        visited = np.concatenate([moved[who] for who, moved in trail])
        unfair = yield from known.judge(visited, "local")
        # Assignments run in the order of the steps, so that of a walker's entries the last one stays.
        home[walkers[unfair]] = visited[unfair]
        inside[walkers] = unfair

    def _returning(self, left: Mask, rng: np.random.Generator) -> Mask:
        """Which of the walkers that have left the findings go back."""
        if self.after_miss in (0.0, 1.0):
            return left & (self.after_miss == 0.0)
        return left & (rng.random(len(left)) >= self.after_miss)
