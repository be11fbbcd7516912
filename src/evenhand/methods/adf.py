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
hundredth of its range.  With two protected values the gradient's own pass shows both labels, so that a walk goes on at once and
the engine judges many of its steps together.

Better beside it: after_miss=0.  Walkers then never leave the findings, and find several times as many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Rows
from evenhand.contract import Differentiable, Fused, Search, Task, labels_of
from evenhand.limits import Positive, check_limits
from evenhand.methods.parts.chosen_twin import Partners
from evenhand.methods.parts.climbing import Ascent, Start, Tally
from evenhand.methods.parts.gradients import cross_entropy, pair_gradients
from evenhand.methods.parts.known import Known
from evenhand.methods.parts.walks import AUTHORS_ACCEPTANCE, Moves, Walk, pick, running_sums, signs
from evenhand.models.meter import Meter


@dataclass(frozen=True)
class Adf:
    """Adversarial sampling in two phases."""

    seeds: int = 1000
    clusters: int = 4
    iterations: int = 10
    local_steps: int = 1000
    step: float = 1.0
    after_miss: float = AUTHORS_ACCEPTANCE
    epsilon: Positive = 1e-6

    needs: ClassVar[type] = Differentiable
    media: ClassVar[tuple[str, ...]] = ("table", "portraits", "text")

    def __post_init__(self) -> None:
        check_limits(self)
        self._start, self._walk  # noqa: B018  (both check their parts)

    @property
    def _start(self) -> Start:
        return Start(self.seeds, self.clusters, self.iterations, self.step)

    @property
    def _walk(self) -> Walk:
        return Walk(self.local_steps, self.after_miss)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Climb from the seeds, then walk around what was found."""
        known, tally = Known(task), Tally(task)
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


class LowImpact:
    """One attribute per step, rather one that hardly moves the loss, a step up or down at random."""

    def __init__(self, task: Task, start: Rows, method: Adf, tally: Tally, rng: np.random.Generator) -> None:
        self.model, self.method, self.tally, self.rng = task.model, method, tally, rng
        self.moves, self.partners = Moves(task.domain), Partners(task.domain, task.model)
        self.chosen = self.partners.choose(start)
        self.foresees = self.partners.is_single and isinstance(task.model.model, Fused)
        self.cumulative, self.vanished = np.empty(start.shape[::-1]), np.zeros(len(start), dtype=bool)
        self.lost: Mask = np.zeros(len(start), dtype=bool)  # without a gradient every attribute is as likely, and the walk goes on
        self._seen = Seen(np.zeros(0, dtype=np.intp), self.cumulative[:, :0], self.lost[:0], self.lost[:0])

    def propose(self, rows: Rows, stale: Mask) -> Rows:
        """The next row of every walker."""
        at = np.flatnonzero(stale)
        if at.size:
            self._remember(self._see(rows[at], at))
        self.tally.add("local", len(rows), int(np.count_nonzero(self.vanished)))
        return self.moves.step_one(rows, pick(self.cumulative, self.rng), self.method.step * signs(len(rows), self.rng))

    def look(self, rows: Rows, who: Index) -> Mask:
        """The gradient's own pass shows the labels of row and twin."""
        self._seen = self._see(rows, who)
        return self._seen.flips

    def settle(self, who: Mask) -> None:
        """Keep the chances seen by those who stay."""
        stayed = np.flatnonzero(who[self._seen.who])
        self._remember(self._seen if len(stayed) == len(self._seen.who) else self._seen.only(stayed))

    def _remember(self, seen: Seen) -> None:
        if len(seen.who) == len(self.vanished):
            self.cumulative, self.vanished = seen.cumulative, seen.vanished
        else:
            self.cumulative[:, seen.who], self.vanished[seen.who] = seen.cumulative, seen.vanished

    def _see(self, rows: Rows, who: Index) -> Seen:
        """Chances from gradients, uniform where both vanish; and whether row and twin differ in their labels."""
        loss = OwnLoss([])
        first, second = pair_gradients(self.model, rows, self.partners.twins(rows, self.chosen[who]), loss)
        impact = np.abs(first.T)
        impact += np.abs(second.T)
        may_move = self.moves.may_move[:, None]
        impact *= may_move
        vanished = impact.max(axis=0) == 0
        impact += self.method.epsilon
        flips = loss.flips[0] if len(loss.flips) == 1 else np.concatenate(loss.flips)
        return Seen(who, running_sums(np.divide(may_move, impact, out=impact)), vanished, flips)


@dataclass(frozen=True)
class Seen:
    """What some walkers saw at a place."""

    who: Index
    cumulative: Rows  # (columns, walkers): running sums of the attributes' weights
    vanished: Mask  # where both gradients vanish
    flips: Mask  # where row and twin of everybody who looked differ in their labels

    def only(self, chosen: Index) -> Seen:
        """Some of the walkers."""
        return Seen(self.who[chosen], self.cumulative.take(chosen, axis=1), self.vanished[chosen], self.flips)


@dataclass(frozen=True)
class OwnLoss:
    """The slope of the cross-entropy, which notes on the way where rows and twins differ in their labels."""

    flips: list[Mask]

    def __call__(self, scores: NDArray[Any]) -> NDArray[Any]:
        """The slope; rows come first, then as many twins."""
        labels = labels_of(scores)
        self.flips.append(labels[: len(labels) // 2] != labels[len(labels) // 2 :])
        return cross_entropy(scores, labels)
