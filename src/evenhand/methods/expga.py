"""ExpGA: samples in whose explanation the protected attribute matters, bred by a genetic algorithm.

Paper: Fan, Wei, Jin, Yang, Liu, "Explanation-Guided Fairness Testing through Genetic Algorithm", ICSE 2022.

Agrees with the paper and its code: 1,000 random samples, explained by LIME with 5,000 perturbed rows; those where the protected attribute
ranks high enough (`rank`; the authors' 7 of 13 columns on census, which other tables get in proportion; they took 14 of 20 on
credit, 10 of 16 on bank); at most 100 of them as first population; roulette with fitness 2 |f(x) - f(x')| + 1 on labels, so that
a finding has three times the chance of others; a crossover of a stretch of columns with probability .9, every cell drawn again
with probability .05, 1,000 generations.

Differs: the seeds are verified.  The authors take all samples of a high rank for discriminatory and count them; here each is judged,
and the unfair ones make the first population, repeated until it is full (verify=False goes on with all of them, as published;
so it does where none is unfair).  The end of the stretch that is crossed is drawn as a second cut (the authors use a length as
an end, so that most stretches are empty), a drawn cell may have its largest value (theirs cannot), and mates are taken from before the
crossing.  Protected cells neither cross nor mutate: their every value is judged anyway.  With several protected attributes, or some
that imply changes of other columns, the best rank among all of these counts.  Where no sample ranks high enough, every sample does.
Several populations, each from samples of its own, evolve side by side as the budget allows.  Nothing is judged twice, and 50
generations without a new child are the last.  When all are over and budget is left, new samples follow.  Children that break a
constraint are moved to the nearest valid row.  With global_samples=0 the rows at hand are the seeds: so another method's
findings can be bred from.

A model that only says labels is explained by its labels; nothing else changes, since the fitness looks at labels alone.

Measured on ADF's nets with 6,000 uniform samples: of those with a high rank 3.4 % are unfair on census sex (of all 3.0 %), 9.9 % on
census age (10.2 %), 3.5 % on credit sex (8.0 %).  So the explanation hardly leads to unfair samples, and what it calls a
discriminatory seed rarely is one: the verdicts and the genetic search do the work.  Verified seeds and published ones find alike in
the long run (335,000 and 327,000 of 1,000,000 candidates on census sex, means of seeds 0 to 2 that differ by more among
themselves), verified ones more in a short one (32,000 and 25,000 of 100,000).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from evenhand.arrays import Index, Rows
from evenhand.contract import Candidates, Model, Population, Search, Task, Verdict
from evenhand.limits import Count, Share, TwoOrMore, WholeNumber, check_limits
from evenhand.methods.parts.explanations import ColumnScale, Explainer
from evenhand.methods.parts.genetics import roulette, segments
from evenhand.methods.parts.known import Known
from evenhand.methods.parts.patience import PatientKnown, while_patient
from evenhand.methods.parts.populations import population_named
from evenhand.methods.parts.starts import distinct, given_rows

PUBLISHED_RANK = 7 / 13
"""Where the protected attribute must rank at least, as a part of all columns: the authors' choice for the census table."""

MOST_ISLANDS = 16
"""More populations side by side are hardly faster."""

LARGEST_SHARE = 0.1
"""Perturbed rows take at most this share of a budget of model rows."""

REWARD = 3.0
"""The fitness of a finding; that of others is 1."""

SeedSearch: TypeAlias = Generator[Candidates, Verdict, Rows]


