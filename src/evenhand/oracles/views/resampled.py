"""The other person as the world would have made them: what descends from the protected cells is drawn again for the other group.

A row keeps its own chance: where it stands among people like it (its quantile, given the cells before) it stands among the like
people of the other group.  The chance of a cell that says less than a quantile is drawn from a hash of the row, so that a
row always meets the same other person.  Without a causal graph, every column may descend from the protected ones, along the chain that
the trees learn; that is association, not cause, and a user's graph replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.contract import Model, Verdict, labels_of
from evenhand.domain.keys import hash_cells
from evenhand.domain.tabular import TabularDomain
from evenhand.oracles.twins_flip import IMPOSSIBLE, differ
from evenhand.oracles.views.causal_graph import CausalGraph
from evenhand.synthesis.trees import ChainedTrees


class Counterfactuals(Protocol):
    """What makes other people of rows."""

    def under(self, rows: Rows, domain: TabularDomain) -> Rows:
        """(combinations, n, columns): every row as it would be under every protected combination."""


class RowChance:
    """Stands in for a random generator: its draws are fixed by the rows, one list for each time it is asked."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self._asked = rows, 0

    def random(self, n: int) -> Reals:
        """Numbers between 0 and 1 that only the rows and the count of questions decide."""
        self._asked += 1
        keys = hash_cells(np.column_stack([self._rows, np.full(n, float(self._asked))]))
        chances: Reals = (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return chances


@dataclass(frozen=True)
class ResampledChain:
    """The learned way: every column given those before it, the protected ones first."""

    population: ChainedTrees

    @classmethod
    def learn(cls, rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> ResampledChain:
        """Fit chained trees to real rows."""
        return cls(ChainedTrees.fit(rows, domain, rng))

    def under(self, rows: Rows, domain: TabularDomain) -> Rows:
        """Every row decoded anew from its own latent, with other protected cells."""
        latents = self.population.encode(rows, cast(Any, RowChance(rows)))
        made = [self.population.decode(latents, _fixed(domain, codes, len(rows))) for codes in domain.combinations]
        return np.stack(made)


@dataclass(frozen=True)
class ResampledGraph:
    """The declared way: only descendants of the protected columns change, each given its causes."""

    steps: tuple[tuple[str, tuple[str, ...], ChainedTrees], ...]

    @classmethod
    def learn(cls, rows: Rows, domain: TabularDomain, graph: CausalGraph, rng: np.random.Generator) -> ResampledGraph:
        """Fit one small chain, causes first, for every descendant."""
        steps = []
        for name in graph.descendants(domain):
            causes = graph.parents[name]
            places = [domain.place(each) for each in (*causes, name)]
            part = TabularDomain(tuple(domain.columns[place] for place in places))
            steps.append((name, causes, ChainedTrees.fit(rows[:, places], part, rng, first=causes)))
        return cls(tuple(steps))

    def under(self, rows: Rows, domain: TabularDomain) -> Rows:
        """Every row with its descendants drawn again in causal order."""
        made = np.repeat(rows[None], len(domain.combinations), axis=0)
        made[:, :, list(domain.protected_places)] = domain.combinations[:, None, :]
        for name, causes, chain in self.steps:
            places = [domain.place(each) for each in (*causes, name)]
            latents = chain.encode(rows[:, places], cast(Any, RowChance(rows)))
            for other in made:
                fixed = {cause: other[:, domain.place(cause)] for cause in causes}
                other[:, places[-1]] = chain.decode(latents, fixed)[:, -1]
        return made


def learn(rows: Rows, domain: TabularDomain, graph: CausalGraph | None, rng: np.random.Generator) -> Counterfactuals:
    """What makes other people: by the user's graph, else by the learned chain."""
    return ResampledChain.learn(rows, domain, rng) if graph is None else ResampledGraph.learn(rows, domain, graph, rng)


def _fixed(domain: TabularDomain, codes: Sequence[float], n: int) -> dict[str, Any]:
    return {name: np.full(n, float(code)) for name, code in zip(domain.protected, codes, strict=True)}


@dataclass(frozen=True)
class ResampledFlip:
    """Unfair when the person whom the other group's world would have made gets another label."""

    counterfactuals: Counterfactuals = field(repr=False)

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input, over every protected combination; the row itself stands for its own."""
        return judge_people(self.people(rows, domain), domain, model)

    def people(self, rows: Rows, domain: TabularDomain) -> Rows:
        """The row and its other persons, (combinations, n, columns)."""
        free = replace(domain, constraints=()) if domain.constraints else domain
        made = self.counterfactuals.under(rows, free)
        own = domain.own_combination(rows)
        mine = np.flatnonzero(own >= 0)
        made[own[mine], mine] = rows[mine]
        return made

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)


def judge_people(people: Rows, domain: TabularDomain, model: Model) -> Verdict:
    """A verdict from (combinations, n, columns) people; people with NaN protected cells, or who break constraints, do not exist."""
    combinations, n, width = people.shape
    if not n:
        return Verdict(np.empty(0, bool), np.empty(0), np.empty((0, combinations), np.int16))
    flat = people.reshape(combinations * n, width)
    exists = domain.contains(flat)
    asked = np.where(exists[:, None], flat, np.tile(_stand_in(people, exists), (combinations, 1)))
    scores = model.scores(asked).reshape(combinations, n, -1)
    labels = labels_of(scores.reshape(combinations * n, -1)).astype(np.int16).reshape(combinations, n)
    possible = exists.reshape(combinations, n)
    labels[~possible] = IMPOSSIBLE
    watched = scores[:, :, 1:] if scores.shape[2] == 2 else scores
    high = np.where(possible[:, :, None], watched, -np.inf).max(axis=0)
    low = np.where(possible[:, :, None], watched, np.inf).min(axis=0)
    return Verdict(differ(labels.T), np.maximum(high - low, 0.0).max(axis=1), labels.T)


def _stand_in(people: Rows, exists: np.ndarray[Any, np.dtype[np.bool_]]) -> Rows:
    """For every row one person who exists, asked in place of those who do not."""
    combinations, n, _ = people.shape
    first = np.argmax(exists.reshape(combinations, n), axis=0)
    chosen: Rows = people[first, np.arange(n)]
    return chosen
