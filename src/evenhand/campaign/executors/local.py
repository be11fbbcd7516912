"""Processes of this machine, by loky: each opens the work once, and maps its large arrays into memory instead of copying them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import BrokenProcessPool

from evenhand.campaign.executors.parts.attempts import Attempt, attempt
from evenhand.campaign.executors.parts.backlog import Backlog
from evenhand.campaign.executors.parts.parcel import Parcel
from evenhand.contract import TaskEnd, Work
from evenhand.limits import Count, check_limits

ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Each process is one core's worth of work."""
PARENT_SEEN_EVERY = 0.5


@dataclass(frozen=True)
class Local:
    """So many processes."""

    workers: Count = 2

    def __post_init__(self) -> None:
        check_limits(self)

    def carry_out(self, work: Work, tasks: Sequence[Any]) -> Generator[TaskEnd, None, None]:
        """The ends as they come; processes that die are replaced."""
        backlog = Backlog(list(range(len(tasks))))
        with Parcel.of(work).on_disk() as folder:
            while backlog:
                yield from self._until_broken(folder, tasks, backlog)

    def _until_broken(self, folder: Path, tasks: Sequence[Any], backlog: Backlog) -> Generator[TaskEnd, None, None]:
        """Tasks in fresh processes until all are done or a process dies."""
        count = min(self.workers, len(tasks))
        pool = ProcessPoolExecutor(count, initializer=_live_with_parent, initargs=(os.getpid(), str(folder)), env=ONE_CORE)
        running: dict[Future[Attempt], int] = {}
        try:
            while backlog or running:
                while backlog.may_send(running.values(), count):
                    place = backlog.next()
                    running[pool.submit(_in_worker, str(folder), tasks[place])] = place
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    ended = future.result().end(running[future])
                    del running[future]
                    yield ended
        except BrokenProcessPool as fault:
            finished = {future: place for future, place in running.items() if future.done() and future.exception() is None}
            yield from (future.result().end(place) for future, place in finished.items())
            yield from backlog.died([place for future, place in running.items() if future not in finished], _exit_codes(fault))
        finally:
            pool.shutdown(wait=True, kill_workers=True)


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


@lru_cache(maxsize=1)
def _opened(folder: str) -> Callable[[Any], Any]:
    return Parcel.read(Path(folder)).unpacked().open()


def _in_worker(folder: str, task: Any) -> Attempt:
    return attempt(lambda each: _opened(folder)(each), task)  # noqa: PLW0108 - a fault while opening is the task's
