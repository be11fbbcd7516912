"""What a model can do, as protocols.  A method names the one it needs; the engine checks before it runs.

Every model answers rows of codes (see `arrays`); how codes become its inputs is the adapter's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Rows, Scores

SCORES = "scores"
"""The layer name that stands for the model's output."""


@runtime_checkable
class Model(Protocol):
    """Anything that scores rows."""

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""

    @property
    def is_hard(self) -> bool:
        """Whether only labels are known; scores are then 0 and 1."""

    @property
    def batch_rows(self) -> int:
        """How many rows one call takes best."""

    def scores(self, rows: Rows) -> Scores:
        """One row of scores per input, (n, classes); the largest one is the label."""

    def fingerprint(self) -> str:
        """A short text that is equal for equal models."""


@runtime_checkable
class Differentiable(Model, Protocol):
    """A model that says how its output moves with its input."""

    def gradient(self, rows: Rows, cotangent: NDArray[Any], layer: str = SCORES) -> Rows:
        """Per row, the gradient by the codes of sum(cotangent * layer's values), (n, columns).

        With `layer` one of `layers()` and a cotangent (n, units) this is the gradient of any hidden loss.
        """


Slope: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""A loss, told by its derivative: a layer's values (n, units) to the cotangent (n, units)."""


@runtime_checkable
class Fused(Differentiable, Protocol):
    """A model that differentiates a loss in one pass, where a gradient after reading the values would take two."""

    def pullback(self, rows: Rows, slope: Slope, layer: str = SCORES) -> Rows:
        """Per row, the gradient by the codes of the loss whose derivative by the layer's values is `slope`, (n, columns).

        The slope sees all rows at once: a loss may couple them.
        """


@runtime_checkable
class Transparent(Differentiable, Protocol):
    """A model whose hidden layers can be read."""

    def layers(self) -> tuple[str, ...]:
        """The names of the layers that can be read, from input to output."""

    def activations(self, rows: Rows, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        """Values of the named layers, each flattened to (n, units)."""


@runtime_checkable
class Trainable(Model, Protocol):
    """A model that can be fitted anew."""

    def refit(self, rows: Rows, labels: Labels, rng: np.random.Generator) -> Model:
        """A new model of the same kind, trained on these rows; this one stays as it is."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows that should be answered alike, side by side, and how much that counts beside the labels."""

    first: Rows
    second: Rows
    weight: float = 1.0


@runtime_checkable
class Consistent(Trainable, Protocol):
    """A model whose training can also ask for equal answers to pairs of rows."""

    def refit_consistently(self, rows: Rows, labels: Labels, pairs: Pairs, rng: np.random.Generator) -> Model:
        """A new model of the same kind; added to its loss is the mean squared distance of the centred logits of each pair."""


def labels_of(scores: Scores) -> Labels:
    """The position of the largest score; the first of equals."""
    if scores.shape[1] == 2:
        return (scores[:, 1] > scores[:, 0]).astype(np.intp)
    return np.asarray(scores.argmax(axis=1), dtype=np.intp)


def one_hot(labels: Labels, classes: int) -> Scores:
    """Scores of a model that only says labels."""
    return np.eye(classes, dtype=np.float32)[labels]
