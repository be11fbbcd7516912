"""The one adapter of torch modules: forward passes, layers, gradients and copies, whatever stands in front of the module.

How what is asked becomes inputs is the business of `torch_inputs`, which layers can be read that of `torch_layers`.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import FLAT, SCORES, Slope
from evenhand.errors import EvenhandError, InvalidArgument, MissingAbility, ModelFailed, UnknownName, WrongAnswer
from evenhand.limits import Count, Positive, check_limits
from evenhand.models.inputs import first_line
from evenhand.models.torch_inputs import CodesFront, Front, Inputs, PictureFront, flat
from evenhand.models.torch_layers import KeptShare, Layer, Reached, find_layers, silence, watching
from evenhand.models.torch_training import set_mode

Outputs = Literal["auto", "logits", "probabilities"]

LARGE_MODULE = 1_000_000
"""Parameters from which several threads are worth their cost on rows of codes."""


@dataclass(frozen=True)
class TorchSettings:
    """How a module is used.

    inputs: "codes" (float), "standard" ((code - mean) / scale), "one_hot" (category columns spread out), "long" (whole codes
    for embedding layers), or a differentiable callable on the float tensor of codes.
    outputs: "auto" takes the output of a linear layer for logits, else rows that sum to one (or a single output within 0..1) for
    probabilities, and everything else for logits.
    fill: one code per column for missing cells.  differences: columns whose gradient is taken between neighbouring codes
    because the inputs cut the graph (embedding look-ups); "long" implies all columns.
    precision: of gradients and hidden values.  Scores, and so every verdict, are always in the module's own precision.
    threads: torch threads while the module works, "auto" for one unless the module is large; torch's own setting comes back afterwards.
    """

    inputs: Inputs | Callable[[Any], Any] = "codes"
    outputs: Outputs = "auto"
    precision: Literal["float32", "bfloat16"] = "float32"
    threads: int | Literal["auto"] = "auto"
    mean: Sequence[float] = ()
    scale: Sequence[float] = ()
    fill: Sequence[float] = ()
    one_hot: Sequence[str] | None = None
    differences: Sequence[str] = ()
    batch_rows: Count = 8192
    epochs: Count = 20
    learning_rate: Positive = 1e-3

    def __post_init__(self) -> None:
        check_limits(self)
        if self.outputs not in ("auto", "logits", "probabilities"):
            raise InvalidArgument(f"outputs={self.outputs!r} must be 'auto', 'logits' or 'probabilities'")
        if self.precision not in ("float32", "bfloat16"):
            raise InvalidArgument(f"precision={self.precision!r} must be 'float32' or 'bfloat16'")
        if self.threads != "auto" and not (isinstance(self.threads, int) and self.threads >= 1):
            raise InvalidArgument(f"threads={self.threads!r} must be 'auto' or a whole number of at least 1")


@dataclass(frozen=True, eq=False)
class TorchAdapter:
    """A module under test, whatever it is asked about.  It is put into evaluation mode for every use and left as it was found."""

    module: Any
    front: Front
    settings: TorchSettings = field(default_factory=TorchSettings, kw_only=True)

    @property
    def batch_rows(self) -> int:
        """How many one call takes best."""
        return self.settings.batch_rows

    def _answer(self, output: Any, asked: int) -> Any:
        """What the module said as a tensor of scores, (asked, classes)."""
        raise MissingAbility(f"the module answered {asked} inputs with a {type(output).__name__}, which holds no scores")

    def _values(self, asked: Any, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        import torch

        with torch.no_grad(), self.at_work():
            parts = [self._read(asked[part], layers) for part in self._parts(asked)]
        return {layer: np.concatenate([part[layer] for part in parts]) for layer in layers}

    def _parts(self, asked: Any) -> list[slice]:
        """So many at once as one call takes best; one empty part where there is nothing to ask."""
        return [slice(at, at + self.batch_rows) for at in range(0, max(len(asked), 1), self.batch_rows)]

    def _read(self, asked: Any, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        hidden = tuple(layer for layer in layers if layer != SCORES)
        if not hidden:
            output = self.forward(self.front.tensor(asked))
            return {SCORES: at_least_float32(self._answer(output, len(asked))).cpu().numpy()}
        with watching(self.module, tuple(layer.removesuffix(FLAT) for layer in hidden)) as seen:
            output = self.forward(self.front.tensor(asked), exact=SCORES in layers)
        values = {layer: self._units(seen[layer.removesuffix(FLAT)], layer) for layer in hidden}
        if SCORES in layers:
            values[SCORES] = self._answer(output, len(asked))
        return {layer: at_least_float32(values[layer]).cpu().numpy() for layer in layers}

    def _units(self, values: Any, layer: str) -> Any:
        """One column for each unit; every value of a map is one where the layer's name asks for that."""
        return flat(values) if layer.endswith(FLAT) else self.front.units(values)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Evaluation mode and a fitting number of threads; both as they were afterwards."""
        import torch

        before = torch.get_num_threads()
        if self._threads != before:
            torch.set_num_threads(self._threads)
        try:
            with _evaluating(self.module):
                yield
        finally:
            if self._threads != before:
                torch.set_num_threads(before)

    @cached_property
    def _threads(self) -> int:
        """One for a small module on codes: on its batches, waking a second thread costs more than it helps."""
        import torch

        if self.settings.threads != "auto":
            return self.settings.threads
        is_small = isinstance(self.front, CodesFront) and sum(p.numel() for p in self.module.parameters()) < LARGE_MODULE
        return 1 if is_small else torch.get_num_threads()

    def forward(self, inputs: Any, exact: bool = True) -> Any:
        """The module's answer; in its own precision if it must be exact, else in the one that the settings name."""
        import torch

        prepared = self.front.prepare(inputs)
        try:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not exact and self.settings.precision == "bfloat16"):
                return self.module(*prepared) if isinstance(prepared, tuple) else self.module(prepared)
        except (Reached, EvenhandError):
            raise
        except Exception as fault:
            raise ModelFailed(
                f"the module {type(self.module).__name__} raised {type(fault).__name__} on inputs of {_describe(prepared)}: "
                f"{first_line(fault)}.  {self.front.advice}"
            ) from fault

    @cached_property
    def _found(self) -> tuple[Layer, ...]:
        import torch

        asked = self.front.sample(3)
        with torch.no_grad(), self.at_work():
            return find_layers(self.module, lambda: self.forward(self.front.tensor(asked)), len(asked))

    def layers(self) -> tuple[str, ...]:
        """Submodules and activation functions that produce tensors, in the order of their calls; a second call is `name#2`."""
        return tuple(layer.name for layer in self._found)

    def _check_layers(self, layers: Sequence[str]) -> None:
        for layer in layers:
            if layer != SCORES and layer.removesuffix(FLAT) not in self.layers():
                raise UnknownName("layer", layer, (*self.layers(), SCORES))

    def activations(self, asked: Any, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        """Values of the named layers, each (n, units)."""
        self._check_layers(layers)
        return self._values(asked, tuple(layers)) if layers else {}

    def _autograd(self, asked: Any, slope: Slope, layer: str) -> NDArray[Any]:
        """Per asked thing, the gradient of the loss with this slope."""
        import torch

        inputs = self.front.tensor(asked).requires_grad_(True)
        with torch.enable_grad(), self.at_work():
            value = self._value(inputs, layer, len(asked))
            told = np.ascontiguousarray(slope(value.detach().float().cpu().numpy()))
            weights = torch.as_tensor(told, dtype=value.dtype, device=value.device)
            if weights.shape != value.shape:
                raise InvalidArgument(f"cotangent has shape {tuple(weights.shape)}; the values of {layer!r} have {tuple(value.shape)}")
            found = torch.autograd.grad(value, inputs, weights, allow_unused=True)[0] if value.requires_grad else None
        if found is None:
            raise MissingAbility(
                f"no gradient reaches the inputs from {layer!r}: a step between them is not differentiable (rounding, comparison, "
                "look-up, detach, no_grad).  Name the columns in TorchSettings(differences=[...]), or use DifferenceGradients(model)"
            )
        return _finite(self.front.back(found, asked), layer)

    def _value(self, inputs: Any, layer: str, asked: int) -> Any:
        if layer == SCORES:
            return self._answer(self.forward(inputs, exact=False), asked)
        watched = layer.removesuffix(FLAT)
        with watching(self.module, (watched,), "first") as seen:
            try:
                self.forward(inputs, exact=False)
            except Reached:
                return self._units(seen[watched], layer)
        raise UnknownName("layer", layer, self.layers())

    def _around(self, module: Any) -> Self:
        return replace(self, module=module, front=self.front.around(module))

    def copy(self) -> Self:
        """One of its own with the same weights."""
        return self._around(copy.deepcopy(self.module))

    def without(self, layer: str, units: Sequence[int], keep: float = 0.0) -> Self:
        """A copy of the module with these units of a layer held at zero, or at the share `keep` of their value."""
        self._check_layers((layer,))
        changed = self.copy()
        by_map = isinstance(self.front, PictureFront) and not layer.endswith(FLAT)
        silence(changed.module, layer.removesuffix(FLAT), KeptShare(tuple(units), keep, by_map))
        return changed

    def _weights_digest(self, about: str) -> Any:
        """A running digest of what is said about the module, and of its parameters and buffers."""
        digest = hashlib.sha256(f"{type(self.module).__name__} {about}".encode())
        for name, tensor in sorted(self.module.state_dict().items()):
            digest.update(name.encode() + tensor.detach().cpu().double().numpy().tobytes())
        return digest


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    before = [(part, part.training) for part in module.modules()]
    if not any(training for _, training in before):
        yield
        return
    set_mode(module, False)
    try:
        yield
    finally:
        for part, training in before:
            part.training = training


def at_least_float32(values: Any) -> Any:
    """The values in a precision that NumPy reads."""
    return values if values.dtype.itemsize >= 4 and values.is_floating_point() else values.float()


def constant_slope(cotangent: NDArray[Any]) -> Slope:
    """A slope that is the same whatever the values are."""
    return lambda _: cotangent


def _finite(gradient: NDArray[Any], layer: str) -> NDArray[Any]:
    bad = np.flatnonzero(~np.isfinite(gradient.reshape(len(gradient), -1)).all(axis=1)) if len(gradient) else np.zeros(0, np.intp)
    if bad.size:
        raise WrongAnswer(
            f"the gradient of {layer!r} is {gradient[bad[0]].tolist()} for row {int(bad[0])} ({bad.size} such rows); "
            "look for a square root, logarithm or division at zero in the module, or use DifferenceGradients(model)"
        )
    return gradient


def _describe(prepared: Any) -> str:
    parts = prepared if isinstance(prepared, tuple | list) else (prepared,)
    return ", ".join(f"{str(getattr(p, 'dtype', type(p).__name__)).removeprefix('torch.')} {tuple(getattr(p, 'shape', ()))}" for p in parts)
