"""A budget of seconds is kept, whatever a method, a model or a library does with the time."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import evenhand as eh
from evenhand.checks import standard_subject
from evenhand.contract import Candidates, Model, Search, Task
from evenhand.deadline import Deadline, TimeOver, stopping, unstopped
from evenhand.engine.run import Plan, run
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget

SUBJECT = standard_subject()


def busy(seconds: float) -> None:
    """Work that never looks at the clock of anybody else."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(100))


@dataclass(frozen=True)
class Slow:
    """A method that prepares itself for a long time, and then proposes the same rows for ever."""

    prepares: float = 30.0
    swallows: bool = False
    needs: ClassVar[type] = Model

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Hardly any conversation."""
        try:
            busy(self.prepares)
        except Exception:
            if not self.swallows:
                raise
        while True:
            yield Candidates(task.domain.sample(8, rng))


def test_work_is_ended_by_the_alarm() -> None:
    started = time.monotonic()
    with pytest.raises(TimeOver), stopping(Deadline.after(0.05)):
        busy(5)
    assert time.monotonic() - started < 1


def test_the_alarm_waits_for_what_must_not_be_left_by_half() -> None:
    whole: list[str] = []

    def work() -> None:
        with unstopped():
            busy(0.1)
            whole.append("kept")
        busy(5)

    with pytest.raises(TimeOver), stopping(Deadline.after(0.02)):
        work()
    assert whole == ["kept"]


def test_an_alarm_of_the_processors_clock_rings_too() -> None:
    began = time.process_time()
    with pytest.raises(TimeOver), stopping(Deadline.after(cpu_seconds=0.1)):
        busy(20)
    assert 0.1 <= time.process_time() - began < 1


def test_whoever_had_set_a_timer_keeps_it() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: rung.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.15)
    try:
        with stopping(Deadline.after(10)):
            busy(0.02)
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 0.15
        busy(0.3)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rung


def test_other_threads_are_left_alone() -> None:
    ended: list[str] = []

    def work() -> None:
        with stopping(Deadline.after(0.01)):
            busy(0.05)
            ended.append("by itself")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == ["by itself"]


@pytest.mark.parametrize("method", [Slow(), Slow(swallows=True), Themis(margin=0.0)], ids=["preparing", "swallowing", "searching"])
def test_a_run_ends_in_time_whatever_the_method_does(method: object) -> None:
    started = time.monotonic()
    done = run(method, SUBJECT, Plan(0, Budget(seconds=0.2)))  # type: ignore[arg-type]
    assert done.ended == "budget spent"
    assert time.monotonic() - started < 1.5


class Slowed:
    """A model that takes its time for every row."""

    def __init__(self, model: Model, seconds_per_row: float) -> None:
        self.model, self.seconds_per_row = model, seconds_per_row

    def __getattr__(self, name: str) -> object:
        return getattr(self.model, name)

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """The model's own, later."""
        time.sleep(self.seconds_per_row * len(rows))
        return self.model.scores(rows)


def test_of_a_slow_model_as_much_is_asked_as_there_is_time_for() -> None:
    subject = type(SUBJECT)(SUBJECT.domain, Slowed(SUBJECT.model, 0.0005), SUBJECT.rows)  # type: ignore[arg-type]
    done = run(Themis(margin=0.0), subject, Plan(0, Budget(seconds=1.0)))
    assert done.ledger.model_rows > 700  # half of what would fit if nothing else took time
    assert done.wall_seconds < 2


def test_a_scan_takes_the_seconds_that_it_was_given_and_says_what_was_cut() -> None:
    data = eh.open("credit")
    model = eh.wrap(lambda rows: (rows[:, 0] > 1).astype(float), data, takes="codes")
    slow = Slowed(model, 0.0003)
    started = time.monotonic()
    result = eh.scan(slow, data, methods=["themis"], budget=Budget(seconds=1.0))  # type: ignore[arg-type]
    assert time.monotonic() - started < 2
    assert 0 < result.rate.interval.n < 1000
    assert any("the rate in the population “data” is from" in note for note in result.notes)
    assert "Note: time was short" in result.summary()
    assert result.as_dict()["body"]["notes"] == list(result.notes)
