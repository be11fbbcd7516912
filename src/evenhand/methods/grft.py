"""GRFT: populations around real rows evolve until their twins' scores lie far enough apart, then all findings walk together.

Paper: Quan, Li, Xie, Chen, Chen, Jiang, Li, "Dissecting Global Search: A Simple Yet Effective Method to Boost Individual Discrimination
Testing and Repair", ICSE 2025 (Genetic-Random Fairness Testing).

Agrees with the published code: 1,000 seeds from K-means clusters in turn; around each a population of 100, the seed itself and
copies whose same two attributes are moved by up to 5; at most 10 generations, ended by the first that holds findings; parents are
the best of 3 out of the 10 fittest, crossed cell by cell, half of the children mutated in 3 attributes by up to 3, the fittest
kept.  Locally all findings move at once by 1 in one common random attribute, 1,000 times, and keep what is unfair.

The fitness is the one meant: the sum of |f(x) - f(x')| over the twins of the same individual.  (The published code repeats the
scores of the individuals in another order than their twins, and so compares different people.)

Differs: the populations of many seeds evolve at once, as many as leave half of the budget to the local phase.  Nothing is judged
twice.  With two protected combinations and two classes the verdict's gap is the fitness; else the twins of the populations that
go on are asked a second time, which counts as model rows.  A model of several classes has half the absolute differences of all
scores.  Local walkers are as many as the budget lets take their steps, and
stop early when 50 steps met nothing new.  A real number moves by hundredths of its range.  Rows that
break a constraint are moved to the nearest valid ones.  With iterations=0 the seeds themselves are judged and walked from.

A model that only says labels has no fitness before a label flips: the fittest are then drawn by lot, which makes the global phase
a random search around the seeds.  The run's facts say so.

Measured from 60 seeds on ADF's nets, findings per 1,000 candidates of the global phase with this fitness, with the published
pairing and by lot: census sex 34, 30, 17; census age 65, 46, 23; credit sex 175, 150, 85.  So the right pairing helps, most where
there are many twins, and the wrong one still leads: neighbours in a population have like scores.  Locally nothing is found
where every step of 1 leaves the findings, as in a band one step wide: there only the global phase finds.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from evenhand.arrays import Mask, Reals, Rows
from evenhand.contract import Candidates, Model, Search, Task, Verdict
from evenhand.limits import Count, Positive, Share, TwoOrMore, WholeNumber, check_limits
from evenhand.methods.parts.climbing import FEWEST_TOGETHER, UNLIMITED
from evenhand.methods.parts.genetics import nudged, tournament
from evenhand.methods.parts.patience import while_patient
from evenhand.methods.parts.seeds import clustered_seeds
from evenhand.methods.parts.starts import distinct
from evenhand.methods.parts.twin_gaps import WeighedKnown, summed_gaps
from evenhand.methods.parts.walks import Moves, Walk

MOST_INDIVIDUALS = 1 << 15
"""More individuals at once are no faster."""

SeedSearch: TypeAlias = Generator[Candidates, Verdict, Rows]


@dataclass(frozen=True)
class Grft:
    """A genetic global phase and a random local one.

    seeds, clusters: where populations begin; population: how many individuals each has
    iterations: generations at most; jitter: how far the first individuals lie from the seed, in two attributes
    leaders, entrants: parents are the best of so many drawn from so many fittest
    crossover: the first parent's part of a child; mutation: how many children change, `mutated` attributes each by up to `reach`
    """

    seeds: Count = 1000
    clusters: Count = 4
    population: TwoOrMore = 100
    iterations: WholeNumber = 10
    jitter: WholeNumber = 5
    leaders: TwoOrMore = 10
    entrants: Count = 3
    crossover: Share = 0.5
    mutation: Share = 0.5
    mutated: Count = 3
    reach: WholeNumber = 3
    local_steps: int = 1000
    step: Positive = 1.0

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("table", "portraits", "text")

    def __post_init__(self) -> None:
        check_limits(self)
        self._walk  # noqa: B018  (checks its parts)

    @property
    def _walk(self) -> Walk:
        return Walk(self.local_steps, 0.0)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Breed populations for half of the budget at most, walk from the findings, and so on with the next seeds."""
        if not task.domain.free_places:  # nothing can move: there is one input to judge
            yield Candidates(task.domain.sample(1, rng), "global")
            return
        known, moves = WeighedKnown(task), Moves(task.domain)
        seeds = clustered_seeds(task, self.seeds, self.clusters, rng)
        breeding = Breeding(self, task, known, moves, rng)
        if task.model.is_hard:
            task.facts["fitness"] = "labels only: parents are drawn by lot until a label flips"
        while len(seeds):
            seeds, found = yield from self._global(seeds, breeding)
            if len(found):
                yield from while_patient(self._walk.run(found, OneAttribute(moves, self.step, rng), known, rng))

    def _global(self, seeds: Rows, breeding: Breeding) -> Generator[Candidates, Verdict, tuple[Rows, Rows]]:
        """The seeds that are left, and as many findings as the rest of the budget can walk from."""
        task, found = breeding.task, [np.empty((0, seeds.shape[1]))]
        budget, count = task.fitting(UNLIMITED), 0
        while len(seeds) and count < self._walkers(task) and not (count and 2 * task.fitting(UNLIMITED) < budget):
            wave = self._wave(task)
            task.facts["seeds"] = task.facts.get("seeds", 0) + min(wave, len(seeds))
            found.append((yield from breeding.findings(seeds[:wave])))
            count, seeds = count + len(found[-1]), seeds[wave:]
        rows = distinct(np.concatenate(found), task.domain)
        return seeds, breeding.rng.permutation(rows)[: self._walkers(task)]

    def _walkers(self, task: Task) -> int:
        steps = max(1, self.local_steps)
        return max(FEWEST_TOGETHER, task.fitting(MOST_INDIVIDUALS * steps) // steps)

    def _wave(self, task: Task) -> int:
        """How many populations evolve at once: a quarter of the budget if all of them need all generations."""
        cost = self.population * max(1, self.iterations)
        return max(1, min(MOST_INDIVIDUALS // self.population, task.fitting(4 * MOST_INDIVIDUALS * cost) // (4 * cost)))


@dataclass(frozen=True)
class Breeding:
    """Populations on their way to findings."""

    method: Grft
    task: Task
    known: WeighedKnown
    moves: Moves
    rng: np.random.Generator

    def findings(self, seeds: Rows) -> SeedSearch:
        """The findings of every seed's population in the first generation that has any."""
        if not self.method.iterations:
            return seeds[(yield from self.known.judge(seeds, "global"))]
        rows, found = self._first(seeds), []
        for generation in range(self.method.iterations):
            flat = rows.reshape(-1, rows.shape[2])
            unfair = (yield from self.known.judge(flat, "global")).reshape(rows.shape[:2])
            found.append(rows[unfair])
            rows = rows[~unfair.any(axis=1)]
            if not len(rows) or generation + 1 == self.method.iterations:
                break
            rows = self._evolved(rows, self._fitness(rows))
        return np.concatenate(found)

    def _first(self, seeds: Rows) -> Rows:
        """Every seed with its jittered copies, (seeds, individuals, columns); one seed's copies differ in the same two attributes."""
        size, free = self.method.population, self.moves.free
        two = free[self.rng.random((len(seeds), len(free))).argsort(axis=1)[:, :2]]  # (seeds, 2)
        directions = np.zeros((len(seeds), size, seeds.shape[1]))
        steps = self.rng.integers(-self.method.jitter, self.method.jitter + 1, (len(seeds), size, two.shape[1]))
        steps[:, 0] = 0
        np.put_along_axis(directions, np.broadcast_to(two[:, None, :], steps.shape), steps.astype(np.float64), axis=2)
        copies = np.repeat(seeds, size, axis=0)
        return self.moves.step(copies, directions.reshape(copies.shape)).reshape(directions.shape)

    def _fitness(self, rows: Rows) -> Reals:
        """How far apart each individual's twins are, (populations, individuals)."""
        flat = rows.reshape(-1, rows.shape[2])
        if self.task.model.is_hard:
            return np.zeros(rows.shape[:2])
        if len(self.task.domain.combinations) == 2 and len(self.task.model.classes) == 2:
            return self.known.gaps(flat).reshape(rows.shape[:2])
        return summed_gaps(flat, self.task.domain, self.task.model).reshape(rows.shape[:2])

    def _evolved(self, rows: Rows, fitness: Reals) -> Rows:
        """The fittest of each population, and children of its leaders."""
        populations, size, columns = rows.shape
        leaders = min(self.method.leaders, size)
        order = np.lexsort((self.rng.random(fitness.shape), -fitness), axis=1)[:, :leaders]  # equals in random order
        parents = tournament(order, self.method.entrants, size - 1, self.rng)
        first, second = (np.take_along_axis(rows, each[:, :, None], axis=1).reshape(-1, columns) for each in parents)
        children = np.where(self.rng.random(first.shape) < self.method.crossover, first, second)
        mutants = np.flatnonzero(self.rng.random(len(children)) < self.method.mutation)
        children[mutants] = nudged(children[mutants], self.method.mutated, self.method.reach, self.moves, self.rng)
        if self.task.domain.constraints:
            children = self.task.domain.project(children)
        best = np.take_along_axis(rows, order[:, :1, None], axis=1)
        return np.concatenate([best, children.reshape(populations, size - 1, columns)], axis=1)


class OneAttribute:
    """All walkers move in one common attribute, one way."""

    foresees = False

    def __init__(self, moves: Moves, step: float, rng: np.random.Generator) -> None:
        self.moves, self.step, self.rng = moves, step, rng
        self.lost: Mask = np.zeros(0, dtype=bool)

    def propose(self, rows: Rows, stale: Mask) -> Rows:  # noqa: ARG002  (every step is drawn again)
        """The next row of every walker."""
        self.lost = np.zeros(len(rows), dtype=bool)
        place = self.moves.free[self.rng.integers(len(self.moves.free))]
        direction = self.step if self.rng.random() < 0.5 else -self.step
        return self.moves.step_one(rows, np.full(len(rows), place), np.full(len(rows), direction))
