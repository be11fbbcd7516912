"""The one adapter of torch modules: forward passes, layers, gradients, copies; in front of it codes, pictures, or pictures for a detector.

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

from evenhand.arrays import Labels, Rows, Scores
from evenhand.contract import FLAT, SCORES, Activations, Answer, Model, Pairs, Pictures, Slope
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import (
    EvenhandError,
    InvalidArgument,
    MissingAbility,
    ModelFailed,
    UnclearAnswers,
    UnknownName,
    UnsteadyModel,
    WrongAnswer,
    require,
)
from evenhand.limits import Count, Positive, check_limits
from evenhand.media.picture_batches import pictures_at_once
from evenhand.media.scene import Picture
from evenhand.models.answer_shapes import SLACK, Reader, Scale, declared_or_own
from evenhand.models.differences import Steps, in_batches, neighbour_gradient
from evenhand.models.fitting_again import check_labels, seed_of
from evenhand.models.inputs import first_line, probe_rows
from evenhand.models.preparation import Preparation
from evenhand.models.readings import confirm
from evenhand.models.recognisers.detectors import detections
from evenhand.models.recognisers.seen_objects import Suppression
from evenhand.models.torch_inputs import CodesFront, DetectionFront, Front, Inputs, PictureFront, flat, make_front
from evenhand.models.torch_layers import KeptShare, Layer, Reached, declared_activations, find_layers, silence, watching
from evenhand.models.torch_training import set_mode, train
from evenhand.models.trial_rows import TrialRows

Outputs = Literal["auto", "logits", "probabilities"]

LARGE_MODULE = 1_000_000
"""Parameters from which several threads are worth their cost on rows of codes."""

PICTURES_AT_ONCE = 250
PROBED = 64
PROBED_PICTURES = 8
SMALLEST = 1e-12


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

        with torch.no_grad(), self._at_work():
            parts = [self._read(asked[part], layers) for part in self._parts(asked)]
        return {layer: np.concatenate([part[layer] for part in parts]) for layer in layers}

    def _parts(self, asked: Any) -> list[slice]:
        """So many at once as one call takes best; one empty part where there is nothing to ask."""
        return [slice(at, at + self.batch_rows) for at in range(0, max(len(asked), 1), self.batch_rows)]

    def _read(self, asked: Any, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        hidden = tuple(layer for layer in layers if layer != SCORES)
        if not hidden:
            output = self._forward(self.front.tensor(asked))
            return {SCORES: _at_least_float32(self._answer(output, len(asked))).cpu().numpy()}
        with watching(self.module, tuple(layer.removesuffix(FLAT) for layer in hidden)) as seen:
            output = self._forward(self.front.tensor(asked), exact=SCORES in layers)
        values = {layer: self._units(seen[layer.removesuffix(FLAT)], layer) for layer in hidden}
        if SCORES in layers:
            values[SCORES] = self._answer(output, len(asked))
        return {layer: _at_least_float32(values[layer]).cpu().numpy() for layer in layers}

    def _units(self, values: Any, layer: str) -> Any:
        """One column for each unit; every value of a map is one where the layer's name asks for that."""
        return flat(values) if layer.endswith(FLAT) else self.front.units(values)

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
        """One for a small module on codes: on its batches, waking a second thread costs more than it helps."""
        import torch

        if self.settings.threads != "auto":
            return self.settings.threads
        is_small = isinstance(self.front, CodesFront) and sum(p.numel() for p in self.module.parameters()) < LARGE_MODULE
        return 1 if is_small else torch.get_num_threads()

    def _forward(self, inputs: Any, exact: bool = True) -> Any:
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
        with torch.no_grad(), self._at_work():
            return find_layers(self.module, lambda: self._forward(self.front.tensor(asked)), len(asked))

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
        with torch.enable_grad(), self._at_work():
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
            return self._answer(self._forward(inputs, exact=False), asked)
        watched = layer.removesuffix(FLAT)
        with watching(self.module, (watched,), "first") as seen:
            try:
                self._forward(inputs, exact=False)
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


