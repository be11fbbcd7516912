"""Where realistic or uniform rows come from: the domain itself, or the data at hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.search import Population, Task


@dataclass(frozen=True)
class UniformPopulation:
    """Every valid row of the domain, equally likely."""

    domain: TabularDomain
    name: str = "domain"

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Uniform rows that keep the constraints."""
        return self.domain.sample(n, rng)


@dataclass(frozen=True)
class DataPopulation:
    """The rows of the data, drawn with replacement."""

    rows: Rows
    name: str = "data"

    def __post_init__(self) -> None:
        if not len(self.rows):
            raise InvalidArgument("the data population needs at least one row inside the domain")

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows of the data."""
        return self.rows[rng.integers(0, len(self.rows), n)]


def population_named(name: str, task: Task) -> Population:
    """The population of a run: `domain`, `data`, or the one that the task brings along."""
    if task.population is not None and name in (task.population.name, "task"):
        return task.population
    if name == "domain":
        return UniformPopulation(task.domain)
    if name == "data":
        if task.rows is None:
            raise InvalidArgument("population='data' needs data; pass some rows, or choose population='domain'")
        return DataPopulation(task.rows)
    known = ["domain", "data"] + ([task.population.name] if task.population else [])
    raise InvalidArgument(f"population={name!r} must be one of {', '.join(known)}")
