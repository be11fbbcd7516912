"""The latent space that a method works in: the one that the task brings along, or one learnt from the task's rows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.contract import Task
from evenhand.deadline import Deadline
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.synthesis import SYNTHESISERS, synthesiser
from evenhand.synthesis.latent import LatentSpace
from evenhand.synthesis.tree_settings import TreeSettings

LEARNING_SHARE = 0.3
"""Of a budget of seconds, at most this much goes into learning the space; the rest is for searching in it."""

CELLS_PER_SECOND, FEWEST_LEARNT_FROM = 600_000, 500
"""Cells of the data that are taken along at most for each second of learning, so that the pace is found before most of it is spent."""


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
    return task.once(f"space {name}", rng, lambda own: _learnt(name, task, own))  # type: ignore[no-any-return]


def _learnt(name: str, task: Task, rng: np.random.Generator) -> LatentSpace:
    assert task.rows is not None
    kind = synthesiser(name)
    if spaced(kind.name) == "chained-trees":
        return _chained(kind, task, rng)
    return kind.fit(task.rows, task.domain, rng)  # type: ignore[no-any-return]


def _chained(kind: Any, task: Task, rng: np.random.Generator) -> LatentSpace:
    """Chained trees of the task's rows, in its share of the time where that is limited; what was cut then stands among the facts."""
    assert task.rows is not None
    rows, until = task.rows, task.deadline.part(LEARNING_SHARE)
    most = rows_in_time(until, rows.shape[1])
    rows = rows if len(rows) <= most else rows[rng.permutation(len(rows))[:most]]
    space: Any = kind.fit(rows, task.domain, rng, TreeSettings(until=until), quiet_first(rows, task.domain))
    few = f"the population was learnt from {len(rows):,} of {len(task.rows):,} rows" if len(rows) < len(task.rows) else ""
    if cut := "; ".join(part for part in (few, space.cut) if part):
        task.facts["cut"] = cut
    return space  # type: ignore[no-any-return]


def rows_in_time(until: Deadline, columns: int) -> int:
    """How many rows can be learnt from until then."""
    return max(FEWEST_LEARNT_FROM, int(max(0.0, until.seconds_left) * CELLS_PER_SECOND / columns)) if until.is_set else sys.maxsize


def spaces() -> list[str]:
    """Every synthesiser that has a latent space, as methods call it: `chained-trees`."""
    return [spaced(name) for name, entry in SYNTHESISERS.entries().items() if hasattr(entry.make, "decode")]


def spaced(name: str) -> str:
    """A population's name as a space is called: `chained trees` is `chained-trees`."""
    return name.replace(" ", "-").replace("_", "-")
