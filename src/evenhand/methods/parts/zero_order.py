"""Gradients of a loss for a model that only answers: forward differences of its answers, every query of a batch in one call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Rows, Scores
from evenhand.contract import SCORES, Slope, Task
from evenhand.errors import MissingAbility
from evenhand.methods.parts.walks import Moves
from evenhand.models.differences import Steps, neighbour_answers, quotients
from evenhand.models.meter import Meter


@dataclass(frozen=True)
class ZeroOrder:
    """A metered model with gradients by the columns that may move: one query for the row and one for each of them.

    `reach` is the step h in the columns' own units.  The differences of a model that only says labels are zero almost everywhere, so
    that it is not asked for them: its gradient is zero.
    """

    task: Task
    reach: float

    @property
    def inner(self) -> Meter:
        """The model as the engine counts it."""
        return self.task.model

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self.inner.classes

    @property
    def is_hard(self) -> bool:
        """Whether only labels are known."""
        return self.inner.is_hard

    @property
    def batch_rows(self) -> int:
        """As many rows as keep a gradient's queries near the model's own batch."""
        return max(1, self.inner.batch_rows // (len(self.steps.places) + 1))

    @cached_property
    def steps(self) -> Steps:
        """The columns that may move, and how far each is moved."""
        domain, units = self.task.domain, Moves(self.task.domain).units
        places = np.flatnonzero(units > 0)
        return Steps(places.tolist(), self.reach * units[places], domain.low, domain.high)

    def fingerprint(self) -> str:
        """The model's own: its answers are the same."""
        return self.inner.fingerprint()

    def scores(self, rows: Rows) -> Scores:
        """The model's own scores."""
        return self.inner.scores(rows)

    def pullback(self, rows: Rows, slope: Slope, layer: str = SCORES) -> Rows:
        """The gradient of the loss whose derivative by the scores is `slope`; the rows' own scores are among the answers."""
        if layer != SCORES:
            raise MissingAbility(f"layer={layer!r}: differences see only {SCORES!r}; hidden layers need a torch or dense network")
        if self.is_hard:
            return np.zeros(rows.shape)
        answers = neighbour_answers(self.inner.scores, rows, self.steps)
        return quotients(answers, slope(answers[0]), rows, self.steps)

    def gradient(self, rows: Rows, cotangent: NDArray[Any], layer: str = SCORES) -> Rows:
        """Per row, the difference quotient of sum(cotangent * scores)."""
        return self.pullback(rows, lambda _: cotangent, layer)