@dataclass(frozen=True)
class Expga:
    """Explanations lead to the seeds, a genetic algorithm breeds from them.

    rank: among how many first columns of its explanation a sample must have the protected attribute; 0 for 7 of 13
    neighbours: how many perturbed rows explain
    verify: whether only unfair samples make the first population
    crossover, mutation: probabilities, per individual and per cell
    """

    global_samples: WholeNumber = 1000
    neighbours: TwoOrMore = 5000
    rank: WholeNumber = 0
    seeds: Count = 100
    verify: bool = True
    crossover: Share = 0.9
    mutation: Share = 0.05
    generations: WholeNumber = 1000
    population: str = "domain"

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("table", "portraits", "text")

    def __post_init__(self) -> None:
        check_limits(self)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Explain, verify, breed; again from new samples while there is budget."""
        known = PatientKnown(task)
        if not self.global_samples:
            rows = distinct(given_rows(task, "global_samples"), task.domain)
            yield from while_patient(self._breed(rows[None], task, known, rng))
            return
        population = population_named(self.population, task, rng)
        explainer = self._explainer(task, rng)
        while True:
            islands = []
            for _ in range(self._islands(task)):
                islands.append((yield from self._seeds(population, explainer, task, rng)))
            yield from while_patient(self._breed(np.stack(islands), task, known, rng))

    def _islands(self, task: Task) -> int:
        """How many populations the budget lets evolve to their end."""
        cost = self.global_samples + self.seeds * max(1, self.generations)
        return max(1, min(MOST_ISLANDS, task.fitting(MOST_ISLANDS * cost) // cost))

    def _explainer(self, task: Task, rng: np.random.Generator) -> Explainer:
        """Perturbed rows around the data, or around the domain where there is none, with their scores."""
        data = task.rows if task.rows is not None and len(task.rows) else task.domain.sample(self.neighbours, rng)
        left = task.model.rows_left
        n = self.neighbours if left is None else max(2, min(self.neighbours, int(LARGEST_SHARE * left)))
        scale = ColumnScale.of(data)
        rows = scale.perturbed(n, task.domain, rng)
        return Explainer(scale, rows, task.model.scores(rows))

    def _seeds(self, population: Population, explainer: Explainer, task: Task, rng: np.random.Generator) -> SeedSearch:
        """The first population: unfair samples of a high rank, repeated until it is full; all of a high rank where none is unfair."""
        rows = population.sample(self.global_samples, rng)
        led = rows[explainer.ranks(rows, _watched(task)) < self._rank(task)]
        facts = task.facts.setdefault("explanations", {"samples": 0, "high_rank": 0, "unfair": 0})
        facts["samples"] += len(rows)
        facts["high_rank"] += len(led)
        led = led if len(led) else rows
        led = led if self.verify else led[: self.seeds]
        verdict = yield Candidates(led, "global")
        facts["unfair"] += int(verdict.unfair.sum())
        chosen = led[verdict.unfair] if self.verify and verdict.unfair.any() else led
        return chosen[np.arange(self.seeds) % len(chosen)]

    def _rank(self, task: Task) -> int:
        return self.rank or int(np.ceil(PUBLISHED_RANK * len(task.domain.columns)))

    def _breed(self, rows: Rows, task: Task, known: Known, rng: np.random.Generator) -> Search:
        """All generations of all populations, rows (populations, individuals, columns)."""
        shape = rows.shape
        flat = rows.reshape(-1, shape[2])
        unfair = yield from known.judge(flat, "genetic")
        for _ in range(self.generations):
            chosen = roulette(np.where(unfair, REWARD, 1.0).reshape(shape[:2]), rng)
            parents = np.take_along_axis(flat.reshape(shape), chosen[:, :, None], axis=1)
            flat = self._children(parents, task, rng).reshape(-1, shape[2])
            unfair = yield from known.judge(flat, "genetic")

    def _children(self, parents: Rows, task: Task, rng: np.random.Generator) -> Rows:
        """Crossed and mutated, inside the domain."""
        populations, size, columns = parents.shape
        free = np.array(task.domain.free_places, dtype=np.intp)
        mates = np.take_along_axis(parents, rng.integers(size, size=(populations, size, 1)), axis=1).reshape(-1, columns)
        rows = parents.reshape(-1, columns)
        crossed = segments(len(rows), free, columns, rng) & (rng.random((len(rows), 1)) < self.crossover)
        rows = np.where(crossed, mates, rows)
        who, where = np.nonzero(rng.random((len(rows), len(free))) < self.mutation)
        rows[who, free[where]] = task.domain.sample(len(who), rng)[np.arange(len(who)), free[where]]
        return task.domain.project(rows) if task.domain.constraints else rows


def _watched(task: Task) -> Index:
    """The protected columns, and those that change along with them."""
    implied = {name for rule in task.domain.implied if rule.column in task.domain.protected for name in rule.changes}
    return np.array(sorted({*task.domain.protected_places, *(task.domain.place(name) for name in implied)}), dtype=np.intp)
