"""Training of the package's own network.  scikit-learn fits; the standardisation is folded into the first weights."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.arrays import Labels, Reals, Rows
from evenhand.errors import InvalidArgument
from evenhand.models.dense import DenseNet

PAPER_WIDTHS = (64, 32, 16, 8, 4)
"""The hidden layers of the network that the published methods are measured on."""


_ENOUGH_TO_HOLD_OUT = 1000
"""Rows of the smallest class from which a tenth is held out to stop the training in time."""


TRIES = 4
PROBED = 5_000
"""A network that says one label to this many training rows is fitted again with another seed, a few times."""


def fit_dense(
    rows: Rows, labels: Labels, classes: Sequence[Any], rng: np.random.Generator, hidden: tuple[int, ...] = PAPER_WIDTHS
) -> DenseNet:
    """A ReLU network on raw codes.  Missing cells take their column's mean, in training and later alike.

    The fit sees standardised columns, which Adam at rate 1e-3 needs; the folding makes it a function of raw codes again.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier
    from threadpoolctl import threadpool_limits

    seen = check_labels(rows, labels, len(classes))
    mean, scale = standards(rows)
    inputs = np.nan_to_num((rows - mean) / scale, nan=0.0).astype(np.float32)
    batch = min(256, max(32, len(rows) // 20), len(rows))
    epochs = int(np.clip(2500 * batch // len(rows), 60, 300))  # small tables need many passes to get as many steps
    estimator = MLPClassifier(
        hidden, learning_rate_init=1e-3, batch_size=batch, max_iter=epochs, n_iter_no_change=8, random_state=seed_of(rng)
    )
    if np.bincount(labels)[seen].min() >= _ENOUGH_TO_HOLD_OUT:
        estimator.set_params(early_stopping=True)
    with warnings.catch_warnings(), threadpool_limits(1):  # sums in another order make another net: a seed is to give one net everywhere
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(TRIES):
            estimator.fit(inputs, labels)
            if len(np.unique(estimator.predict(inputs[:PROBED]))) > 1:
                break  # narrow last layers can die, which leaves one answer for everybody
            estimator.set_params(random_state=seed_of(rng))
    net = DenseNet.from_sklearn(estimator)
    return _named(fold(net, mean, scale), seen, tuple(classes))


def fold(net: DenseNet, mean: Reals, scale: Reals) -> DenseNet:
    """The network on raw codes that equals this one on standardised codes."""
    first = net.kernels[0] / scale[:, None]
    bias = net.biases[0] - mean @ first
    kernels = (np.ascontiguousarray(first, dtype=np.float32), *net.kernels[1:])
    return DenseNet(kernels, (bias.astype(np.float32), *net.biases[1:]), net.classes, mean.astype(np.float32))


def _named(net: DenseNet, seen: Labels, classes: tuple[Any, ...]) -> DenseNet:
    """The network over all classes; one that the training rows lack gets a score of practically zero."""
    if len(seen) == len(classes):
        return DenseNet(net.kernels, net.biases, classes, net.fill)
    kernel = np.zeros((len(net.kernels[-1]), len(classes)), dtype=np.float32)
    bias = np.full(len(classes), -1e4, dtype=np.float32)
    kernel[:, seen], bias[seen] = net.kernels[-1], net.biases[-1]
    return DenseNet((*net.kernels[:-1], kernel), (*net.biases[:-1], bias), classes, net.fill)


def standards(rows: Rows) -> tuple[Reals, Reals]:
    """Mean and spread of every column over its present cells; 0 and 1 where a column has none or never varies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        mean, scale = np.nanmean(rows, axis=0), np.nanstd(rows, axis=0)
    mean = np.nan_to_num(mean, nan=0.0)
    return mean, np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)


def check_labels(rows: Rows, labels: Labels, classes: int) -> Labels:
    """The different labels, once they are known to fit the rows and to be at least two."""
    if rows.ndim != 2 or len(rows) != len(labels):
        raise InvalidArgument(f"labels has {len(labels)} entries for rows of shape {rows.shape}; expected one per row")
    seen = np.unique(labels)
    if len(seen) < 2:
        raise InvalidArgument(f"labels holds only {seen.tolist()}; training needs rows of at least two classes")
    if seen[0] < 0 or seen[-1] >= classes:
        raise InvalidArgument(f"labels holds positions from {seen[0]} to {seen[-1]}; expected positions in {classes} classes")
    return seen


def seed_of(rng: np.random.Generator) -> int:
    """A seed for a library that takes only whole numbers."""
    return int(rng.integers(2**31 - 1))
