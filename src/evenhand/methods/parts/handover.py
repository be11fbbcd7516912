"""One method's findings as the seeds of another's local phase."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import fields, replace
from typing import Any, TypeAlias

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Candidates, Method, Search, Task, Verdict
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.methods import METHODS
from evenhand.values import ability_name

GLOBAL_PHASE = {"iterations": 0, "global_samples": 0}
"""Parameters under which a two-phase method takes its seeds as they are."""

SeedSearch: TypeAlias = Generator[Candidates, Verdict, Rows]


def first_findings(search: Search, seeds: int, candidates: int) -> SeedSearch:
    """Let a search run until it has so many findings or has proposed so many candidates; the findings, in their order."""
    found: list[Rows] = []
    proposed = 0
    verdict: Verdict | None = None
    while sum(map(len, found)) < seeds and proposed < candidates:
        try:
            batch = next(search) if verdict is None else search.send(verdict)
        except StopIteration:
            break
        verdict = yield batch
        proposed += len(batch.rows)
        found.append(batch.rows[verdict.unfair])
    search.close()
    return np.concatenate(found)[:seeds] if found else np.empty((0, 0))


def local_phase(name: str, seeds: Rows, task: Task, rng: np.random.Generator) -> Search:
    """The local phase of the method called `name`, from these seeds."""
    kind = method_class(name)
    if not isinstance(task.model.model, kind.needs):
        raise MissingAbility(f"local={name!r} needs a {ability_name(kind.needs)} model, which {type(task.model.model).__name__} is not")
    known = {field.name for field in fields(kind)}
    method: Method = kind(**{parameter: value for parameter, value in GLOBAL_PHASE.items() if parameter in known})
    yield from method.search(replace(task, rows=seeds, labels=None), rng)


def method_class(name: str) -> Any:
    """The class of the method of this name."""
    known = METHODS.entries()
    if name not in known:
        raise InvalidArgument(f"local={name!r} must name a method with a local phase, such as adf, neuronfair, aequitas, expga or grft")
    return known[name].make
