"""How often individuals are treated unfairly, in a named population, with exact intervals."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import ANOTHER_OUTCOME, Model, Oracle, Verdict, join_verdicts, population_words, words_of
from evenhand.deadline import Deadline, TimeOver, stopping
from evenhand.domain.tabular import TabularDomain
from evenhand.statistics.intervals import Interval, clopper_pearson

ROWS_AT_ONCE = 65_536
FIRST_TIMED_ROWS = 16
GROWTH = 4
"""Where time is short, so many rows are judged first, then at most so many times as many as before and as half of the time allows."""

DRAWN = 10_000
"""People that are drawn where nobody says how many."""

MOST_ASKED = 1_000_000
"""Model rows up to which every real row is asked about, with all its twins; of more, some are drawn."""


@dataclass(frozen=True)
class Rate:
    """The share of a population that the oracle judges unfair."""

    interval: Interval
    population: str
    unfair: int
    words: str = ANOTHER_OUTCOME
    whole: bool = False  # whether every row of the data was asked about

    @property
    def sentence(self) -> str:
        """For a reader."""
        share = self.interval
        if share.n == 0:
            return f"None of {population_words(self.population)} could be judged."
        judged = (
            f"all {share.n:,} rows were asked, {self.unfair:,} of them affected" if self.whole else f"{self.unfair:,} of {share.n:,} judged"
        )
        return (
            f"{share.estimate:.2%} of {population_words(self.population)} {self.words} "
            f"({share.confidence:.0%} interval {share.low:.2%} to {share.high:.2%}, {judged})."
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self.interval), "population": self.population, "unfair": self.unfair, "words": self.words, "whole": self.whole}


@dataclass(frozen=True)
class Sample:
    """Rows drawn from a named population."""

    rows: Rows
    population: str
    is_whole: bool = False  # whether these are all rows of the data


def discrimination_rate(sample: Sample, domain: TabularDomain, model: Model, oracle: Oracle, confidence: float = 0.95) -> Rate:
    """Judge every sampled row (duplicates count as often as they are drawn) and bound the share of unfair ones."""
    rate = rate_of(judge_all(sample.rows, domain, model, oracle), sample.population, confidence, words_of(oracle))
    return replace(rate, whole=sample.is_whole)


def judge_all(rows: Rows, domain: TabularDomain, model: Model, oracle: Oracle) -> Verdict:
    """The oracle's verdict on all rows, in slices that fit into memory."""
    step = max(1, ROWS_AT_ONCE // oracle.rows_per_candidate(domain))
    parts = [oracle.judge(rows[i : i + step], domain, model) for i in range(0, max(1, len(rows)), step)]
    return join_verdicts(parts, len(domain.combinations))


def judge_in_time(rows: Rows, domain: TabularDomain, model: Model, oracle: Oracle, deadline: Deadline) -> Verdict:
    """The verdict on as many of the first rows as there is time for; how many these are depends on the clock, never on the verdicts."""
    if not deadline.is_set:
        return judge_all(rows, domain, model, oracle)
    parts: list[Verdict] = []
    done, step = 0, min(FIRST_TIMED_ROWS, len(rows))

    def go_on() -> None:
        nonlocal done, step
        started = time.perf_counter()
        parts.append(judge_all(rows[done : done + step], domain, model, oracle))
        done += step
        each = (time.perf_counter() - started) / max(step, 1)
        step = max(0, min(GROWTH * step, len(rows) - done, int(deadline.seconds_left / 2 / max(each, 1e-9))))

    go_on()  # a rate of nobody would be none, so that these few are judged however late it is
    try:
        with stopping(deadline):
            while step:
                go_on()
    except TimeOver:
        pass
    return join_verdicts(parts, len(domain.combinations))


def rate_of(verdict: Verdict, population: str, confidence: float, words: str = ANOTHER_OUTCOME) -> Rate:
    """The share of unfair ones among judged rows, with its exact interval."""
    unfair = int(verdict.unfair.sum())
    return Rate(clopper_pearson(unfair, len(verdict), confidence), population, unfair, words)


def data_sample(rows: Rows, n: int, rng: np.random.Generator) -> Sample:
    """All rows when they are few, else a random choice without repeats."""
    is_whole = len(rows) <= n
    return Sample(rows if is_whole else rows[rng.choice(len(rows), n, replace=False)], "data", is_whole)


def real_sample(rows: Rows, most: int | None, domain: TabularDomain, model: Model, rng: np.random.Generator) -> Sample:
    """At most so many real rows; where nobody says how many, all of them, unless the model is costly to ask or they are very many."""
    if most is None:
        can_be_asked = len(rows) * len(domain.combinations) <= MOST_ASKED and not getattr(model, "is_costly", False)
        most = len(rows) if can_be_asked else DRAWN
    return data_sample(rows, most, rng)


def uniform_sample(domain: TabularDomain, n: int, rng: np.random.Generator) -> Sample:
    """Valid rows, all equally likely."""
    return Sample(domain.sample(n, rng), "domain")


def comparable(sample: Sample, domain: TabularDomain) -> Sample:
    """The rows whose twins are all possible: where a medium lists its rows, the others stand for nothing that could be shown."""
    return Sample(sample.rows[domain.twins(sample.rows).valid.all(axis=0)], sample.population, sample.is_whole)
