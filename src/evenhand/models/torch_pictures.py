"""A torch module as a picture classifier: scores, gradients by the pixels, layers, copies.  Training lives in `training`.

Imported only by code that has torch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from evenhand.arrays import Labels, Scores
from evenhand.contract import SCORES, Activations, Pictures
from evenhand.errors import InvalidArgument, UnknownName, WrongAnswer
from evenhand.models.picture_adapters import Preparation

BATCH = 250


def to_tensor(pictures: Pictures, device: torch.device | str = "cpu") -> Tensor:
    """Pictures as float32 (n, 3, height, width), still between 0 and 255."""
    values = torch.from_numpy(np.ascontiguousarray(pictures)).to(device).permute(0, 3, 1, 2)
    return values.to(torch.float32).contiguous(memory_format=torch.channels_last)


def to_pictures(values: Tensor) -> NDArray[np.float32]:
    """The way back from `to_tensor`."""
    return np.ascontiguousarray(values.detach().permute(0, 2, 3, 1).cpu().numpy())


@dataclass(frozen=True, eq=False)
class TorchClassifier:
    """A module from pictures between 0 and 255 to logits.  `readable` names the submodules that are its layers."""

    module: nn.Module
    classes: tuple[str, ...]
    readable: tuple[str, ...] = ()
    device: str = "cpu"
    prepare: Preparation | None = None  # without it the module takes values between 0 and 255

    def scores(self, pictures: Pictures) -> Scores:
        """Softmax of the logits."""
        with torch.inference_mode():
            parts = [torch.softmax(self.logits(batch), dim=1).cpu().numpy() for batch in self._batches(pictures)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes)), np.float32)

    def logits(self, batch: Tensor) -> Tensor:
        """What the module says in evaluation mode."""
        self.module.eval()
        return self.answers(batch)

    def answers(self, batch: Tensor) -> Tensor:
        """What the module says in whatever mode it is, checked; a single logit of two classes is the second's."""
        answer = self.module(batch if self.prepare is None else prepared(batch, self.prepare))
        if not isinstance(answer, Tensor) or answer.ndim != 2 or len(answer) != len(batch):
            shape = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
            raise WrongAnswer(
                f"the module answered {len(batch)} pictures with {shape}; expected a tensor ({len(batch)}, {len(self.classes)})"
            )
        if answer.shape[1] == 1 and len(self.classes) == 2:
            answer = torch.cat([torch.zeros_like(answer), answer], dim=1)
        if answer.shape[1] != len(self.classes):
            raise WrongAnswer(f"the module answers with {answer.shape[1]} scores per picture, but there are {len(self.classes)} classes")
        return answer

    def _batches(self, pictures: Pictures) -> Iterator[Tensor]:
        for start in range(0, len(pictures), BATCH):
            yield to_tensor(pictures[start : start + BATCH], self.device)

    def loss_gradient(self, pictures: Pictures, labels: Labels) -> NDArray[np.float32]:
        """Gradient of the cross-entropy against these labels by the pixels."""
        targets = torch.from_numpy(np.asarray(labels, dtype=np.int64)).to(self.device)
        return self._gradient(pictures, lambda batch, part: nn.functional.cross_entropy(self.logits(batch), targets[part], reduction="sum"))

    def _gradient(self, pictures: Pictures, loss: Callable[[Tensor, slice], Tensor]) -> NDArray[np.float32]:
        parts = []
        for number, batch in enumerate(self._batches(pictures)):
            part = slice(number * BATCH, number * BATCH + len(batch))
            batch.requires_grad_(True)
            parts.append(to_pictures(torch.autograd.grad(loss(batch, part), batch)[0]))
        return np.concatenate(parts)

    def layers(self) -> tuple[str, ...]:
        """Names of the readable layers, from input to output."""
        return self.readable

    def activations(self, pictures: Pictures, layers: Sequence[str]) -> dict[str, Activations]:
        """Values of the named layers, (n, units); a convolutional unit is the mean of its map."""
        with torch.inference_mode(), self.listening(layers) as heard:
            parts: dict[str, list[Any]] = {name: [] for name in layers}
            for batch in self._batches(pictures):
                self.logits(batch)
                for name in layers:
                    parts[name].append(heard[name].cpu().numpy())
        return {name: np.concatenate(found) for name, found in parts.items()}

    def gradient(self, pictures: Pictures, cotangent: NDArray[Any], layer: str = SCORES) -> NDArray[np.float32]:
        """Per picture, the gradient by its pixels of sum(cotangent * layer's values), the scores' or a readable layer's."""
        if layer != SCORES:
            return self.activation_gradient(pictures, layer, np.asarray(cotangent, np.float32))
        weights = torch.from_numpy(np.asarray(cotangent, np.float32)).to(self.device)
        return self._gradient(pictures, lambda batch, part: (torch.softmax(self.logits(batch), dim=1) * weights[part]).sum())

    def activation_gradient(self, pictures: Pictures, layer: str, weights: Activations) -> NDArray[np.float32]:
        """Per picture, the gradient by its pixels of the sum of `weights` times the layer's values."""
        cotangent = torch.from_numpy(np.asarray(weights, np.float32)).to(self.device)
        with self.listening([layer]) as heard:

            def loss(batch: Tensor, part: slice) -> Tensor:
                self.logits(batch)
                return (heard[layer] * cotangent[part]).sum()

            return self._gradient(pictures, loss)

    def relevance(self, pictures: Pictures, layer: str) -> Activations:
        """Per picture and unit, activation times the gradient of the winning logit, (n, units)."""
        parts = []
        with self.listening([layer]) as heard:
            for batch in self._batches(pictures):
                winner = self.logits(batch.requires_grad_(True)).max(dim=1).values.sum()
                parts.append((torch.autograd.grad(winner, heard["raw:" + layer])[0] * heard["raw:" + layer]).detach().cpu().numpy())
        return np.concatenate([part.sum(axis=(2, 3)) if part.ndim == 4 else part for part in parts])

    @contextmanager
    def listening(self, layers: Sequence[str]) -> Iterator[dict[str, Tensor]]:
        """While open, every forward pass leaves the named layers' values here."""
        heard: dict[str, Tensor] = {}
        handles = [self._submodule(name).register_forward_hook(_hook(heard, name)) for name in layers]
        try:
            yield heard
        finally:
            for handle in handles:
                handle.remove()

    def _submodule(self, name: str) -> nn.Module:
        if name not in self.readable:
            raise UnknownName("layer", name, self.readable)
        return self.module.get_submodule(name)

    def copy(self) -> TorchClassifier:
        """A classifier of its own with the same weights."""
        return TorchClassifier(copy.deepcopy(self.module), self.classes, self.readable, self.device, self.prepare)


