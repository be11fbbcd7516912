"""The splitting of boxes, in batches and the heaviest first, until every box is decided or somebody says stop.

Knows boxes only by their weight: what a box is, whether it is decided and how it is split is the business of a `Judge`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from evenhand.arrays import Index, Mask, Reals
from evenhand.contract import Headway, Watch
from evenhand.limits import Count, Positive, ShareBelowOne, check_limits

Boxes = TypeVar("Boxes")

ROUNDING = 1e-9
"""How far sums of millions of weights may be from one."""


@dataclass(frozen=True)
class Judged(Generic[Boxes]):
    """What became of a batch: weights of the boxes decided either way, and the halves of all others."""

    fair: float
    unfair: float
    halves: Boxes
    weights: Reals  # (halves,)


class Judge(Protocol[Boxes]):
    """What the search needs to know about boxes."""

    batch: int

    def start(self) -> tuple[Boxes, Reals]:
        """Boxes that together are the whole domain, and their weights, which add up to one."""

    def judge(self, boxes: Boxes, weights: Reals) -> Judged[Boxes]:
        """Decide or halve every box."""

    def flush(self) -> tuple[float, float]:
        """Weights of boxes, fair and unfair, whose decision was put off so as to ask the model about many at once."""

    def take(self, boxes: Boxes, chosen: Index | Mask | slice) -> Boxes:
        """Some of the boxes."""

    def join(self, parts: list[Boxes]) -> Boxes:
        """All parts as one."""

    def fresh(self) -> Judge[Boxes]:
        """The same judge, who remembers nothing of what it has judged."""

    def remembered(self) -> Any:
        """What it remembers beside the weights, such as examples; it survives pickling."""

    def merged(self, parts: list[Any]) -> Any:
        """What several judges remember as one."""

    def recall(self, remembered: Any) -> None:
        """Take up what another judge remembers."""


@dataclass(frozen=True)
class OpenFront:
    """Open boxes and their weights."""

    boxes: Any
    weights: Reals

    @classmethod
    def join(cls, parts: list[OpenFront], judge: Judge[Any]) -> OpenFront:
        """All parts as one, in their order."""
        return cls(judge.join([part.boxes for part in parts]), np.concatenate([part.weights for part in parts]))

    def taken(self, chosen: Index, judge: Judge[Any]) -> OpenFront:
        """Some of the boxes."""
        return OpenFront(judge.take(self.boxes, chosen), self.weights[chosen])

    def none(self, judge: Judge[Any]) -> OpenFront:
        """None of the boxes."""
        return self.taken(np.empty(0, dtype=np.intp), judge)


@dataclass(frozen=True)
class ProofLimits:
    """When the search stops before every box is decided.

    seconds: wall-clock time, or that of the processor (`of_processor`).  boxes: how many boxes are looked at.
    gap: how far apart the bounds may stay.
    kept: how many open boxes are held in memory before the search goes deep instead of wide.

    >>> ProofLimits(seconds=5, gap=0.01).gap
    0.01
    """

    seconds: Positive | None = 60.0
    boxes: Count | None = None
    gap: ShareBelowOne = 0.0
    kept: Count = 3_000_000
    of_processor: bool = False

    def __post_init__(self) -> None:
        check_limits(self)

    def clock(self) -> float:
        """What `seconds` are counted by."""
        return time.process_time() if self.of_processor else time.monotonic()

    def shortened(self, share: float) -> ProofLimits:
        """The same with this share of the time."""
        return self if self.seconds is None else replace(self, seconds=share * self.seconds)

    def batch(self, usual: int, done: int) -> int:
        """How many boxes come next: no more than may still be looked at."""
        return usual if self.boxes is None else max(1, min(usual, self.boxes - done))

    def reached(self, step: Step) -> str:
        """Which of them ends the search here; empty where none does."""
        if step.open == 0:
            return ""
        if step.upper - step.lower <= self.gap:
            return "gap"
        if self.boxes is not None and step.boxes >= self.boxes:
            return "boxes"
        return "seconds" if self.seconds is not None and step.seconds >= self.seconds else ""


@dataclass(frozen=True)
class Step:
    """Where the search stands."""

    lower: float
    upper: float
    boxes: int
    open: int
    seconds: float


@dataclass
class ProofOutcome:
    """The bounds, every step that led to them, and why it ended: exact, gap, seconds, boxes, resolution or interrupted.

    `resolution`: boxes are left that can be split no further and are undecided.
    """

    fair: float = 0.0
    unfair: float = 0.0
    boxes: int = 0
    ended: str = ""
    steps: list[Step] = field(default_factory=list)
    open_boxes: Any = None  # what is undecided, with its weights
    open_weights: Reals = field(default_factory=lambda: np.empty(0))
    cpu_seconds: float = 0.0  # of workers that shared it
    outside: float | None = None  # what is unfair outside of the open boxes, where their own proved part is in `unfair` too

    @property
    def is_complete(self) -> bool:
        """Whether the decided boxes are everything, rounding of their weights aside."""
        return abs(1.0 - self.fair - self.unfair) < ROUNDING


class Frontier(Generic[Boxes]):
    """Open boxes in drawers by the magnitude of their weight."""

    def __init__(self, judge: Judge[Boxes]) -> None:
        self.judge = judge
        self.drawers: dict[int, list[tuple[Boxes, Reals]]] = {}
        self.size = 0
        self.weight = 0.0

    def put(self, boxes: Boxes, weights: Reals) -> None:
        """More open boxes."""
        if not len(weights):
            return
        drawer = np.floor(-2 * np.log2(np.maximum(weights, 1e-300))).astype(np.intp)
        for each in np.unique(drawer):
            here = np.flatnonzero(drawer == each)
            self.drawers.setdefault(int(each), []).append((self.judge.take(boxes, here), weights[here]))
        self.size += len(weights)
        self.weight += float(weights.sum())

    def pull(self, most: int, deepest: bool) -> tuple[Boxes, Reals]:
        """A batch from the drawer of the heaviest boxes, or of the lightest; neighbouring drawers fill it up."""
        parts: list[tuple[Boxes, Reals]] = []
        count = 0
        while self.drawers and count < most:
            at = max(self.drawers) if deepest else min(self.drawers)
            boxes, weights = self.drawers[at].pop()
            if not self.drawers[at]:
                del self.drawers[at]
            if count + len(weights) > most:
                rest = slice(most - count, None)
                self.drawers.setdefault(at, []).append((self.judge.take(boxes, rest), weights[rest]))
                boxes, weights = self.judge.take(boxes, slice(0, most - count)), weights[: most - count]
            parts.append((boxes, weights))
            count += len(weights)
        self.size -= count
        pulled = np.concatenate([weights for _, weights in parts])
        self.weight -= float(pulled.sum())
        return self.judge.join([boxes for boxes, _ in parts]), pulled


def search(judge: Judge[Any], limits: ProofLimits, watch: Watch | None = None, front: OpenFront | None = None) -> ProofOutcome:
    """Split until nothing is open, of the whole domain or of a part of its boxes; an interruption leaves the bounds that hold so far."""
    frontier: Frontier[Any] = Frontier(judge)
    front = front or OpenFront(*judge.start())
    frontier.put(front.boxes, front.weights)
    outcome, begun = ProofOutcome(), limits.clock()
    deepest = False
    try:
        while frontier.size:
            deepest = frontier.size > limits.kept or (deepest and frontier.size > limits.kept // 2)
            boxes, weights = frontier.pull(limits.batch(judge.batch, outcome.boxes), deepest)
            judged = judge.judge(boxes, weights)
            outcome.fair += judged.fair
            outcome.unfair += judged.unfair
            outcome.boxes += len(weights)
            frontier.put(judged.halves, judged.weights)
            step = _step(outcome, frontier, limits.clock() - begun)
            watched(outcome, step, limits, watch)
            if ended := limits.reached(step):
                outcome.ended = ended
                break
    except KeyboardInterrupt:
        outcome.ended = "interrupted"
    fair, unfair = judge.flush()
    outcome.fair, outcome.unfair = outcome.fair + fair, outcome.unfair + unfair
    outcome.steps.append(_step(outcome, frontier, limits.clock() - begun))
    if not outcome.ended:
        outcome.ended = "exact" if outcome.is_complete else "resolution"
    if frontier.size:
        outcome.open_boxes, outcome.open_weights = frontier.pull(frontier.size, deepest=False)
    return outcome


def _step(outcome: ProofOutcome, frontier: Frontier[Any], seconds: float) -> Step:
    is_over = not frontier.size and outcome.is_complete
    upper = outcome.unfair if is_over else min(1.0, max(outcome.unfair, 1.0 - outcome.fair))
    return Step(outcome.unfair, upper, outcome.boxes, frontier.size, seconds)


def watched(outcome: ProofOutcome, step: Step, limits: ProofLimits, watch: Watch | None) -> None:
    """Keep steps at growing distances, so that a long search leaves a short curve; who watches sees the time that is left."""
    if not outcome.steps or step.open == 0 or step.boxes >= 1.05 * outcome.steps[-1].boxes:
        outcome.steps.append(step)
    if watch is not None:
        told = f"between {step.lower:.4%} and {step.upper:.4%}; {step.boxes:,} boxes, {step.open:,} open"
        done, total = (step.boxes, limits.boxes) if limits.seconds is None else (int(step.seconds), round(limits.seconds))
        watch(Headway("certify", done, total, told))
