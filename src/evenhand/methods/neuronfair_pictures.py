"""NeuronFair on pictures: the global phase only, driven by the neurons that tell the two pictures of a pair apart.

Paper: H. Zheng et al., "NeuronFair: Interpretable White-Box Fairness Testing through Biased Neuron Identification", ICSE 2022.

The most biased layer is the one where the mean tanh of the activation differences is largest; its biased neurons are those above the
point where the share of such neurons crosses the threshold itself.  The loss -sum of f_k(x') log f_k(x) over biased (now and then over
randomly drawn) neurons is followed with momentum.  The paper drops the sign for images; the gradient is therefore scaled so that its
largest pixel moves by `step_size`.  Where the twin comes from FGSM on an attribute classifier, as in the paper, what is flipped is that
classifier's reading, not the person: the album's editor says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Rows
from evenhand.contract import Activations, PixelTransparent, Search, Task
from evenhand.methods.parts.chosen_twin import Partners
from evenhand.methods.parts.perturbed_twins import PICTURES_AT_ONCE, FairTwins, PerturbedTwins, Pixels, seed_pictures
from evenhand.models.meter import Meter

SMALLEST_ACTIVATION = 1e-2
"""The logarithm's derivative is taken no nearer to zero than here."""


@dataclass(frozen=True)
class NeuronFairPictures:
    """Momentum along the biased neurons' gradient.

    step_size: how far the pixel with the largest gradient moves, of 255.
    decay: how much of the last gradient is kept.
    random_chance: how often random neurons take the place of the biased ones.
    steps: at most so many steps for each picture.
    """

    step_size: float = 5.0
    decay: float = 0.1
    random_chance: float = 0.05
    steps: int = 10

    needs: ClassVar[type] = PixelTransparent
    media: ClassVar[tuple[str, ...]] = ("album",)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Find the biased neurons, then climb their loss from every picture."""
        seeds = seed_pictures(task, rng)
        some, partners = seeds[:PICTURES_AT_ONCE], Partners(task.domain, task.model)
        neurons = biased_neurons(task.model, some, partners.twins(some, partners.choose(some)))
        task.facts["neurons"] = {"layer": neurons.layer, "biased": int(neurons.biased.sum()), "of": len(neurons.biased)}
        yield from PerturbedTwins(task, self.steps).run(seeds, lambda: NeuronPull(task.model, neurons, self, rng))


@dataclass(frozen=True, eq=False)
class BiasedNeurons:
    """The most biased layer and which of its neurons are biased."""

    layer: str
    biased: Mask


@dataclass(eq=False)
class NeuronPull:
    """One lot of pictures on its way up the loss, with the momentum of each."""

    model: Meter
    neurons: BiasedNeurons
    method: NeuronFairPictures
    rng: np.random.Generator
    momentum: dict[int, Pixels] = field(default_factory=dict)

    def __call__(self, now: FairTwins) -> Pixels:
        """One momentum step."""
        chosen: NDArray[Any] = self.neurons.biased
        if self.rng.random() < self.method.random_chance:
            chosen = self.rng.choice(len(chosen), int(chosen.sum()), replace=False)
        gradient = self._gradient(now, chosen)
        if self.momentum:
            gradient = gradient + self.method.decay * np.stack([self.momentum[seed] for seed in now.seeds.tolist()])
        self.momentum = dict(zip(now.seeds.tolist(), gradient, strict=True))
        largest = np.abs(gradient).max(axis=(1, 2, 3), keepdims=True)
        return np.asarray(gradient / np.maximum(largest, 1e-12) * self.method.step_size, dtype=np.float32)

    def _gradient(self, now: FairTwins, chosen: NDArray[Any]) -> Pixels:
        """Ascent of the loss on both pictures, added."""
        layer = self.neurons.layer
        values = np.asarray(self.model.activations(now.both, (layer,))[layer])
        first, second = np.split(values, 2)
        slopes = np.concatenate([_slope(first, second, chosen), _slope(second, first, chosen)])
        up, other = np.split(self.model.pixel_gradient(now.both, slopes, layer), 2)
        return up + other


def biased_neurons(model: Meter, rows: Rows, twins: Rows) -> BiasedNeurons:
    """The layer whose neurons tell rows from twins most, and the neurons that do."""
    names = model.layers()
    one, other = model.activations(rows, names), model.activations(twins, names)
    apart = {name: np.tanh(np.abs(one[name] - other[name])).mean(axis=0) for name in names}
    layer = max(names, key=lambda name: float(apart[name].mean()))
    return BiasedNeurons(layer, np.asarray(apart[layer] >= crossing(apart[layer])))


def crossing(differences: NDArray[np.floating[Any]], interval: float = 0.005) -> float:
    """The threshold at which the share of neurons above it no longer exceeds the threshold."""
    thresholds = np.arange(0.0, 1.0 + interval, interval)
    shares = (differences[None, :] > thresholds[:, None]).mean(axis=1)
    return float(min(thresholds[np.argmax(shares <= thresholds)], differences.max()))


def _slope(own: Activations, other: Activations, chosen: NDArray[Any]) -> Activations:
    """Derivative of -other * log(own) by own, on the chosen neurons."""
    slope = np.zeros_like(own)
    slope[:, chosen] = -other[:, chosen] / np.maximum(own[:, chosen], SMALLEST_ACTIVATION)
    return slope
