"""MAFT: EIDIG for models that only answer; gradients are differences of the scores of neighbouring rows.

Paper: Wang, Zhang, Yang, Shao, Zhang, "MAFT: Efficient Model-Agnostic Fairness Testing for Deep Neural Networks via Zero-Order
Gradient Search", ICSE 2024.

Agrees with the paper: EIDIG's two phases with its momentum, epsilon and refreshed gradients, the gradient of the own label's score
estimated by forward differences with h = 1, the row and its moved copies asked in one batch.

Differs as EIDIG's file says, and: protected columns never move, so that their difference is not asked for (one query less for each).
At the upper border of a column the difference is taken backwards, as only valid cells are asked.  A real number moves by a
hundredth of its range; a missing cell has no difference.  A model that only says labels is not asked for differences, which would
be zero nearly everywhere: the local steps from unfair seeds are then random ones, and seeds make global steps, random too, only where
none of them is unfair as it is; the run's facts say so.

Measured on ADF's census net, protected sex, 100,000 candidates, one core, seeds 0 and 1: 70,884 and 74,570 findings, EIDIG with true
gradients 67,830 and 69,450: as effective, which is what the paper says.  It asks for 3.6 times as many rows (13 for a gradient); on this
small net that costs no time: 24,000 to 33,000 findings per CPU-second, EIDIG about 28,000.  Where a row
costs money, that factor is the price.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.contract import Model, Search, Task
from evenhand.errors import InvalidArgument
from evenhand.methods.eidig import Eidig
from evenhand.methods.parts.zero_order import ZeroOrder
from evenhand.models.meter import Meter


@dataclass(frozen=True)
class Maft:
    """EIDIG's parameters, and `reach`: how far a cell is moved for its difference, in the units of its column."""

    seeds: int = 1000
    clusters: int = 4
    iterations: int = 10
    local_steps: int = 1000
    step: float = 1.0
    decay: float = 0.5
    refresh: int = 5
    epsilon: float = 1e-6
    reach: float = 1.0

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("table", "portraits", "text")

    def __post_init__(self) -> None:
        if not (np.isfinite(self.reach) and self.reach != 0):
            raise InvalidArgument(f"reach={self.reach!r} must be a finite number other than 0")
        self._search  # noqa: B018  (checks the rest)

    @property
    def _search(self) -> Eidig:
        return Eidig(
            seeds=self.seeds,
            clusters=self.clusters,
            iterations=self.iterations,
            local_steps=self.local_steps,
            step=self.step,
            decay=self.decay,
            refresh=self.refresh,
            epsilon=self.epsilon,
        )

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """EIDIG's conversation with estimated gradients; every query is charged by the task's own meter."""
        estimated = ZeroOrder(task, self.reach)
        task.facts["maft"] = {"rows_per_gradient": 0 if estimated.is_hard else len(estimated.steps.places) + 1}
        guided = replace(task, model=Meter(estimated))
        if estimated.is_hard:
            task.facts["maft"]["gradients"] = (
                "the model only says labels, whose differences are zero: local steps are random, global ones left out"
            )
            yield from replace(self._search, iterations=0).search(guided, rng)
            if task.facts["gradients"]["local_steps"]:
                return
            task.facts["maft"]["gradients"] += ", until no seed was found unfair as it is"
        yield from self._search.search(guided, rng)
