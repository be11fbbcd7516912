"""Torch modules that are asked about pictures: classifiers with readable layers, gradients by pixels and the relevance of units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Scores
from evenhand.contract import FLAT, SCORES, Activations, Pictures
from evenhand.errors import InvalidArgument, WrongAnswer, require
from evenhand.media.picture_batches import pictures_at_once
from evenhand.models.answer_shapes import Reader
from evenhand.models.preparation import Preparation
from evenhand.models.torch_adapter import Outputs, TorchAdapter, TorchSettings, constant_slope
from evenhand.models.torch_inputs import PictureFront
from evenhand.models.torch_layers import declared_activations, watching
from evenhand.models.torch_trials import check_steady, scale_of

PICTURES_AT_ONCE = 250
SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class TorchClassifier(TorchAdapter):
    """A module that is asked about pictures between 0 and 255.  `readable` names its layers; without it, activation functions are."""

    front: PictureFront
    reader: Reader
    readable: tuple[str, ...] = ()

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the score columns."""
        return self.reader.classes

    @property
    def device(self) -> str:
        """Where the module computes."""
        return self.front.device

    def _answer(self, output: Any, asked: int) -> Any:
        import torch

        return torch.softmax(self._as_logits(output, asked), dim=1)

    def _as_logits(self, output: Any, asked: int) -> Any:
        """The answer as one logit for each class, checked; a single logit of two classes is the second's."""
        import torch

        count = len(self.classes)
        if not isinstance(output, torch.Tensor) or output.ndim != 2 or len(output) != asked:
            shape = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
            raise WrongAnswer(f"the module answered {asked} pictures with {shape}; expected a tensor ({asked}, {count})")
        if not self.reader.logits:
            output = (torch.cat([1 - output, output], dim=1) if output.shape[1] == 1 else output).clamp_min(SMALLEST).log()
        if output.shape[1] == 1 and count == 2:
            output = torch.cat([torch.zeros_like(output), output], dim=1)
        if output.shape[1] != count:
            raise WrongAnswer(f"the module answers with {output.shape[1]} scores per picture, but there are {count} classes")
        return output

    def scores(self, pictures: Pictures) -> Scores:
        """Probabilities, (n, classes)."""
        return self._values(pictures, (SCORES,))[SCORES] if len(pictures) else np.empty((0, len(self.classes)), np.float32)

    def refit(self, pictures: Pictures, labels: Labels, rng: np.random.Generator) -> TorchClassifier:
        """A re-initialised copy trained on these pictures; parts without `reset_parameters` are trained further."""
        from evenhand.models.picture_training import train_again

        return train_again(self, pictures, labels, rng)

    def answers(self, batch: Any) -> Any:
        """Logits of a tensor of pictures, in whatever mode the module is."""
        return self._as_logits(self.forward(batch), len(batch))

    def layers(self) -> tuple[str, ...]:
        """Names of the readable layers, from input to output."""
        return self._readable

    @cached_property
    def _readable(self) -> tuple[str, ...]:
        if self.readable:
            return self.readable
        if self.front.known_sides is None:
            return declared_activations(self.module)
        return tuple(layer.name for layer in self._found if layer.is_activation) or declared_activations(self.module)

    def flat_layers(self) -> tuple[str, ...]:
        """The readable layers by the names under which every value of a map is a unit of its own."""
        return tuple(f"{name}{FLAT}" for name in self.layers())

    def maps(self, pictures: Pictures) -> tuple[str, ...]:
        """The readable layers whose units are maps."""
        import torch

        with torch.no_grad(), self.at_work(), watching(self.module, self.layers()) as seen:
            self.forward(self.front.tensor(pictures))
        return tuple(name for name in self.layers() if seen[name].ndim == 4)

    def gradient(self, pictures: Pictures, cotangent: NDArray[Any], layer: str = SCORES) -> NDArray[np.float32]:
        """Per picture, the gradient by its pixels of sum(cotangent * layer's values), the scores' or a readable layer's."""
        self._check_layers((layer,))
        parts = [self._autograd(pictures[part], constant_slope(cotangent[part]), layer) for part in self._parts(pictures)]
        return np.concatenate(parts)

    def _parts(self, asked: Pictures) -> list[slice]:
        """Bounded by the bytes of the pictures: the values between the layers of a net take many times as much."""
        step = min(self.batch_rows, pictures_at_once(asked[:1].nbytes))
        return [slice(at, at + step) for at in range(0, max(len(asked), 1), step)]

    def activation_gradient(self, pictures: Pictures, layer: str, weights: Activations) -> NDArray[np.float32]:
        """Per picture, the gradient by its pixels of the sum of `weights` times the layer's values."""
        return self.gradient(pictures, weights, layer)

    def loss_gradient(self, pictures: Pictures, labels: Labels) -> NDArray[np.float32]:
        """Gradient of the cross-entropy against these labels by the pixels."""
        import torch

        targets = torch.from_numpy(np.asarray(labels, dtype=np.int64)).to(self.device)
        parts = []
        with torch.enable_grad(), self.at_work():
            for part in self._parts(pictures):
                inputs = self.front.tensor(pictures[part]).requires_grad_(True)
                loss = torch.nn.functional.cross_entropy(self.answers(inputs), targets[part], reduction="sum")
                parts.append(self.front.back(torch.autograd.grad(loss, inputs)[0], pictures[part]))
        return np.concatenate(parts)

    def relevance(self, pictures: Pictures, layer: str) -> Activations:
        """Per picture and unit, activation times the gradient of the winning logit, (n, units)."""
        import torch

        self._check_layers((layer,))
        parts = []
        with torch.enable_grad(), self.at_work(), watching(self.module, (layer,), "graph") as seen:
            for part in self._parts(pictures):
                winner = self.answers(self.front.tensor(pictures[part]).requires_grad_(True)).max(dim=1).values.sum()
                parts.append((torch.autograd.grad(winner, seen[layer])[0] * seen[layer]).detach().cpu().numpy())
        return np.concatenate([part.sum(axis=(2, 3)) if part.ndim == 4 else part for part in parts])

    def fingerprint(self) -> str:
        """A digest of parameters, buffers, classes and preparation."""
        return f"torch-{self._weights_digest(f'{self.reader} {self.front.prepared_by}').hexdigest()[:24]}"


