"""Dense ReLU networks, and linear models for amounts, from wherever they come (NumPy, torch, scikit-learn), as plain layers behind a
known preparation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals, Rows
from evenhand.contract import Model, labels_of
from evenhand.errors import MissingAbility
from evenhand.measures.proofs.tree_readers import SUPPORTED
from evenhand.models.amount_models import AmountModel
from evenhand.models.dense import DenseNet
from evenhand.models.inputs import probe_rows
from evenhand.models.several_outputs import check_output

MOST_UNITS = 4_096
CHECKED_ROWS = 2_048
LAST_BITS = 2.0**-22
"""How far an amount in single precision may be off, with some room, as a share of it."""
Layer = tuple[Reals, Reals]  # weights (inputs, units) and bias (units,)


@dataclass(frozen=True)
class Network:
    """Layers with ReLU between them; the last one gives margins, each the difference of two classes' logits."""

    layers: tuple[Layer, ...]
    features: Callable[[Rows], Reals]
    pairs: tuple[tuple[int, int], ...]
    classes: int
    rounding: float  # how far float32 moves a margin on typical rows
    kind: str
    tolerance: float = 0.0  # bounds of margins are widened by rounding already

    def margins(self, rows: Rows) -> Reals:
        """The margins of rows of codes, (n, margins)."""
        hidden = self.features(rows)
        for weights, bias in self.layers[:-1]:
            hidden = np.maximum(hidden @ weights + bias, 0.0)
        return np.asarray(hidden @ self.layers[-1][0] + self.layers[-1][1])


def is_network(model: Model) -> bool:
    """Whether this is a kind of model that `network_of` reads."""
    estimator: Any = getattr(model, "estimator", None)
    last = estimator.steps[-1][1] if type(estimator).__name__ == "Pipeline" else estimator
    return isinstance(model, DenseNet) or type(model).__name__ == "TorchModel" or type(last).__name__ == "MLPClassifier"


def network_of(model: Any, domain: Any) -> Network:
    """The layers of a network and its way from codes to inputs, checked against the model's own answers."""
    layers, features, single, kind = _read(model)
    if sum(len(bias) for _, bias in layers) > MOST_UNITS:
        raise MissingAbility(f"the network has more than {MOST_UNITS:,} units; certify bounds small ones")
    outputs = layers[-1][1].shape[0]
    pairs = ((1, 0),) if outputs <= 2 else tuple(combinations(range(outputs), 2))
    weights, bias = layers[-1]
    if outputs > 1:
        chosen = np.zeros((outputs, len(pairs)))
        for at, (first, second) in enumerate(pairs):
            chosen[first, at], chosen[second, at] = 1.0, -1.0
        weights, bias = weights @ chosen, bias @ chosen
    layers = [*layers[:-1], (weights, bias)]
    probes = probe_rows(domain, CHECKED_ROWS)
    network = Network(tuple(layers), features, pairs, max(2, outputs), _rounding(layers, features(probes)), kind)
    _agree(network, model, probes, single)
    return network


def is_amount_network(model: Model) -> bool:
    """Whether this is a kind of regression that `amount_network` reads."""
    source: Any = getattr(model, "source", None)
    last: Any = source.steps[-1][1] if type(source).__name__ == "Pipeline" else source
    return isinstance(model, AmountModel) and (type(last).__name__ in ("TorchAmounts", "MLPRegressor") or _is_linear(last))


def _is_linear(estimator: Any) -> bool:
    is_there = hasattr(estimator, "coef_") and hasattr(estimator, "intercept_")
    return is_there and type(estimator).__module__.startswith("sklearn.linear_model")


