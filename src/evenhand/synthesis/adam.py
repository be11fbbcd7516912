"""Adam over a dictionary of tensors, with state that is plain arrays.  (torch's own costs seconds of imports at its first step.)

Paper: Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015; decay is the plain L2 penalty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOOR = 1e-8


@dataclass(frozen=True)
class Rates:
    """Step size, decay of the two moments, and L2 penalty."""

    step: float
    first: float = 0.9
    second: float = 0.999
    decay: float = 0.0


class Adam:
    """Moves weights down the gradient of a loss."""

    def __init__(self, torch: Any, weights: dict[str, Any], rates: Rates) -> None:
        self.torch, self.weights, self.rates, self.steps = torch, weights, rates, 0
        self.moments = {name: (torch.zeros_like(w.detach()), torch.zeros_like(w.detach())) for name, w in weights.items()}

    def step(self, loss: Any) -> None:
        """One step; the graph of the loss is used up."""
        gradients = self.torch.autograd.grad(loss, list(self.weights.values()))
        self.steps += 1
        shrunk = 1 - self.rates.first**self.steps, (1 - self.rates.second**self.steps) ** 0.5
        with self.torch.no_grad():
            for (name, weight), gradient in zip(self.weights.items(), gradients, strict=True):
                self._move(weight, gradient, self.moments[name], shrunk)

    def _move(self, weight: Any, gradient: Any, moments: tuple[Any, Any], shrunk: tuple[float, float]) -> None:
        mean, square = moments
        if self.rates.decay:
            gradient = gradient.add(weight, alpha=self.rates.decay)
        mean.lerp_(gradient, 1 - self.rates.first)
        square.mul_(self.rates.second).addcmul_(gradient, gradient, value=1 - self.rates.second)
        weight.addcdiv_(mean, square.sqrt().div_(shrunk[1]).add_(FLOOR), value=-self.rates.step / shrunk[0])

    def state(self, prefix: str) -> dict[str, Any]:
        """Moments and step count, as tensors by name."""
        kept = {f"{prefix}.{name}.{at}": moment for name, both in self.moments.items() for at, moment in enumerate(both)}
        return {**kept, f"{prefix}.steps": self.torch.tensor(self.steps)}

    def restore(self, state: Mapping[str, NDArray[Any]], prefix: str) -> None:
        """Take up a state."""
        self.steps = int(state[f"{prefix}.steps"])
        for name, both in self.moments.items():
            for at, moment in enumerate(both):
                moment.copy_(self.torch.from_numpy(np.array(state[f"{prefix}.{name}.{at}"])))
