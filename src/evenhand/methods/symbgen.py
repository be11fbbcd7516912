"""SG (symbolic generation): explain an input by a decision tree, negate the tests on its path, and solve for other inputs.

Paper: Aggarwal, Lohia, Nagar, Dey, Saha, "Black Box Fairness Testing of Machine Learning Models", ESEC/FSE 2019.

Agrees with the paper as its public code (the one shipped with ADF) has it: seeds from four clusters; LIME's 5,000 neighbours labelled by
the model and a full decision tree; a test's confidence is the share of them that passes it; around an unfair input each test of
the path is negated and its column alone is changed; along every path each test is negated with those before it kept, up to the
first test whose confidence is below T1 = .3; tests on protected columns are left alone.  Inputs wait in a queue: local ones at
1 + confidence, seeds at 5, global ones at 10 - confidence, the smallest first.

Differs: `together` inputs are taken from the queue at once, judged in one batch, and up to `share` of them share one set of neighbours and
one tree, as LIME's neighbours do not depend on the input and the code gives them no weights; share=1 is the published way.
Intervals are solved without a solver, all at once, and the solution is the one nearest to the input, where z3 gives the lower end;
that choice was made after both had been tried on the planted models and on the net below, and solution="random" is the other.
solver="z3" (extra `solver`) solves every condition as published; under constraints of the domain, `auto` gives z3 the conditions and
constraints together wherever the nearest solution breaks one, and "boxes" mends such rows instead.  An input is queued once for
ever, where the code compares paths.  Of a small budget of model rows half at most goes into a tree.  A missing cell follows the
tree's own rule; a negated test gives it a value.  Where nearly all neighbours have one label, uniform rows of the domain
join them.

Only labels are used: a model without scores is searched in the same way.

Measured on ADF's census net, protected sex, one core, seeds 0 and 1; the published code makes 0.50 findings per CPU-second there.  100,000
candidates: 42 to 47 % unfair, 3,200 findings per CPU-second.  Random solutions: 22 % of 20,000 candidates, nearest ones 38 %.  A tree for
every input costs 250 times the model rows and does not find more per candidate: with random solutions 20 % of 1,000 candidates against
18 % with shared trees, 6 findings per CPU-second; with nearest ones 30 %, 14 per second.  z3 for every condition: 21 to 25 %
of 1,000 candidates, 17 per second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.contract import Candidates, Model, Search, Task
from evenhand.domain.key_table import KeyTable
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import UnknownName
from evenhand.limits import Count, Share, TwoOrMore, check_limits
from evenhand.measures.coverage.lime import perturbed
from evenhand.methods.parts.fitted_tree import FittedTree, Paths, few_enough
from evenhand.methods.parts.path_conditions import PathWishes, global_wishes, local_wishes
from evenhand.methods.parts.seeds import clustered_seeds
from evenhand.methods.parts.solving import SOLUTIONS, SOLVERS, solver_named

SEED_RANK, LOCAL_RANK, GLOBAL_RANK = 5.0, 1.0, 10.0
"""The smaller, the sooner: local inputs at 1 + confidence, seeds at 5, global inputs at 10 - confidence."""
MOST_WAITING = 20_000
"""Beyond twice as many the inputs with the worst ranks are forgotten; they would hardly ever have had their turn."""
ONE_LABEL = 0.99
"""Neighbours of which more than this share has the same label are joined by rows from all over the domain."""
WITHOUT_DATA = 5_000


@dataclass(frozen=True)
class Symbgen:
    """A queue of inputs, the most promising first; every input that is judged is explained and leads to others.

    seeds, clusters: rows of the data that the queue begins with, from K-means clusters in turn
    neighbours: rows around an input that its tree is fitted to
    least_confidence: T1, below which global exploration does not follow a path any further
    together: how many inputs are taken from the queue, judged and explained at once
    share: how many of them share one set of neighbours and one tree; 1 is the published way
    solver: boxes draws from intervals, z3 solves every condition, auto is boxes with z3 for what breaks a constraint of the domain
    solution: which code of an interval boxes take, the nearest to the input's own or a random one
    """

    seeds: Count = 1_000
    clusters: Count = 4
    neighbours: TwoOrMore = 5_000
    least_confidence: Share = 0.3
    together: Count = 256
    share: Count = 256
    solver: str = "auto"
    solution: str = "nearest"

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("table", "portraits", "text")

    def __post_init__(self) -> None:
        check_limits(self)
        if self.solver not in SOLVERS:
            raise UnknownName("solver", self.solver, SOLVERS)
        if self.solution not in SOLUTIONS:
            raise UnknownName("solution", self.solution, SOLUTIONS)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Take the best inputs, hear their verdicts, explain them, and queue what their paths lead to."""
        data = task.rows if task.rows is not None and len(task.rows) else task.domain.sample(WITHOUT_DATA, rng)
        solver, queue = solver_named(self.solver, self.solution, task.domain), Queue(task.domain)
        seeds = clustered_seeds(task, self.seeds, self.clusters, rng)
        queue.put(seeds, np.full(len(seeds), SEED_RANK))
        facts = task.facts["symbgen"] = {"trees": 0, "local": 0, "global": 0, "unsolvable": 0}
        while len(queue):
            rows, ranks = queue.take(max(1, task.fitting(self.together)))
            unfair = np.zeros(len(rows), dtype=bool)
            for phase, chosen in _phases(ranks):
                verdict = yield Candidates(rows[chosen], phase)
                unfair[chosen] = verdict.unfair
            for begin in range(0, len(rows), self.share):
                some = slice(begin, begin + self.share)
                paths = self._paths(task, data, rows[some], rng)
                for phase, wishes, ranked in self._wishes(paths, unfair[some], task.domain):
                    solved = solver.solve(wishes, rows[some], rng)
                    fits = ~np.isnan(solved).all(axis=1)
                    facts[phase] += queue.put(solved[fits], ranked[fits])
                    facts["unsolvable"] += int((~fits).sum())
                facts["trees"] += 1
        task.facts["stopped"] = "no path leads to an input that is new"

    def _paths(self, task: Task, data: Rows, rows: Rows, rng: np.random.Generator) -> Paths:
        """The inputs' paths in one tree that is fitted to the model's labels of LIME's neighbours and of the inputs themselves."""
        left = task.model.rows_left
        count = self.neighbours if left is None else max(2, min(self.neighbours, left // 2))
        around = np.concatenate([perturbed(data, count, rng), rows])
        labels = task.predict(around)
        if np.bincount(labels).max() > ONE_LABEL * len(labels):  # next to nothing to tell apart: look further away
            wider = task.domain.sample(count, rng)
            around, labels = np.concatenate([around, wider]), np.concatenate([labels, task.predict(wider)])
        some = few_enough(around, labels, task.deadline, rng)
        return FittedTree.fit(around[some], labels[some], "gini", None, rng).paths(rows)

    def _wishes(self, paths: Paths, unfair: Mask, domain: TabularDomain) -> Iterator[tuple[str, PathWishes, Reals]]:
        """What is asked of other inputs, with its rank: around unfair inputs one test negated, along all paths a prefix."""
        local = local_wishes(paths, domain)
        local = local[unfair[local.origin]]
        yield "local", local, LOCAL_RANK + local.confidence
        wider = global_wishes(paths, domain, self.least_confidence)
        yield "global", wider, GLOBAL_RANK - wider.confidence


def _phases(ranks: Reals) -> Iterator[tuple[str, Index]]:
    """Which inputs are local, seeds and global ones."""
    for phase, low, high in (("local", 0.0, SEED_RANK), ("seeds", SEED_RANK, SEED_RANK + 1.0), ("global", SEED_RANK + 1.0, np.inf)):
        chosen = np.flatnonzero((ranks >= low) & (ranks < high))
        if chosen.size:
            yield phase, chosen


class Queue:
    """Inputs that wait for their turn, each once for ever."""

    def __init__(self, domain: TabularDomain) -> None:
        self._domain, self._seen = domain, KeyTable()
        self._rows, self._ranks = np.empty((0, len(domain.columns))), np.empty(0)

    def __len__(self) -> int:
        return len(self._ranks)

    def put(self, rows: Rows, ranks: Reals) -> int:
        """Queue the inputs that were never queued before, and say how many those are."""
        new = self._seen.add(self._domain.keys(rows))[1]
        self._rows, self._ranks = np.concatenate([self._rows, rows[new]]), np.concatenate([self._ranks, ranks[new]])
        if len(self) > 2 * MOST_WAITING:
            self._keep(np.argpartition(self._ranks, MOST_WAITING)[:MOST_WAITING])
        return int(new.sum())

    def take(self, n: int) -> tuple[Rows, Reals]:
        """The n inputs of the smallest ranks, the smallest first; of equal ranks the longest waiting."""
        order = np.argsort(self._ranks, kind="stable")[:n]
        taken = self._rows[order], self._ranks[order]
        self._keep(np.delete(np.arange(len(self)), order))
        return taken

    def _keep(self, at: Index) -> None:
        at = np.sort(at)
        self._rows, self._ranks = self._rows[at], self._ranks[at]
