"""How much a run may spend."""

from __future__ import annotations

from dataclasses import dataclass, fields

from evenhand.errors import InvalidArgument


@dataclass(frozen=True)
class Budget:
    """Limits that hold together; the first one reached ends the run.  None is no limit."""

    candidates: int | None = None
    model_rows: int | None = None
    seconds: float | None = None  # on the clock of the wall
    cpu_seconds: float | None = None  # of this process

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and (isinstance(value, bool) or not value > 0):
                raise InvalidArgument(f"{limit.name}={value!r} must be a positive number, or None for no limit")
        if all(getattr(self, limit.name) is None for limit in fields(self)):
            raise InvalidArgument("a budget needs at least one of candidates, model_rows, seconds, cpu_seconds")
