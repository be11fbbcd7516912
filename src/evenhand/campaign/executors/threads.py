"""Threads of this process: for models that are asked over a network, with one rate limit, one connection pool and one memory for all."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from evenhand.campaign.executors.parts.attempts import Attempt, attempt
from evenhand.contract import TaskEnd, Work
from evenhand.limits import Count, check_limits


@dataclass(frozen=True)
class Threads:
    """So many tasks at a time."""

    workers: Count = 4

    def __post_init__(self) -> None:
        check_limits(self)

    def carry_out(self, work: Work, tasks: Sequence[Any]) -> Generator[TaskEnd, None, None]:
        """The ends as they come."""
        do = work.open()
        pool = ThreadPoolExecutor(self.workers)
        try:
            running: dict[Future[Attempt], int] = {pool.submit(attempt, do, task): place for place, task in enumerate(tasks)}
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield future.result().end(running.pop(future))
        finally:
            pool.shutdown(cancel_futures=True)