@dataclass(frozen=True, eq=False)
class TorchModel(TorchAdapter):
    """A module that is asked about rows of codes."""

    front: CodesFront
    reader: Reader

    @property
    def domain(self) -> TabularDomain:
        """What the rows may be."""
        return self.front.domain

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self.reader.classes

    @property
    def is_hard(self) -> bool:
        """A module gives scores."""
        return False

    def gradient_rows(self, columns: int) -> int:
        """How many rows the module is asked for one gradient: more than one where some columns go by differences."""
        cut = len(self.front.cut_places)
        return 1 + cut + (1 if 0 < cut < columns else 0)

    def _answer(self, output: Any, asked: int) -> Any:
        return _scores(output, self.reader, asked)

    def scores(self, rows: Rows) -> Scores:
        """Probabilities, (n, classes)."""
        return self._values(rows, (SCORES,))[SCORES]

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

    def refit(self, rows: Rows, labels: Labels, rng: np.random.Generator) -> Model:
        """A re-initialised copy trained with Adam; the global state of torch's randomness stays as it is."""
        check_labels(rows, labels, len(self.classes))
        model = self.copy()
        train(model, rows, labels, seed_of(rng))
        return model

    def refit_consistently(self, rows: Rows, labels: Labels, pairs: Pairs, rng: np.random.Generator) -> Model:
        """A re-initialised copy trained to answer both sides of each pair alike too."""
        check_labels(rows, labels, len(self.classes))
        model = self.copy()
        train(model, rows, labels, seed_of(rng), pairs)
        return model

    def fingerprint(self) -> str:
        """A digest of parameters, buffers and the answers to fixed rows."""
        inputs = "a callable" if callable(self.settings.inputs) else self.settings.inputs
        digest = self._weights_digest(f"{self.reader} {inputs}")
        digest.update(np.round(self.scores(probe_rows(self.domain)), 4).tobytes())
        return f"torch-{digest.hexdigest()[:24]}"


def from_module(
    module: Any,
    domain: TabularDomain,
    classes: Sequence[Any] | None = None,
    settings: TorchSettings | None = None,
    trial: TrialRows | None = None,
) -> TorchModel:
    """A torch module as a model, once it answers a few rows alike alone and in company, and alike twice.

    A single output speaks for the second of `classes`, as in training with binary cross-entropy.
    """
    require("torch", "torch")
    settings = settings or TorchSettings()
    reader = declared_or_own(domain, classes)
    reader = replace(reader, single=reader.classes.index(reader.columns[-1]))
    model = TorchModel(module, make_front(module, domain, settings), reader, settings=settings)
    model = replace(model, reader=_settled(model))
    _check_steady(model)
    if trial is None or trial.labels is None or model.reader.form == "favourable":
        return model
    return replace(model, reader=confirm(model.reader, flat(_trial(model, trial.rows)).float().numpy(), trial.labels))


@dataclass(frozen=True, eq=False)
class TorchAmounts(TorchAdapter):
    """A module that says one number, or several, for each row of codes."""

    front: CodesFront

    def _answer(self, output: Any, asked: int) -> Any:
        import torch

        if not isinstance(output, torch.Tensor) or not output.ndim or len(output) != asked:
            shape = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
            raise WrongAnswer(f"the module answered {asked} rows with {shape}; expected a tensor with one amount for each row")
        return output.reshape(asked, -1)

    def __call__(self, rows: Rows) -> NDArray[np.floating[Any]]:
        """The module's own numbers, (n, outputs)."""
        return self._values(rows, (SCORES,))[SCORES]


def torch_amounts(module: Any, domain: TabularDomain, settings: TorchSettings | None = None) -> TorchAmounts:
    """A torch module as a regression, once it answers a few rows alike alone and in company, and alike twice."""
    require("torch", "torch")
    settings = settings or TorchSettings()
    asked = TorchAmounts(module, make_front(module, domain, settings), settings=settings)
    rows = probe_rows(domain, PROBED)
    first, again = _amounts(asked, rows), _amounts(asked, rows)
    alone = np.concatenate([_amounts(asked, rows[at : at + 1]) for at in range(8)])
    scale = max(float(np.nanstd(first)), float(np.abs(first).mean()) * 1e-3, SMALLEST)
    if not np.allclose(first, again, rtol=0, atol=1e-4 * scale, equal_nan=True):
        raise UnsteadyModel("the module answers the same rows differently the second time; switch off dropout and sampling in its forward")
    if not np.allclose(first[:8], alone, rtol=0, atol=1e-3 * scale, equal_nan=True):
        raise UnsteadyModel("the module answers rows differently alone and in company; does it normalise over the batch?")
    return asked


def _amounts(asked: TorchAmounts, rows: Rows) -> NDArray[np.floating[Any]]:
    try:
        return asked(rows)
    except EvenhandError:
        raise
    except Exception as fault:  # a module may raise anything
        raise ModelFailed(
            f"{type(asked.module).__name__} raised {type(fault).__name__} on {len(rows)} rows of codes: {first_line(fault)}.  "
            "TorchSettings(inputs=...) says how codes become inputs"
        ) from fault


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
        return self._as_logits(self._forward(batch), len(batch))

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

        with torch.no_grad(), self._at_work(), watching(self.module, self.layers()) as seen:
            self._forward(self.front.tensor(pictures))
        return tuple(name for name in self.layers() if seen[name].ndim == 4)

    def gradient(self, pictures: Pictures, cotangent: NDArray[Any], layer: str = SCORES) -> NDArray[np.float32]:
        """Per picture, the gradient by its pixels of sum(cotangent * layer's values), the scores' or a readable layer's."""
        self._check_layers((layer,))
        parts = [self._autograd(pictures[part], _constant(cotangent[part]), layer) for part in self._parts(pictures)]
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
        with torch.enable_grad(), self._at_work():
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
        with torch.enable_grad(), self._at_work(), watching(self.module, (layer,), "graph") as seen:
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
    model = replace(model, reader=replace(model.reader, scale=_scale(model, outputs)))
    _check_steady(model)
    return model


