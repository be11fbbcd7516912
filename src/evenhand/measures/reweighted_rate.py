"""How often plausible people are affected, told by a natural search: findings say where to look, exact densities how much it counts.

Half of the draws come from the population itself, half from the same kind of population fitted to the findings.  Each is weighed by the
population's density over the mixture's, which never exceeds 2; so the rate is the population's own, and rare treatment is still seen often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Model, Oracle, population_words
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.limits import TwoOrMore, check_argument
from evenhand.measures.rates import judge_all
from evenhand.statistics.intervals import Interval
from evenhand.statistics.weighted import Draws, weighted_interval, weights_of
from evenhand.synthesis.chained_trees import ChainedTrees

FEWEST_FINDINGS = 50
MOST_FINDINGS = 20_000
NATURAL_SHARE = 0.5


@dataclass(frozen=True)
class WeightedRate:
    """The share of a population, from weighted draws."""

    interval: Interval
    population: str
    effective_size: float
    warning: str
    proposal: str

    @property
    def sentence(self) -> str:
        """For a reader."""
        share = self.interval
        worth = f"{share.n:,} weighted draws, worth {self.effective_size:,.0f} plain ones"
        return (
            f"{share.estimate:.3%} of {population_words(self.population)}, by importance weights "
            f"({share.confidence:.0%} interval {share.low:.3%} to {share.high:.3%}; {worth}; {self.proposal})."
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **self.interval.as_dict(), "population": self.population, "effective_sample_size": self.effective_size,
            "warning": self.warning, "proposal": self.proposal,
        }  # fmt: skip


@dataclass(frozen=True)
class RateQuestion:
    """Who is asked, and what counts as unfair."""

    domain: TabularDomain
    model: Model
    oracle: Oracle
    confidence: float = 0.95


def natural_rate(population: ChainedTrees, findings: Rows, question: RateQuestion, n: int, rng: np.random.Generator) -> WeightedRate:
    """The rate in the population, drawn where a natural search found something as well as everywhere."""
    check_argument(TwoOrMore, n=n)
    target = _free(population)
    if len(findings) < FEWEST_FINDINGS:
        rows = _valid(target.sample(n, rng), question.domain)
        draws = Draws(np.ones(len(rows)), _unfair(rows, question), 1.0)
        return _rate(draws, population, question, f"plain draws: only {len(findings)} findings to look around")
    chosen = findings[rng.permutation(len(findings))[:MOST_FINDINGS]]
    around = _free(ChainedTrees.fit(chosen, target.domain, rng))
    is_natural = rng.random(n) < NATURAL_SHARE
    rows = np.where(is_natural[:, None], target.sample(n, rng), around.sample(n, rng))
    rows = _valid(rows, question.domain)
    weights = _mixture_weights(target.log_density(rows), around.log_density(rows))
    draws = Draws(weights, _unfair(rows, question), 1 / NATURAL_SHARE)
    return _rate(draws, population, question, f"half of them drawn around {len(findings):,} findings of a natural search")


def reweighted_rate(
    rows: Rows, log_proposal: np.ndarray[Any, np.dtype[np.float64]], population: ChainedTrees, question: RateQuestion
) -> WeightedRate:
    """The rate in the population from draws of anything else whose log-density is known, such as the whole domain.

    The weights have no bound, so the interval is an approximation; the effective sample size says whether to believe it.
    """
    draws = Draws(weights_of(population.log_density(rows), log_proposal), _unfair(rows, question))
    return _rate(draws, population, question, "draws of another population, weights without a bound: an approximate interval")


def _rate(draws: Draws, population: ChainedTrees, question: RateQuestion, proposal: str) -> WeightedRate:
    interval = weighted_interval(draws, question.confidence)
    return WeightedRate(interval, population.name, draws.effective_size, draws.warning, proposal)


def _mixture_weights(target: Any, around: Any) -> Any:
    """Target density over that of the mixture, from logarithms."""
    proposal = np.logaddexp(np.log(NATURAL_SHARE) + target, np.log1p(-NATURAL_SHARE) + around)
    return np.minimum(weights_of(target, proposal), 1 / NATURAL_SHARE)


def _free(population: ChainedTrees) -> ChainedTrees:
    """The same chain without the domain's constraints: its density is exact; rows that break them are left out on both sides."""
    return replace(population, domain=replace(population.domain, constraints=()))


def _valid(rows: Rows, domain: TabularDomain) -> Rows:
    kept = rows[domain.keeps_constraints(rows)] if domain.constraints else rows
    if not len(kept):
        raise InvalidArgument("no draw of the population keeps the domain's constraints, so that no rate can be measured")
    return kept


def _unfair(rows: Rows, question: RateQuestion) -> Any:
    return judge_all(rows, question.domain, question.model, question.oracle).unfair
