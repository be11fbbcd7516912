"""Which layers of a torch module can be read, and reading them during a forward pass.

A layer is the output of a submodule, or of an activation function that the module calls without a submodule (`F.relu`, `torch.tanh`,
`x.sigmoid()`); the latter is named after the part that spoke before it: `fc1.relu`.  A second call of one layer is `name#2`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

ACTIVATIONS = frozenset(
    {
        "relu",
        "relu6",
        "leaky_relu",
        "prelu",
        "rrelu",
        "elu",
        "selu",
        "celu",
        "gelu",
        "silu",
        "mish",
        "tanh",
        "sigmoid",
        "hardtanh",
        "hardswish",
        "hardsigmoid",
        "hardshrink",
        "softshrink",
        "tanhshrink",
        "softplus",
        "softsign",
        "logsigmoid",
        "threshold",
    }
)
"""Functions that are taken for activation functions, by name; in-place forms too."""

Keep = Literal["copies", "graph", "first"]
"""What is kept of a layer: copies of its values; values with their graph; values with their graph, and the pass ends there."""


class Reached(Exception):
    """Ends a forward pass at the layer that was wanted."""


@dataclass
class Passage:
    """Where a forward pass is: the parts that run, innermost last, and the last one to have finished."""

    module: Any
    running: list[Any] = field(default_factory=list)
    finished: str = ""
    calls: Counter[str] = field(default_factory=Counter)

    def begin(self, _part: Any = None, _inputs: Any = None) -> None:
        """Another pass."""
        self.running.clear()
        self.calls.clear()
        self.finished = ""

    def named(self, name: str) -> str:
        """The name of the next call of a layer."""
        self.calls[name] += 1
        return name if self.calls[name] == 1 else f"{name}#{self.calls[name]}"

    def function_name(self, function: str) -> str:
        """What an activation function that is called now is named."""
        return self.named(f"{self.finished}.{function}" if self.finished else function)

    @property
    def is_within_activation(self) -> bool:
        """Whether the innermost part is itself the activation: it has neither parts nor weights, and is not the whole module."""
        part = self.running[-1] if self.running else self.module
        return part is not self.module and not any(True for _ in part.children()) and not any(True for _ in part.parameters())

    @contextmanager
    def followed(self) -> Iterator[None]:
        """While open, the parts that start and finish are noted."""
        handles = []
        for name, part in self.module.named_modules():
            handles.append(part.register_forward_pre_hook(lambda part, _inputs: self.running.append(part)))
            handles.append(part.register_forward_hook(self._finish(name, not any(True for _ in part.children()))))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _finish(self, name: str, is_leaf: bool) -> Callable[[Any, Any, Any], None]:
        def hook(_part: Any, _inputs: Any, _output: Any) -> None:
            if self.running:
                self.running.pop()
            if is_leaf and name:
                self.finished = name

        return hook


def _listening(heard: Callable[[str, Any], Any]) -> Any:
    """A context in which every activation function that is called is told, and answers with what `heard` returns."""
    from torch import Tensor
    from torch.overrides import TorchFunctionMode

    class Listening(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            output = function(*args, **(kwargs or {}))
            name = str(getattr(function, "__name__", "")).rstrip("_")
            return heard(name, output) if name in ACTIVATIONS and isinstance(output, Tensor) else output

    return Listening()


@dataclass(frozen=True)
class Layer:
    """A readable layer, and whether an activation function makes its values."""

    name: str
    is_activation: bool


def find_layers(module: Any, run: Callable[[], Any], inputs: int) -> tuple[Layer, ...]:
    """The layers that a trial pass over so many inputs shows, in the order of their calls; a function that gives the answer is none."""
    import torch

    if isinstance(module, torch.jit.ScriptModule):
        return ()
    found: list[tuple[Layer, Any]] = []
    passage = Passage(module)

    def is_readable(output: Any) -> bool:
        return isinstance(output, torch.Tensor) and output.ndim >= 1 and len(output) == inputs and output.is_floating_point()

    def watch(name: str, part: Any) -> Callable[[Any, Any, Any], None]:
        def hook(_part: Any, _inputs: Any, output: Any) -> None:
            call = passage.named(name)
            if is_readable(output):
                found.append((Layer(call, _is_activation(part) or id(part) in inner), output))

        return hook

    inner: set[int] = set()  # parts without parts or weights in which an activation function was called

    def heard(function: str, output: Any) -> Any:
        if passage.is_within_activation:
            inner.add(id(passage.running[-1]))
        elif is_readable(output):
            found.append((Layer(passage.function_name(function), True), output))
        return output

    handles = [part.register_forward_hook(watch(name, part)) for name, part in module.named_modules() if name]
    submodules = {name for name, _ in module.named_modules()}
    try:
        with passage.followed(), _listening(heard):
            answer = run()
    finally:
        for handle in handles:
            handle.remove()
    return tuple(
        _seen(layer, output is answer) for layer, output in found if output is not answer or layer.name.split("#")[0] in submodules
    )


def _seen(layer: Layer, is_answer: bool) -> Layer:
    """What gives the answer is no hidden activation."""
    return Layer(layer.name, layer.is_activation and not is_answer)


def _is_activation(part: Any) -> bool:
    kind = type(part)
    return kind.__module__ == "torch.nn.modules.activation" and not kind.__name__.startswith(("Softm", "LogSoftm", "Multihead", "GLU"))


def declared_activations(module: Any) -> tuple[str, ...]:
    """The submodules that are activation functions, for a module that cannot be tried out."""
    return tuple(name for name, part in module.named_modules() if name and _is_activation(part))


@contextmanager
def watching(module: Any, layers: Sequence[str], keep: Keep = "copies") -> Iterator[dict[str, Any]]:
    """The values of layers during forward passes, by name."""
    seen: dict[str, Any] = {}
    passage = Passage(module)

    def tell(call: str, output: Any) -> None:
        if call in layers:
            # A later step may overwrite the tensor in place, so that it is copied, or nothing later runs.
            seen[call] = output.detach().clone() if keep == "copies" else output
            if keep == "first":
                raise Reached

    def heard(function: str, output: Any) -> Any:
        if not passage.is_within_activation:
            tell(passage.function_name(function), output)
        return output

    parts, functions = _sorted_out(module, layers)
    with ExitStack() as open_while:
        for name, part in parts.items():
            open_while.callback(part.register_forward_hook(_told(name, passage, tell)).remove)
        open_while.callback(module.register_forward_pre_hook(passage.begin).remove)
        if functions:
            open_while.enter_context(passage.followed())
            open_while.enter_context(_listening(heard))
        yield seen


def _told(name: str, passage: Passage, tell: Callable[[str, Any], None]) -> Callable[[Any, Any, Any], None]:
    return lambda _part, _inputs, output: tell(passage.named(name), output)


def _sorted_out(module: Any, layers: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The submodules among the layers, and the names of the others."""
    wanted = {layer.split("#")[0] for layer in layers}
    parts = {name: part for name, part in module.named_modules() if name in wanted}
    return parts, sorted(wanted - set(parts))


