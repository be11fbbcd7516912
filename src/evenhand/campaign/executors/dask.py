"""A Dask cluster by the address of its scheduler: processes of this machine, of others by SSH, of Kubernetes or SLURM.

The work is sent to the workers once; tasks follow a few at a time, and only this process sees their answers.  A worker that dies is
Dask's to replace; where the scheduler itself goes away, what is missing is sent again as soon as there is one at the address.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from evenhand.campaign.executors.parts.attempts import Attempt, attempt
from evenhand.campaign.executors.parts.backlog import Backlog
from evenhand.campaign.executors.parts.parcel import Parcel
from evenhand.contract import TaskEnd, Work
from evenhand.errors import InvalidArgument, WorkerError, require
from evenhand.limits import Positive, check_limits

CONNECTING_SECONDS = 10.0
ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Dask:
    """The scheduler's address, such as tcp://127.0.0.1:8786, and for how long a missing one is waited for."""

    address: str = ""
    patience_seconds: Positive = 60.0

    def __post_init__(self) -> None:
        check_limits(self)
        require("distributed", "dask")

    def carry_out(self, work: Work, tasks: Sequence[Any]) -> Generator[TaskEnd, None, None]:
        """The ends as they come, over as many connections as it takes."""
        if not self.address:
            raise InvalidArgument("address='' must be that of a Dask scheduler, such as tcp://127.0.0.1:8786")
        parcel, backlog = Parcel.of(work), Backlog(list(range(len(tasks))))
        last_seen = time.monotonic()
        while backlog:
            session = _Session(parcel, tasks, backlog)
            try:
                with _connected(self.address) as client:
                    for ended in session.ends(client):
                        last_seen = time.monotonic()
                        yield ended
            except _Lost as fault:
                yield from backlog.died(list(session.under_way.values()), "")
                if time.monotonic() - last_seen > self.patience_seconds:
                    raise WorkerError(
                        f"nothing has come from the Dask cluster at {self.address} for {self.patience_seconds:g} seconds ({fault}); see "
                        "that its scheduler and its workers are up, and the same command goes on with what is missing"
                    ) from fault
                time.sleep(0.2)


class _Lost(Exception):
    """The scheduler has gone, with what it had been sent."""


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of the scheduler; its own complaints about lost connections are not for our reader."""
    client_of: Any = require("distributed", "dask").Client
    for name in ("distributed.client", "distributed.core", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = client_of(address, timeout=CONNECTING_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as fault:
        raise _Lost(f"{type(fault).__name__}: {fault}") from fault
    try:
        yield client
    finally:
        client.close(timeout=2)


@dataclass
class _Session:
    """What goes on under one connection; `under_way` are the places of the tasks that have been sent, by their keys."""

    parcel: Parcel
    tasks: Sequence[Any]
    backlog: Backlog
    under_way: dict[str, int] = field(default_factory=dict)

    def ends(self, client: Any) -> Iterator[TaskEnd]:
        """The ends of all tasks that wait; _Lost where the scheduler goes, or all workers with what they had been sent."""
        as_completed: Any = require("distributed", "dask").as_completed
        try:
            client.wait_for_workers(1, timeout=CONNECTING_SECONDS)
            sent = client.scatter(self.parcel, broadcast=True, hash=False)
            threads = max(1, sum(client.nthreads().values()))
            stream = as_completed(self._sent(client, sent, threads), loop=client.loop)
            for future in stream:
                ended = _end_of(future, self.under_way[future.key])
                del self.under_way[future.key]
                future.release()
                yield ended
                for further in self._sent(client, sent, threads):
                    stream.add(further)
        except _Lost:
            raise
        except Exception as fault:  # what Dask raises when its scheduler goes is of many kinds
            raise _Lost(f"{type(fault).__name__}: {fault}") from fault

    def _sent(self, client: Any, parcel: Any, threads: int) -> list[Any]:
        """As many further tasks as may be under way."""
        futures = []
        while self.backlog.may_send(self.under_way.values(), threads):
            place = self.backlog.next()
            futures.append(client.submit(_in_cluster, parcel, self.tasks[place], pure=False))
            self.under_way[futures[-1].key] = place
        return futures


def _end_of(future: Any, place: int) -> TaskEnd:
    """Its answer; a fault where worker after worker died on it; nothing where the scheduler has forgotten it."""
    if future.status == "finished":
        answered: Attempt = future.result(timeout=CONNECTING_SECONDS)
        return answered.end(place)
    fault = future.exception() if future.status == "error" else None
    if type(fault).__name__ != "KilledWorker":
        raise _Lost(f"a task was {future.status}: {fault}")
    return TaskEnd(place, fault=WorkerError("worker after worker died on it; was memory short?"))


OPENED: dict[str, Callable[[Any], Any]] = {}
"""The work that this worker has open, by its digest: one at a time."""


def _opened(parcel: Parcel) -> Callable[[Any], Any]:
    if parcel.digest not in OPENED:
        OPENED.clear()
        OPENED[parcel.digest] = parcel.unpacked().open()
    return OPENED[parcel.digest]


def _in_cluster(parcel: Parcel, task: Any) -> Attempt:
    """One task in a worker, which has opened the work once; a worker of several threads makes one at a time, models being what they are."""
    with ONE_AT_A_TIME:
        return attempt(lambda each: _opened(parcel)(each), task)  # noqa: PLW0108 - a fault while opening is the task's
