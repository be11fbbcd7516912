"""AITEST: realistic seeds from constraints that the user controls, then neighbourhoods along the columns that LIME finds prominent.

Paper: Saha, Aggarwal, Hans, "Data Synthesis for Testing Black-Box Machine Learning Models", arXiv 2111.02161, CODS-COMAD 2022.

Agrees with the paper: seeds come from the constraint graph of the data (frequencies, ranges, five distributions, associations),
merged with the user's constraints, or spread equally over the paths of a surrogate tree; each seed is judged under every other
protected value; around a discriminatory seed the most prominent half of the columns by LIME is perturbed, every category, and
numbers within 3, inside the data's bounds.

Differs: LIME's perturbed rows do not depend on the seed, so one batch of them serves all seeds.  The protected columns themselves are
not perturbed, as every candidate is judged under all of their values anyway.  The published tool stops after its seeds; here
rounds follow each other until the budget is spent (`rounds` = 0), or their number is given.  `synthesiser` may be `trees`, the
chained trees, whose rows are closer to the data; `task` is the population that the run brings along.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Model, Search, Task
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, Positive, ShareAboveZero, TwoOrMore, WholeNumber, check_limits
from evenhand.measures.coverage.lime import Lime, top_columns
from evenhand.measures.coverage.neighbourhood import neighbours
from evenhand.measures.coverage.paths import Sampler, cover, coverage_of, drawer
from evenhand.measures.coverage.surrogate import Drawer, Imitated, Surrogate, SurrogateSettings, grow
from evenhand.measures.coverage.tests_by_path import wished_shares
from evenhand.methods.parts.known import Known
from evenhand.synthesis import fit_steered, synthesiser
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.wishes import Wishes

_WITHOUT_DATA = 5_000
_SURROGATE_SHARE = 0.3
_FEWEST_LABELS, _MOST_LABELS = 1_000, 200_000
"""Rows that the model is asked about for the surrogate: a share of what the budget still allows, between these."""
_IDLE_ROUNDS = 20
"""After as many rounds without a new row the population is taken to be exhausted."""


@dataclass(frozen=True)
class Aitest:
    """Individual fairness on realistic rows; `path_coverage` spreads the seeds over a surrogate's paths."""

    seeds: Count = 1_000
    rounds: WholeNumber = 0
    synthesiser: str = "graph"
    unfitted: str = "range"
    wishes: str = ""
    path_coverage: bool = False
    paths: Count = 4_409
    prominent: ShareAboveZero = 0.5
    reach: Positive = 3.0
    lime_rows: TwoOrMore = 1_000

    needs: ClassVar[type] = Model

    def __post_init__(self) -> None:
        check_limits(self)
        if self.synthesiser != "task":
            synthesiser(self.synthesiser)  # an unknown name is refused before anything is asked
        if self.unfitted not in ("range", "quantiles"):
            raise InvalidArgument(f"unfitted={self.unfitted!r} must be range or quantiles")

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Realistic seeds, then the neighbours of the discriminatory ones; again until the budget is spent."""
        data = task.rows if task.rows is not None and len(task.rows) else task.domain.sample(_WITHOUT_DATA, rng)
        population = self._population(task, data, rng)
        known = Known(task)
        surrogate: Surrogate | None = None
        lime: Lime | None = None
        done, tried, failing, idle = 0, [np.empty((0, data.shape[1]))], 0, 0
        while (self.rounds == 0 or done < self.rounds) and idle < _IDLE_ROUNDS:
            before = len(known)
            if self.path_coverage and surrogate is None:
                surrogate = self._surrogate(task, drawer(population), data, rng)
            seeds = self._seeds(population, surrogate, task, rng)
            unfair = yield from known.judge(seeds, "realistic")
            done, failing = done + 1, failing + int(unfair.sum())
            task.facts["aitest"] = {"synthesiser": population_name(population), "rounds": done, "unfair_seeds": failing}
            if surrogate is not None:
                tried.append(seeds)
                task.facts["aitest"]["path_coverage"] = coverage_of(surrogate, np.vstack(tried)).as_dict()
                task.facts["aitest"]["tree"] = surrogate.told()
            if unfair.any():
                lime = lime if lime is not None else self._lime(task, data, rng)
                around = self._around(seeds[unfair], lime, task)
                if len(around):
                    yield from known.judge(around, "neighbourhood")
            idle = idle + 1 if len(known) == before else 0

    def _population(self, task: Task, data: Rows, rng: np.random.Generator) -> Sampler:
        wishes = Wishes.load(Path(self.wishes), task.domain) if self.wishes else None
        if self.synthesiser == "task":
            if task.population is None:
                raise InvalidArgument("synthesiser='task' needs a run with a population; choose graph or trees")
            return task.population
        kind = synthesiser(self.synthesiser)
        if kind is ConstraintGraph:
            graph = ConstraintGraph.fit(data, task.domain, rng, "quantiles" if self.unfitted == "quantiles" else "range")
            return graph if wishes is None else graph.steered(wishes, rng)
        return fit_steered(kind, data, task.domain, wishes or Wishes(), rng)

    def _surrogate(self, task: Task, draw: Drawer, data: Rows, rng: np.random.Generator) -> Surrogate:
        # The paper's trees grow as they like, up to 4,409 paths; here they end with their part of the budget at the latest.
        labels = max(_FEWEST_LABELS, int(_SURROGATE_SHARE * task.fitting(_MOST_LABELS)))
        settings = SurrogateSettings(leaves=self.paths, labels=labels)
        some = data if len(data) <= _WITHOUT_DATA else data[rng.choice(len(data), _WITHOUT_DATA, replace=False)]
        return grow(Imitated(task.predict, task.domain, task.model.classes), draw, some, rng, settings)

    def _seeds(self, population: Sampler, surrogate: Surrogate | None, task: Task, rng: np.random.Generator) -> Rows:
        if surrogate is None:
            rows = population.sample(self.seeds, rng)
        else:
            rows = cover(surrogate, drawer(population), self.seeds, rng, wished_shares(population)).rows
        # A wish may reach beyond the tested domain (a wider range); such rows are not candidates there.
        return rows[task.domain.contains(rows)]

    def _lime(self, task: Task, data: Rows, rng: np.random.Generator) -> Lime:
        lime = Lime.prepare(data, self.lime_rows, task.domain, rng)
        return lime.answered(task.model.scores(lime.rows))

    def _around(self, seeds: Rows, lime: Lime, task: Task) -> Rows:
        barred = np.isin(np.arange(seeds.shape[1]), task.domain.protected_places)
        if barred.all():
            return np.empty((0, seeds.shape[1]))
        chosen = top_columns(lime.weights(seeds, task.predict(seeds)), self.prominent, barred)
        return neighbours(seeds, chosen, task.domain, self.reach).rows


def population_name(population: Sampler) -> str:
    """What a reader sees."""
    return str(getattr(population, "name", type(population).__name__))
