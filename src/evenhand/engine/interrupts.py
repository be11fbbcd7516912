"""Ctrl-C and the alarm of a deadline wait for the end of a block, so that nothing is counted or written by half."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from evenhand.deadline import unstopped


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Inside, Ctrl-C is only noted; it is raised when the block has ended.  Other threads than the main one never see it anyway."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        with unstopped():
            yield
        return
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: pressed.append(number))
    try:
        with unstopped():
            yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
