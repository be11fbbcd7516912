"""What every executor promises: each task ends once with the answer that this process would give, faults and deaths are told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.campaign.executors import EXECUTORS
from evenhand.contract import Executor
from evenhand.errors import InvalidArgument, UnknownName, require

SIZE = 100_000


@dataclass(frozen=True)
class Sums:
    """Adds a task's number to the sum of an array that every worker has; some numbers fail, and some end the process that has them."""

    numbers: Any
    home: int  # the process that must not be ended

    def open(self) -> Callable[[int], float]:
        """Sum once."""
        total = float(self.numbers.sum())

        def add(task: int) -> float:
            if task < 0:
                raise UnknownName("number", str(task), ["0", "1"])
            if task == SIZE and os.getpid() != self.home:
                os._exit(9)
            return total + task

        return add


def _work() -> Sums:
    return Sums(np.arange(SIZE, dtype=np.float64), os.getpid())


def check_answers_are_those_of_this_process(executor: Executor) -> None:
    """Every task ends once, whatever the order."""
    work, tasks = _work(), list(range(12))
    ends = list(executor.carry_out(work, tasks))
    assert sorted(end.place for end in ends) == tasks, "every task must end exactly once"
    do = work.open()
    assert all(end.fault is None and end.answer == do(tasks[end.place]) for end in ends), "an answer differs"


def check_faults_belong_to_their_task(executor: Executor) -> None:
    """A task that fails does not stop the others, and its fault keeps its kind and its words."""
    ends = {end.place: end for end in executor.carry_out(_work(), [1, -1, 2])}
    fault = ends[1].fault
    assert isinstance(fault, InvalidArgument), f"the fault came back as {fault!r}"
    assert "unknown number '-1'" in str(fault), f"the fault lost its words: {fault}"
    assert ends[0].fault is None and ends[2].fault is None, "another task failed with it"  # noqa: PT018 - one promise


def check_no_tasks_are_no_work(executor: Executor) -> None:
    """Nothing to do is done."""
    assert list(executor.carry_out(_work(), [])) == []


def check_a_death_takes_only_its_task(executor: Executor) -> None:
    """A task that ends its worker is given up after some tries; the others have their answers."""
    ends = {end.place: end for end in executor.carry_out(_work(), [1, SIZE, 2, 3])}
    assert sorted(ends) == [0, 1, 2, 3], "every task must end exactly once"
    assert all(ends[place].fault is None for place in (0, 2, 3)), "another task died with it"
    assert ends[1].fault is not None or ends[1].answer is not None, "the deadly task has no end"


def check_closing_early_ends_the_work(executor: Executor) -> None:
    """Who has seen enough closes the stream, and nothing hangs."""
    ends = executor.carry_out(_work(), list(range(50)))
    next(ends)
    ends.close()


def for_executor() -> list[Callable[[Executor], None]]:
    """All of them."""
    return [
        check_answers_are_those_of_this_process,
        check_faults_belong_to_their_task,
        check_no_tasks_are_no_work,
        check_a_death_takes_only_its_task,
        check_closing_early_ends_the_work,
    ]


@contextmanager
def executor_example(name: str) -> Iterator[Executor]:
    """An executor of this name to try: a cluster of two processes is started for the one that needs an address."""
    if name != "dask":
        yield EXECUTORS.make(name)
        return
    local_cluster: Any = require("distributed", "dask").LocalCluster
    with local_cluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        yield EXECUTORS.make(name, {"address": cluster.scheduler_address})