def _hook(heard: dict[str, Tensor], name: str) -> Callable[[nn.Module, Any, Tensor], None]:
    def keep(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
        heard["raw:" + name] = output
        heard[name] = output.mean(dim=(2, 3)) if output.ndim == 4 else output

    return keep


def prepared(batch: Tensor, how: Preparation) -> Tensor:
    """What `how` does to pictures, in torch, so that gradients reach the pixels."""
    sized = batch if batch.shape[2] == how.size == batch.shape[3] else nn.functional.interpolate(batch, (how.size, how.size), mode="area")
    mean, deviation = (torch.tensor(each, dtype=batch.dtype, device=batch.device)[:, None, None] for each in (how.mean, how.deviation))
    values = (sized * how.scale - mean) / deviation
    values = values.flip(1) if how.blue_first else values
    if how.grey:
        values = (values * torch.tensor([0.299, 0.587, 0.114], dtype=batch.dtype, device=batch.device)[:, None, None]).sum(
            dim=1, keepdim=True
        )
    return values if how.channels_first else values.permute(0, 2, 3, 1)


def torch_classifier(
    module: nn.Module, classes: Sequence[str], readable: Sequence[str] = (), device: str = "cpu", prepare: Preparation | None = None
) -> TorchClassifier:
    """Wrap a module; without `readable`, every submodule that is an activation function is a layer.

    A module that takes other values than 0 to 255 says so in `prepare`, such as Preparation(64, mean=(0.485, 0.456, 0.406), ...).
    """
    if len(classes) < 2:
        raise InvalidArgument(f"classes={tuple(classes)!r} must name at least two classes")
    found = tuple(readable) or tuple(
        name for name, part in module.named_modules() if isinstance(part, (nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh))
    )
    return TorchClassifier(module.to(device).to(memory_format=torch.channels_last), tuple(classes), found, device, prepare)  # type: ignore[call-overload]
