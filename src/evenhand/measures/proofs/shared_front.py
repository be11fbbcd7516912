"""The open front of a proof shared out: it is cut into parts, each is searched by itself by whoever works, and the bounds are merged.

How the front is cut follows from the front alone and parts are merged in their order, so that the bounds are the same however many
workers there are, as long as no clock ends the search.  Finished parts may be kept, and the search goes on from them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.arrays import Reals
from evenhand.contract import Executor, Watch
from evenhand.measures.proofs.branch_and_bound import Judge, OpenFront, ProofLimits, ProofOutcome, Step, search, watched
from evenhand.shared_work import Sharing, Shelves

PARTS = 8
"""Of a round at most; with a few times as many parts as workers, none waits long for the others."""
BATCHES = 4
"""That a part is searched for at most, before the fronts are put together and cut again."""
FEWEST_BOXES = 512
"""That a part is searched for, where its heavier half is less: the heaviest boxes come first everywhere, and rounds are not tiny."""
ROUNDS_BETWEEN = 8
"""Rounds whose finished parts are kept one by one; then the whole front is kept, and they are removed."""
SHORTEST_SECONDS = 0.05


@dataclass(frozen=True)
class FrontPart:
    """Boxes to be searched, and when to stop."""

    front: OpenFront
    limits: ProofLimits


@dataclass(frozen=True)
class SearchedPart:
    """What became of a part: the weights that were decided, what is open still, and what its judge remembers."""

    fair: float
    unfair: float
    boxes: int
    front: OpenFront
    remembered: Any
    cpu_seconds: float
    process: int


class ProofWork:
    """What every worker needs: how a judge is made of the model, which each does once for all rounds."""

    is_asked_again = True

    def __init__(self, make: Callable[[], Judge[Any]]) -> None:
        self.make = make

    @cached_property
    def judge(self) -> Judge[Any]:
        """Ready to judge."""
        made = self.make()
        made.start()
        return made

    def open(self) -> Callable[[FrontPart], SearchedPart]:
        """Ready to search one part after the other."""
        return lambda part: _searched(self.judge, part)

    def __getstate__(self) -> dict[str, Any]:
        return {"make": self.make}  # a worker makes its own judge


def _searched(judge: Judge[Any], part: FrontPart) -> SearchedPart:
    begun, judge = time.process_time(), judge.fresh()
    found = search(judge, part.limits, front=part.front)
    if found.ended == "interrupted":
        raise KeyboardInterrupt
    rest = OpenFront(found.open_boxes, found.open_weights) if len(found.open_weights) else part.front.none(judge)
    return SearchedPart(found.fair, found.unfair, found.boxes, rest, judge.remembered(), time.process_time() - begun, os.getpid())


@dataclass
class FrontState:
    """Where a shared search stands after a round: all that it needs to go on."""

    front: OpenFront
    outcome: ProofOutcome = field(default_factory=ProofOutcome)
    remembered: list[Any] = field(default_factory=list)
    rounds: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass
class SharedFront:
    """One shared search."""

    judge: Judge[Any]
    work: ProofWork
    limits: ProofLimits
    executor: Executor
    shelves: Shelves | None = None
    watch: Watch | None = None

    def search(self) -> ProofOutcome:
        """Split until nothing is open; an interruption leaves the bounds that hold so far."""
        state = self._begun()
        outcome, before, begun = state.outcome, state.seconds, time.monotonic()
        try:
            while len(state.front.weights) and not outcome.ended:
                self._round(state)
                state.seconds = before + time.monotonic() - begun
                step = state_step(state)
                watched(outcome, step, self.limits, self.watch)
                outcome.ended = self.limits.reached(step)
                self._keep(state)
        except KeyboardInterrupt:
            outcome.ended = "interrupted"
        for each in state.remembered:
            self.judge.recall(each)
        outcome.steps.append(state_step(state))
        outcome.ended = outcome.ended or ("exact" if outcome.is_complete else "resolution")
        outcome.open_boxes, outcome.open_weights = state.front.boxes, state.front.weights
        outcome.cpu_seconds = state.cpu_seconds
        return outcome

    def _begun(self) -> FrontState:
        """From the beginning, or from the last front that was kept."""
        started = self.judge.start()
        kept = self.shelves.shelf("front").kept(0) if self.shelves is not None else None
        return kept if kept is not None else FrontState(OpenFront(*started))

    def _round(self, state: FrontState) -> None:
        parts = self._parts(state)
        shelf = self.shelves.shelf(f"round-{state.rounds:06d}") if self.shelves is not None else None
        answers = Sharing(self.executor, shelf).answers(self.work, parts)
        for part in answers:  # in their order: sums of floating-point numbers are the same to the last bit
            state.outcome.fair += part.fair
            state.outcome.unfair += part.unfair
            state.outcome.boxes += part.boxes
            state.cpu_seconds += part.cpu_seconds if part.process != os.getpid() else 0.0
            state.remembered.append(part.remembered)
        state.remembered = [self.judge.merged(state.remembered)]
        state.front = OpenFront.join([part.front for part in answers], self.judge)
        state.rounds += 1

    def _parts(self, state: FrontState) -> list[FrontPart]:
        """The front dealt out by weight, so that every part has as much of what is heavy."""
        weights: Reals = state.front.weights
        count = int(np.clip(len(weights) // max(1, self.judge.batch // 4), 1, PARTS))
        order = np.argsort(-weights, kind="stable")
        limits = self._limits(state, count)
        return [FrontPart(state.front.taken(order[at::count], self.judge), limits) for at in range(count)]

    def _limits(self, state: FrontState, count: int) -> ProofLimits:
        heavier_half = len(state.front.weights) // (2 * count)
        most = min(BATCHES * self.judge.batch, max(FEWEST_BOXES, heavier_half))
        if self.limits.boxes is not None:
            most = min(most, -(-(self.limits.boxes - state.outcome.boxes) // count))
        seconds = self.limits.seconds
        if seconds is not None:
            workers = min(count, getattr(self.executor, "workers", 1))
            seconds = max(SHORTEST_SECONDS, (seconds - state.seconds) * workers / count)
        return replace(self.limits, boxes=max(1, most), seconds=seconds, gap=0.0, kept=max(1, self.limits.kept // count))

    def _keep(self, state: FrontState) -> None:
        """The front now and then, and the end; parts that it holds are not wanted any longer."""
        if self.shelves is None or (state.rounds % ROUNDS_BETWEEN and len(state.front.weights) and not state.outcome.ended):
            return
        self.shelves.shelf("front").keep(0, state)
        for number in range(max(0, state.rounds - 2 * ROUNDS_BETWEEN), state.rounds):
            self.shelves.shelf(f"round-{number:06d}").forget()


def state_step(state: FrontState) -> Step:
    """The bounds that hold."""
    outcome, open_ = state.outcome, len(state.front.weights)
    upper = outcome.unfair if not open_ and outcome.is_complete else min(1.0, max(outcome.unfair, 1.0 - outcome.fair))
    return Step(outcome.unfair, upper, outcome.boxes, open_, state.seconds)