def torch_classifier(
    module: Any, classes: Sequence[str], readable: Sequence[str] = (), device: str = "cpu", prepare: Preparation | None = None
) -> TorchClassifier:
    """A module as a classifier of pictures; its answers are logits.

    readable: the submodules that are its layers; without it, every activation function, called as a submodule or not.
    prepare: what the module takes when it is not values between 0 and 255, such as Preparation(64, mean=(0.485, 0.456, 0.406), ...).
    """
    torch = require("torch", "torch")
    if len(classes) < 2:
        raise InvalidArgument(f"classes={tuple(classes)!r} must name at least two classes")
    names = tuple(classes)
    placed = module.to(device).to(memory_format=torch.channels_last)
    settings = TorchSettings(batch_rows=PICTURES_AT_ONCE)
    reader = Reader(names, names, 1, scale="logit")
    return TorchClassifier(placed, PictureFront(prepare, device), reader, tuple(readable), settings=settings)


def picture_module(module: Any, classes: Sequence[str], front: PictureFront, outputs: Outputs = "auto") -> TorchClassifier:
    """A module as a classifier of pictures of known size, once it answers alike alone and in company, and alike twice."""
    base = torch_classifier(module, classes, (), front.device, front.prepared_by)
    model = replace(base, front=front)
    model = replace(model, reader=replace(model.reader, scale=scale_of(model, outputs)))
    check_steady(model)
    return model
