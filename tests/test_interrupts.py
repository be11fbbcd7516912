"""Ctrl-C never leaves a batch half counted."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from evenhand.engine.interrupts import uninterrupted


@pytest.fixture(autouse=True)
def listening():
    """As a program that somebody watches: one that was started in the background is told to ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def pressed_inside(done: list[str]) -> None:
    with uninterrupted():
        press()
        done.append("the rest of the block")


def test_ctrl_c_waits_for_the_end_of_the_block():
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        pressed_inside(done)
    assert done == ["the rest of the block"]
    with pytest.raises(KeyboardInterrupt):
        press()


def test_a_fault_inside_is_raised_and_ctrl_c_works_again():
    with pytest.raises(ValueError, match="ours"), uninterrupted():
        raise ValueError("ours")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_are_left_alone():
    seen = []

    def work() -> None:
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
