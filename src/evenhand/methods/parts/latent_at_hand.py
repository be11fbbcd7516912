"""The latent space that a method works in: the one that the task brings along, or one learnt from the task's rows."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.contract import Task
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.synthesis import SYNTHESISERS, synthesiser
from evenhand.synthesis.latent import LatentSpace


def quiet_first(rows: Rows, domain: TabularDomain) -> list[str]:
    """Column names for the order of a chain: the protected ones, then the others by how much they vary.

    A move in a lively column at the end of the chain changes that column alone, which is cheap and rarely leaves the findings.
    """
    others = sorted(domain.free_places, key=lambda at: entropy(rows[:, at]))
    return [domain.names[at] for at in (*domain.protected_places, *others)]


def entropy(codes: Reals) -> float:
    """Of the values of a column, in nats."""
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    return float(-(shares * np.log(shares)).sum())


def space_named(name: str, task: Task, rng: np.random.Generator) -> LatentSpace:
    """The task's own population where it is this space (or the name is `task`), else the space learnt from the task's rows."""
    brought = task.population
    if isinstance(brought, LatentSpace) and name in ("task", spaced(brought.name)):
        return brought
    if name == "task":
        raise InvalidArgument("space='task' needs a population with a latent space; bring one along, or name one of " + ", ".join(spaces()))
    if name not in spaces():
        raise UnknownName("latent space", name, (*spaces(), "task"))
    if task.rows is None or not len(task.rows):
        raise InvalidArgument(f"space={name!r} is learnt from data; pass some rows, or bring along a fitted population")
    kind = synthesiser(name)
    if spaced(kind.name) == "chained-trees":
        return kind.fit(task.rows, task.domain, rng, first=quiet_first(task.rows, task.domain))  # type: ignore[no-any-return]
    return kind.fit(task.rows, task.domain, rng)  # type: ignore[no-any-return]


def spaces() -> list[str]:
    """Every synthesiser that has a latent space, as methods call it: `chained-trees`."""
    return [spaced(name) for name, entry in SYNTHESISERS.entries().items() if hasattr(entry.make, "decode")]


def spaced(name: str) -> str:
    """A population's name as a space is called: `chained trees` is `chained-trees`."""
    return name.replace(" ", "-").replace("_", "-")
