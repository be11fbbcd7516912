"""The global phase that the gradient methods share: seeds move until they are findings or their steps are over."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evenhand.arrays import Index, Rows
from evenhand.contract import Candidates, Task, Verdict
from evenhand.limits import Count, Positive, WholeNumber, check_limits
from evenhand.methods.parts.chosen_twin import Partners
from evenhand.methods.parts.known import Known
from evenhand.methods.parts.seeds import clustered_seeds
from evenhand.methods.parts.walks import Moves

FEWEST_TOGETHER = 64
"""A local phase has at least this many walkers, however small the budget is: fewer are not worth a batch."""

UNLIMITED = 1 << 62


@dataclass(frozen=True)
class Start:
    """How many seeds, from how many clusters, how many steps each, how large."""

    seeds: Count
    clusters: Count
    iterations: WholeNumber
    step: Positive

    def __post_init__(self) -> None:
        check_limits(self)


class Compass(Protocol):
    """Says in which direction every seed goes."""

    def directions(self, rows: Rows, twins: Rows, seeds: Index) -> Rows:
        """-1, 0 or 1 per cell; `seeds` names the rows, for compasses that remember earlier gradients."""


class Tally:
    """How often a gradient said nothing, told in the run's facts while the run goes on."""

    def __init__(self, task: Task) -> None:
        self.facts: dict[str, int] = {"global_steps": 0, "global_without_gradient": 0, "local_steps": 0, "local_without_gradient": 0}
        task.facts["gradients"] = self.facts

    def add(self, phase: str, steps: int, without: int) -> None:
        """Count steps and those among them that had to go in a random direction."""
        self.facts[f"{phase}_steps"] += int(steps)
        self.facts[f"{phase}_without_gradient"] += int(without)


@dataclass
class Ascent:
    """Seeds climbing together until each is a finding or its steps are over."""

    task: Task
    known: Known
    tally: Tally
    rng: np.random.Generator
    _seeds: Rows | None = None
    _used: int = 0

    def rounds(self, start: Start, local_steps: int, compass: Callable[[Rows], Compass]) -> Generator[Candidates, Verdict, Rows | None]:
        """The findings of as many seeds as a local phase needs to use up the budget, for half of it at most; None when no seed is left.

        The published codes finish one seed after the other.  With all seeds at once a small budget would end in the global phase.
        """
        if self._seeds is None:
            self._seeds = clustered_seeds(self.task, start.seeds, start.clusters, self.rng)
        found: list[Rows] = []
        budget = self.task.fitting(UNLIMITED)
        while self._used < len(self._seeds):
            enough = max(FEWEST_TOGETHER, self.task.fitting(len(self._seeds) * local_steps) // max(1, local_steps))
            wave = self._seeds[self._used : self._used + 2 * enough]
            self._used = self.task.facts["seeds"] = self._used + len(wave)
            found.append((yield from self.run(wave, start, compass(wave), budget // 2)))
            count = sum(map(len, found))
            if count >= enough or (count and self.task.fitting(UNLIMITED) < budget // 2):
                break
        return self._distinct(np.concatenate(found)) if found else None

    def run(self, seeds: Rows, start: Start, compass: Compass, spare: int = 0) -> Generator[Candidates, Verdict, Rows]:
        """The distinct findings that the seeds reached; with one at hand, they stop when less than `spare` of the budget is left."""
        moves, rows = Moves(self.task.domain), seeds.copy()
        climbing, found = np.arange(len(rows)), []
        for iteration in range(start.iterations + 1):
            unfair = yield from self.known.judge(rows[climbing], "global")
            found.append(rows[climbing[unfair]])
            climbing = climbing[~unfair]
            is_enough = self.task.fitting(UNLIMITED) < spare and any(map(len, found))
            if not climbing.size or iteration == start.iterations or is_enough:
                break
            now = rows[climbing]
            rows[climbing] = moves.step(now, start.step * self._directions(now, compass, climbing))
        return self._distinct(np.concatenate(found))

    def _directions(self, rows: Rows, compass: Compass, seeds: Index) -> Rows:
        moves, partners = Moves(self.task.domain), Partners(self.task.domain, self.task.model)
        directions = compass.directions(rows, partners.twins(rows, partners.choose(rows)), seeds) * moves.may_move
        lost = np.flatnonzero(~directions.any(axis=1))
        directions[lost] = moves.random_directions(len(lost), self.rng)
        self.tally.add("global", len(rows), len(lost))
        return directions

    def _distinct(self, rows: Rows) -> Rows:
        """The first row of each non-protected part."""
        _, first = np.unique(self.task.domain.keys(rows), return_index=True)
        return rows[np.sort(first)]
