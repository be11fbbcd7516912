"""A plain ReLU network with softmax output in NumPy: fast in batches, with exact gradients and readable hidden layers.

Trains nothing itself; `training.fit_dense` does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Rows, Scores
from evenhand.contract import SCORES, Model, Pairs, Slope
from evenhand.disk import whole_file
from evenhand.domain.columns import listing
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, ModelFailed, UnknownName, WrongAnswer
from evenhand.models.answer_shapes import plain, reader_for
from evenhand.models.archives import check_archive
from evenhand.models.inputs import first_line

Floats: TypeAlias = NDArray[np.float32]

LOGITS = "logits"
"""The layer before the softmax; gradients and activations know it, `layers()` lists only the hidden ones."""

BATCH_ROWS = 10_000
STRIP_ROWS = 5_000
"""Rows that go through all layers together, so that their values stay in the cache: on [64, 32, 16, 8, 4] a gradient takes 280
nanoseconds a row, 700 in strips of 8,192; scores take 124 either way."""


@dataclass(frozen=True, eq=False)
class DenseNet:
    """Layers of weights; ReLU between them, softmax behind the last.

    `fill` holds one code per column that stands in for a missing cell; without it a missing cell makes the scores NaN.
    """

    kernels: tuple[Floats, ...]  # (inputs, units) each
    biases: tuple[Floats, ...]  # (units,) each
    classes: tuple[Any, ...] = (0, 1)
    fill: Floats | None = None  # (columns,)

    def __post_init__(self) -> None:
        if not self.kernels or len(self.kernels) != len(self.biases):
            raise InvalidArgument(f"a network needs as many kernels as biases, got {len(self.kernels)} and {len(self.biases)}")
        widths = [self.kernels[0].shape[0]]
        for place, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            if kernel.shape != (widths[-1], bias.shape[0]):
                raise InvalidArgument(
                    f"kernel {place} has shape {kernel.shape}; expected ({widths[-1]}, {bias.shape[0]}): "
                    "the inputs of its layer and the units of its bias"
                )
            widths.append(bias.shape[0])
        if widths[-1] != len(self.classes):
            raise InvalidArgument(f"classes={list(self.classes)!r} must name the {widths[-1]} outputs of the network")
        if self.fill is not None and self.fill.shape != (widths[0],):
            raise InvalidArgument(f"fill has shape {self.fill.shape}; expected ({widths[0]},): one code per column")

    @classmethod
    def from_npz(cls, path: str | Path, classes: Sequence[Any] | None = None) -> DenseNet:
        """Read `linear[_i].kernel` (inputs, units) and `linear[_i].bias`; never a pickle."""
        arrays = _read_npz(Path(path))
        stems = sorted({name.rsplit(".", 1)[0] for name in arrays if name.endswith(".kernel")}, key=_order)
        if not stems or any(f"{stem}.bias" not in arrays for stem in stems):
            raise InvalidArgument(f"{path} holds {sorted(arrays)[:6]}; expected pairs linear.kernel, linear.bias, linear_1.kernel, ...")
        kernels = tuple(_floats(arrays[f"{stem}.kernel"]) for stem in stems)
        biases = tuple(_floats(arrays[f"{stem}.bias"]) for stem in stems)
        stored = _stored_classes(arrays["classes"], path) if "classes" in arrays else range(len(biases[-1]))
        fill = _floats(arrays["fill"]) if "fill" in arrays else None
        return cls(kernels, biases, tuple(stored if classes is None else classes), fill)

    @classmethod
    def from_sklearn(cls, estimator: Any, classes: Sequence[Any] | None = None) -> DenseNet:
        """The same function as a fitted scikit-learn MLPClassifier with ReLU units."""
        if not hasattr(estimator, "coefs_"):
            raise InvalidArgument(f"estimator={type(estimator).__name__} must be a fitted MLPClassifier")
        if estimator.activation != "relu":
            raise InvalidArgument(f"activation={estimator.activation!r} of the MLPClassifier must be 'relu'")
        kernels, biases = ([_floats(part) for part in parts] for parts in (estimator.coefs_, estimator.intercepts_))
        if estimator.out_activation_ == "logistic":
            if kernels[-1].shape[1] != 1:
                raise InvalidArgument("the MLPClassifier was fitted on several labels at once; one label is expected")
            # One logit z for the second class is softmax over (0, z).
            kernels[-1] = np.hstack([np.zeros_like(kernels[-1]), kernels[-1]])
            biases[-1] = np.append(np.float32(0), biases[-1])
        names = [plain(value) for value in estimator.classes_] if classes is None else classes
        return cls(tuple(kernels), tuple(biases), tuple(names))

    def save(self, path: str | Path) -> None:
        """Write an npz file that `from_npz` reads back."""
        arrays: dict[str, Any] = {"classes": np.array(json.dumps(list(self.classes)))}
        for place, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            stem = f"linear_{place}" if place else "linear"
            arrays |= {f"{stem}.kernel": kernel, f"{stem}.bias": bias}
        if self.fill is not None:
            arrays["fill"] = self.fill
        with whole_file(Path(path)) as new, new.open("wb") as file:
            np.savez(file, **arrays)

    @property
    def is_hard(self) -> bool:
        """A network gives scores."""
        return False

    @property
    def batch_rows(self) -> int:
        """How many rows one call takes best."""
        return BATCH_ROWS

    @cached_property
    def _layers(self) -> list[Floats]:
        """Transposed kernels with the biases as their last column: inputs end with a row of ones, so that one product does both."""
        return [np.ascontiguousarray(np.vstack([kernel, bias]).T) for kernel, bias in zip(self.kernels, self.biases, strict=True)]

    def scores(self, rows: Rows) -> Scores:
        """Softmax probabilities, (n, classes)."""
        out = np.empty((len(rows), len(self.classes)), dtype=np.float32)
        for part in _parts(len(rows)):
            out[part] = _softmax(self._forward(self._inputs(rows[part]))[-1]).T
        return out

    def _inputs(self, rows: Rows) -> Floats:
        """Rows as float32 columns and a row of ones, (columns + 1, n): units along the first axis keep every later step contiguous.

        A transposed view will do: the first product reads it as it is, and copying it would cost more than that product saves.
        """
        columns = len(self.kernels[0])
        if rows.ndim != 2 or rows.shape[1] != columns:
            raise WrongAnswer(f"the network takes rows of {columns} columns, got an array of shape {rows.shape}")
        inputs = np.empty((len(rows), columns + 1), dtype=np.float32)
        inputs[:, :columns] = rows
        inputs[:, columns] = 1.0
        if self.fill is not None:
            missing = np.isnan(inputs)
            if missing.any():
                inputs = np.where(missing, np.append(self.fill, np.float32(1)), inputs)
        return inputs.T

    def _forward(self, inputs: Floats, keep: bool = False, depth: int | None = None) -> list[Floats]:
        """Values of the layers up to `depth`; only of the last one unless `keep`."""
        layers = self._layers[:depth]
        count = inputs.shape[1]
        stride = _stride(count)
        zeros = np.zeros(stride, dtype=np.float32)  # compared with a row of zeros, a ReLU takes half as long as with one zero
        values, below = [], inputs
        for place, layer in enumerate(layers):
            room = np.empty((len(layer) + 1, stride), dtype=np.float32)
            room[-1] = 1.0
            hidden = room[:, :count]
            np.matmul(layer, below, out=hidden[:-1])
            if place < len(self.kernels) - 1:
                np.maximum(room[:-1], zeros, out=room[:-1])  # the few cells beyond count too: one long loop is faster than many
            if keep or place == len(layers) - 1:
                values.append(hidden[:-1])
            below = hidden
        return values

    def layers(self) -> tuple[str, ...]:
        """The hidden layers, values after their ReLU."""
        return tuple(f"relu_{place}" for place in range(1, len(self.kernels)))

    def _depth(self, layer: str) -> int:
        known = (*self.layers(), LOGITS)
        if layer not in known:
            raise UnknownName("layer", layer, (*known, SCORES))
        return known.index(layer) + 1

    def activations(self, rows: Rows, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        """Values of the named layers, (n, units) each."""
        depths = {layer: len(self.kernels) if layer == SCORES else self._depth(layer) for layer in layers}
        out = {layer: np.empty((len(rows), len(self.biases[depth - 1])), dtype=np.float32) for layer, depth in depths.items()}
        for part in _parts(len(rows)) if depths else ():
            values = self._forward(self._inputs(rows[part]), keep=True, depth=max(depths.values()))
            for layer, depth in depths.items():
                out[layer][part] = (_softmax(values[depth - 1]) if layer == SCORES else values[depth - 1]).T
        return dict(out)

    def gradient(self, rows: Rows, cotangent: NDArray[Any], layer: str = SCORES) -> Rows:
        """Per row, the gradient by the codes of sum(cotangent * layer's values), (n, columns); a missing cell has gradient 0."""
        depth = len(self.kernels) if layer == SCORES else self._depth(layer)
        units = len(self.biases[depth - 1])
        if cotangent.shape != (len(rows), units):
            raise InvalidArgument(f"cotangent has shape {cotangent.shape}; expected ({len(rows)}, {units}): a weight per unit of {layer!r}")
        out = np.empty(rows.shape)
        for part in _parts(len(rows)):
            values = self._forward(self._inputs(rows[part]), keep=True, depth=depth)
            back = np.array(cotangent[part].T, dtype=np.float32, order="C")
            out[part] = self._backward(values, _weighted(_softmax(values[-1]), back) if layer == SCORES else back).T
        if self.fill is not None:
            out[np.isnan(rows)] = 0.0
        return out

    def pullback(self, rows: Rows, slope: Slope, layer: str = SCORES) -> Rows:
        """Per row, the gradient by the codes of the loss with this slope, all rows in one pass; a missing cell has gradient 0."""
        depth = len(self.kernels) if layer == SCORES else self._depth(layer)
        values = self._forward(self._inputs(rows), keep=True, depth=depth)
        seen = _softmax(values[-1]) if layer == SCORES else values[-1]
        back = np.ascontiguousarray(slope(seen.T).T, dtype=np.float32)
        if back.shape != seen.shape:
            raise InvalidArgument(f"slope gave the shape {back.shape[::-1]}; expected {seen.shape[::-1]}: a weight per unit of {layer!r}")
        out: Rows = self._backward(values, _weighted(seen, back) if layer == SCORES else back).T.astype(np.float64)
        if self.fill is not None:
            out[np.isnan(rows)] = 0.0
        return out

    def _backward(self, values: list[Floats], back: Floats) -> Floats:
        for place in range(len(values) - 1, -1, -1):
            if place < len(self.kernels) - 1:
                np.multiply(back, values[place] > 0, out=back)
            back = self.kernels[place] @ back
        return back

    def refit(self, rows: Rows, labels: Labels, rng: np.random.Generator) -> Model:
        """A new network of the same widths."""
        from evenhand.models.fitting_again import fit_dense

        return fit_dense(rows, labels, self.classes, rng, hidden=tuple(len(bias) for bias in self.biases[:-1]))

    def refit_consistently(self, rows: Rows, labels: Labels, pairs: Pairs, rng: np.random.Generator) -> Model:
        """A new network of the same widths, trained to answer both sides of each pair alike too."""
        from evenhand.models.consistent_fitting import fit_consistent

        return fit_consistent(rows, labels, pairs, self, rng)

    def fingerprint(self) -> str:
        """A digest of the weights and classes."""
        digest = hashlib.sha256(json.dumps([str(value) for value in self.classes]).encode())
        for array in (*self.kernels, *self.biases, *(() if self.fill is None else (self.fill,))):
            digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return f"dense-{digest.hexdigest()[:24]}"

    def named(self, columns: Sequence[Any], domain: TabularDomain) -> DenseNet:
        """The same network with its outputs, which are called `columns`, put into the order of the domain's label."""
        reader = reader_for(domain, columns)
        if len(reader.columns) != len(self.classes) or len(reader.classes) != len(self.classes):
            raise InvalidArgument(f"the network has {len(self.classes)} outputs for the classes {listing(reader.classes)}")
        order = [reader.columns.index(name) for name in reader.classes]
        kernels = (*self.kernels[:-1], np.ascontiguousarray(self.kernels[-1][:, order]))
        return DenseNet(kernels, (*self.biases[:-1], self.biases[-1][order]), reader.classes, self.fill)

    def without(self, layer: str, units: Sequence[int], keep: float = 0.0) -> DenseNet:
        """The same network with these hidden units held at zero, or at the share `keep` of their value."""
        at = self._depth(layer) - 1
        kernels, biases = list(self.kernels), list(self.biases)
        kernels[at], biases[at] = kernels[at].copy(), biases[at].copy()
        kernels[at][:, list(units)] *= np.float32(keep)
        biases[at][list(units)] *= np.float32(keep)
        return DenseNet(tuple(kernels), tuple(biases), self.classes, self.fill)


def _parts(rows: int) -> list[slice]:
    return [slice(at, at + STRIP_ROWS) for at in range(0, rows, STRIP_ROWS)]


def _stride(count: int) -> int:
    """How far apart the rows of `count` cells lie: an odd number of cache lines.

    Rows a power of two apart fall into the same few lines of the cache: a product over 8,192 rows took 180 nanoseconds a row where
    one over 8,208 took 115.
    """
    return count // 32 * 32 + 48


def _softmax(logits: Floats) -> Floats:
    """Probabilities down the first axis, (classes, n)."""
    if len(logits) == 2:
        with np.errstate(over="ignore"):
            odds: Floats = np.exp(logits[::-1] - logits)
        odds += 1
        np.reciprocal(odds, out=odds)
        return odds
    powers: Floats = np.exp(logits - logits.max(axis=0))
    powers /= powers.sum(axis=0)
    return powers


def _weighted(probabilities: Floats, back: Floats) -> Floats:
    """A cotangent of the probabilities as one of the logits."""
    weighted: Floats = probabilities * (back - (back * probabilities).sum(axis=0))
    return weighted


def _floats(array: Any) -> Floats:
    return np.ascontiguousarray(array, dtype=np.float32)


def _stored_classes(told: Any, path: str | Path) -> list[Any]:
    try:
        found = json.loads(str(told))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise ModelFailed(f"{path}: classes must be a list in JSON")
    return found


def _order(stem: str) -> tuple[str, int]:
    name, _, number = stem.rpartition("_")
    return (name, int(number)) if number.isdigit() else (stem, 0)


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    read: Callable[..., Any] = np.load
    try:
        check_archive(path, "a readable npz file of plain arrays")
        with read(path, allow_pickle=False) as file:
            found = dict(file)
        if odd := next((name for name, array in found.items() if not isinstance(array, np.ndarray)), None):
            raise ModelFailed(f"{path}: {odd!r} is no array")  # NumPy hands out the bytes of an entry that does not begin as one
        return found
    except FileNotFoundError:
        raise InvalidArgument(f"there is no file {str(path)!r}") from None
    except ModelFailed:
        raise
    except Exception as fault:  # a crafted archive, or the head of an array in it, makes zipfile and NumPy raise anything
        raise ModelFailed(f"{path} is not a readable npz file of plain arrays: {first_line(fault)}") from fault
