"""How what is asked (rows of codes, pictures) becomes what a torch module takes, and how a gradient goes the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Rows
from evenhand.contract import Pictures
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.media.picture_tensors import to_pictures, to_tensor
from evenhand.models.inputs import probe_rows
from evenhand.models.preparation import GREY, Preparation

Inputs = Literal["codes", "standard", "one_hot", "long"]
PICTURE_SEED = 20_211_114


class _Settings(Protocol):
    @property
    def inputs(self) -> Inputs | Callable[[Any], Any]: ...
    @property
    def mean(self) -> Sequence[float]: ...
    @property
    def scale(self) -> Sequence[float]: ...
    @property
    def fill(self) -> Sequence[float]: ...
    @property
    def one_hot(self) -> Sequence[str] | None: ...
    @property
    def differences(self) -> Sequence[str]: ...


class Front(Protocol):
    """The way from what is asked to a module's inputs, and back."""

    def sample(self, n: int) -> Any:
        """A few things for trying the module out, always the same ones."""

    def tensor(self, asked: Any) -> Any:
        """The tensor that gradients are taken by."""

    def prepare(self, inputs: Any) -> Any:
        """What the module is called with."""

    def units(self, values: Any) -> Any:
        """A layer's values as one row of units per asked thing."""

    def back(self, gradient: Any, asked: Any) -> NDArray[Any]:
        """The gradient by what is asked, from the one by `tensor`."""

    def around(self, module: Any) -> Front:
        """The same way for another module."""

    @property
    def advice(self) -> str:
        """What to say to a user whose module refuses its inputs."""


@dataclass(frozen=True, eq=False)
class CodesFront:
    """The compiled way from codes to inputs.

    One-hot columns have no derivative by their code.  Their gradient is the slope along the category axis: the difference of
    the gradients by the two neighbouring places, divided by their distance (one-sided at either end).
    """

    domain: TabularDomain
    inputs: Inputs | Callable[[Any], Any]
    dtype: Any
    mean: NDArray[Any] | None
    scale: NDArray[Any] | None
    fill: NDArray[Any] | None
    spread: tuple[int, ...]  # places of the one-hot columns
    cut_places: tuple[int, ...]  # places whose gradient is taken between neighbouring codes

    advice: ClassVar[str] = "TorchSettings(inputs=...) says how codes become its inputs"

    def around(self, module: Any) -> CodesFront:
        """The same way for another module."""
        return replace(self, dtype=_dtype(module))

    def sample(self, n: int) -> Rows:
        """Rows of the domain, always the same ones."""
        return probe_rows(self.domain, n)

    def units(self, values: Any) -> Any:
        """Every value of a layer is a unit."""
        return flat(values)

    def tensor(self, rows: Rows) -> Any:
        """The tensor that gradients are taken by: float codes, or the one-hot matrix."""
        import torch

        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.domain.columns):
            raise InvalidArgument(f"rows has shape {rows.shape}; expected (n, {len(self.domain.columns)})")
        filled = self._filled(rows)
        if self.spread:
            filled = self._one_hot(filled)
        return torch.tensor(filled, dtype=self.dtype)

    def _filled(self, rows: Rows) -> Rows:
        missing = np.isnan(rows)
        if not missing.any() or callable(self.inputs):
            return rows
        if self.fill is not None:
            return np.where(missing, self.fill, rows)
        outside: NDArray[np.bool_] = np.asarray(missing.any(axis=0))
        outside[list(self.spread)] = False
        if outside.any():
            name = self.domain.names[int(np.flatnonzero(outside)[0])]
            raise InvalidArgument(
                f"column {name!r} has missing cells and the module gets plain numbers; say what stands in for them: "
                "TorchSettings(fill=[one code per column]), or inputs=a callable that handles NaN"
            )
        return rows

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        return tuple(len(c.values) if p in self.spread else 1 for p, c in enumerate(self.domain.columns))

    def _one_hot(self, rows: Rows) -> Rows:
        """Columns in order, each one-hot column as one block; a missing category is a block of zeros."""
        blocks = []
        for place, width in enumerate(self._widths):
            codes = rows[:, place, None]
            blocks.append((codes == np.arange(width)).astype(np.float64) if place in self.spread else codes)
        return np.hstack(blocks)

    def prepare(self, inputs: Any) -> Any:
        """What the module is called with: a tensor, or a tuple of them."""
        import torch

        if callable(self.inputs):
            return self.inputs(inputs)
        if self.inputs == "long":
            return inputs.long()
        if self.inputs == "standard":
            mean, scale = (torch.as_tensor(part, dtype=self.dtype) for part in (self.mean, self.scale))
            return (inputs - mean) / scale
        return inputs.clone()  # a module may work in place, which a leaf of the graph forbids

    def back(self, gradient: Any, rows: Rows) -> Rows:
        """The gradient by codes, from the one by `tensor`."""
        return self._by_codes(gradient.double().numpy(), rows)

    def _by_codes(self, gradient: NDArray[Any], rows: Rows) -> Rows:
        if not self.spread:
            return np.where(np.isnan(rows), 0.0, gradient)
        out = np.zeros(rows.shape)
        start = 0
        for place, width in enumerate(self._widths):
            block = gradient[:, start : start + width]
            start += width
            out[:, place] = _slope(block, rows[:, place]) if place in self.spread else block[:, 0]
        return np.where(np.isnan(rows), 0.0, out)


