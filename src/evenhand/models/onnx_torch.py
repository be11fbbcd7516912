"""Feed-forward ONNX graphs as torch modules, so that methods that need gradients and hidden layers can read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.domain.tabular import TabularDomain
from evenhand.errors import MissingAbility, require
from evenhand.models.quarantine import examine
from evenhand.models.torch import TorchModel, from_module
from evenhand.models.torch_adapter import TorchSettings

Step = Callable[[Sequence[Any], dict[str, Any]], Any]


def torch_from_onnx(
    path: str | Path, domain: TabularDomain, classes: Sequence[Any] | None = None, settings: TorchSettings | None = None
) -> TorchModel:
    """An ONNX file as a torch model; a graph with other operations than the known ones is refused, naming them."""
    return from_module(convert(path), domain, classes, settings)


def convert(path: str | Path) -> Any:
    """The torch module of an ONNX file: every node a submodule, weights as parameters."""
    onnx = require("onnx", "onnx")
    require("torch", "torch")
    examine("onnx", Path(path))
    model = onnx.load(str(path), load_external_data=False)
    unknown = sorted({node.op_type for node in model.graph.node if node.op_type not in _STEPS or node.domain not in ("", "ai.onnx")})
    if unknown:
        raise MissingAbility(
            f"{Path(path).name} uses {', '.join(unknown)}, which has no torch counterpart here; known: {', '.join(sorted(_STEPS))}.  "
            "Wrap the original module, or use DifferenceGradients(model) on the ONNX model"
        )
    return _graph_module(model.graph)


def _graph_module(graph: Any) -> Any:
    import onnx
    import torch

    class Node(torch.nn.Module):
        """One operation; a module of its own so that hooks can read it."""

        def __init__(self, operation: str, settings: dict[str, Any]) -> None:
            super().__init__()
            self.operation, self.settings = operation, settings

        def forward(self, *values: Any) -> Any:
            return _STEPS[self.operation](values, self.settings)

    class Graph(torch.nn.Module):
        """Nodes in the file's order."""

        def __init__(self) -> None:
            super().__init__()
            weights = {tensor.name: onnx.numpy_helper.to_array(tensor).copy() for tensor in graph.initializer}
            self.entry = next(entry.name for entry in graph.input if entry.name not in weights)
            self.exit = _score_output(graph)
            self.wiring: list[tuple[str, tuple[str, ...], str]] = []
            self.constants: dict[str, Any] = {}
            for name, array in weights.items():
                self._keep(name, array)
            self.nodes = torch.nn.ModuleDict()
            for place, node in enumerate(graph.node):
                self._add(place, node)

        def _keep(self, name: str, array: Any) -> None:
            if array.dtype.kind == "f":
                parameter = torch.nn.Parameter(torch.tensor(array), requires_grad=True)
                self.register_parameter(_identifier(name), parameter)
            else:
                self.constants[name] = torch.tensor(array)

        def _add(self, place: int, node: Any) -> None:
            settings = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Constant":
                self._keep(node.output[0], onnx.numpy_helper.to_array(settings["value"]).copy())
                return
            name = f"{node.op_type.lower()}_{place}"
            self.nodes[name] = Node(node.op_type, settings)
            self.wiring.append((name, tuple(node.input), node.output[0]))

        def forward(self, inputs: Any) -> Any:
            values = dict(self.constants) | {self.entry: inputs, "": None}
            parameters = dict(self.named_parameters(recurse=False))
            for name, sources, target in self.wiring:
                found = [values[s] if s in values else parameters[_identifier(s)] for s in sources]
                values[target] = self.nodes[name](*found)
            return values[self.exit]

    return Graph()


def _score_output(graph: Any) -> str:
    """The floating-point output; a label beside it is left out."""
    floats = [entry.name for entry in graph.output if entry.type.tensor_type.elem_type in (1, 10, 11)]
    return str(floats[0] if floats else graph.output[0].name)


def _identifier(name: str) -> str:
    return "weight_" + "".join(c if c.isalnum() else f"_{ord(c)}_" for c in name)


def _gemm(values: Sequence[Any], settings: dict[str, Any]) -> Any:
    left = values[0].T if settings.get("transA") else values[0]
    right = values[1].T if settings.get("transB") else values[1]
    out = settings.get("alpha", 1.0) * (left @ right)
    return out + settings.get("beta", 1.0) * values[2] if len(values) > 2 else out


