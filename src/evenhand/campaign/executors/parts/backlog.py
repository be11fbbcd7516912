"""Which tasks wait, and which of them are suspected of ending the worker that has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from evenhand.contract import TaskEnd
from evenhand.errors import WorkerError

MOST_DEATHS = 3
"""Of workers on one task, alone with it, before the task is given up."""


@dataclass
class Backlog:
    """Which tasks wait.  Those that a worker died on are tried again alone, so that only the deadly one is blamed."""

    waiting: list[int]  # places among the tasks
    suspects: list[int] = field(default_factory=list)
    deaths: Counter[int] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.waiting or self.suspects)

    def may_send(self, under_way: Collection[int], workers: int) -> bool:
        """Whether one more task may be sent; more than there are workers, so that none of them waits for the next one."""
        alone = bool(self.suspects) or any(place in self.deaths for place in under_way)
        return bool(self) and len(under_way) < (1 if alone else 2 * workers)

    def next(self) -> int:
        """The place of the next task."""
        return (self.suspects or self.waiting).pop(0)

    def put_back(self, place: int) -> None:
        """It was taken and not sent."""
        (self.suspects if place in self.deaths else self.waiting).insert(0, place)

    def died(self, places: Sequence[int], told: str) -> list[TaskEnd]:
        """Workers died while these were under way: the ends of those that are given up."""
        for place in places:
            self.deaths[place] += len(places) == 1  # of several, nobody knows who it was; but all are tried alone from now on
        given_up = [place for place in places if self.deaths[place] >= MOST_DEATHS]
        self.suspects += sorted(set(places) - set(given_up))
        why = f"its process died {MOST_DEATHS} times{told}; was memory short?"
        return [TaskEnd(place, fault=WorkerError(why)) for place in given_up]
