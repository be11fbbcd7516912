"""Bounds of a ReLU network over batches of boxes, by linear relaxation from the output back to the input.

Paper: Zhang et al., "Efficient Neural Network Robustness Certification with General Activation Functions" (CROWN), NeurIPS 2018.  Every
hidden layer is bounded by the same backward pass, and by plain intervals where these are tighter.  Deviation: bounds are widened by
the largest rounding error that a float32 evaluation of the network can make inside the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals

Layer = tuple[Reals, Reals]
Cube = NDArray[np.float64]  # (n, margins, units)
UNIT = 2.0**-23
"""Twice the largest relative error of one float32 operation."""


@dataclass(frozen=True)
class LinearBounds:
    """Lowest and highest margins (n, margins), and how much each input's side of the box adds to them, (n, inputs)."""

    low: Reals
    high: Reals
    influence: Reals


def margin_bounds(layers: Sequence[Layer], low: Reals, high: Reals) -> LinearBounds:
    """Bounds of the last layer over boxes [low, high], (n, inputs) each."""
    hidden: list[tuple[Reals, Reals]] = []  # of every layer before its ReLU
    error = np.maximum(np.abs(low), np.abs(high)) * UNIT
    size = np.maximum(np.abs(low), np.abs(high))
    found = LinearBounds(low, high, low)
    for depth, (weights, bias) in enumerate(layers):
        found = _backward(layers[: depth + 1], hidden, low, high)
        if depth:
            below = [np.maximum(side, 0.0) for side in hidden[-1]]
            plain = _interval(weights, bias, below[0], below[1])
            found = LinearBounds(np.maximum(found.low, plain[0]), np.minimum(found.high, plain[1]), found.influence)
        error = error @ np.abs(weights) + UNIT * (len(weights) + 2) * (size @ np.abs(weights) + np.abs(bias))
        hidden.append((found.low - error, found.high + error))
        size = np.maximum(np.abs(hidden[-1][0]), np.abs(hidden[-1][1]))
    return LinearBounds(*hidden[-1], found.influence)


def _interval(weights: Reals, bias: Reals, low: Reals, high: Reals) -> tuple[Reals, Reals]:
    up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    return low @ up + high @ down + bias, high @ up + low @ down + bias


def _backward(layers: Sequence[Layer], hidden: Sequence[tuple[Reals, Reals]], low: Reals, high: Reals) -> LinearBounds:
    """Lines that bound the last of these layers, pulled back through every ReLU to the input."""
    weights, bias = layers[-1]
    start = np.broadcast_to(weights.T, (len(low), *weights.T.shape))
    lower = upper = _Lines(start, np.broadcast_to(bias, (len(low), len(bias))))
    for depth in range(len(layers) - 2, -1, -1):
        lines = _relu_lines(*hidden[depth])
        lower = _through(lower, lines, layers[depth], is_upper=False)
        upper = _through(upper, lines, layers[depth], is_upper=True)
    lowest = _extreme(lower, low, high)
    highest = -_extreme(_Lines(-upper.slopes, -upper.constant), low, high)
    slopes = np.abs(lower.slopes).sum(axis=1) + np.abs(upper.slopes).sum(axis=1)
    return LinearBounds(lowest, highest, slopes * (high - low))


def _relu_lines(low: Reals, high: Reals) -> tuple[Reals, Reals, Reals]:
    """Slope of the line below, slope and height of the line above a ReLU whose input lies in [low, high]."""
    crosses = (low < 0) & (high > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(crosses, high / (high - low), (low >= 0).astype(np.float64))
    height = np.where(crosses, -slope * low, 0.0)
    below = np.where(crosses, (high > -low).astype(np.float64), slope)
    return below, slope, height


@dataclass(frozen=True, eq=False)
class _Lines:
    """Lines that bound every unit of a layer from one side, in terms of an earlier layer's values."""

    slopes: Cube  # (boxes, units, inputs)
    constant: Reals  # (boxes, units)


def _through(line: _Lines, lines: tuple[Reals, Reals, Reals], layer: Layer, *, is_upper: bool) -> _Lines:
    """The same lines in terms of what goes into the ReLU's layer."""
    slopes, constant = line.slopes, line.constant
    below, above, height = lines
    first, second = (above, below) if is_upper else (below, above)
    up, down = np.maximum(slopes, 0.0), np.minimum(slopes, 0.0)
    constant = constant + np.einsum("nmu,nu->nm", up if is_upper else down, height)
    up *= first[:, None, :]
    down *= second[:, None, :]
    up += down
    weights, bias = layer
    flat = up.reshape(-1, up.shape[2])  # one large product instead of many small ones
    return _Lines((flat @ weights.T).reshape(*up.shape[:2], -1), constant + (flat @ bias).reshape(up.shape[:2]))


def _extreme(line: _Lines, low: Reals, high: Reals) -> Reals:
    """The smallest value of a line over a box."""
    up, down = np.maximum(line.slopes, 0.0), np.minimum(line.slopes, 0.0)
    found: Reals = np.einsum("nmu,nu->nm", up, low) + np.einsum("nmu,nu->nm", down, high) + line.constant
    return found
