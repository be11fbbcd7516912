"""NeuronFair's biased neurons of a model of pictures: convolutional maps are flattened, so that every value of a map is a neuron.

Flattened maps are large, so that a few pictures are read at a time and only sums are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.measures.neurons.bias import BiasMap, LayerBias
from evenhand.methods.parts.chosen_twin import Partners
from evenhand.models.meter import Meter

VALUES_AT_ONCE = 16_000_000
"""So many activations are held at a time: 64 MB."""


def picture_bias(model: Meter, partners: Partners, rows: Rows, interval: float) -> BiasMap:
    """The bias map over all of these rows, each beside its chosen twin: tanh of the mean difference of every neuron."""
    names, chosen = model.flat_layers(), partners.choose(rows)
    sums: dict[str, Reals] = {}
    lowest = dict.fromkeys(names, np.inf)
    for part in lots(model, rows, names):
        both = np.concatenate([rows[part], partners.twins(rows[part], chosen[part])])
        for name, values in model.activations(both, names).items():
            first, second = np.split(values.astype(np.float64), 2)
            sums[name] = sums.get(name, np.zeros(values.shape[1])) + np.abs(first - second).sum(axis=0)
            lowest[name] = min(lowest[name], float(values.min(initial=np.inf)))
    layers = tuple(LayerBias(name, np.tanh(sums[name] / len(rows)), lowest[name], interval) for name in names)
    return BiasMap(layers, len(rows))


def lots(model: Meter, rows: Rows, layers: Sequence[str]) -> Iterator[Index]:
    """Places of rows in lots whose activations, twins' too, fit into memory."""
    if not len(rows):
        return
    units = sum(values.shape[1] for values in model.activations(rows[:1], layers).values())
    step = max(1, min(model.batch_rows, VALUES_AT_ONCE // max(1, 2 * units)))
    for at in range(0, len(rows), step):
        yield np.arange(at, min(at + step, len(rows)))
