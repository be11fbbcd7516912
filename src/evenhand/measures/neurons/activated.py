"""Whether a set of inputs activates the biased neurons: what tells useful tests from useless ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Rows
from evenhand.contract import Layered
from evenhand.limits import ShareBelowOne, check_argument
from evenhand.measures.neurons.bias import LayerBias
from evenhand.models.meter import Meter


@dataclass(frozen=True, eq=False)
class Coverage:
    """Which neurons of a layer some input activates, against those that are biased."""

    activated: Mask  # (units,)
    biased: Mask  # (units,)
    mean_share: float  # of the biased neurons, the share that one input activates, averaged over inputs

    @property
    def share(self) -> float:
        """The share of the biased neurons that at least one input activates; NaN when none is biased."""
        count = int(self.biased.sum())
        return float((self.activated & self.biased).sum() / count) if count else float("nan")


def coverage(model: Layered | Meter, layer: LayerBias, rows: Rows, above: float = 0.5) -> Coverage:
    """A neuron is activated where its value, scaled to 0..1 within its layer, exceeds `above`."""
    check_argument(ShareBelowOne, above=above)
    biased = layer.biased
    activated = np.zeros(len(biased), dtype=bool)
    covered, step = 0, max(1, model.batch_rows)
    for at in range(0, len(rows), step):
        active = _scaled(model.activations(rows[at : at + step], (layer.name,))[layer.name]) > above
        activated |= active.any(axis=0)
        covered += int((active & biased).sum())
    cells = len(rows) * int(biased.sum())
    return Coverage(activated, biased, covered / cells if cells else float("nan"))


def _scaled(values: NDArray[np.floating[Any]]) -> Rows:
    """Every input's values of a layer, the smallest as 0 and the largest as 1; a layer of equal values is all 0."""
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    span = (high - low).astype(np.float64)
    scaled: Rows = np.divide(values - low, span, out=np.zeros(values.shape), where=span > 0)
    return scaled
