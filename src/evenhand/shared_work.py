"""Independent tasks shared out by an executor: every answer in the tasks' order, whoever made it; finished ones may be kept on a shelf."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from evenhand.contract import Executor, TaskEnd, Watch, Work
from evenhand.values import Headway

Made = TypeVar("Made")


class AnswerShelf(Protocol):
    """Where finished tasks are kept, by their place; what was damaged is as good as not finished."""

    def kept(self, place: int) -> Any | None:
        """The answer of a task that was finished before; None where there is none."""

    def keep(self, place: int, answer: Any) -> None:
        """Write an answer, once."""

    def forget(self) -> None:
        """Remove what is no longer wanted."""


class Shelves(Protocol):
    """Shelves by name, for work of several steps."""

    def shelf(self, name: str) -> AnswerShelf:
        """One of them."""


def kept_or_made(shelf: AnswerShelf, make: Callable[[], Made], place: int = 0) -> Made:
    """What lies at this place, else what is made now and put there."""
    kept: Made | None = shelf.kept(place)
    if kept is not None:
        return kept
    made = make()
    shelf.keep(place, made)
    return made


@dataclass(frozen=True)
class Sharing:
    """Who works, where finished tasks are kept, and who is told of the headway.  Without an executor, this process works.

    >>> from evenhand.campaign.executors.serial import Serial
    >>> class Squares:
    ...     def open(self):
    ...         return lambda task: task**2
    >>> Sharing(Serial()).answers(Squares(), [3, 1, 2])
    [9, 1, 4]
    """

    executor: Executor | None = None
    shelf: AnswerShelf | None = None
    watch: Watch | None = None
    what: str = "tasks"

    def answers(self, work: Work, tasks: Sequence[Any]) -> list[Any]:
        """In the tasks' order.  The first fault ends it; what was finished before is on the shelf."""
        found: dict[int, Any] = {}
        for end in self.ends(work, tasks):
            found[end.place] = end.answer
            if self.watch is not None:
                self.watch(Headway(self.what, len(found), len(tasks)))
        return [found[place] for place in range(len(tasks))]

    def ends(self, work: Work, tasks: Sequence[Any]) -> Generator[TaskEnd, None, None]:
        """What was kept first, then the others as they come, each on the shelf before it is handed on."""
        missing = []
        for place in range(len(tasks)):
            if self.shelf is not None and (kept := self.shelf.kept(place)) is not None:
                yield TaskEnd(place, kept)
            else:
                missing.append(place)
        if self.executor is None:
            yield from self._here(work, tasks, missing)
            return
        with closing(self.executor.carry_out(work, [tasks[place] for place in missing])) as ends:
            for end in ends:
                if end.fault is not None:
                    raise end.fault
                if self.shelf is not None:
                    self.shelf.keep(missing[end.place], end.answer)
                yield TaskEnd(missing[end.place], end.answer)

    def _here(self, work: Work, tasks: Sequence[Any], missing: Sequence[int]) -> Generator[TaskEnd, None, None]:
        """What is missing, one after the other."""
        do = work.open()
        for place in missing:
            answer = do(tasks[place])
            if self.shelf is not None:
                self.shelf.keep(place, answer)
            yield TaskEnd(place, answer)
