"""FairSIFT: a population whose children borrow a few columns from each other's findings.

Paper: Mamman, "Search-Based Fairness Testing for Detecting Individual Discrimination in Machine Learning-Based Software" (thesis, and the
public code SBFTID).

Agrees with the published code: a population of 200 uniform rows; in each round every member gets one child.  With probability .7,
once there is a memory, the child is a random finding from the memory in which max(3, columns / 10) columns, drawn without
replacement, are set to the member's values plus -1, 0 or +1; otherwise it is the member itself, moved by -1 or +1 in such columns.
All children are judged in one batch; findings that are new enter the memory of at most 200, where a random one makes room; the next
population are the 200 best of memory and children.  A child that is a known finding counts as none.

Differs: members are rows of the domain from the start (the authors keep fractions, which are cut off when a row is judged).  Only free
columns are drawn: every protected value is compared anyway.  A real number moves by hundredths of its range.  Rows that break a constraint
are moved to the nearest valid ones.  Nothing is judged twice.  Among equals the next population is drawn by lot.  The search ends after
50 rounds without a new row, as happens in small domains.

Children are made one after the other, as the published code makes them; `fairsift_batched` makes those of a round at once.  Hardly one
of its findings is a plausible person (`benchmarks/search.py`, `benchmarks/arena.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.contract import Candidates, Model, Search, Task
from evenhand.limits import Count, Share, TwoOrMore, check_limits
from evenhand.methods.parts.patience import PatientKnown, while_patient
from evenhand.methods.parts.walks import Moves


@dataclass(frozen=True)
class FairSift:
    """One child for every member, in every round.

    members: rows of the population
    memory: findings that are remembered at most
    recall: how often a child is made from a remembered finding
    columns: cells that a child changes, at least
    columns_share: and at least this share of all columns
    """

    members: TwoOrMore = 200
    memory: Count = 200
    recall: Share = 0.7
    columns: Count = 3
    columns_share: Share = 0.1

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("table", "portraits", "text")

    def __post_init__(self) -> None:
        check_limits(self)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Rounds until the budget is spent, or until nothing new is met."""
        if not task.domain.free_places:  # nothing can move: there is one input to judge
            yield Candidates(task.domain.sample(1, rng))
            return
        yield from while_patient(self._rounds(task, rng))
        task.facts["stopped"] = "no new row in 50 rounds"

    def _rounds(self, task: Task, rng: np.random.Generator) -> Search:
        known, moves = PatientKnown(task), Moves(task.domain)
        population, memory = task.domain.sample(self.members, rng), FindingMemory(self.memory, len(task.domain.columns))
        while True:
            children = self._children(population, memory.rows, moves, rng)
            unfair = yield from known.judge(children, "search")
            found = unfair & known.is_new
            memory.enter(children[found], rng)
            population = self._fittest(children, found, memory.rows, rng)

    def _children(self, population: Rows, memory: Rows, moves: Moves, rng: np.random.Generator) -> Rows:
        """One child of every member, one after the other."""
        children, steps = population.copy(), np.zeros(population.shape)
        count = min(self.count(population.shape[1]), len(moves.free))
        for at, member in enumerate(population):
            places = rng.choice(moves.free, count, replace=False)
            is_recalled = len(memory) > 0 and rng.random() < self.recall
            if is_recalled:
                children[at] = memory[rng.integers(len(memory))]
                children[at, places] = member[places]
            steps[at, places] = rng.integers(-1, 2, count) if is_recalled else rng.choice((-1.0, 1.0), count)
        return moves.step(children, steps)

    def count(self, columns: int) -> int:
        """How many cells a child changes in a table of so many columns."""
        return max(self.columns, int(self.columns_share * columns))

    def _fittest(self, children: Rows, found: Mask, memory: Rows, rng: np.random.Generator) -> Rows:
        """The best of memory and children: findings first, equals by lot."""
        rows = np.concatenate([memory, children])
        is_finding = np.concatenate([np.ones(len(memory), dtype=bool), found])
        return rows[np.lexsort((rng.random(len(rows)), ~is_finding))[: self.members]]


class FindingMemory:
    """A bounded number of findings; when it is full, a new one takes the place of a random one."""

    def __init__(self, most: int, columns: int) -> None:
        self.most = most
        self.rows: Rows = np.empty((0, columns))

    def enter(self, rows: Rows, rng: np.random.Generator) -> None:
        """Remember these too."""
        room = self.most - len(self.rows)
        self.rows = np.concatenate([self.rows, rows[:room]]) if room else self.rows
        if len(rows) > room:
            later = rows[room:]
            self.rows[rng.integers(self.most, size=len(later))] = later  # of several at one place the last stays, as one after the other
