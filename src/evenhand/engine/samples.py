"""The rate in each population at hand, from samples that no search has touched, with the unfair rows among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.contract import Model, Oracle, words_of
from evenhand.deadline import NEVER, Deadline
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.findings import Findings, findings_of
from evenhand.engine.subject import Subject
from evenhand.measures.rates import DRAWN, Rate, Sample, comparable, judge_all, judge_in_time, rate_of, real_sample, uniform_sample
from evenhand.measures.severity import Severity, SeveritySample, severity
from evenhand.models.meter import Meter

MOST_TIMED_CELLS = 16_000_000
"""Cells of the real rows that are taken along at most where time is limited: putting them into another order takes a copy."""
COMPARED_ROWS = 4_096
"""Rows that are compared at once: in another order, already the first differ."""


@dataclass(frozen=True)
class JudgedSample:
    """A rate, the unfair rows of its sample, and all rows of it."""

    rate: Rate
    unfair: Findings
    rows: Rows
    drawn: int = 0  # how many there would have been with more time
    severity: Severity | None = None

    @property
    def is_cut(self) -> bool:
        """Whether time was too short for all of them."""
        return len(self.rows) < self.drawn

    def holds_in_order(self, rows: Rows) -> bool:
        """Whether it is exactly these rows, in their order; a view of them is known without looking at a cell."""
        mine = self.rows
        if mine.shape != rows.shape:
            return False
        if mine.ctypes.data == rows.ctypes.data and mine.strides == rows.strides:
            return True
        spans = (slice(at, at + COMPARED_ROWS) for at in range(0, len(rows), COMPARED_ROWS))
        return all(np.array_equal(mine[span], rows[span], equal_nan=True) for span in spans)

    @property
    def marks(self) -> Mask:
        """Which rows of the sample are unfair; a finding knows its row by its number."""
        marked = np.zeros(len(self.rows), dtype=bool)
        marked[self.unfair.candidate] = True
        return marked


def judged_samples(
    subject: Subject, oracle: Oracle, sampling: Sampling, rng: np.random.Generator, deadline: Deadline = NEVER
) -> list[JudgedSample]:
    """Real rows first, then the population where there is one, then the whole domain; each outside any search's budget of rows.

    Beside each rate the unfair rows of its sample: among real rows, the strongest evidence there is.  Where time is short, each rate
    is measured on as many rows as its share of the time allows, the first one on some at least.
    """
    meter = Meter(subject.model)
    judged: list[JudgedSample] = []
    draws = _draws(subject, sampling.rows)[: 1 if sampling.is_first_only else None]
    for left, draw in zip(range(len(draws), 0, -1), draws, strict=True):
        if judged and deadline.is_over:
            break
        sample = draw(rng)
        if deadline.is_set:  # rows may stand in the data's order, of which the first are no sample
            most = max(DRAWN, MOST_TIMED_CELLS // sample.rows.shape[1])
            sample = replace(
                sample, rows=sample.rows[rng.permutation(len(sample.rows))[:most]], is_whole=sample.is_whole and len(sample.rows) <= most
            )
        verdict = judge_in_time(sample.rows, subject.domain, meter, oracle, deadline.part(1 / left))
        rows = sample.rows[: len(verdict)]
        unfair = findings_of(rows, verdict, subject.domain, np.arange(len(rows)), sample.population)
        rate = rate_of(verdict, sample.population, sampling.confidence, words_of(oracle))
        rate = replace(rate, whole=sample.is_whole and len(rows) == len(sample.rows))
        told = severity(SeveritySample(rows, verdict, sample.population, rate.whole), subject.domain, sampling.confidence)
        judged.append(JudgedSample(rate, unfair, rows, len(sample.rows), told))
    return judged


def judged_sample(sample: Sample, domain: TabularDomain, model: Model, oracle: Oracle, confidence: float) -> JudgedSample:
    """One sample, judged whole: its rate with the unfair rows of it."""
    verdict = judge_all(sample.rows, domain, model, oracle)
    unfair = findings_of(sample.rows, verdict, domain, np.arange(len(sample.rows)), sample.population)
    rate = replace(rate_of(verdict, sample.population, confidence, words_of(oracle)), whole=sample.is_whole)
    told = severity(SeveritySample(sample.rows, verdict, sample.population, sample.is_whole), domain, confidence)
    return JudgedSample(rate, unfair, sample.rows, len(sample.rows), told)


@dataclass(frozen=True)
class Sampling:
    """How many rows are judged in each population, and the confidence of the intervals; None for all real rows where they can be asked."""

    rows: int | None = None
    confidence: float = 0.95
    is_first_only: bool = False  # the most realistic population alone


def _draws(subject: Subject, most: int | None) -> list[Callable[[np.random.Generator], Sample]]:
    """A way to draw a sample of each population, the most realistic one first."""
    rows, population, domain, n = subject.rows, subject.population, subject.domain, most or DRAWN
    if rows is not None and getattr(subject.medium, "is_listed", False):
        return [lambda rng: comparable(real_sample(rows, most, domain, subject.model, rng), domain)]
    draws: list[Callable[[np.random.Generator], Sample]] = []
    if rows is not None:
        draws.append(lambda rng: real_sample(rows, most, domain, subject.model, rng))
    if population is not None:
        draws.append(lambda rng: Sample(population.sample(n, rng), population.name))
    return [*draws, lambda rng: uniform_sample(domain, n, rng)]
