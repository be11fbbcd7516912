"""ADF: gradients of the loss on a row and on its twin lead to the boundary, and then along it.

Paper: Zhang, Wang, Sun, Dong, Wang, Wang, Dong, Dai, "White-box Fairness Testing through Adversarial Sampling", ICSE 2020.

Agrees with the paper and its code: seeds from K-means clusters in turn; the gradient of the cross-entropy against the model's own
label on the row and on the twin with the largest difference; globally a step along the attributes whose signs agree; locally one
attribute drawn with a probability ~ 1 / (|g| + |g'|), moved by 1 either way.  `after_miss` is the code's acceptance rule (scipy's
basinhopping at temperature 1); the algorithm as printed follows every step: after_miss=1.

Differs: all seeds advance together, as many as the budget lets finish.  No row is evaluated twice (the authors' L-BFGS-B asks
for the same truncated point about n + 1 times).  Where one of the two gradients vanishes the other one leads (the code
multiplies it by the vanished one); where no sign agrees one random attribute moves, and where both gradients vanish locally every
attribute is as likely: both are counted in the run's facts.  `epsilon` keeps 1 / (|g| + |g'|) finite.  A real number moves by a
hundredth of its range.

Better beside it: after_miss=0.  Walkers then never leave the findings, and find several times as many.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.errors import InvalidArgument
from evenhand.methods.parts.climbing import Ascent, Start, Tally
from evenhand.methods.parts.gradients import cross_entropy, pair_gradients
from evenhand.methods.parts.known import Known
from evenhand.methods.parts.pairs import Partners
from evenhand.methods.parts.walks import AUTHORS_ACCEPTANCE, Moves, Walk, pick, signs
from evenhand.models.abilities import Differentiable
from evenhand.models.meter import Meter
from evenhand.search import Search, Task


@dataclass(frozen=True)
class Adf:
    """Adversarial sampling in two phases."""

    seeds: int = 1000
    clusters: int = 4
    iterations: int = 10
    local_steps: int = 1000
    step: float = 1.0
    after_miss: float = AUTHORS_ACCEPTANCE
    epsilon: float = 1e-6

    needs: ClassVar[type] = Differentiable

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise InvalidArgument(f"epsilon={self.epsilon!r} must be a positive number")
        self._start, self._walk  # noqa: B018  (both check their parts)

    @property
    def _start(self) -> Start:
        return Start(self.seeds, self.clusters, self.iterations, self.step)

    @property
    def _walk(self) -> Walk:
        return Walk(self.local_steps, self.after_miss)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Climb from the seeds, then walk around what was found."""
        known, tally = Known(task.domain), Tally(task)
        ascent = Ascent(task, known, tally, rng)
        compass = AgreeingSigns(task.model)
        while (found := (yield from ascent.rounds(self._start, self.local_steps, lambda _: compass))) is not None:
            if len(found):
                yield from self._walk.run(found, LowImpact(task, found, self, tally, rng), known, rng)


@dataclass(frozen=True)
class AgreeingSigns:
    """Up the loss along the attributes on which a row and its twin agree."""

    model: Meter

    def directions(self, rows: Rows, twins: Rows, seeds: Index) -> Rows:  # noqa: ARG002  (this compass has no memory)
        """The common signs; where one gradient vanishes, those of the other."""
        first, second = (np.sign(g) for g in pair_gradients(self.model, rows, twins, cross_entropy))
        alone = ~first.any(axis=1, keepdims=True)
        return np.where(alone, second, np.where(second.any(axis=1, keepdims=True), first * (first == second), first))


@dataclass
class LowImpact:
    """One attribute per step, rather one that hardly moves the loss, a step up or down at random."""

    task: Task
    start: Rows
    method: Adf
    tally: Tally
    rng: np.random.Generator
    cumulative: Rows = field(init=False)
    lost: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.moves = Moves(self.task.domain)
        self.partners = Partners(self.task.domain, self.task.model)
        self.chosen = self.partners.choose(self.start)
        self.cumulative, self.lost = np.empty(self.start.shape), np.zeros(len(self.start), dtype=bool)

    def propose(self, rows: Rows, stale: Mask) -> Rows:
        """The next row of every walker."""
        self._refresh(rows, np.flatnonzero(stale))
        self.tally.add("local", len(rows), int(self.lost.sum()))
        return self.moves.step_one(rows, pick(self.cumulative, self.rng), self.method.step * signs(len(rows), self.rng))

    def _refresh(self, rows: Rows, at: Index) -> None:
        """New probabilities for the walkers that moved; uniform ones where both gradients vanish."""
        if not at.size:
            return
        here = rows[at]
        first, second = pair_gradients(self.task.model, here, self.partners.twins(here, self.chosen[at]), cross_entropy)
        impact = np.abs(first)
        impact += np.abs(second)
        impact *= self.moves.may_move
        self.lost[at] = ~impact.any(axis=1)
        impact += self.method.epsilon
        weights = self.moves.may_move / impact
        self.cumulative[at] = np.cumsum(weights, axis=1)
