"""The loop that picture methods share: one change on every twin of a picture alike, step by step, until the labels part.

The medium clips and rounds each step, so that what is found is a picture that can be saved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Labels, Rows
from evenhand.contract import Candidates, Growing, Search, Task
from evenhand.errors import MissingAbility
from evenhand.methods.parts.chosen_twin import Partners
from evenhand.methods.parts.starts import distinct
from evenhand.statistics.intervals import clopper_pearson

Pixels: TypeAlias = NDArray[np.float32]  # (n, height, width, 3)

PICTURES_AT_ONCE = 1_000
"""So many pictures advance together: enough to amortise a call, few enough to hold their changes in memory."""


@dataclass(frozen=True, eq=False)
class FairTwins:
    """What a method sees at each step: the pictures that are still treated like their twins."""

    rows: Rows
    twins: Rows  # the twin that is looked at beside each row
    labels: Labels  # the label of both
    seeds: Index  # which of the pictures that set out together each one comes from
    step: int  # from 1

    @property
    def both(self) -> Rows:
        """Rows and then their twins."""
        return np.concatenate([self.rows, self.twins])


Change: TypeAlias = Callable[[FairTwins], Pixels]
"""What to add to every twin of each picture now."""


def growing(task: Task) -> Growing:
    """The task's medium, which must take in new pictures."""
    if not isinstance(task.medium, Growing):
        kind = task.medium.kind if task.medium is not None else "table"
        raise MissingAbility(f"this method makes new pictures, which {kind} data cannot take in; give an album of pictures")
    return task.medium


def seed_pictures(task: Task, rng: np.random.Generator) -> Rows:
    """Every picture at hand once, in random order; of the domain where there are none."""
    pool = task.rows if task.rows is not None and len(task.rows) else task.domain.sample(PICTURES_AT_ONCE, rng)
    pool = distinct(pool, task.domain)
    return pool[rng.permutation(len(pool))]


@dataclass
class PerturbedTwins:
    """Perturbs pictures that are treated like their twins, as many together as the budget lets finish."""

    task: Task
    steps: int

    def __post_init__(self) -> None:
        self.medium, self.partners = growing(self.task), Partners(self.task.domain, self.task.model)
        self.fair, self.parted = 0, 0

    def run(self, seeds: Rows, start: Callable[[], Change]) -> Search:
        """Each lot of seeds with a change of its own, which may remember what it did to them."""
        while len(seeds):
            affordable = self.task.fitting(PICTURES_AT_ONCE * (1 + self.steps)) // (1 + self.steps)
            lot, seeds = seeds[: max(1, affordable)], seeds[max(1, affordable) :]
            yield from self._advance(lot, start())
            self._tell()

    def _advance(self, rows: Rows, change: Change) -> Search:
        verdict = yield Candidates(rows, "pictures as they are")
        seeds = np.flatnonzero(~verdict.unfair & (np.count_nonzero(verdict.labels >= 0, axis=1) > 1))
        self.fair += len(seeds)
        rows, labels = rows[seeds], verdict.labels[seeds].max(axis=1).astype(np.intp)
        chosen = self.partners.choose(rows) if len(rows) else seeds
        for step in range(1, self.steps + 1):
            if not len(rows):
                return
            now = FairTwins(rows, self.partners.twins(rows, chosen), labels, seeds, step)
            rows = self.medium.derive(rows, change(now))
            verdict = yield Candidates(rows, "perturbed pictures")
            self.parted += int(verdict.unfair.sum())
            still = ~verdict.unfair
            rows, chosen, seeds = rows[still], chosen[still], seeds[still]
            labels = verdict.labels[still].max(axis=1).astype(np.intp)

    def _tell(self) -> None:
        share = clopper_pearson(self.parted, self.fair)
        self.task.facts["made_unfair"] = {**share.as_dict(), "fair_pictures": self.fair, "parted": self.parted, "steps": self.steps}
