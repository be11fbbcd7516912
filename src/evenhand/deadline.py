"""When work must be done, and the alarm that ends what runs past it.  Knows nothing of what the work is.

What can look at the clock does (`is_over`, `seconds_left`); the alarm is for the rest: foreign models, methods and libraries.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

Made = TypeVar("Made")

AGAIN_SECONDS = 0.02
"""After so long the alarm rings once more, where it came at a bad moment or somebody swallowed it."""

SHORTEST_SECONDS = 0.001


class TimeOver(BaseException):
    """The alarm.  Like Ctrl-C it is no Exception, so that nobody takes it for a failure of what it ends."""


@dataclass(frozen=True)
class Deadline:
    """A moment on the wall's clock and one on the processor's; whichever comes first counts.

    >>> deadline = Deadline.after(seconds=60)
    >>> deadline.is_over, 59 < deadline.seconds_left <= 60, 29 < deadline.part(0.5).seconds_left <= 30
    (False, True, True)
    >>> Deadline().seconds_left
    inf
    """

    wall: float = float("inf")  # of time.monotonic
    cpu: float = float("inf")  # of time.process_time

    @classmethod
    def after(cls, seconds: float | None = None, cpu_seconds: float | None = None) -> Deadline:
        """So much from now; None is no limit."""
        wall = float("inf") if seconds is None else time.monotonic() + seconds
        return cls(wall, float("inf") if cpu_seconds is None else time.process_time() + cpu_seconds)

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return min(self.wall, self.cpu) < float("inf")

    @property
    def clock(self) -> Callable[[], float]:
        """The clock to plan by: the processor's where it alone is looked at, which other programs do not slow down; else the wall's."""
        return time.process_time if self.cpu < float("inf") and self.wall == float("inf") else time.perf_counter

    @property
    def seconds_left(self) -> float:
        """Until the nearer of the two moments; infinite without a limit, negative when it is over."""
        wall = self.wall - time.monotonic()
        return wall if self.cpu == float("inf") else min(wall, self.cpu - time.process_time())

    @property
    def is_over(self) -> bool:
        """Whether the moment has passed."""
        return self.is_set and self.seconds_left <= 0

    @property
    def soonest(self) -> float:
        """The least number of seconds that can pass until it is over: processors together spend time faster than the wall's clock."""
        cpu = self.cpu - time.process_time() if self.cpu < float("inf") else self.cpu
        return min(self.wall - time.monotonic(), cpu / (os.cpu_count() or 1))

    def part(self, share: float) -> Deadline:
        """A deadline after this share of what is left."""
        return Deadline(_earlier(self.wall, time.monotonic(), share), _earlier(self.cpu, time.process_time(), share))


def _earlier(moment: float, now: float, share: float) -> float:
    return moment if moment == float("inf") else now + max(0.0, share * (moment - now))


NEVER = Deadline()


class Alarm:
    """Whether it has rung, and whether it no longer may; whoever ends in a fault after it rang ends because of it."""

    has_rung = False
    is_off = False


class _Hold(threading.local):
    """How many blocks that must not be left by half this thread is in."""

    depth = 0


_HOLD = _Hold()


@contextmanager
def stopping(deadline: Deadline) -> Iterator[Alarm]:
    """Inside, TimeOver is raised when the deadline has passed, wherever the work is; one call into compiled code is waited for.

    Only the main thread can be stopped so; in others, and where there are no such timers, the work must look at the clock itself.
    """
    alarm = Alarm()
    if not deadline.is_set or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield alarm
        return

    def ring(_number: int, frame: FrameType | None) -> None:
        if alarm.is_off:
            return
        over = deadline.is_over
        _set_timer(AGAIN_SECONDS if over else deadline.soonest)  # an early ring only sets it again
        if over and not _HOLD.depth and not _is_delicate(frame):
            alarm.has_rung = True
            raise TimeOver

    before, rest, started = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL), time.monotonic()
    told = sys.unraisablehook
    try:
        sys.unraisablehook = _ringing_again(told)
        signal.signal(signal.SIGALRM, ring)
        _set_timer(deadline.soonest)  # inside, because a deadline that has passed already may ring before the next line
        yield alarm
    finally:
        alarm.is_off = True  # first, and without a call: whatever is called could be interrupted once more
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = told
        # Whoever had set the timer before gets what is left of it.  Nobody else has one: the alarm of a block inside that was left by half
        # may have set it once more, and without a handler it would end the process.
        left = max(SHORTEST_SECONDS, rest[0] - (time.monotonic() - started)) if rest[0] else 0.0
        signal.setitimer(signal.ITIMER_REAL, left, rest[1])


def in_time(work: Callable[[], Made], otherwise: Made, deadline: Deadline) -> Made:
    """What the work makes, or something else where the deadline comes first.

    >>> in_time(lambda: 1 + 1, 0, Deadline.after(seconds=60))
    2
    """
    try:
        with stopping(deadline):
            return work()
    except TimeOver:
        return otherwise


def _set_timer(seconds: float) -> Any:
    return signal.setitimer(signal.ITIMER_REAL, max(SHORTEST_SECONDS, seconds))


def _ringing_again(told: Callable[[Any], Any]) -> Callable[[Any], None]:
    """What is done with an exception that nobody can be given, as in a callback of the garbage collector: an alarm just rings once more."""

    def unraisable(found: Any) -> None:
        if found.exc_type is not TimeOver:
            told(found)

    return unraisable


def _is_delicate(frame: FrameType | None) -> bool:
    """Whether a module is being imported, something entered or tidied away, or a fault told: none of these survives being left by half."""
    if frame is not None and frame.f_code.co_name == "__enter__":
        return True
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib") or frame.f_code.co_name in ("__exit__", "__del__", "unraisable"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def unstopped() -> Iterator[None]:
    """Inside, the alarm waits, so that nothing is counted or written by half."""
    _HOLD.depth += 1
    try:
        yield
    finally:
        _HOLD.depth -= 1
