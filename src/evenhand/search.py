"""The contract of a search on one page: a method proposes candidates and receives their verdicts.

A method never counts, removes duplicates, prints, stores or asks the time; the engine does, alike for all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Mask, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.models.abilities import Model, labels_of
from evenhand.models.meter import Meter


@runtime_checkable
class Population(Protocol):
    """A distribution of plausible inputs; every rate names the one that it speaks of."""

    @property
    def name(self) -> str:
        """What a reader sees beside a rate."""

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows inside the domain."""


@dataclass(frozen=True)
class Candidates:
    """Rows that a method wants judged, and the phase of the method that made them."""

    rows: Rows
    phase: str = "search"


@dataclass(frozen=True)
class Verdict:
    """What the oracle saw, one entry per candidate; a duplicate gets the verdict of its first appearance."""

    unfair: Mask  # (n,)
    gap: Reals  # (n,): the largest difference of scores between two twins
    labels: NDArray[np.int16]  # (n, combinations): label under each protected combination, -1 where that twin is impossible

    def __len__(self) -> int:
        return len(self.unfair)


@dataclass
class Task:
    """What a method may look at: the domain, the metered model, and real rows with their labels when there are any."""

    domain: TabularDomain
    model: Meter
    rows: Rows | None = None
    labels: Labels | None = None
    population: Population | None = None
    facts: dict[str, Any] = field(default_factory=dict)  # what the method wants to tell the reader of the run
    fitting: Callable[[int], int] = lambda n: n  # of n candidates, how many the budget still judges

    def predict(self, rows: Rows) -> Labels:
        """Labels of rows, counted by the meter."""
        return labels_of(self.model.scores(rows))


Search: TypeAlias = Generator[Candidates, Verdict, None]
"""`verdict = yield candidates`; returning ends the run before its budget does."""


@runtime_checkable
class Method(Protocol):
    """A published way to search for unfair inputs.  Its parameters are the fields of a frozen dataclass."""

    needs: ClassVar[type]  # Model, Differentiable or Transparent: checked before the run

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """The conversation."""


@runtime_checkable
class Oracle(Protocol):
    """What decides that an input is treated unfairly."""

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input."""

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """How many rows the model is asked for one candidate."""


def parameters(method: Method) -> Mapping[str, Any]:
    """A method's parameters by name."""
    return {each.name: getattr(method, each.name) for each in fields(method)} if is_dataclass(method) else {}


def name_of(method: Method) -> str:
    """What a method is called: its file's name, or its class's where it comes from another package."""
    home, _, stem = type(method).__module__.rpartition(".")
    return stem if home == "evenhand.methods" else type(method).__name__.lower()
