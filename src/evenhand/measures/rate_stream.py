"""A rate that can be read while something else runs: plain draws of a named population, judged, with bounds valid at every moment.

What a search proposes is no sample of anybody, so this stream draws its own people, outside the search's budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.contract import Model, Oracle, Population, population_words
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import WholeNumber, check_argument
from evenhand.measures.rates import judge_all
from evenhand.methods.parts.populations import DataPopulation, UniformPopulation
from evenhand.models.meter import Meter
from evenhand.statistics.anytime import AnytimeShare
from evenhand.statistics.intervals import Interval

SMALLEST_BATCH = 64
MOST_PEOPLE = 100_000
"""People judged at most: beyond this the bounds hardly move, and a long search should not pay for them."""

NEXT_POINT = 1.3
"""A point of the history stands at least this factor of people after the one before."""


@dataclass
class RateStream:
    """Draws on demand.  The draws depend on the seed alone, and the batches on how far it is asked to go, never on the clock."""

    population: Population
    domain: TabularDomain
    model: Model
    oracle: Oracle
    rng: np.random.Generator
    share: AnytimeShare = field(default_factory=AnytimeShare)
    per_candidate: float = 0.1  # people drawn for each candidate of the search that it stands beside

    def __post_init__(self) -> None:
        self._history: list[Interval] = []
        self._meter = self.model if isinstance(self.model, Meter) else Meter(self.model)

    def advance(self, n: int) -> Interval:
        """Go on until so many people in all have been judged; what is known then."""
        check_argument(WholeNumber, n=n)
        missing = min(n, MOST_PEOPLE) - self.share.n
        if missing >= SMALLEST_BATCH or (missing > 0 and not self.share.n):
            verdict = judge_all(self.population.sample(missing, self.rng), self.domain, self._meter, self.oracle)
            self.share.add(int(verdict.unfair.sum()), len(verdict))
            if not self._history or self.share.n >= NEXT_POINT * self._history[-1].n:
                self._history.append(self.share.interval())
        return self.share.interval()

    def keep_up(self, candidates: int) -> None:
        """Go on as far as a search of so many candidates asks for.

        Several searches may share one stream: it never goes back, and goes on only as far as the longest of them.
        """
        self.advance(int(self.per_candidate * candidates))

    @property
    def sentence(self) -> str:
        """For a reader who may stop at any moment."""
        return anytime_sentence(self.share.interval(), self.population.name)

    @property
    def history(self) -> dict[str, list[float]]:
        """How the bounds closed in: people judged, lower and upper bound."""
        points = [*self._history, self.share.interval()] if self.share.n else []
        return {name: [float(getattr(point, name)) for point in points] for name in ("n", "low", "estimate", "high")}

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        seen = self.share.interval()
        return {
            **seen.as_dict(),
            "population": self.population.name,
            "unfair": self.share.successes,
            "sentence": self.sentence,
            "history": self.history,
        }


def anytime_sentence(seen: Interval, population: str) -> str:
    """At least so many, whenever you stop."""
    people = f"of {population_words(population)}"
    if not seen.n:
        return f"nothing is known yet {people}"
    return f"at least {seen.low:.2%} and at most {seen.high:.2%} {people} ({seen.confidence:.0%}, whenever you stop; n = {seen.n:,})"


def population_of(population: Population | None, rows: Any, domain: TabularDomain) -> Population:
    """The population at hand: the given one, else the data drawn with replacement, else the whole domain."""
    if population is not None:
        return population
    return DataPopulation(rows) if rows is not None and len(rows) else UniformPopulation(domain)
