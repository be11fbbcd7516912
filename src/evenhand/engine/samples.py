"""The rate in each population at hand, from samples that no search has touched, with the unfair rows among them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.contract import Oracle, words_of
from evenhand.engine.findings import Findings, findings_of
from evenhand.engine.subject import Subject
from evenhand.measures.rates import DRAWN, Rate, Sample, comparable, judge_all, rate_of, real_sample, uniform_sample
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
        rate = rate_of(verdict, sample.population, sampling.confidence, words_of(oracle))
        judged.append(JudgedSample(replace(rate, whole=sample.is_whole), unfair, sample.rows))
    return judged


@dataclass(frozen=True)
class Sampling:
    """How many rows are judged in each population, and the confidence of the intervals; None for all real rows where they can be asked."""

    rows: int | None = None
    confidence: float = 0.95


def _samples(subject: Subject, most: int | None, rng: np.random.Generator) -> list[Sample]:
    real = [real_sample(subject.rows, most, subject.domain, subject.model, rng)] if subject.rows is not None else []
    if real and getattr(subject.medium, "is_listed", False):
        return [comparable(real[0], subject.domain)]
    samples, n = real, most or DRAWN
    if subject.population is not None:
        samples.append(Sample(subject.population.sample(n, rng), subject.population.name))
    return [*samples, uniform_sample(subject.domain, n, rng)]
