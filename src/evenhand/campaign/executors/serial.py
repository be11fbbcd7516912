"""This process, one task after the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.campaign.executors.parts.attempts import Attempt, attempt
from evenhand.contract import TaskEnd, Work
from evenhand.errors import EvenhandError


@dataclass(frozen=True)
class Serial:
    """Nothing is sent anywhere, so nothing need survive pickling."""

    def carry_out(self, work: Work, tasks: Sequence[Any]) -> Generator[TaskEnd, None, None]:
        """The ends in the tasks' order."""
        try:
            do = work.open()
        except EvenhandError as fault:
            yield from (Attempt(fault=fault).end(place) for place in range(len(tasks)))
            return
        for place, task in enumerate(tasks):
            yield attempt(do, task).end(place)