@dataclass(frozen=True, eq=False)
class PictureFront:
    """Pictures between 0 and 255, (n, height, width, 3), as a module takes them; by `prepare` where it takes other values."""

    prepared_by: Preparation | None = None
    device: str = "cpu"
    sides: tuple[int, int] | None = None  # height and width of the pictures, where they are known
    advice: ClassVar[str] = "Preparation(...) says how pictures become its inputs"

    def around(self, _module: Any) -> PictureFront:
        """The same way for another module."""
        return self

    @property
    def known_sides(self) -> tuple[int, int] | None:
        """Height and width of pictures that the module can be tried out with."""
        size = self.prepared_by.size if self.prepared_by else None
        return self.sides or ((size, size) if size else None)

    def sample(self, n: int) -> Pictures:
        """Pictures of noise, always the same ones."""
        if self.known_sides is None:
            raise MissingAbility("the size of the pictures is unknown; name the layers in readable=..., or give prepare=Preparation(size)")
        return np.random.default_rng(PICTURE_SEED).integers(0, 256, (n, *self.known_sides, 3)).astype(np.uint8)

    def tensor(self, pictures: Pictures) -> Any:
        """Float32, (n, 3, height, width), still between 0 and 255."""
        return to_tensor(pictures, self.device)

    def prepare(self, inputs: Any) -> Any:
        """What `prepared_by` does to pictures, in torch, so that gradients reach the pixels."""
        return inputs if self.prepared_by is None else _prepared(inputs, self.prepared_by)

    def units(self, values: Any) -> Any:
        """A convolutional unit is the mean of its map, a unit of a transformer the mean over the places."""
        if values.ndim == 4:
            return values.mean(dim=(2, 3))
        return values.mean(dim=1) if values.ndim == 3 else flat(values)

    def back(self, gradient: Any, _pictures: Pictures) -> NDArray[Any]:
        """The gradient by the pixels."""
        return to_pictures(gradient)


def _prepared(batch: Any, how: Preparation) -> Any:
    import torch

    size = (how.size, how.size) if how.size else tuple(batch.shape[2:])
    sized = batch if tuple(batch.shape[2:]) == size else torch.nn.functional.interpolate(batch, size, mode="area")
    mean, deviation, grey = (
        torch.tensor(each, dtype=batch.dtype, device=batch.device)[:, None, None] for each in (how.mean, how.deviation, GREY)
    )
    values = (sized * how.scale - mean) / deviation
    values = values.flip(1) if how.blue_first else values
    values = (values * grey).sum(dim=1, keepdim=True) if how.grey else values
    return values if how.channels_first else values.permute(0, 2, 3, 1)


@dataclass(frozen=True, eq=False)
class DetectionFront(PictureFront):
    """Pictures of any sizes for a detector: a list of (3, height, width), from 0 to 1."""

    def tensor(self, pictures: Any) -> list[Any]:
        """One tensor for each picture."""
        import torch

        return [torch.from_numpy(np.ascontiguousarray(one.transpose(2, 0, 1))).float() / 255 for one in pictures]


def flat(values: Any) -> Any:
    """One row of values per input."""
    return values.reshape(values.shape[0], -1) if values.shape[0] else values.reshape(0, int(np.prod(values.shape[1:])))


def _slope(block: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
    at = np.nan_to_num(codes).astype(np.intp)
    after, before = np.minimum(at + 1, block.shape[1] - 1), np.maximum(at - 1, 0)
    each = np.arange(len(block))
    return np.asarray((block[each, after] - block[each, before]) / np.maximum(after - before, 1))


def make_front(module: Any, domain: TabularDomain, settings: _Settings) -> CodesFront:
    """The way from codes to inputs that the settings describe."""
    inputs = settings.inputs
    if not callable(inputs) and inputs not in ("codes", "standard", "one_hot", "long"):
        raise InvalidArgument(f"inputs={inputs!r} must be 'codes', 'standard', 'one_hot', 'long' or a callable on the tensor of codes")
    if inputs == "long" and not all(column.is_integral for column in domain.columns):
        real = next(column.name for column in domain.columns if not column.is_integral)
        raise InvalidArgument(f"inputs='long' cuts off decimals, but column {real!r} holds real numbers; use a callable instead")
    parts = {name: _per_column(getattr(settings, name), name, domain) for name in ("mean", "scale", "fill")}
    if inputs == "standard" and (parts["mean"] is None or parts["scale"] is None):
        raise InvalidArgument("inputs='standard' needs TorchSettings(mean=[...], scale=[...]), one number per column")
    cut = range(len(domain.columns)) if inputs == "long" else [domain.place(name) for name in settings.differences]
    spread = _spread(domain, settings.one_hot) if inputs == "one_hot" else ()
    return CodesFront(domain, inputs, _dtype(module), parts["mean"], parts["scale"], parts["fill"], spread, tuple(cut))


def _spread(domain: TabularDomain, names: Sequence[str] | None) -> tuple[int, ...]:
    if names is None:
        return tuple(place for place, column in enumerate(domain.columns) if column.kind == "category")
    for name in names:
        if not domain.columns[domain.place(name)].is_listed:
            raise InvalidArgument(f"one_hot names {name!r}, which holds numbers; only columns with listed values can be spread out")
    return tuple(sorted(domain.place(name) for name in names))


def _per_column(numbers: Sequence[float], name: str, domain: TabularDomain) -> NDArray[Any] | None:
    if len(numbers) == 0:
        return None
    if len(numbers) != len(domain.columns):
        raise InvalidArgument(f"{name} has {len(numbers)} numbers; expected {len(domain.columns)}: one per column")
    return np.asarray(numbers, dtype=np.float64)


def _dtype(module: Any) -> Any:
    import torch

    return next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
