"""Processes of this machine, by loky: each opens the work once, and maps its large arrays into memory instead of copying them.

They stay for the work that comes next, so that it need not wait for them; idle ones end by themselves, all of them with this process.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import BrokenProcessPool

from evenhand.campaign.executors.parts.attempts import Attempt, attempt
from evenhand.campaign.executors.parts.backlog import Backlog
from evenhand.campaign.executors.parts.parcel import Parcel
from evenhand.campaign.executors.parts.parcel_room import ROOMS, ParcelRoom
from evenhand.contract import TaskEnd, Work
from evenhand.limits import Count, check_limits

ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Each process is one core's worth of work."""
PARENT_SEEN_EVERY = 0.5
IDLE_SECONDS = 20.0
"""After which a process that has nothing to do ends."""
WORKS_OPEN = 2
"""Of which a process keeps what it has opened."""


@dataclass(frozen=True)
class Local:
    """So many processes."""

    workers: Count = 2

    def __post_init__(self) -> None:
        check_limits(self)

    def carry_out(self, work: Work, tasks: Sequence[Any]) -> Generator[TaskEnd, None, None]:
        """The ends as they come; processes that die are replaced."""
        backlog = Backlog(list(range(len(tasks))))
        if not tasks:
            return
        room = ROOMS.mine()
        with room.holding(work) as folder:
            while backlog:
                with closing(self._until_broken(room, folder, tasks, backlog)) as ends:
                    yield from ends

    def _until_broken(self, room: ParcelRoom, folder: Path, tasks: Sequence[Any], backlog: Backlog) -> Generator[TaskEnd, None, None]:
        """Tasks in waiting or fresh processes until all are done or a process dies."""
        count = min(self.workers, len(tasks))
        pool = WAITING.taken(count, self.workers) or _processes(count, room)
        running: dict[Future[Attempt], int] = {}
        try:
            while backlog or running:
                while backlog.may_send(running.values(), count):
                    place = backlog.next()
                    try:
                        running[pool.submit(_in_worker, str(folder), tasks[place])] = place
                    except BrokenProcessPool:  # a process died while it waited: this task has not been sent
                        backlog.put_back(place)
                        raise
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    ended = future.result().end(running[future])
                    del running[future]
                    yield ended
        except BrokenProcessPool as fault:
            pool.shutdown(wait=True, kill_workers=True)
            finished = {future: place for future, place in running.items() if future.done() and future.exception() is None}
            yield from (future.result().end(place) for future, place in finished.items())
            yield from backlog.died([place for future, place in running.items() if future not in finished], _exit_codes(fault))
        except BaseException:  # whoever has seen enough, or Ctrl-C: nobody waits for what is under way
            pool.shutdown(wait=True, kill_workers=True)
            raise
        else:
            WAITING.given_back(pool)


def _processes(count: int, room: ParcelRoom) -> ProcessPoolExecutor:
    """Fresh ones."""
    told = (os.getpid(), str(room.path))
    return ProcessPoolExecutor(count, initializer=_live_with_parent, initargs=told, env=ONE_CORE)


class WaitingPools:
    """Pools of processes between one work and the next; each is lent to one work at a time."""

    def __init__(self) -> None:
        self._pools: list[ProcessPoolExecutor] = []
        self._owner = os.getpid()
        self._lock = threading.Lock()

    def taken(self, least: int, most: int) -> ProcessPoolExecutor | None:
        """One of at least and at most so many processes, where there is one."""
        with self._lock:
            if self._owner != os.getpid():  # a forked process has its parent's list, and none of its processes
                self._pools, self._owner = [], os.getpid()
            fitting = [pool for pool in self._pools if least <= pool._max_workers <= most]
            if not fitting:
                return None
            self._pools.remove(fitting[0])
            return fitting[0]

    def given_back(self, pool: ProcessPoolExecutor) -> None:
        """It waits for the next work; of several of one size, the others are not wanted."""
        with self._lock:
            spare = [each for each in self._pools if each._max_workers == pool._max_workers]
            self._pools = [*(each for each in self._pools if each not in spare), pool]
        for each in spare:
            each.shutdown(wait=True, kill_workers=True)
        # Not by loky's own timeout: work that is sent in the moment when processes leave by themselves may wait for ever.
        timer = threading.Timer(IDLE_SECONDS, self.retire, [pool])
        timer.daemon = True
        timer.start()

    def retire(self, pool: ProcessPoolExecutor) -> None:
        """Nobody came for it."""
        with self._lock:
            if pool not in self._pools:
                return
            self._pools.remove(pool)
        pool.shutdown(wait=True, kill_workers=True)

    def end(self) -> None:
        """No process waits any longer."""
        with self._lock:
            pools, self._pools = self._pools if self._owner == os.getpid() else [], []
        for pool in pools:
            pool.shutdown(wait=True, kill_workers=True)


WAITING = WaitingPools()
atexit.register(WAITING.end)


def _exit_codes(fault: Exception) -> str:
    found = re.findall(r"(?:EXIT\((-?\d+)\)|(SIG[A-Z]+)\()", str(fault))
    told = ", ".join(dict.fromkeys(f"exit code {code}" if code else name for code, name in found))
    return f" ({told})" if told else ""


def _live_with_parent(parent: int, folder: str) -> None:
    """A worker leaves Ctrl-C to its parent, and ends when that has ended, however that was: nobody is left behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_SEEN_EVERY)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@lru_cache(maxsize=WORKS_OPEN)
def _opened(folder: str) -> Callable[[Any], Any]:
    return Parcel.read(Path(folder)).unpacked().open()


def _in_worker(folder: str, task: Any) -> Attempt:
    return attempt(lambda each: _opened(folder)(each), task)  # noqa: PLW0108 - a fault while opening is the task's
