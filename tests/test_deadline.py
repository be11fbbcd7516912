"""A budget of seconds is kept, whatever a method, a model or a library does with the time."""

from __future__ import annotations

import signal
import sys
import threading
import time
import weakref
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import evenhand as eh
from evenhand.checks import standard_subject
from evenhand.contract import Candidates, Model, Search, Task
from evenhand.deadline import Deadline, TimeOver, stopping, unstopped
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, run
from evenhand.engine.shrunk_findings import nearest
from evenhand.measures.rules import JudgedRows, mine_in_time
from evenhand.methods.parts.explanations import ColumnScale, Explainer
from evenhand.methods.parts.fitted_tree import TRIAL_ROWS, few_enough
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.tree_settings import TreeSettings

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
        busy(8)
    assert time.monotonic() - started < 6


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


class Anybody:
    """Something that can be watched."""


def test_an_alarm_that_nobody_can_be_given_rings_again_and_is_not_told_as_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    def work() -> None:
        gone = Anybody()
        watched = weakref.ref(gone, lambda _: busy(0.1))  # what a weak reference's callback raises, Python can only ignore
        del gone
        assert watched() is None
        busy(5.0)

    with pytest.raises(TimeOver), stopping(Deadline.after(seconds=0.02)):
        work()
    assert told == []
    assert sys.unraisablehook == told.append


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
    assert time.monotonic() - started < 6  # a fifth of what the slow method would take by itself


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
    assert done.ledger.model_rows > 150  # 2,000 would fit if nothing else took time; a busy machine takes much of it
    assert done.wall_seconds < 5


def test_a_scan_takes_the_seconds_that_it_was_given_and_says_what_was_cut() -> None:
    data = eh.open("credit")
    model = eh.wrap(lambda rows: (rows[:, 0] > 1).astype(float), data, takes="codes")
    slow = Slowed(model, 0.0003)
    started = time.monotonic()
    result = eh.scan(slow, data, methods=["themis"], budget=Budget(seconds=1.5))  # type: ignore[arg-type]
    assert time.monotonic() - started < 8  # ten thousand rows for each rate alone would take longer
    assert 0 < result.rate.interval.n < 1000
    assert any("the rate among the real rows is from" in note for note in result.notes)
    assert "Note: time was short" in result.summary()
    assert result.as_dict()["body"]["notes"] == list(result.notes)


