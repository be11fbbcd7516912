"""NeuronFair on pictures: the global phase only, driven by the neurons that tell the two pictures of a pair apart.

Paper: H. Zheng et al., "NeuronFair: Interpretable White-Box Fairness Testing through Biased Neuron Identification", ICSE 2022.

Agrees with the paper: maps are flattened, so that every value of a map is a neuron; a neuron's ActDiff is the tanh of its mean difference
over all pairs of the data; the most biased layer has the largest area under its AS curve, and its biased neurons lie above the point where
that curve crosses y = x.  The dynamic loss -sum of f_k(x') log f_k(x) goes over the union of the biased neurons and of `random_share` of
all neurons, drawn again every `random_every` steps, and is followed with momentum on both pictures.

Differs: the paper drops the sign for images and its step size is lost, so that the summed gradient is scaled until its largest pixel moves
by `step_size`.  A ReLU at zero adds nothing (its logarithm is infinite); layers that are never negative are preferred.  At most
`MOST_PICTURES` of the data tell which neurons are biased.  Where the twin comes from FGSM on an attribute classifier, as in the paper, what
is flipped is that classifier's reading, not the person: the album's editor says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from evenhand.arrays import Index, Mask
from evenhand.contract import PixelTransparent, Search, Task
from evenhand.limits import Count, Positive, ShareBelowOne, check_limits
from evenhand.measures.neurons.bias import BiasMap, LayerBias
from evenhand.methods.parts.chosen_twin import Partners
from evenhand.methods.parts.flat_maps import lots, picture_bias
from evenhand.methods.parts.gradients import dynamic_loss
from evenhand.methods.parts.perturbed_twins import FairTwins, PerturbedTwins, Pixels, seed_pictures
from evenhand.models.meter import Meter

MOST_PICTURES = 2_000
"""Activation differences are averaged over at most so many pictures of the data."""


@dataclass(frozen=True)
class NeuronFairPictures:
    """Momentum along the biased neurons' gradient.

    step_size: how far the pixel with the largest gradient moves, of 255.
    decay: how much of the last gradient is kept.
    random_share: how many of the layer's neurons are drawn beside the biased ones.
    random_every: after so many steps they are drawn again.
    steps: at most so many steps for each picture.
    interval: between the thresholds of the AS curve.
    """

    step_size: Positive = 5.0
    decay: ShareBelowOne = 0.1
    random_share: ShareBelowOne = 0.05
    random_every: Count = 1
    steps: Count = 10
    interval: float = 0.005

    needs: ClassVar[type] = PixelTransparent
    media: ClassVar[tuple[str, ...]] = ("album",)

    def __post_init__(self) -> None:
        check_limits(self)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Find the biased neurons in the data, then climb their loss from every picture."""
        seeds = seed_pictures(task, rng)
        bias = picture_bias(task.model, Partners(task.domain, task.model), seeds[:MOST_PICTURES], self.interval)
        positive = tuple(layer for layer in bias.layers if layer.lowest >= 0)
        layer = BiasMap(positive or bias.layers, bias.pairs).most_biased
        task.facts["neurons"] = {
            "layer": layer.name,
            "biased": int(layer.biased.sum()),
            "of": len(layer.biased),
            "pairs": bias.pairs,
            "area": layer.area,
            "discrimination": bias.discrimination,
        }
        yield from PerturbedTwins(task, self.steps).run(seeds, lambda: NeuronPull(task.model, layer, self, rng))


@dataclass(eq=False)
class NeuronPull:
    """One lot of pictures on its way up the loss, with the momentum of each."""

    model: Meter
    layer: LayerBias
    method: NeuronFairPictures
    rng: np.random.Generator
    momentum: dict[int, Pixels] = field(default_factory=dict)
    drawn: Mask = field(init=False)

    def __call__(self, now: FairTwins) -> Pixels:
        """One momentum step."""
        if (now.step - 1) % self.method.random_every == 0:
            self.drawn = self._random_neurons()
        gradient = np.concatenate([self._gradient(now, part) for part in lots(self.model, now.rows, (self.layer.name,))])
        if self.momentum:
            gradient = gradient + self.method.decay * np.stack([self.momentum[seed] for seed in now.seeds.tolist()])
        self.momentum = dict(zip(now.seeds.tolist(), gradient, strict=True))
        largest = np.abs(gradient).max(axis=(1, 2, 3), keepdims=True)
        return np.asarray(gradient / np.maximum(largest, 1e-12) * self.method.step_size, dtype=np.float32)

    def _random_neurons(self) -> Mask:
        """The paper's r: so many of the layer's neurons by chance."""
        units = len(self.layer.biased)
        drawn = np.zeros(units, dtype=bool)
        drawn[self.rng.choice(units, int(units * self.method.random_share), replace=False)] = True
        return drawn

    def _gradient(self, now: FairTwins, part: Index) -> Pixels:
        """Ascent of the loss on both pictures of some pairs, added."""
        both, name = np.concatenate([now.rows[part], now.twins[part]]), self.layer.name
        slope = dynamic_loss(self.layer.biased | self.drawn)(np.asarray(self.model.activations(both, (name,))[name]))
        up, other = np.split(self.model.pixel_gradient(both, slope, name), 2)
        return np.asarray(up + other)
