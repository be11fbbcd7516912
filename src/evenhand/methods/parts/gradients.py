"""Gradients of the losses that the white-box methods climb, for pairs of twins in cache-sized batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Mask, Rows
from evenhand.contract import SCORES, Slope, labels_of
from evenhand.errors import WrongAnswer
from evenhand.models.meter import Meter

SMALLEST = 1e-6
"""Activations nearer to zero than this count as this much, so that their reciprocal stays a number."""

ROWS_AT_ONCE = 2_048
"""A backward pass keeps every layer's values: more rows than this leave the cache, and take twice as long each on a dense net."""


def pair_gradients(model: Meter, rows: Rows, twins: Rows, slope: Slope, layer: str = SCORES) -> tuple[Rows, Rows]:
    """The gradient of a loss by the codes of every row and of its twin; the slope sees rows first, then as many twins."""
    step = max(1, min(model.batch_rows, ROWS_AT_ONCE) // 2)
    if len(rows) <= step:
        found = model.pullback(np.concatenate([rows, twins]), slope, layer)
        check_finite(found, layer)
        return found[: len(rows)], found[len(rows) :]
    parts = [pair_gradients(model, rows[at : at + step], twins[at : at + step], slope, layer) for at in range(0, len(rows), step)]
    return np.concatenate([first for first, _ in parts]), np.concatenate([second for _, second in parts])


def check_finite(gradient: Rows, layer: str) -> None:
    """Raise when a gradient is not a number: a search along it would go nowhere without saying so."""
    if not np.isfinite(gradient).all():
        row = int(np.flatnonzero(~np.isfinite(gradient).all(axis=1))[0])
        raise WrongAnswer(
            f"the model's gradient of {layer!r} is {gradient[row].tolist()} for a row of a batch of {len(gradient)}; "
            "mend the model, wrap it in DifferenceGradients, or choose a method that needs no gradients"
        )


def cross_entropy(scores: NDArray[Any], labels: Labels | None = None) -> NDArray[Any]:
    """The slope of the cross-entropy against the model's own label (ADF)."""
    own = labels_of(scores) if labels is None else labels
    line = np.arange(len(scores))
    slope = np.zeros_like(scores)
    slope[line, own] = -1.0 / np.maximum(scores[line, own], SMALLEST)
    return slope


def own_score(scores: NDArray[Any]) -> NDArray[Any]:
    """The slope of the score of the model's own label (EIDIG)."""
    return _own(scores).astype(scores.dtype)


def _own(scores: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(np.arange(scores.shape[1]) == labels_of(scores)[:, None])


def dynamic_loss(chosen: Mask) -> Slope:
    """The slope of NeuronFair's loss, -sum over the chosen neurons of f_k(x') log f_k(x), for rows and for twins.

    `chosen` is (units,), or (rows, units) where every row has its own.  A ReLU at zero passes nothing back, so that its infinite
    logarithm is left out; the logarithm of a negative value is that of its size.
    """

    def slope(values: NDArray[Any]) -> NDArray[Any]:
        half = len(values) // 2
        found = np.empty_like(values)  # in the layout of the values
        found[:half], found[half:] = values[half:], values[:half]
        size = np.abs(values)
        present = size > 0
        np.maximum(size, SMALLEST, out=size)
        found /= np.copysign(size, values, out=size)
        weights = -chosen.astype(values.dtype)
        found *= np.concatenate([weights, weights]) if weights.ndim == 2 else weights
        found *= present
        return found

    return slope
