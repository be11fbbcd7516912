"""NeuronFair on images: the global phase only, driven by the neurons that tell the two pictures of a pair apart.

Paper: H. Zheng et al., "NeuronFair: Interpretable White-Box Fairness Testing through Biased Neuron Identification", ICSE 2022.

The most biased layer is the one where the mean tanh of the activation differences is largest; its biased neurons are those above the
point where the share of such neurons crosses the threshold itself.  The loss -sum of f_k(x') log f_k(x) over biased (now and then over
randomly drawn) neurons is followed with momentum.  The paper drops the sign for images; the gradient is therefore scaled so that its
largest pixel moves by `step_size`.  Where the twin comes from FGSM on an attribute classifier, as in the paper, what is flipped is that
classifier's reading, not the person: the pair says so in its `flip`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Activations, TransparentPictureModel
from evenhand.methods.pictures.pair_generation import Moment, Pixels

SMALLEST = 1e-6


@dataclass(frozen=True)
class NeuronFairImages:
    """Momentum along the biased neurons' gradient."""

    needs: ClassVar[type] = TransparentPictureModel
    step_size: float = 5.0
    decay: float = 0.1
    random_chance: float = 0.05
    steps: int = 10

    def perturbation(self, moment: Moment, model: Any, memory: dict[str, Any], rng: np.random.Generator) -> Pixels:
        """One momentum step; the biased neurons are found at the first."""
        if moment.step == 1:
            memory["layer"], memory["biased"] = biased_neurons(model, moment.first, moment.second)
            memory["momentum"] = {}
        layer, biased = memory["layer"], memory["biased"]
        if rng.random() < self.random_chance:
            biased = rng.choice(len(biased), int(biased.sum()), replace=False)
        gradient = _gradient(model, layer, biased, moment)
        gradient = gradient + self.decay * _remembered(memory["momentum"], moment)
        memory["momentum"] = dict(zip(moment.pair.tolist(), gradient, strict=True))
        largest = np.abs(gradient).max(axis=(1, 2, 3), keepdims=True)
        return np.asarray(gradient / np.maximum(largest, 1e-12) * self.step_size, dtype=np.float32)


def biased_neurons(model: TransparentPictureModel, first: Pixels, second: Pixels) -> tuple[str, NDArray[np.bool_]]:
    """The most biased layer and which of its neurons are biased."""
    names = model.layers()
    one, other = model.activations(first, names), model.activations(second, names)
    apart = {name: np.tanh(np.abs(one[name] - other[name])).mean(axis=0) for name in names}
    layer = max(names, key=lambda name: float(apart[name].mean()))
    return layer, np.asarray(apart[layer] >= crossing(apart[layer]))


def crossing(differences: NDArray[np.floating[Any]], interval: float = 0.005) -> float:
    """The threshold at which the share of neurons above it no longer exceeds the threshold."""
    thresholds = np.arange(0.0, 1.0 + interval, interval)
    shares = (differences[None, :] > thresholds[:, None]).mean(axis=1)
    return float(min(thresholds[np.argmax(shares <= thresholds)], differences.max()))


def _gradient(model: TransparentPictureModel, layer: str, chosen: NDArray[Any], moment: Moment) -> Pixels:
    """Ascent of the loss on both pictures, added."""
    first, second = model.activations(moment.first, [layer])[layer], model.activations(moment.second, [layer])[layer]
    up = model.activation_gradient(moment.first, layer, _slope(first, second, chosen))
    return up + model.activation_gradient(moment.second, layer, _slope(second, first, chosen))


def _slope(own: Activations, other: Activations, chosen: NDArray[Any]) -> Activations:
    """Derivative of -other * log(own) by own, on the chosen neurons."""
    slope = np.zeros_like(own)
    slope[:, chosen] = -other[:, chosen] / np.maximum(own[:, chosen], 1e-2)
    return slope


def _remembered(momentum: dict[int, Pixels], moment: Moment) -> Pixels | float:
    return np.stack([momentum[pair] for pair in moment.pair.tolist()]) if momentum else 0.0
