"""AEQUITAS: random inputs, and then walks around the unfair ones that may learn which attribute to move and which way.

Paper: Udeshi, Arora, Chattopadhyay, "Automated Directed Fairness Testing", ASE 2018.

Agrees with the paper and its code: 1,000 random inputs, then 1,000 steps of 1 around each unfair one.  mode="random" moves any attribute
either way; "semi" learns for each attribute how often a step down (rather than up) led to a finding (.5 at first, .001 for each
step, a coin at the borders); "full" learns the attributes' own probabilities as well (.001 for each step).  What is learnt is
shared by all walks and kept for the whole run.  `after_miss` is the code's acceptance rule (scipy's basinhopping at temperature 1).

Differs: as many walks advance together as the budget lets finish, and what they learn in one step is added up.  A batch divides a
probability that it lowers instead of subtracting, so that many misses at once leave the proportions, and no attribute falls
below a tenth of an equal share: the published rule can reach 0, from where nothing returns.  Protected attributes do not move
(their every value is judged anyway), a step against a border teaches nothing, and no row is evaluated twice (the authors'
L-BFGS-B asks for the same truncated point about n + 1 times).  Walks end early when 50 steps of all of them met nothing new.
When they are over and budget is left, the next 1,000 random inputs follow.  A real number moves by a hundredth of its range.  Rows
that break a constraint are moved to the nearest valid ones.  `population` may be the data or a synthesiser instead of the domain.
With global_samples=0 the rows at hand are the seeds: so another method's findings can be walked from.

Only labels are used: a model that says nothing else is searched in the same way.

Measured on ADF's census net, protected sex, 1,000,000 candidates, seeds 0 to 2: 137,000 findings random, 149,000 semi, 218,000 full,
which agrees with the paper's order; uniform inputs would give 30,000.  At 10,000 candidates on the planted shapes the three
are close to each other: .001 a step is slow.  Better beside it: after_miss=0, whose walks never leave the findings and
find four times as many.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.contract import Candidates, Model, Population, Search, Task, Verdict
from evenhand.errors import InvalidArgument
from evenhand.limits import Positive, Share, WholeNumber, check_limits
from evenhand.methods.parts.climbing import FEWEST_TOGETHER, UNLIMITED
from evenhand.methods.parts.known import Judging, Known
from evenhand.methods.parts.patience import PatientKnown, while_patient
from evenhand.methods.parts.populations import population_named
from evenhand.methods.parts.starts import distinct, given_rows
from evenhand.methods.parts.walks import AUTHORS_ACCEPTANCE, Moves, Walk

MODES = ("random", "semi", "full")

MOST_WALKERS = 2048
"""More walks side by side are no faster, and what is learnt would come in coarser steps."""

LEAST_SHARE = 0.1
"""No attribute's probability falls below this part of an equal share."""


