"""THEMIS: random inputs until the causal discrimination score is known well enough.

Paper: Galhotra, Brun, Meliou, "Fairness Testing: Testing Software for Discrimination", ESEC/FSE 2017.

Agrees with the paper: inputs are drawn at random, each is judged under every protected value, sampling stops when the confidence
interval of the score is narrower than the margin (published: confidence .999, margin 1e-4), and the group discrimination score
is the largest difference of favourable shares between two protected values over the same inputs.

Differs: the paper's normal-approximation interval is not valid at a data-dependent stop; here the looks at 1, 2, 4, 8, ...
batches share the error probability, and each look is an exact Clopper-Pearson interval.  The paper samples the input space
uniformly; `population` may be the data or a synthesiser instead, which answers "how often does it happen to real people".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.contract import Candidates, Model, Search, Task, Verdict
from evenhand.domain.tabular import TabularDomain, describe_combination
from evenhand.limits import ConfidenceLevel, Count, ShareBelowOne, check_limits
from evenhand.methods.parts.populations import population_named
from evenhand.statistics.intervals import SequentialShare, simultaneous

CELLS_AT_ONCE = 1 << 23
"""So many cells a batch has at most, 64 MB: tables of more than 256 columns are drawn in smaller batches."""


@dataclass(frozen=True)
class Themis:
    """Random search with an honest stopping rule; also the yardstick for every other method."""

    confidence: ConfidenceLevel = 0.999
    margin: ShareBelowOne = 1e-4
    population: str = "domain"
    batch: Count = 32_768

    needs: ClassVar[type] = Model

    def __post_init__(self) -> None:
        check_limits(self)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Draw, hear the verdict, look at doubling sample sizes, stop when the interval is narrow enough."""
        population = population_named(self.population, task, rng)
        share, groups = SequentialShare(self.confidence), GroupCounts(task)
        batch = min(self.batch, max(1, CELLS_AT_ONCE // len(task.domain.columns)))
        next_look = batch
        while True:
            verdict = yield Candidates(population.sample(task.fitting(batch), rng), "random")
            share.add(int(verdict.unfair.sum()), len(verdict))
            groups.add(verdict)
            is_last = task.fitting(1) == 0
            if share.n >= next_look or is_last:
                next_look = 2 * share.n
                interval = share.look()
                task.facts["causal_discrimination"] = {**interval.as_dict(), "population": population.name, "looks": share.looks}
                task.facts["group_discrimination"] = groups.describe(self.confidence)
                if interval.width / 2 <= self.margin:
                    task.facts["stopped"] = f"the interval is within {self.margin:g} of the estimate"
                    return


class GroupCounts:
    """How often each protected combination gets the favourable outcome, everything else being equal."""

    def __init__(self, task: Task) -> None:
        self.domain: TabularDomain = task.domain
        label = task.domain.label
        good = label.favourable if label else task.model.classes[-1:]
        self.favourable = np.array([name in good for name in task.model.classes])
        self.good = np.zeros(len(task.domain.combinations), dtype=np.intp)
        self.n = np.zeros(len(task.domain.combinations), dtype=np.intp)

    def add(self, verdict: Verdict) -> None:
        """Count the labels of a batch."""
        for label, is_good in enumerate(self.favourable):
            count = np.count_nonzero(verdict.labels == label, axis=0)
            self.n += count
            self.good += count * is_good

    def describe(self, confidence: float) -> dict[str, Any]:
        """The largest gap between two groups, with bounds that hold for all groups together."""
        heard = np.flatnonzero(self.n)
        if heard.size < 2:
            return {"estimate": None, "reason": "fewer than two groups have possible members"}
        each = [simultaneous(self.good[[g]], int(self.n[g]), 1 - (1 - confidence) / heard.size)[0] for g in heard]
        best, worst = max(each, key=lambda i: i.estimate), min(each, key=lambda i: i.estimate)
        return {
            "estimate": best.estimate - worst.estimate,
            "low": max(0.0, best.low - worst.high),
            "high": max(i.high for i in each) - min(i.low for i in each),
            "confidence": confidence,
            "best": describe_combination(self.domain, int(heard[each.index(best)])),
            "worst": describe_combination(self.domain, int(heard[each.index(worst)])),
        }
