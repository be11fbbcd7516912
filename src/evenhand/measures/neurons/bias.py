"""How strongly every hidden neuron reacts when only what is protected changes, and which neurons are biased.

Paper: Zheng et al., "NeuronFair: Interpretable White-Box Fairness Testing through Biased Neuron Identification", ICSE 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals, Rows, Scores
from evenhand.contract import Layered
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.measures.neurons.curve import INTERVAL, Curve, as_curve
from evenhand.models.answer_shapes import sigmoid, softmax
from evenhand.models.meter import Meter

MOST_TOLD = 4_096
"""Neurons of a network whose reactions a result keeps one by one; of a larger one it keeps the areas alone."""

TRIED_ROWS, SAME = 32, 1e-5
"""Rows by which a layer is told from the answer, and how far apart equal values may be."""


@dataclass(frozen=True, eq=False)
class LayerBias:
    """One layer: the mean activation difference of every neuron between twins, through tanh."""

    name: str
    reactions: Reals  # (units,), in [0, 1)
    lowest: float  # the smallest activation seen
    interval: float = INTERVAL

    @cached_property
    def curve(self) -> Curve:
        """The AS curve."""
        return as_curve(self.reactions, self.interval)

    @property
    def area(self) -> float:
        """The area under the AS curve: how unfair the layer is."""
        return self.curve.area

    @property
    def biased(self) -> Mask:
        """The neurons whose reaction reaches the adaptive threshold; none in a layer that does not react."""
        return (self.reactions >= self.curve.crossing) & (self.reactions > 0)

    def as_dict(self) -> dict[str, object]:
        """For JSON; reactions with three digits, enough to draw them."""
        shown = {"thresholds": np.round(self.curve.thresholds, 4).tolist(), "shares": np.round(self.curve.shares, 4).tolist()}
        return {
            "label": self.name,
            "neurons": len(self.reactions),
            "biased": int(self.biased.sum()),
            "area": self.area,
            "threshold": self.curve.crossing,
            "reactions": [round(float(value), 3) for value in self.reactions],
            "curve": shown,
        }


@dataclass(frozen=True, eq=False)
class BiasMap:
    """Layer by neuron: what reacts to the protected attributes."""

    layers: tuple[LayerBias, ...]
    pairs: int

    def __getitem__(self, name: str) -> LayerBias:
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise UnknownName("layer", name, [layer.name for layer in self.layers])

    @property
    def most_biased(self) -> LayerBias:
        """The layer with the largest area."""
        return max(self.layers, key=lambda layer: layer.area)

    @property
    def areas(self) -> dict[str, float]:
        """The area under the AS curve of every layer."""
        return {layer.name: layer.area for layer in self.layers}

    @property
    def discrimination(self) -> float:
        """NeuronFair's measure of a whole network: the largest area."""
        return self.most_biased.area

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        most = self.most_biased
        return {
            "areas": self.areas,
            "most_biased": most.name,
            "threshold": most.curve.crossing,
            "biased_neurons": int(most.biased.sum()),
            "neurons": len(most.reactions),
            "pairs": self.pairs,
            "layers": [layer.as_dict() for layer in self.layers] if sum(len(layer.reactions) for layer in self.layers) <= MOST_TOLD else [],
        }


def measure_bias(
    model: Layered | Meter, domain: TabularDomain, rows: Rows, layers: Sequence[str] | None = None, interval: float = INTERVAL
) -> BiasMap:
    """The bias map of a model over the pairs of every row and each of its other possible twins."""
    if not len(rows):
        raise InvalidArgument("rows is empty; activation differences are means over pairs of twins")
    names = tuple(layers or model.layers())
    if not names:
        raise InvalidArgument("the model names no layers that could be read")
    sums: dict[str, Reals] = {}
    lowest = dict.fromkeys(names, np.inf)
    pairs = 0
    step = max(1, model.batch_rows // 2)
    for at in range(0, len(rows), step):
        for first, second in _pairs(domain, rows[at : at + step]):
            pairs += len(first)
            values = model.activations(np.concatenate([first, second]), names)
            for name in names:
                both = values[name].astype(np.float64)
                sums[name] = sums.get(name, np.zeros(both.shape[1])) + np.abs(both[: len(first)] - both[len(first) :]).sum(axis=0)
                lowest[name] = min(lowest[name], float(both.min(initial=np.inf)))
    made = tuple(LayerBias(name, np.tanh(sums[name] / max(pairs, 1)), lowest[name], interval) for name in names)
    return BiasMap(made, pairs)


def hidden_layers(model: Layered | Meter, rows: Rows) -> tuple[str, ...]:
    """The layers that are not the answer itself, nor the same values once more, as those of a container are."""
    some = rows[:TRIED_ROWS]
    values, scores = model.activations(some, model.layers()), model.scores(some)
    kept: dict[str, NDArray[np.floating[Any]]] = {}
    for name in model.layers():
        if not _is_answer(values[name], scores) and not any(np.array_equal(values[name], other) for other in kept.values()):
            kept[name] = values[name]
    return tuple(kept)


def _is_answer(values: NDArray[np.floating[Any]], scores: Scores) -> bool:
    """Whether a layer gives the scores, or the logits behind them, of every class or of the second of two."""
    if values.shape[1] == 1 and scores.shape[1] == 2:
        return any(np.allclose(each, scores[:, 1], atol=SAME) for each in (values[:, 0], sigmoid(values[:, 0])))
    return values.shape == scores.shape and any(np.allclose(each, scores, atol=SAME) for each in (values, softmax(values)))


def _pairs(domain: TabularDomain, rows: Rows) -> list[tuple[Rows, Rows]]:
    """Every row beside each possible twin other than itself."""
    twins, own = domain.twins(rows), domain.own_combination(rows)
    made = []
    for combination in range(len(domain.combinations)):
        other = twins.valid[combination] & (own != combination)
        made.append((rows[other], twins.rows[combination][other]))
    return made