@dataclass(frozen=True)
class Aequitas:
    """Random sampling, then walks.

    mode: what the walks learn: nothing (random), the side of each step (semi), the attribute as well (full)
    direction, direction_change, attribute_change: the first probability of a step down, and what one step teaches
    after_miss: how often a walk that left the findings stays where it is; see `parts.walks.Walk`
    """

    mode: str = "random"
    global_samples: WholeNumber = 1000
    local_steps: int = 1000
    step: Positive = 1.0
    direction: Share = 0.5
    direction_change: Share = 0.001
    attribute_change: Share = 0.001
    after_miss: float = AUTHORS_ACCEPTANCE
    population: str = "domain"

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("table", "portraits", "text")

    def __post_init__(self) -> None:
        check_limits(self)
        if self.mode not in MODES:
            raise InvalidArgument(f"mode={self.mode!r} must be one of {', '.join(MODES)}")
        self._walk  # noqa: B018  (checks its parts)

    @property
    def _walk(self) -> Walk:
        return Walk(self.local_steps, self.after_miss)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Sample until there are enough findings, walk from them, and so on."""
        if not task.domain.free_places:  # nothing can move: there is one input to judge
            yield Candidates(task.domain.sample(1, rng), "global")
            return
        guide = Guide(task, self, rng)
        known = Heeded(guide)
        if not self.global_samples:
            rows = distinct(given_rows(task, "global_samples"), task.domain)
            waiting = rows[(yield from Known(task).judge(rows, "global"))]
        else:
            population = population_named(self.population, task, rng)
            waiting = yield from self._sampled(np.empty((0, len(task.domain.columns))), population, task, rng)
        while len(waiting):
            together = self._walkers(task)
            yield from while_patient(self._walk.run(distinct(waiting[:together], task.domain), guide, known, rng))
            guide.tell()
            waiting = waiting[together:]
            if self.global_samples:
                waiting = yield from self._sampled(waiting, population, task, rng)

    def _walkers(self, task: Task) -> int:
        """As many as the budget lets take all their steps."""
        steps = max(1, self.local_steps)
        return min(MOST_WALKERS, max(FEWEST_TOGETHER, task.fitting(MOST_WALKERS * steps) // steps))

    def _sampled(self, waiting: Rows, population: Population, task: Task, rng: np.random.Generator) -> Generator[Candidates, Verdict, Rows]:
        """Unfair inputs for the next walks, from as many times 1,000 samples as it takes, for half of the budget at most."""
        budget = task.fitting(UNLIMITED)
        while len(waiting) < self._walkers(task) and not (len(waiting) and 2 * task.fitting(UNLIMITED) < budget):
            rows = population.sample(max(1, task.fitting(self.global_samples)), rng)
            verdict = yield Candidates(rows, "global")
            waiting = np.concatenate([waiting, rows[verdict.unfair]])
        return waiting


class Guide:
    """Which attribute each walk moves next and which way, and what its steps so far have taught."""

    foresees = False

    def __init__(self, task: Task, method: Aequitas, rng: np.random.Generator) -> None:
        self.task, self.method, self.rng = task, method, rng
        self.moves = Moves(task.domain)
        self.lost: Mask = np.zeros(0, dtype=bool)
        count = len(self.moves.free)
        self.attributes: Reals = np.full(count, 1.0 / count)
        self.down: Reals = np.full(count, method.direction)
        self._taken: list[tuple[Index, Mask]] = []

    def propose(self, rows: Rows, stale: Mask) -> Rows:  # noqa: ARG002  (every step is drawn again)
        """The next row of every walk."""
        chosen = self._chosen(len(rows))
        places = self.moves.free[chosen]
        down = self._down(rows[np.arange(len(rows)), places], chosen, places)
        moved = self.moves.step_one(rows, places, np.where(down, -self.method.step, self.method.step))
        self.lost = np.zeros(len(rows), dtype=bool)
        if self.method.mode != "random":
            changed = (moved != rows).any(axis=1)  # only these are judged
            self._taken.append((chosen[changed], down[changed]))
        return moved

    def _chosen(self, n: int) -> Index:
        if self.method.mode != "full":
            return self.rng.integers(len(self.attributes), size=n)
        chosen = np.searchsorted(np.cumsum(self.attributes), self.rng.random(n))
        return np.minimum(chosen, len(self.attributes) - 1)

    def _down(self, cells: Reals, chosen: Index, places: Index) -> Mask:
        """Whether each step goes down; at a border either way is as likely."""
        level = self.rng.random(len(cells))
        if self.method.mode == "random":
            return level < self.method.direction
        domain = self.task.domain
        at_border = (cells <= domain.low[places]) | (cells >= domain.high[places])
        return level < np.where(at_border, 0.5, self.down[chosen])

    def learn(self, unfair: Mask) -> None:
        """Take the verdicts of the steps since the last call."""
        if not self._taken:
            return
        chosen, down = (np.concatenate(parts) for parts in zip(*self._taken, strict=True))
        self._taken.clear()
        worth = np.where(unfair, 1.0, -1.0)
        count = len(self.attributes)
        lean = np.bincount(chosen, np.where(down, worth, -worth), count)
        self.down = np.clip(self.down + self.method.direction_change * lean, 0.0, 1.0)
        if self.method.mode == "full":
            drift = self.method.attribute_change * np.bincount(chosen, worth, count)
            raised, lowered = np.maximum(drift, 0.0), np.minimum(drift, 0.0)
            shares = (self.attributes + raised) / (1.0 - lowered / self.attributes)
            shares = np.maximum(shares / shares.sum(), LEAST_SHARE / count)
            self.attributes = shares / shares.sum()

    def tell(self) -> None:
        """What was learnt, for the reader of the run."""
        if self.method.mode == "random":
            return
        names = [self.task.domain.names[place] for place in self.moves.free]
        self.task.facts["steps_down"] = dict(zip(names, self.down.round(3).tolist(), strict=True))
        if self.method.mode == "full":
            self.task.facts["attributes"] = dict(zip(names, self.attributes.round(4).tolist(), strict=True))


class Heeded(PatientKnown):
    """Remembers verdicts, and lets the guide learn from those of every step."""

    def __init__(self, guide: Guide) -> None:
        super().__init__(guide.task)
        self._guide = guide

    def judge(self, rows: Rows, phase: str) -> Judging:
        """Which rows are unfair; the guide hears it."""
        unfair = yield from super().judge(rows, phase)
        self._guide.learn(unfair)
        return unfair
