"""Where runs are judged: one model on one table, with what all methods are held against there, each fitted once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.campaign.bench_records import Arena, reference_of
from evenhand.contract import Model, Oracle, Trainable
from evenhand.engine.samples import Sampling, judged_samples
from evenhand.engine.subject import Subject, oracle_for, subject_of
from evenhand.errors import MissingAbility
from evenhand.measures.likeness import LikenessReference
from evenhand.measures.partition import LeafPairs, LeafRules, Pool, PoolJudge
from evenhand.measures.plausible import FEWEST, Plausibility
from evenhand.measures.rates import Rate, judge_all
from evenhand.models.meter import Meter

POOL_ROWS = 40_000
MOST_REAL_ROWS = 50_000
SEED = 20_240
"""Of everything that is fitted here; no run's seed plays a part."""


@dataclass(frozen=True)
class Ground:
    """An arena, opened; its measures are made when they are first asked for."""

    arena: Arena
    oracle_name: str | None = None
    pool_rows: int = POOL_ROWS  # 0 where findings are not judged as a test set
    rate_rows: int = 10_000

    @cached_property
    def subject(self) -> Subject:
        """What the methods see."""
        return subject_of(self.arena.model, self.arena.data, self.arena.protected)

    @cached_property
    def oracle(self) -> Oracle:
        """What judges."""
        return oracle_for(self.subject, self.oracle_name)

    @cached_property
    def rate(self) -> Rate:
        """How often it happens among real rows."""
        sampling = Sampling(self.rate_rows, is_first_only=True)
        return judged_samples(self.subject, self.oracle, sampling, np.random.default_rng([SEED, 2]))[0].rate

    @cached_property
    def plausibility(self) -> Plausibility | None:
        """What is natural; None where nobody asks, there are too few real rows to say, or rows only number what is shown."""
        rows = self.subject.rows
        if not self.pool_rows or rows is None or len(rows) < FEWEST or self.subject.domain.numbers_things:
            return None
        rng = np.random.default_rng([SEED, 3])
        chosen = rows if len(rows) <= MOST_REAL_ROWS else rows[rng.choice(len(rows), MOST_REAL_ROWS, replace=False)]
        return Plausibility.fit(chosen, self.subject.domain, rng)

    @cached_property
    def pool(self) -> Pool | None:
        """Rows judged outside any budget; None without a population to draw them from."""
        if self.plausibility is None:
            return None
        judge = PoolJudge(self.subject.domain, Meter(self.subject.model), self.oracle)
        return Pool.draw(self.pool_rows, self.plausibility.population, judge, np.random.default_rng([SEED, 4]))

    @cached_property
    def rules(self) -> LeafRules | None:
        """The rules of unfairness to be found."""
        return None if self.pool is None else LeafRules.of(self.pool, self.subject.domain)

    @cached_property
    def leaf_pairs(self) -> LeafPairs | None:
        """The pairs of leaves to be joined."""
        return None if self.pool is None else LeafPairs.of(self.pool, self.subject.domain, np.random.default_rng([SEED, 5]))

    @cached_property
    def refitted_rate(self) -> float:
        """The share of unfair rows of the pool after the model was fitted again without any findings: what chance alone does."""
        return self.pool_rate(self.trainable.refit(*self._labelled, np.random.default_rng([SEED, 6])))

    @property
    def trainable(self) -> Trainable:
        """The model, where it can be fitted again."""
        if not isinstance(self.subject.model, Trainable):
            raise MissingAbility(f"{type(self.subject.model).__name__} cannot be fitted again, so that nothing can be said about repair")
        return self.subject.model

    @property
    def _labelled(self) -> tuple[Rows, Labels]:
        if self.subject.rows is None or self.subject.labels is None:
            raise MissingAbility("there are no labelled rows to fit the model again to")
        return self.subject.rows, self.subject.labels

    def pool_rate(self, model: Model) -> float:
        """The share of the pool that a model treats unfairly."""
        if self.pool is None:
            raise MissingAbility("there are too few real rows to draw a pool that judges")
        return float(judge_all(self.pool.rows, self.subject.domain, Meter(model), self.oracle).unfair.mean())

    @cached_property
    def reference(self) -> LikenessReference | None:
        """What the slower figures of naturalness compare with."""
        return reference_of(self.subject, self.oracle)
