"""What is tested and how: a model in its domain with the real rows at hand, and one seed, one budget, one oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from evenhand.arrays import Labels, Reals, Rows
from evenhand.contract import Medium, Model, Oracle, Population, has_twins
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DataError, InvalidArgument
from evenhand.measures.rate_stream import RateStream
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.oracles import OracleChoice, oracle_of, ready, usual_oracle
from evenhand.oracles.flip import LabelFlip
from evenhand.values import Learnt


class Data(Protocol):
    """Rows with their domain: `datasets.Dataset`, or anything like it."""

    @property
    def name(self) -> str:
        """What a reader sees."""

    @property
    def domain(self) -> TabularDomain:
        """What a row may be."""

    @property
    def rows(self) -> Rows:
        """The encoded rows that lie inside the domain."""

    @property
    def labels(self) -> Labels:
        """Their labels."""


@dataclass(frozen=True)
class Subject:
    """What is tested: a model in its domain, with the real rows and the population that are at hand."""

    domain: TabularDomain
    model: Model
    rows: Rows | None = None
    labels: Labels | None = None
    population: Population | None = None
    medium: Medium | None = None  # what a row shows; None is the table itself
    amounts: Reals | None = None  # the label of the rows where it is an amount


@dataclass(frozen=True)
class Plan:
    """How it is tested: one seed, one budget, one oracle; and the people that are judged beside the search, outside its budget."""

    seed: int
    budget: Budget
    oracle: Oracle = field(default_factory=LabelFlip)
    beside: RateStream | None = None  # no part of what fixes a run: it draws from a generator of its own
    learnt: Learnt | None = None  # what the shards of one run learn together
    question_seconds: float | None = None  # what one candidate costs to judge, as an earlier run measured it; None: measured


def subject_of(model: Model, data: Data, protected: Sequence[str] | None, population: Population | None = None) -> Subject:
    """The model in the data's domain, with these columns protected."""
    domain = data.domain.protect(*protected) if protected is not None else data.domain
    if not domain.protected:
        raise InvalidArgument("protected: name at least one protected column; nothing is protected in this domain")
    if not len(data.rows):
        raise DataError(f"{data.name}: no row lies inside the domain")
    if not has_twins(getattr(data, "medium", None)):
        raise InvalidArgument(
            f"{data.name} was opened without an editor, so that no picture has a twin: `measure` compares its groups; choose an editor for "
            "anything else"
        )
    return Subject(
        domain,
        model,
        data.rows,
        data.labels if domain.has_classes else None,
        population,
        getattr(data, "medium", None),
        getattr(data, "amounts", None),
    )


def oracle_for(subject: Subject, choice: OracleChoice | None) -> Oracle:
    """The chosen oracle, or the one that fits what the model answers, having learned from the real rows what it needs."""
    chosen = oracle_of(usual_oracle(subject.model) if choice is None else choice)
    return ready(chosen, subject.rows, subject.domain, Meter(subject.model))
