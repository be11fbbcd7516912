"""Local processes that make runs, one at a time each; a process that dies takes only its own run with it."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from evenhand.campaign.contest import ContestCell
from evenhand.campaign.making import Job, Made, Maker
from evenhand.errors import InvalidArgument

_SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class WorkTask:
    """The place of the source that a worker has open, and the run that it makes there."""

    place: int
    cell: ContestCell


@dataclass
class Worker:
    """A process, its end of the pipe, and what it is busy with."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    task: WorkTask | None = None


@dataclass
class WorkSchedule:
    """Which run comes next: a worker stays on its ground while there is work, then takes an untouched one, then helps the busiest."""

    waiting: dict[int, list[ContestCell]]
    touched: set[int] = field(default_factory=set)

    def next(self, place: int | None) -> WorkTask | None:
        """A run for a worker that has this source open."""
        left = {at: cells for at, cells in self.waiting.items() if cells}
        if not left:
            return None
        if place not in left:
            untouched = [at for at in left if at not in self.touched]
            place = untouched[0] if untouched else max(left, key=lambda at: len(left[at]))
        assert place is not None
        self.touched.add(place)
        return WorkTask(place, left[place].pop(0))


def in_processes(job: Job, count: int) -> Generator[Made, None, None]:
    """Every record, as it is made; ends the processes when it is closed."""
    _check_portable(job)
    schedule = WorkSchedule({at: list(job.cells) for at in range(len(job.sources))})
    total = len(job.sources) * len(job.cells)
    workers = [_started(job) for _ in range(min(count, total))]
    try:
        for worker in workers:
            _send(worker, schedule)
        while busy := [worker for worker in workers if worker.task is not None]:
            ready = wait([worker.pipe for worker in busy])
            for worker in [w for w in busy if w.pipe in ready]:
                assert worker.task is not None
                yield worker.task.place, worker.task.cell, _answer(worker, worker.task, job)
                if not worker.process.is_alive():
                    workers.remove(worker)
                    workers.append(worker := _started(job))
                _send(worker, schedule)
    finally:
        _end(workers)


def _check_portable(job: Job) -> None:
    try:
        pickle.dumps(job)
    except Exception as fault:
        raise InvalidArgument(
            f"processes: the model or the table cannot be sent to another process ({fault}); use processes=1, or name a model file"
        ) from fault


def _started(job: Job) -> Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    before = {name: os.environ.get(name) for name in _SINGLE}
    os.environ.update(dict.fromkeys(_SINGLE, "1"))  # each process is one core's worth of work
    try:
        process = context.Process(target=_work, args=(theirs, job), daemon=True)
        process.start()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    theirs.close()
    return Worker(process, ours)


def _send(worker: Worker, schedule: WorkSchedule) -> None:
    worker.task = schedule.next(worker.task.place if worker.task else None)
    if worker.task:
        worker.pipe.send(worker.task)


def _answer(worker: Worker, task: WorkTask, job: Job) -> dict[str, Any]:
    """The record that a worker sends; one of a failure where the process died instead."""
    try:
        record: dict[str, Any] = worker.pipe.recv()
        return record
    except (EOFError, ConnectionResetError):
        worker.process.join()
        return job.died(task.place, task.cell, f"the process ended with exit code {worker.process.exitcode}; was memory short?")


def _end(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.pipe.close()
        worker.process.terminate()
    for worker in workers:
        worker.process.join(timeout=5)


def _work(pipe: Connection, job: Job) -> None:
    """A worker's life: open a source, make the run, send its record."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends this process
    maker = Maker(job)
    while True:
        try:
            task: WorkTask = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(maker.make(task.place, task.cell))