def amount_network(model: AmountModel) -> Network:
    """The layers of a regression, of which the last one gives the amount, checked against the model's own amounts."""
    layers, features, kind = _read_amounts(model)
    if sum(len(bias) for _, bias in layers) > MOST_UNITS:
        raise MissingAbility(f"the network has more than {MOST_UNITS:,} units; certify bounds small ones")
    weights, bias = layers[-1]
    at = check_output(model.output or 0, len(bias))
    layers = [*layers[:-1], (weights[:, at : at + 1], bias[at : at + 1])]
    probes = probe_rows(model.domain, CHECKED_ROWS)
    network = Network(tuple(layers), features, ((1, 0),), 2, _rounding(layers, features(probes)), kind)
    said, own = model.scores(probes)[:, 0], network.margins(probes)[:, 0]
    off = np.abs(own - said)
    if not (off <= 4 * network.rounding + LAST_BITS * np.abs(said)).all():
        raise MissingAbility(
            f"{kind}: the layers as read are off by up to {float(off.max()):.3g} from what the model says; something behind them (another "
            "activation, a link function, a transformed target) is not supported by certify, so nothing is certified"
        )
    return network


def _read_amounts(model: AmountModel) -> tuple[list[Layer], Callable[[Rows], Reals], str]:
    from evenhand.measures.proofs.tree_features import prepared, taken_apart

    if type(model.source).__name__ == "TorchAmounts":
        return _torch_layers(_seen_through(model.source).module), _torch_features(model.source), type(model.source.module).__name__
    steps, final = taken_apart(model.source)

    def features(rows: Rows) -> Reals:
        return _plain(prepared(model, steps, rows))

    kind = type(final).__name__
    if kind == "MLPRegressor":
        if final.activation != "relu":
            raise MissingAbility(f"certify bounds ReLU networks; this MLPRegressor has activation={final.activation!r}")
        return (
            [(np.asarray(w, np.float64), np.asarray(b, np.float64)) for w, b in zip(final.coefs_, final.intercepts_, strict=True)],
            features,
            kind,
        )
    slopes = np.atleast_2d(np.asarray(final.coef_, dtype=np.float64)).T
    return [(slopes, np.broadcast_to(np.asarray(final.intercept_, dtype=np.float64), slopes.shape[1:]).copy())], features, kind


def _plain(inputs: Any) -> Reals:
    return np.asarray(inputs.toarray() if hasattr(inputs, "toarray") else inputs, dtype=np.float64)


def _read(model: Any) -> tuple[list[Layer], Callable[[Rows], Reals], int, str]:
    """Layers, the way from codes to inputs, the class that a single output speaks for, and a name."""
    if isinstance(model, DenseNet):
        layers = [(k.astype(np.float64), b.astype(np.float64)) for k, b in zip(model.kernels, model.biases, strict=True)]
        return layers, lambda rows: _filled(rows, model.fill), 1, "DenseNet"
    if type(model).__name__ == "TorchModel":
        return _from_torch(model)
    return _from_sklearn(model)


def _filled(rows: Rows, fill: NDArray[Any] | None) -> Reals:
    inputs = np.asarray(rows, dtype=np.float32).astype(np.float64)
    return inputs if fill is None else np.where(np.isnan(inputs), fill.astype(np.float64), inputs)


def _from_torch(model: Any) -> tuple[list[Layer], Callable[[Rows], Reals], int, str]:
    layers = _torch_layers(_seen_through(model).module)
    return layers, _torch_features(model), int(model.reader.single), type(model.module).__name__


def _seen_through(model: Any) -> Any:
    """The same model, whose way from codes to inputs is a known one."""
    if callable(model.front.inputs) or model.front.inputs == "long":
        raise MissingAbility("certify cannot see through the module's inputs; it knows the torch inputs 'codes', 'standard' and 'one_hot'")
    return model


def _torch_features(model: Any) -> Callable[[Rows], Reals]:
    def features(rows: Rows) -> Reals:
        return np.asarray(model.front.prepare(model.front.tensor(rows)).detach().numpy(), dtype=np.float64)

    return features


