"""Mutated copies of a classifier: models that behave a little differently, for asking whether coverage goes with fairness.

Papers: the operators of L. Ma et al., "DeepMutation", ISSRE 2018, and J. Wang et al., ICSE 2019, as DeepFAIT uses them.
Imported only by code that has torch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from evenhand.errors import UnknownName
from evenhand.models.torch_pictures import TorchClassifier

Operator = Callable[[Tensor, float, np.random.Generator], None]


def _units(weights: Tensor, share: float, rng: np.random.Generator, least: int = 1) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    count = min(len(weights), max(least, round(share * len(weights))))
    return rng.choice(len(weights), count, replace=False)


def gaussian_fuzzing(weights: Tensor, share: float, rng: np.random.Generator) -> None:
    """Noise as large as the weights' own spread on some units' weights."""
    for unit in _units(weights, share, rng):
        noise = torch.from_numpy(rng.normal(size=weights[unit].shape).astype(np.float32))
        weights[unit] += 0.5 * weights.std() * noise


def weight_shuffling(weights: Tensor, share: float, rng: np.random.Generator) -> None:
    """Some units' incoming weights in another order."""
    for unit in _units(weights, share, rng):
        flat = weights[unit].flatten()
        weights[unit] = flat[torch.from_numpy(rng.permutation(len(flat)))].reshape(weights[unit].shape)


def neuron_switch(weights: Tensor, share: float, rng: np.random.Generator) -> None:
    """Some units change places."""
    units = _units(weights, share, rng, least=2)
    weights[units] = weights[np.roll(units, 1)].clone()


def activation_inverse(weights: Tensor, share: float, rng: np.random.Generator) -> None:
    """Some units' sums change sign before the activation function."""
    units = _units(weights, share, rng)
    weights[units] = -weights[units]


OPERATORS: dict[str, Operator] = {
    "gaussian fuzzing": gaussian_fuzzing,
    "weight shuffling": weight_shuffling,
    "neuron switch": neuron_switch,
    "activation inverse": activation_inverse,
}


def mutate(classifier: TorchClassifier, operator: str, share: float, rng: np.random.Generator) -> TorchClassifier:
    """A copy in which one operator has changed a share of the units of one layer, drawn by chance."""
    if operator not in OPERATORS:
        raise UnknownName("mutation operator", operator, OPERATORS)
    mutant = classifier.copy()
    layers = [part for part in mutant.module.modules() if isinstance(part, (nn.Conv2d, nn.Linear))][:-1]
    with torch.no_grad():
        OPERATORS[operator](layers[int(rng.integers(len(layers)))].weight, share, rng)
    return mutant
