"""EIDIG: gradients of the output itself, with momentum towards the boundary and few gradients along it.

Paper: Zhang, Zhang, Zhang, "Efficient White-Box Fairness Testing through Gradient Search", ISSTA 2021.

Agrees with the paper and its code: the gradient of the score of the model's own label (not of a loss) on the row and on the twin
with the largest difference; globally a momentum of `decay` and a step against the attributes whose signs agree; locally one
attribute drawn with a probability ~ 1 / (|g| + |g'| + epsilon), moved by 1 either way, the gradients refreshed after `refresh`
successes in a row (0: never), and back to the seed after a miss.

Differs: all seeds advance together, as many as the budget lets finish; no row is evaluated twice; findings are counted once
per distinct non-protected part (the authors count full rows).  Where no sign agrees one random attribute moves, which the run's
facts count.  With differences instead of derivatives (`DifferenceGradients`) this is MAFT, for models that only give scores.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.contract import Candidates, Differentiable, Search, Task, Verdict
from evenhand.limits import Positive, ShareBelowOne, WholeNumber, check_limits
from evenhand.methods.parts.chosen_twin import Partners
from evenhand.methods.parts.climbing import Ascent, Start, Tally
from evenhand.methods.parts.gradients import own_score, pair_gradients
from evenhand.methods.parts.known import Known
from evenhand.methods.parts.walks import Moves, pick, running_sums, signs
from evenhand.models.meter import Meter


@dataclass(frozen=True)
class Eidig:
    """Momentum in the global phase, remembered gradients in the local one."""

    seeds: int = 1000
    clusters: int = 4
    iterations: int = 10
    local_steps: WholeNumber = 1000
    step: float = 1.0
    decay: ShareBelowOne = 0.5
    refresh: WholeNumber = 5
    epsilon: Positive = 1e-6

    needs: ClassVar[type] = Differentiable
    media: ClassVar[tuple[str, ...]] = ("table", "portraits", "text")

    def __post_init__(self) -> None:
        check_limits(self)
        self._start  # noqa: B018  (checks its parts)

    @property
    def _start(self) -> Start:
        return Start(self.seeds, self.clusters, self.iterations, self.step)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Climb from the seeds, then look around what was found."""
        known, tally = Known(task), Tally(task)
        ascent = Ascent(task, known, tally, rng)

        def compass(seeds: Rows) -> Momentum:
            return Momentum(task.model, self.decay, np.zeros((len(seeds), 2, seeds.shape[1])))

        while (found := (yield from ascent.rounds(self._start, self.local_steps, compass))) is not None:
            if len(found):
                yield from Neighbourhoods(task, found, self, tally).run(known, rng)


@dataclass(frozen=True)
class Momentum:
    """Down the score along the attributes on which the remembered gradients of a row and of its twin agree."""

    model: Meter
    decay: float
    memory: Rows  # (seeds, 2, columns)

    def directions(self, rows: Rows, twins: Rows, seeds: Index) -> Rows:
        """Against the common signs."""
        gradients = pair_gradients(self.model, rows, twins, own_score)
        self.memory[seeds] = self.decay * self.memory[seeds] + np.stack(gradients, axis=1)
        first, second = np.sign(self.memory[seeds, 0]), np.sign(self.memory[seeds, 1])
        return np.where(first == second, -first, 0.0)


class Neighbourhoods:
    """Walkers that go back to their seed after every miss."""

    def __init__(self, task: Task, start: Rows, method: Eidig, tally: Tally) -> None:
        self.task, self.start, self.method, self.tally = task, start, method, tally
        self.moves, self.partners = Moves(task.domain), Partners(task.domain, task.model)
        self.chosen = self.partners.choose(start)
        self.at_start, self.start_vanished = self._chances(start, self.chosen)

    def run(self, known: Known, rng: np.random.Generator) -> Generator[Candidates, Verdict, None]:
        """All walkers, step by step."""
        rows, cumulative, vanished = self.start.copy(), self.at_start.copy(), self.start_vanished.copy()
        since = np.zeros(len(rows), dtype=np.intp)
        for _ in range(self.method.local_steps):
            due = np.flatnonzero(since >= self.method.refresh) if self.method.refresh else np.zeros(0, dtype=np.intp)
            if due.size:
                cumulative[:, due], vanished[due] = self._chances(rows[due], self.chosen[due])
                since[due] = 0
            self.tally.add("local", len(rows), int(vanished.sum()))
            rows = self.moves.step_one(rows, pick(cumulative, rng), self.method.step * signs(len(rows), rng))
            unfair = yield from known.judge(rows, "local")
            missed = ~unfair
            since += 1
            since[missed] = 0
            np.copyto(rows, self.start, where=missed[:, None])
            np.copyto(cumulative, self.at_start, where=missed)
            np.copyto(vanished, self.start_vanished, where=missed)

    def _chances(self, rows: Rows, chosen: Index) -> tuple[Rows, Mask]:
        """Running sums of the attributes' weights, and which rows have no gradient at all."""
        first, second = pair_gradients(self.task.model, rows, self.partners.twins(rows, chosen), own_score)
        may_move = self.moves.may_move[:, None]
        impact = (np.abs(first.T) + np.abs(second.T)) * may_move  # (columns, walkers)
        return running_sums(may_move / (impact + self.method.epsilon)), impact.max(axis=0) == 0
