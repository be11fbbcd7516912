"""Gradients without autograd: differences between neighbouring codes, all queries of a batch in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals, Rows, Scores
from evenhand.contract import SCORES, Model
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, MissingAbility, UnknownName


@dataclass(frozen=True, eq=False)
class DifferenceGradients:
    """Any scored model with a gradient by forward differences: columns + 1 queries per row, in one batch.

    With a domain, a step that would leave a column's range goes the other way, so that only valid cells are asked.
    The scores are the only layer that can be read: a method that looks for biased neurons finds the outputs.
    """

    model: Model
    step: float = 1.0
    domain: TabularDomain | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.step) and self.step != 0):
            raise InvalidArgument(f"step={self.step!r} must be a finite number other than 0")
        if self.model.is_hard:
            raise MissingAbility(
                "the model only says labels, whose differences are zero almost everywhere; "
                "wrap one that gives scores (predict_proba), or choose a method that needs no gradients"
            )

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self.model.classes

    @property
    def is_hard(self) -> bool:
        """A hard model is refused, so never."""
        return False

    @property
    def batch_rows(self) -> int:
        """As many rows as keep a gradient's queries near the model's own batch."""
        columns = len(self.domain.columns) if self.domain else 16
        return max(1, self.model.batch_rows // (columns + 1))

    def gradient_rows(self, columns: int) -> int:
        """How many rows the model is asked for one gradient."""
        return columns + 1

    def scores(self, rows: Rows) -> Scores:
        """The model's own scores, in its own batches."""
        return np.asarray(in_batches(self.model.scores, rows, self.model.batch_rows))

    def layers(self) -> tuple[str, ...]:
        """The scores."""
        return (SCORES,)

    def activations(self, rows: Rows, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        """The scores, under their name."""
        for layer in layers:
            if layer != SCORES:
                raise UnknownName("layer", layer, (SCORES,))
        return dict.fromkeys(layers, self.scores(rows)) if layers else {}

    def gradient(self, rows: Rows, cotangent: NDArray[Any], layer: str = SCORES) -> Rows:
        """Per row, the difference quotient by each column of sum(cotangent * scores)."""
        if layer != SCORES:
            raise MissingAbility(f"layer={layer!r}: differences see only {SCORES!r}; hidden layers need a torch or dense network")
        if cotangent.shape != (len(rows), len(self.classes)):
            raise InvalidArgument(f"cotangent has shape {cotangent.shape}; expected ({len(rows)}, {len(self.classes)})")
        high = self.domain.high if self.domain else None
        low = self.domain.low if self.domain else None
        return neighbour_gradient(self.scores, rows, cotangent, Steps(range(rows.shape[1]), self.step, low, high))

    def fingerprint(self) -> str:
        """The model's own: its answers are the same."""
        return self.model.fingerprint()


@dataclass(frozen=True)
class Steps:
    """Which columns are moved, how far (one step for all, or one for each), and the borders at which a step turns round."""

    places: Sequence[int]
    step: float | Reals = 1.0
    low: Rows | None = None
    high: Rows | None = None

    def sizes(self, rows: Rows) -> Rows:
        """The signed step of every cell of the moved columns, (n, places)."""
        cells = rows[:, list(self.places)]
        sizes = np.full(cells.shape, self.step)
        if self.high is not None and self.low is not None:
            low, high = self.low[list(self.places)], self.high[list(self.places)]
            outside = (cells + self.step > high) | (cells + self.step < low)
            back = (cells - self.step >= low) & (cells - self.step <= high)
            sizes = np.where(outside, np.where(back, -sizes, 0.0), sizes)
        sizes[np.isnan(cells)] = 0.0
        return sizes


def neighbour_gradient(values: Callable[[Rows], NDArray[Any]], rows: Rows, cotangent: NDArray[Any], steps: Steps) -> Rows:
    """The gradient of sum(cotangent * values) by the moved columns, zero in the others and where no step is possible."""
    return quotients(neighbour_answers(values, rows, steps), cotangent, rows, steps)


def neighbour_answers(values: Callable[[Rows], NDArray[Any]], rows: Rows, steps: Steps) -> NDArray[np.float64]:
    """The values of the rows and of every moved copy of them, (places + 1, n, units), all asked at once."""
    sizes = steps.sizes(rows)
    asked = np.repeat(rows[None], len(steps.places) + 1, axis=0)  # (places + 1, n, columns)
    for at, place in enumerate(steps.places):
        asked[at + 1, :, place] += sizes[:, at]
    answers = np.asarray(values(asked.reshape(-1, rows.shape[1])), dtype=np.float64)
    return answers.reshape(len(asked), len(rows), -1)


def quotients(answers: NDArray[np.float64], cotangent: NDArray[Any], rows: Rows, steps: Steps) -> Rows:
    """Difference quotients of sum(cotangent * values), (n, columns)."""
    sizes = steps.sizes(rows)
    weighted: Reals = np.einsum("knu,nu->kn", answers, cotangent)
    moves = (weighted[1:] - weighted[0]).T
    out = np.zeros(rows.shape)
    out[:, list(steps.places)] = np.divide(moves, sizes, out=np.zeros_like(moves), where=sizes != 0)
    return out


def in_batches(ask: Callable[[Rows], Any], rows: Rows, size: int) -> Any:
    """Answers to rows, asked in batches of at most `size`."""
    if len(rows) <= size:
        return ask(rows)
    return np.concatenate([ask(rows[at : at + size]) for at in range(0, len(rows), size)])
