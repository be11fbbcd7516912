"""The rate in each population at hand, from samples that no search has touched, with the unfair rows among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.contract import Oracle, words_of
from evenhand.engine.findings import Findings, findings_of
from evenhand.engine.subject import Subject
from evenhand.measures.rates import Rate, Sample, comparable, data_sample, judge_all, rate_of, uniform_sample
from evenhand.models.meter import Meter


@dataclass(frozen=True)
class JudgedSample:
    """A rate, the unfair rows of its sample, and all rows of it."""

    rate: Rate
    unfair: Findings
    rows: Rows

    @property
    def marks(self) -> Mask:
        """Which rows of the sample are unfair; a finding knows its row by its number."""
        marked = np.zeros(len(self.rows), dtype=bool)
        marked[self.unfair.candidate] = True
        return marked


def judged_samples(subject: Subject, oracle: Oracle, sampling: Sampling, rng: np.random.Generator) -> list[JudgedSample]:
    """Real rows first, then the population where there is one, then the whole domain; each outside any search's budget.

    Beside each rate the unfair rows of its sample: among real rows, the strongest evidence there is.
    """
    meter = Meter(subject.model)
    judged = []
    for sample in _samples(subject, sampling.rows, rng):
        verdict = judge_all(sample.rows, subject.domain, meter, oracle)
        unfair = findings_of(sample.rows, verdict, subject.domain, np.arange(len(sample.rows)), sample.population)
        judged.append(JudgedSample(rate_of(verdict, sample.population, sampling.confidence, words_of(oracle)), unfair, sample.rows))
    return judged


@dataclass(frozen=True)
class Sampling:
    """How many rows are judged in each population, and the confidence of the intervals."""

    rows: int = 10_000
    confidence: float = 0.95


def _samples(subject: Subject, n: int, rng: np.random.Generator) -> list[Sample]:
    if subject.rows is not None and getattr(subject.medium, "is_listed", False):
        return [comparable(data_sample(subject.rows, n, rng), subject.domain)]
    samples = [data_sample(subject.rows, n, rng)] if subject.rows is not None else []
    if subject.population is not None:
        samples.append(Sample(subject.population.sample(n, rng), subject.population.name))
    return [*samples, uniform_sample(subject.domain, n, rng)]