@dataclass(frozen=True, eq=False)
class TorchDetector(TorchAdapter):
    """Any module with the common detection contract: it answers one dictionary of `boxes`, `scores` and `labels` for each picture."""

    front: DetectionFront
    names: Sequence[str]
    name: str = "torch detector"
    suppression: Suppression = field(default_factory=Suppression)
    first_label: int = 0

    def fingerprint(self) -> str:
        """A digest of every parameter and buffer."""
        return str(self._weights_digest(repr((self.suppression, tuple(self.names), self.first_label))).hexdigest()[:16])

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """One pass over all pictures, without gradients, in evaluation mode."""
        import torch

        with torch.no_grad(), self._at_work():
            raw = self._forward(self.front.tensor(pictures))
        if len(raw) != len(pictures):
            raise WrongAnswer(f"{self.name} answered {len(raw)} results for {len(pictures)} pictures")
        return [self._detections(one) for one in raw]

    def _detections(self, one: Any) -> Answer:
        try:
            boxes, scores, classes = (one[key].detach().cpu().numpy() for key in ("boxes", "scores", "labels"))
        except (KeyError, TypeError, AttributeError) as fault:
            raise WrongAnswer(f"{self.name} answered {type(one).__name__}; expected a dictionary with boxes, scores and labels") from fault
        corners, kinds = boxes.reshape(-1, 4).astype(np.float32), classes.astype(np.intp) - self.first_label
        return detections(corners, scores.astype(np.float32), kinds, self.names, self.suppression)


def torch_detector(module: Any, names: Sequence[str], suppression: Suppression | None = None, first_label: int = 0) -> TorchDetector:
    """A module as a recogniser; `first_label` is what it calls the first name: 1 where 0 means background."""
    require("torch", "torch")
    return TorchDetector(module, DetectionFront(), tuple(names), suppression=suppression or Suppression(), first_label=first_label)


def _settled(model: TorchModel) -> Reader:
    rows = probe_rows(model.domain)
    values = flat(_trial(model, rows)).float()
    form: Literal["favourable", "scores"] = "favourable" if values.shape[1] == 1 else "scores"
    reader = replace(model.reader, form=form, scale=_scale(model, model.settings.outputs))
    reader.read(values.numpy(), len(rows))
    return reader


def _trial(model: TorchAdapter, asked: Any) -> Any:
    """The module's own answer to a few things, checked to be a tensor with one entry for each."""
    import torch

    with torch.no_grad(), model._at_work():
        output = model._forward(model.front.tensor(asked))
    if not isinstance(output, torch.Tensor):
        raise WrongAnswer(f"the module answered with a {type(output).__name__}; expected one tensor of scores, a row for each input")
    if not output.ndim or len(output) != len(asked):
        raise WrongAnswer(f"the module answered {len(asked)} rows with a tensor of shape {tuple(output.shape)}")
    return output


def _scale(model: TorchAdapter, outputs: Outputs) -> Scale:
    return "logit" if _gives_logits(model, outputs) else "probability"


def _gives_logits(model: TorchAdapter, outputs: Outputs) -> bool:
    """Whether answers are logits: said, or seen from a trial; the output of a linear layer always is."""
    import torch

    if outputs != "auto":
        return outputs == "logits"
    ended_linear: list[Any] = []
    linear = [part for part in model.module.modules() if isinstance(part, torch.nn.Linear)]
    handles = [part.register_forward_hook(lambda _part, _inputs, out: ended_linear.append(out)) for part in linear]
    try:
        output = _trial(model, model.front.sample(PROBED if isinstance(model.front, CodesFront) else PROBED_PICTURES))
    finally:
        for handle in handles:
            handle.remove()
    values = flat(output).float()
    if any(output is out for out in ended_linear):
        return True
    if values.shape[1] == 1 and bool(values.min() >= -SLACK) and bool(values.max() > 1 + SLACK):
        raise UnclearAnswers(
            f"the module's one output goes from {float(values.min()):.4g} to {float(values.max()):.4g}, which is no probability, "
            "and it does not end in a linear layer; say what it is with returns='logit', or let the module return probabilities"
        )
    return not _are_probabilities(values)


def _are_probabilities(values: Any) -> bool:
    if not (bool((values >= -1e-4).all()) and bool((values <= 1 + 1e-4).all())):
        return False
    return values.shape[1] == 1 or bool(((values.sum(dim=1) - 1).abs() < 2e-2).all())


def _check_steady(model: TorchModel | TorchClassifier) -> None:
    rows = model.front.sample(8)
    together, again = model.scores(rows), model.scores(rows)
    # bfloat16 keeps 8 bits, so that a different order of summation shows.
    slack = 5e-2 if "bfloat16" in str(getattr(model.front, "dtype", "")) else 1e-3
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
