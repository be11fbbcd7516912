"""How much a run may spend."""

from __future__ import annotations

from dataclasses import dataclass, fields

from evenhand.errors import InvalidArgument
from evenhand.limits import Count, Positive, check_limits


@dataclass(frozen=True)
class Budget:
    """Limits that hold together; the first one reached ends the run.  None is no limit.

    >>> Budget(candidates=1_000, seconds=60).model_rows is None
    True
    """

    candidates: Count | None = None
    model_rows: Count | None = None
    seconds: Positive | None = None  # on the clock of the wall
    cpu_seconds: Positive | None = None  # of this process

    def __post_init__(self) -> None:
        check_limits(self)
        if all(getattr(self, limit.name) is None for limit in fields(self)):
            raise InvalidArgument("a budget needs at least one of candidates, model_rows, seconds, cpu_seconds")
