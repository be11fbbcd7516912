"""Torch modules as they are: scores, gradients by the codes of any layer, activations through hooks, refitting.

How codes become inputs is `TorchSettings.inputs`; `torch_inputs` does it.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Rows, Scores
from evenhand.contract import SCORES, Model, Pairs, Slope
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, MissingAbility, ModelFailed, UnknownName, UnsteadyModel, WrongAnswer, require
from evenhand.models.answer_shapes import Reader, reader_for
from evenhand.models.differences import Steps, in_batches, neighbour_gradient
from evenhand.models.fitting_again import check_labels, seed_of
from evenhand.models.inputs import first_line, probe_rows
from evenhand.models.torch_inputs import Front, Inputs, make_front
from evenhand.models.torch_training import flat, set_mode, train

Outputs = Literal["auto", "logits", "probabilities"]

LARGE_MODULE = 1_000_000
"""Parameters from which several threads are worth their cost."""


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
    batch_rows: int = 8192
    epochs: int = 20
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        if self.outputs not in ("auto", "logits", "probabilities"):
            raise InvalidArgument(f"outputs={self.outputs!r} must be 'auto', 'logits' or 'probabilities'")
        if self.precision not in ("float32", "bfloat16"):
            raise InvalidArgument(f"precision={self.precision!r} must be 'float32' or 'bfloat16'")
        if self.threads != "auto" and not (isinstance(self.threads, int) and self.threads >= 1):
            raise InvalidArgument(f"threads={self.threads!r} must be 'auto' or a whole number of at least 1")


class _Reached(Exception):
    """Ends a forward pass at the layer that was wanted."""


@dataclass(frozen=True, eq=False)
class TorchModel:
    """A module under test.  It is put into evaluation mode for every use and left as it was found."""

    module: Any
    domain: TabularDomain
    front: Front
    reader: Reader
    settings: TorchSettings = field(default_factory=TorchSettings)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self.reader.classes

    @property
    def is_hard(self) -> bool:
        """A module gives scores."""
        return False

    @property
    def batch_rows(self) -> int:
        """How many rows one call takes best."""
        return self.settings.batch_rows

    def gradient_rows(self, columns: int) -> int:
        """How many rows the module is asked for one gradient: more than one where some columns go by differences."""
        cut = len(self.front.cut_places)
        return 1 + cut + (1 if 0 < cut < columns else 0)

    def scores(self, rows: Rows) -> Scores:
        """Probabilities, (n, classes)."""
        return self._values(rows, (SCORES,))[SCORES]

    def _values(self, rows: Rows, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        import torch

        with torch.no_grad(), self._at_work():
            parts = [self._read(rows[at : at + self.batch_rows], layers) for at in range(0, max(len(rows), 1), self.batch_rows)]
        return {layer: np.concatenate([part[layer] for part in parts]) for layer in layers}

    def _read(self, rows: Rows, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        with self._watching(tuple(layers)) as seen:
            output = self._forward(self.front.tensor(rows), exact=SCORES in layers)
        if SCORES in layers:
            seen[SCORES] = _scores(output, self.reader, len(rows))
        return {layer: _at_least_float32(flat(seen[layer])).numpy() for layer in layers}

    @contextmanager
    def _at_work(self) -> Iterator[None]:
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
        """One for a small module: on its batches, waking a second thread costs more than it helps."""
        import torch

        if self.settings.threads != "auto":
            return self.settings.threads
        return 1 if sum(p.numel() for p in self.module.parameters()) < LARGE_MODULE else torch.get_num_threads()

    def _forward(self, inputs: Any, exact: bool = True) -> Any:
        """The module's answer; in its own precision if it must be exact, else in the one that the settings name."""
        import torch

        prepared = self.front.prepare(inputs)
        try:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not exact and self.settings.precision == "bfloat16"):
                return self.module(*prepared) if isinstance(prepared, tuple) else self.module(prepared)
        except _Reached:
            raise
        except Exception as fault:
            raise ModelFailed(
                f"the module {type(self.module).__name__} raised {type(fault).__name__} on inputs of {_describe(prepared)}: "
                f"{first_line(fault)}.  TorchSettings(inputs=...) says how codes become its inputs"
            ) from fault

    @contextmanager
    def _watching(self, layers: tuple[str, ...], stop: bool = False) -> Iterator[dict[str, Any]]:
        """The values of layers during a forward pass; with `stop` the pass ends at the first of them."""
        seen: dict[str, Any] = {}
        calls: dict[str, int] = {}

        def watch(name: str) -> Callable[[Any, Any, Any], None]:
            def hook(_module: Any, _inputs: Any, output: Any) -> None:
                calls[name] = calls.get(name, 0) + 1
                call = _call_name(name, calls[name])
                if call in layers:
                    # A later step may overwrite the tensor in place, so that it is copied, or nothing later runs.
                    seen[call] = output if stop else output.detach().clone()
                    if stop:
                        raise _Reached

            return hook

        wanted = {layer.split("#")[0] for layer in layers}
        handles = [part.register_forward_hook(watch(name)) for name, part in self.module.named_modules() if name in wanted]
        try:
            yield seen
        finally:
            for handle in handles:
                handle.remove()

    @cached_property
    def _layers(self) -> tuple[str, ...]:
        import torch

        found: list[str] = []
        calls: dict[str, int] = {}
        rows = probe_rows(self.domain, 3)

        def watch(name: str) -> Callable[[Any, Any, Any], None]:
            def hook(_module: Any, _inputs: Any, output: Any) -> None:
                calls[name] = calls.get(name, 0) + 1
                if isinstance(output, torch.Tensor) and output.ndim >= 1 and len(output) == len(rows) and output.is_floating_point():
                    found.append(_call_name(name, calls[name]))

            return hook

        handles = [] if _is_script(self.module) else [m.register_forward_hook(watch(n)) for n, m in self.module.named_modules() if n]
        try:
            with torch.no_grad(), self._at_work():
                self._forward(self.front.tensor(rows))
        finally:
            for handle in handles:
                handle.remove()
        return tuple(found)

    def layers(self) -> tuple[str, ...]:
        """Submodules that produce tensors, in the order of their calls; a second call of one module is `name#2`."""
        return self._layers

    def _check_layers(self, layers: Sequence[str]) -> None:
        for layer in layers:
            if layer != SCORES and layer not in self.layers():
                raise UnknownName("layer", layer, (*self.layers(), SCORES))

    def activations(self, rows: Rows, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        """Values of the named layers, each flattened to (n, units)."""
        self._check_layers(layers)
        return self._values(rows, tuple(layers)) if layers else {}

    def gradient(self, rows: Rows, cotangent: NDArray[Any], layer: str = SCORES) -> Rows:
        """Per row, the gradient by the codes of sum(cotangent * layer's values), (n, columns)."""
        self._check_layers((layer,))
        if len(cotangent) != len(rows):
            raise InvalidArgument(f"cotangent has {len(cotangent)} rows for {len(rows)} rows of codes")
        out = np.zeros(rows.shape)
        size, cut = self.batch_rows, self.front.cut_places
        for at in range(0, len(rows), size):
            part = slice(at, at + size)
            if len(cut) < rows.shape[1]:
                out[part] = self._autograd(rows[part], _constant(cotangent[part]), layer)
            if cut:
                out[part][:, list(cut)] = self._by_neighbours(rows[part], cotangent[part], layer)[:, list(cut)]
        return out

    def _by_neighbours(self, rows: Rows, cotangent: NDArray[Any], layer: str) -> Rows:
        steps = Steps(self.front.cut_places, 1.0, self.domain.low, self.domain.high)
        values = self._values
        return neighbour_gradient(
            lambda asked: in_batches(lambda batch: values(batch, (layer,))[layer], asked, self.batch_rows), rows, cotangent, steps
        )

    def pullback(self, rows: Rows, slope: Slope, layer: str = SCORES) -> Rows:
        """Per row, the gradient by the codes of the loss with this slope; one pass unless some columns go by differences."""
        self._check_layers((layer,))
        if self.front.cut_places:
            return self.gradient(rows, slope(self._values(rows, (layer,))[layer]), layer)
        return self._autograd(rows, slope, layer)

    def _autograd(self, rows: Rows, slope: Slope, layer: str) -> Rows:
        import torch

        inputs = self.front.tensor(rows).requires_grad_(True)
        with torch.enable_grad(), self._at_work():
            value = self._value(inputs, layer, len(rows))
            weights = torch.as_tensor(np.ascontiguousarray(slope(value.detach().float().numpy())), dtype=value.dtype)
            if weights.shape != value.shape:
                raise InvalidArgument(f"cotangent has shape {tuple(weights.shape)}; the values of {layer!r} have {tuple(value.shape)}")
            found = torch.autograd.grad(value, inputs, weights, allow_unused=True)[0] if value.requires_grad else None
        if found is None:
            raise MissingAbility(
                f"no gradient reaches the inputs from {layer!r}: a step between them is not differentiable (rounding, comparison, "
                "look-up, detach, no_grad).  Name the columns in TorchSettings(differences=[...]), or use DifferenceGradients(model)"
            )
        return self._checked(self.front.by_codes(found.double().numpy(), rows), layer)

    def _value(self, inputs: Any, layer: str, rows: int) -> Any:
        if layer == SCORES:
            return _scores(self._forward(inputs, exact=False), self.reader, rows)
        with self._watching((layer,), stop=True) as seen:
            try:
                self._forward(inputs, exact=False)
            except _Reached:
                return flat(seen[layer])
        raise UnknownName("layer", layer, self.layers())

    def _checked(self, gradient: Rows, layer: str) -> Rows:
        bad = np.flatnonzero(~np.isfinite(gradient).all(axis=1))
        if bad.size:
            raise WrongAnswer(
                f"the gradient of {layer!r} is {gradient[bad[0]].tolist()} for row {int(bad[0])} ({bad.size} such rows); "
                "look for a square root, logarithm or division at zero in the module, or use DifferenceGradients(model)"
            )
        return gradient

    def refit(self, rows: Rows, labels: Labels, rng: np.random.Generator) -> Model:
        """A re-initialised copy trained with Adam; the global state of torch's randomness stays as it is."""
        check_labels(rows, labels, len(self.classes))
        fresh = copy.deepcopy(self.module)
        model = replace(self, module=fresh, front=self.front.around(fresh))
        train(model, rows, labels, seed_of(rng))
        return model

    def refit_consistently(self, rows: Rows, labels: Labels, pairs: Pairs, rng: np.random.Generator) -> Model:
        """A re-initialised copy trained to answer both sides of each pair alike too."""
        check_labels(rows, labels, len(self.classes))
        fresh = copy.deepcopy(self.module)
        model = replace(self, module=fresh, front=self.front.around(fresh))
        train(model, rows, labels, seed_of(rng), pairs)
        return model

    def without(self, layer: str, units: Sequence[int], keep: float = 0.0) -> TorchModel:
        """A copy of the module with these units of a layer held at zero, or at the share `keep` of their value."""
        self._check_layers((layer,))
        module = copy.deepcopy(self.module)
        _silence(module, layer, list(units), keep)
        return replace(self, module=module, front=self.front.around(module))

    def fingerprint(self) -> str:
        """A digest of parameters, buffers and the answers to fixed rows."""
        inputs = "a callable" if callable(self.settings.inputs) else self.settings.inputs
        digest = hashlib.sha256(f"{type(self.module).__name__} {self.reader} {inputs}".encode())
        for name, tensor in sorted(self.module.state_dict().items()):
            digest.update(name.encode() + tensor.detach().cpu().double().numpy().tobytes())
        digest.update(np.round(self.scores(probe_rows(self.domain)), 4).tobytes())
        return f"torch-{digest.hexdigest()[:24]}"


def from_module(
    module: Any, domain: TabularDomain, classes: Sequence[Any] | None = None, settings: TorchSettings | None = None
) -> TorchModel:
    """A torch module as a model, once it answers a few rows alike alone and in company, and alike twice.

    A single output speaks for the second of `classes`, as in training with binary cross-entropy.
    """
    require("torch", "torch")
    settings = settings or TorchSettings()
    reader = reader_for(domain, classes)
    reader = replace(reader, single=reader.classes.index(reader.columns[-1]))
    model = TorchModel(module, domain, make_front(module, domain, settings), reader, settings)
    model = replace(model, reader=_settled(model))
    _check_steady(model)
    return model


def _settled(model: TorchModel) -> Reader:
    import torch

    rows = probe_rows(model.domain)
    ended_linear: list[Any] = []
    linear = [part for part in model.module.modules() if isinstance(part, torch.nn.Linear)]
    handles = [part.register_forward_hook(lambda _part, _inputs, out: ended_linear.append(out)) for part in linear]
    try:
        with torch.no_grad(), _evaluating(model.module):
            output = model._forward(model.front.tensor(rows))
    finally:
        for handle in handles:
            handle.remove()
    if not isinstance(output, torch.Tensor):
        raise WrongAnswer(f"the module answered with a {type(output).__name__}; expected one tensor of scores per row and class")
    values = flat(output).float()
    if len(values) != len(rows):
        raise WrongAnswer(f"the module answered {len(rows)} rows with a tensor of shape {tuple(output.shape)}")
    form: Literal["favourable", "scores"] = "favourable" if values.shape[1] == 1 else "scores"
    reader = replace(model.reader, form=form)
    logits = any(output is out for out in ended_linear) or not _are_probabilities(values)
    reader = replace(reader, logits=logits if model.settings.outputs == "auto" else model.settings.outputs == "logits")
    reader.read(values.numpy(), len(rows))
    return reader


def _are_probabilities(values: Any) -> bool:
    if not (bool((values >= -1e-4).all()) and bool((values <= 1 + 1e-4).all())):
        return False
    return values.shape[1] == 1 or bool(((values.sum(dim=1) - 1).abs() < 2e-2).all())


def _check_steady(model: TorchModel) -> None:
    rows = probe_rows(model.domain, 8)
    together, again = model.scores(rows), model.scores(rows)
    # bfloat16 keeps 8 bits, so that a different order of summation shows.
    slack = 5e-2 if "bfloat16" in str(model.front.dtype) else 1e-3
    if not np.allclose(together, again, atol=slack, equal_nan=True):
        raise UnsteadyModel(
            "the module gives two answers to one question although it is in evaluation mode; look for functional dropout "
            "without training=self.training, or noise drawn in forward"
        )
    if not np.allclose(together[:3], model.scores(rows[:3]), atol=slack, equal_nan=True):
        raise UnsteadyModel(
            "the module's answer to a row depends on the other rows of its batch although it is in evaluation mode; look for batch norm "
            "with track_running_stats=False or functional batch norm with training=True"
        )


def _scores(output: Any, reader: Reader, rows: int) -> Any:
    """A differentiable tensor of probabilities in the order of the classes."""
    import torch

    values = _at_least_float32(flat(output))
    if values.shape[0] != rows:
        raise WrongAnswer(f"the module answered {rows} rows with a tensor of shape {tuple(output.shape)}")
    if reader.form == "favourable":
        chance = torch.sigmoid(values[:, 0]) if reader.logits else values[:, 0]
        pair = (1 - chance, chance)
        return torch.stack(pair if reader.single == 1 else pair[::-1], dim=1)
    values = torch.softmax(values, dim=1) if reader.logits else values
    if reader.columns == reader.classes:
        return values
    blank = torch.zeros_like(values[:, 0])
    by_name = {name: values[:, at] for at, name in enumerate(reader.columns)}
    return torch.stack([by_name.get(name, blank) for name in reader.classes], dim=1)


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


def _at_least_float32(values: Any) -> Any:
    return values if values.dtype.itemsize >= 4 and values.is_floating_point() else values.float()


def _constant(cotangent: NDArray[Any]) -> Slope:
    return lambda _: cotangent


def _silence(module: Any, layer: str, units: list[int], keep: float) -> None:
    """Hold units of one call of a submodule at a share of their value, by hooks that stay with the module."""
    name, _, call = layer.partition("#")
    counted = {"calls": 0}

    def begin(_module: Any, _inputs: Any) -> None:
        counted["calls"] = 0

    def hush(_module: Any, _inputs: Any, output: Any) -> Any:
        counted["calls"] += 1
        if counted["calls"] != int(call or 1):
            return output
        kept = output.new_ones(output[0].numel())
        kept[units] = keep
        return output * kept.reshape(output.shape[1:])

    module.register_forward_pre_hook(begin)
    module.get_submodule(name).register_forward_hook(hush)


def _call_name(name: str, call: int) -> str:
    return name if call == 1 else f"{name}#{call}"


def _is_script(module: Any) -> bool:
    import torch

    return isinstance(module, torch.jit.ScriptModule)


def _describe(prepared: Any) -> str:
    parts = prepared if isinstance(prepared, tuple) else (prepared,)
    return ", ".join(f"{str(getattr(p, 'dtype', type(p).__name__)).removeprefix('torch.')} {tuple(getattr(p, 'shape', ()))}" for p in parts)