def _convolve(values: Sequence[Any], settings: dict[str, Any]) -> Any:
    import torch

    rank = values[0].ndim - 2
    pads = list(settings.get("pads", [0] * (2 * rank)))
    both = [side for axis in range(rank - 1, -1, -1) for side in (pads[axis], pads[axis + rank])]
    run = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}[rank]
    inputs = torch.nn.functional.pad(values[0], both)
    bias = values[2] if len(values) > 2 else None
    strides, spacing = list(settings.get("strides", [1] * rank)), list(settings.get("dilations", [1] * rank))
    return run(inputs, values[1], bias, strides, 0, spacing, settings.get("group", 1))


def _normalise(values: Sequence[Any], settings: dict[str, Any]) -> Any:
    inputs, scale, bias, mean, variance = values[:5]
    shape = (1, -1, *([1] * (inputs.ndim - 2)))
    root = (variance + settings.get("epsilon", 1e-5)).sqrt()
    return (inputs - mean.reshape(shape)) / root.reshape(shape) * scale.reshape(shape) + bias.reshape(shape)


def _reshape(values: Sequence[Any], _settings: dict[str, Any]) -> Any:
    sizes = [values[0].shape[at] if size == 0 else size for at, size in enumerate(values[1].tolist())]
    if sizes and sizes[0] == 1 and -1 not in sizes:
        sizes[0] = -1  # exported with a batch of one
    return values[0].reshape(sizes)


def _flatten(values: Sequence[Any], settings: dict[str, Any]) -> Any:
    axis = settings.get("axis", 1)
    return values[0].reshape(int(np.prod(values[0].shape[:axis])), -1)


def _pool(values: Sequence[Any], settings: dict[str, Any]) -> Any:
    import torch

    if any(settings.get("pads", [])) or len(settings["kernel_shape"]) != 2:
        raise MissingAbility("MaxPool with padding, or over other than two axes, has no counterpart here")
    return torch.nn.functional.max_pool2d(values[0], list(settings["kernel_shape"]), list(settings.get("strides", [1, 1])))


def _function(name: str) -> Step:
    def step(values: Sequence[Any], _settings: dict[str, Any]) -> Any:
        import torch

        return getattr(torch, name)(*values)

    return step


def _cast(values: Sequence[Any], settings: dict[str, Any]) -> Any:
    import torch

    kinds = {1: torch.float32, 11: torch.float64, 7: torch.int64, 6: torch.int32}
    return values[0].to(kinds.get(settings["to"], torch.float32))


def _slice(values: Sequence[Any], _settings: dict[str, Any]) -> Any:
    starts, ends = values[1].tolist(), values[2].tolist()
    axes = values[3].tolist() if len(values) > 3 and values[3] is not None else list(range(len(starts)))
    steps = values[4].tolist() if len(values) > 4 and values[4] is not None else [1] * len(starts)
    cut = [slice(None)] * values[0].ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step < 1:
            raise MissingAbility("Slice with a negative step has no counterpart here")
        cut[axis] = slice(start, end, step)
    return values[0][tuple(cut)]


def _concatenate(values: Sequence[Any], settings: dict[str, Any]) -> Any:
    import torch

    return torch.cat(list(values), dim=settings["axis"])


_STEPS: dict[str, Step] = {
    "Add": _function("add"),
    "BatchNormalization": _normalise,
    "Cast": _cast,
    "Concat": _concatenate,
    "Constant": lambda values, _: values,
    "Conv": _convolve,
    "Div": _function("div"),
    "Equal": _function("eq"),
    "Dropout": lambda values, _: values[0],
    "Flatten": _flatten,
    "IsNaN": _function("isnan"),
    "Slice": _slice,
    "Where": _function("where"),
    "Gemm": _gemm,
    "GlobalAveragePool": lambda values, _: values[0].mean(dim=tuple(range(2, values[0].ndim)), keepdim=True),
    "Identity": lambda values, _: values[0],
    "LeakyRelu": lambda values, s: values[0].clamp_min(0) + s.get("alpha", 0.01) * values[0].clamp_max(0),
    "LogSoftmax": lambda values, s: values[0].log_softmax(s.get("axis", -1)),
    "MatMul": _function("matmul"),
    "MaxPool": _pool,
    "Mul": _function("mul"),
    "Relu": _function("relu"),
    "Reshape": _reshape,
    "Sigmoid": _function("sigmoid"),
    "Softmax": lambda values, s: values[0].softmax(s.get("axis", -1)),
    "Sub": _function("sub"),
    "Tanh": _function("tanh"),
}
