"""Tests for every path of a model's decision as one table: rows of a population, the path that each takes, and the model's answer.

The paths are those of a tree that imitates the model (TREPAN); how well it does is told beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.contract import Model, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.measures.coverage.paths import Sampler, Suite, cover, drawer
from evenhand.measures.coverage.surrogate import Imitated, Surrogate, SurrogateSettings, grow
from evenhand.measures.coverage.tests_by_path import unmet_shares, wished_shares
from evenhand.statistics.intervals import Interval

if TYPE_CHECKING:
    import pandas as pd

HELD_OUT = 5
"""Every so many real rows say how well the tree imitates the model; it grows on the others."""
MOST_PATHS = 512


@dataclass(frozen=True, eq=False)
class PathSuite:
    """The tests, the tree, and how often the tree says what the model says."""

    domain: TabularDomain
    surrogate: Surrogate
    suite: Suite
    answers: Labels
    fidelity: Interval
    unmet: tuple[str, ...] = ()  # wished shares that the paths leave no room for

    def frame(self) -> pd.DataFrame:
        """The rows with two more columns: the path's conditions and the model's answer."""
        rules = [path.rule for path in self.surrogate.paths]
        told = {"path": [rules[number] for number in self.suite.path], "answer": [self.surrogate.classes[label] for label in self.answers]}
        return self.domain.decode(self.suite.rows).assign(**told)

    def sentence(self) -> str:
        """For a person."""
        covered = self.suite.coverage
        paths = f"{int(covered.possible.sum()):,} paths, {covered.share:.0%} of which are taken"
        alike = f"{self.fidelity.estimate:.1%} of held-out rows ({self.fidelity.low:.1%} to {self.fidelity.high:.1%})"
        told = f"{len(self.suite.rows):,} tests for {paths}; the tree says what the model says of {alike}"
        if not self.unmet:
            return told
        return f"{told}; with a test for every path there is no room for every wished share ({'; '.join(self.unmet)}), more rows leave it"


def path_suite(model: Model, real: Rows, population: Sampler, domain: TabularDomain, n: int, rng: np.random.Generator) -> PathSuite:
    """n tests, equally many for every path of a tree grown on real rows and on rows of the population."""

    def answers(rows: Rows) -> Labels:
        return labels_of(model.scores(rows))

    held = np.arange(len(real)) % HELD_OUT == 0
    settings = SurrogateSettings(leaves=min(MOST_PATHS, n))
    surrogate = grow(Imitated(answers, domain, model.classes), drawer(population), real[~held], rng, settings)
    wished = wished_shares(population)
    suite = cover(surrogate, drawer(population), n, rng, wished)  # shares are counted again: the rows of the growing tree are not tests
    fidelity = surrogate.fidelity(real[held], answers(real[held]))
    return PathSuite(domain, surrogate, suite, answers(suite.rows), fidelity, tuple(unmet_shares(suite.rows, wished, domain)))