def wide_table(columns: int, rows: int) -> tuple[TabularDomain, np.ndarray]:
    """Numbers and categories, and a protected column."""
    numbers = [Column(f"n{at}", "integer", low=0, high=50) for at in range(columns // 2)]
    kinds = [Column(f"c{at}", "category", tuple("abcdef")) for at in range(columns - 1 - len(numbers))]
    domain = TabularDomain((*numbers, *kinds, Column("sex", "category", ("f", "m"))), protected=("sex",))
    return domain, domain.sample(rows, np.random.default_rng(0))


def test_trees_are_learnt_in_the_time_there_is_and_say_what_was_cut() -> None:
    domain, rows = wide_table(60, 2000)
    in_haste = ChainedTrees.fit(rows, domain, np.random.default_rng(0), TreeSettings(seconds=0.0))
    assert "60 of 60 columns are drawn by their own frequencies" in in_haste.cut
    drawn = in_haste.sample(500, np.random.default_rng(1))
    assert domain.contains(drawn).all()
    at_leisure = ChainedTrees.fit(rows[:400], domain, np.random.default_rng(0), TreeSettings(seconds=600))
    assert not at_leisure.cut


def test_time_without_limit_changes_nothing_of_what_is_learnt() -> None:
    domain, rows = wide_table(8, 500)
    one, other = (ChainedTrees.fit(rows, domain, np.random.default_rng(0), settings) for settings in (None, TreeSettings(seconds=None)))
    assert np.array_equal(one.sample(200, np.random.default_rng(1)), other.sample(200, np.random.default_rng(1)))


def test_a_tree_is_fitted_to_as_many_rows_as_there_is_time_for() -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.random((4000, 50)), rng.integers(0, 2, 4000)
    assert len(few_enough(rows, labels, Deadline(), rng)) == 4000
    assert len(few_enough(rows, labels, Deadline.after(0.0), rng)) == TRIAL_ROWS


def test_explanations_of_wide_rows_are_those_of_few_at_a_time() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((400, 90))
    explainer = Explainer(ColumnScale.of(rows), rows, rng.random((400, 2)))
    together, apart = explainer.weights(rows[:600]), np.concatenate([explainer.weights(rows[at : at + 50]) for at in range(0, 400, 50)])
    np.testing.assert_allclose(together, apart, rtol=1e-3, atol=1e-5)


def test_rules_are_mined_from_some_rows_where_time_is_short() -> None:
    domain, rows = wide_table(20, 6000)
    judged = JudgedRows(rows, rows[:, 0] > 40, "data")
    hurried = mine_in_time(judged, domain, np.random.default_rng(0), Deadline.after(0.0))
    assert not hurried.rules
    assert "time was short" in hurried.note
    assert mine_in_time(judged, domain, np.random.default_rng(0), Deadline.after(60)).judged == 6000


def test_a_finding_of_a_long_table_still_meets_its_own_row() -> None:
    domain, rows = wide_table(6, 500)
    long = np.tile(rows, (300, 1))
    long[77_777] = domain.sample(1, np.random.default_rng(5))
    places = nearest(long[[77_777]], long, domain)
    assert np.array_equal(long[places[0, 0]], long[77_777])


class Tidy:
    """A block whose end takes a while and must not be left by half."""

    is_tidy = False

    def __enter__(self) -> None:
        self.is_tidy = False

    def __exit__(self, *_: object) -> None:
        busy(0.1)
        self.is_tidy = True


def test_the_alarm_waits_for_the_end_of_a_block_that_tidies_up() -> None:
    tidy = Tidy()

    def work() -> None:
        with tidy:
            busy(0.01)
        busy(5)

    with pytest.raises(TimeOver), stopping(Deadline.after(0.05)):
        work()
    assert tidy.is_tidy


def test_a_ring_between_two_lines_of_the_taking_down_leaves_no_timer_without_a_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The alarm of a block inside that was left by half sets its timer once more; nobody would hear it, and the process would end."""
    real, rung = signal.setitimer, []

    def set_timer(which: int, seconds: float, interval: float = 0.0) -> object:
        told = real(which, seconds, interval)
        if seconds == 0 and not rung:
            rung.append(real(which, 5.0))
        return told

    monkeypatch.setattr(signal, "setitimer", set_timer)
    with stopping(Deadline.after(seconds=60)):
        pass
    left, _ = real(signal.ITIMER_REAL, 0)
    assert rung
    assert left == 0.0


def test_a_deadline_that_has_passed_while_its_alarm_is_set_takes_it_down_again(monkeypatch: pytest.MonkeyPatch) -> None:
    real, rung = signal.setitimer, []

    def set_timer(which: int, seconds: float, interval: float = 0.0) -> object:
        told = real(which, seconds, interval)
        if seconds and not rung:
            rung.append(seconds)
            signal.raise_signal(signal.SIGALRM)  # as if it rang before the next line
        return told

    before = signal.getsignal(signal.SIGALRM)
    monkeypatch.setattr(signal, "setitimer", set_timer)
    with pytest.raises(TimeOver), stopping(Deadline.after(seconds=0.0)):
        pass
    assert signal.getsignal(signal.SIGALRM) is before
    assert real(signal.ITIMER_REAL, 0)[0] == 0.0


def test_a_budget_of_processor_time_alone_is_planned_by_the_processors_clock():
    assert Deadline.after(cpu_seconds=1.0).clock is time.process_time
    assert Deadline.after(1.0).clock is Deadline.after(1.0, 1.0).clock is Deadline().clock is time.perf_counter
