"""Where realistic or uniform rows come from: the domain itself, or the data at hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Population, Task
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.synthesis import SYNTHESISERS, synthesiser


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


def population_named(name: str, task: Task, rng: np.random.Generator) -> Population:
    """The population of a run: `domain`, `data`, a synthesiser fitted to the data (such as `chained trees`), or the task's own."""
    if task.population is not None and name == task.population.name:
        return task.population
    if name == "domain":
        return UniformPopulation(task.domain)
    fitted = {told.replace("_", " ") for told in SYNTHESISERS.entries()}
    known = ["domain", "data", *sorted(fitted)] + ([task.population.name] if task.population else [])
    if name.replace("-", " ") not in known:
        raise InvalidArgument(f"population={name!r} must be one of {', '.join(known)}")
    if task.rows is None or not len(task.rows):
        raise InvalidArgument(f"population={name!r} needs data; pass some rows, or choose population='domain'")
    made: Population = DataPopulation(task.rows) if name == "data" else synthesiser(name).fit(task.rows, task.domain, rng)
    return made