def _torch_layers(module: Any) -> list[Layer]:
    """Linear and ReLU layers in turn; dropout and identities do nothing here, a softmax or sigmoid at the end changes no label."""
    parts = [part for part in _flattened(module) if type(part).__name__ not in ("Dropout", "Identity", "Flatten")]
    if parts and type(parts[-1]).__name__ in ("Softmax", "LogSoftmax", "Sigmoid"):
        parts = parts[:-1]
    names = [type(part).__name__ for part in parts]
    strange = [name for place, name in enumerate(names) if name != ("Linear" if place % 2 == 0 else "ReLU")]
    if strange or len(names) % 2 == 0:
        raise MissingAbility(
            f"certify reads torch's Sequential of Linear and ReLU in turn; this module has {' > '.join(names) or type(module).__name__}"
        )
    return [_linear(part) for part in parts[::2]]


def _flattened(module: Any) -> list[Any]:
    if type(module).__name__ == "Sequential":
        return [inner for part in module for inner in _flattened(part)]
    return [module]


def _linear(part: Any) -> Layer:
    weights = part.weight.detach().numpy().astype(np.float64).T
    bias = np.zeros(weights.shape[1]) if part.bias is None else part.bias.detach().numpy().astype(np.float64)
    return weights, bias


def _from_sklearn(model: Any) -> tuple[list[Layer], Callable[[Rows], Reals], int, str]:
    from evenhand.measures.proofs.tree_features import prepared, taken_apart

    steps, final = taken_apart(model.estimator)
    if type(final).__name__ != "MLPClassifier":
        raise MissingAbility(f"certify cannot read a {type(final).__name__}; it reads {SUPPORTED}")
    if final.activation != "relu":
        raise MissingAbility(f"certify bounds ReLU networks; this MLPClassifier has activation={final.activation!r}")
    if final.out_activation_ == "logistic" and final.coefs_[-1].shape[1] != 1:
        raise MissingAbility("the MLPClassifier was fitted on several labels at once; one label is expected")
    layers = [(np.asarray(w, np.float64), np.asarray(b, np.float64)) for w, b in zip(final.coefs_, final.intercepts_, strict=True)]

    def features(rows: Rows) -> Reals:
        return _plain(prepared(model, steps, rows))

    return layers, features, 1, "MLPClassifier"


def _rounding(layers: Sequence[Layer], features: Reals) -> float:
    """How far float32 rounding inside the model can move a margin, by the largest sizes that its layers reach on probes, doubled."""
    size: NDArray[Any] = 2 * np.abs(features).max(axis=0)
    hidden = features
    error = size * 2.0**-23
    for place, (weights, bias) in enumerate(layers):
        error = error @ np.abs(weights) + 2.0**-23 * (2 + len(weights)) ** 0.5 * (size @ np.abs(weights) + np.abs(bias))
        hidden = hidden @ weights + bias
        if place < len(layers) - 1:
            hidden = np.maximum(hidden, 0.0)
        size = 2 * np.abs(hidden).max(axis=0)
    return float(error.max())


def _agree(network: Network, model: Any, rows: Rows, single: int) -> None:
    """The layers as read must give the model's own labels, wherever the margins are clear."""
    margins = network.margins(rows)
    own = labels_of(model.scores(rows))
    if network.classes == 2:
        reader = getattr(model, "reader", None)
        second = 1 if reader is None else single if len(network.layers[-1][1]) == 1 and reader.form == "favourable" else 1
        if reader is not None and reader.form != "favourable":
            second = reader.classes.index(reader.columns[1])
        label = np.where(margins[:, 0] > 0, second, 1 - second)
        clear = np.abs(margins[:, 0]) > network.rounding
        wrong = int((label != own)[clear].sum())
    else:
        wins = np.zeros((len(rows), network.classes))
        for at, (first, second) in enumerate(network.pairs):
            wins[:, first] += margins[:, at] > network.rounding
            wins[:, second] += margins[:, at] < -network.rounding
        reader = getattr(model, "reader", None)
        order = [reader.classes.index(name) for name in reader.columns] if reader is not None else list(range(network.classes))
        clear = wins.max(axis=1) == network.classes - 1
        wrong = int((np.array(order)[wins.argmax(axis=1)] != own)[clear].sum())
    if wrong:
        raise MissingAbility(
            f"{network.kind}: the layers as read give another label than the model on {wrong} of {len(rows)} rows; nothing is certified"
        )
