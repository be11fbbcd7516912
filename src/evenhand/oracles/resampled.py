"""The person whom the other group's world would have made gets another answer: descendants of the protected columns are drawn again.

What is drawn depends on the row and the seed alone, so that a finding can be replayed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Model, Oracle, Verdict
from evenhand.domain.causal_graph import CausalGraph
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import Count, WholeNumber
from evenhand.oracles.parts.counterfactuals import ResampledChain, ResampledGraph
from evenhand.oracles.parts.learned import Counterparts, LearnedOracle, not_learned, real_rows
from evenhand.oracles.parts.people import given_pairs
from evenhand.oracles.parts.tolerated import Tolerated, usual_tolerance


@dataclass(frozen=True)
class ResampledDescendants(Tolerated):
    """Unfair when a row and the same row with everything that follows from another protected value get different answers.

    tolerance: compare scores or amounts instead of labels, and call them different when they are further apart than this.
    seed: of the draws; the same row and seed always meet the same other person.
    graph: a causal graph, a YAML file of one, or a line such as `income<-sex+education; savings<-income`; without one, everything may
    follow from the protected columns as far as the data associate it with them.
    learned_from: how many real rows the draws are learned from.
    """

    seed: WholeNumber = 0
    graph: CausalGraph | str | None = None
    learned_from: Count = 5_000

    because: ClassVar[str] = "as the person whom another protected value would have made"
    shows_pairs: ClassVar[bool] = True

    def learned(self, rows: Rows | None, domain: TabularDomain, model: Model) -> Oracle:
        """The same oracle with its draws fitted to real rows."""
        graph = CausalGraph.read(self.graph) if isinstance(self.graph, str) else self.graph
        settings = replace(self, graph=graph, tolerance=usual_tolerance(self.tolerance, rows, domain, model))
        settings.check(model, "resampled")
        source = real_rows(rows, "resampled", self.learned_from, (self.seed, 21))
        return LearnedOracle(settings, settings.fitted(source, domain, np.random.default_rng((self.seed, 22))))

    def fitted(self, rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> Counterparts:
        """What draws the other people, learned from these rows."""
        if self.graph is None:
            return ResampledChain.learn(rows, domain, rng, self.seed)
        assert isinstance(self.graph, CausalGraph)
        return ResampledGraph.learn(rows, domain, self.graph, rng, self.seed)

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:  # noqa: ARG002
        """Only after `learned`."""
        raise not_learned("resampled")

    def judge_pairs(self, first: Rows, second: Rows, _domain: TabularDomain, model: Model) -> Verdict:
        """One entry per pair."""
        return given_pairs(first, second).ask(model).judge(self.apart)

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)