@dataclass(frozen=True)
class KeptShare:
    """What is left of some units of a layer; with `by_map` a unit of a convolutional layer is its whole map."""

    units: tuple[int, ...]
    kept: float = 0.0
    by_map: bool = False

    def of(self, output: Any) -> Any:
        """The layer's values with these units at their share."""
        is_map = self.by_map and output.ndim == 4
        shares = output.new_ones(output.shape[1] if is_map else output[0].numel())
        shares[list(self.units)] = self.kept
        return output * shares.reshape((-1, 1, 1) if is_map else output.shape[1:])


def silence(module: Any, layer: str, share: KeptShare) -> None:
    """Hold units of one layer at a share of their value, by hooks that stay with the module."""
    name, _, call = layer.partition("#")
    passage = Passage(module)
    module.register_forward_pre_hook(passage.begin)
    parts, functions = _sorted_out(module, (layer,))
    if functions:
        _silence_function(module, layer, share)
    else:
        parts[name].register_forward_hook(_Hush(passage, name, int(call or 1), share))


@dataclass(frozen=True, eq=False)
class _Hush:
    """Holds units at their share in one call of a layer.  No closure: a copy of the module must count the calls of its own passes."""

    passage: Passage
    name: str
    call: int
    share: KeptShare

    def __call__(self, _part: Any, _inputs: Any, output: Any) -> Any:
        self.passage.calls[self.name] += 1
        return self.share.of(output) if self.passage.calls[self.name] == self.call else output


def _silence_function(module: Any, layer: str, share: KeptShare) -> None:
    """The same for an activation function: every pass runs within a context that changes its answer."""
    open_now: list[ExitStack] = []

    def begin(part: Any, _inputs: Any) -> None:
        passage, context = Passage(part), ExitStack()

        def heard(function: str, output: Any) -> Any:
            return output if passage.is_within_activation or passage.function_name(function) != layer else share.of(output)

        context.enter_context(passage.followed())
        context.enter_context(_listening(heard))
        passage.running.append(part)  # it has begun already
        open_now.append(context)

    module.register_forward_pre_hook(begin)
    module.register_forward_hook(lambda _part, _inputs, _output: open_now.pop().close(), always_call=True)
