"""Training of the package's own network with a second wish: pairs of rows should get equal logits.  NumPy and Adam, nothing else.

Paper: Garg et al., "Counterfactual Fairness in Text Classification through Robustness", AIES 2019 (logit pairing), with squared distances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from evenhand.arrays import Labels, Reals, Rows
from evenhand.contract import Pairs
from evenhand.models.dense import DenseNet, Floats
from evenhand.models.fitting_again import PROBED, TRIES, check_labels, fold, standards

STEP = 1e-3
PATIENCE = 8
LEAST_TO_HOLD_OUT = 2_000
"""Rows from which a tenth is held out to stop in time."""


@dataclass(frozen=True, eq=False)
class _Lesson:
    """Standardised rows with labels, and the two sides of the pairs."""

    rows: Floats
    labels: Labels
    first: Floats
    second: Floats
    weight: float

    def split(self, held: Labels) -> tuple[_Lesson, _Lesson]:
        """What is learned from, and what says when to stop; both with all pairs."""
        out = np.zeros(len(self.rows), dtype=bool)
        out[held] = True
        learn, check = (replace(self, rows=self.rows[part], labels=self.labels[part]) for part in (~out, out))
        return learn, check


def fit_consistent(rows: Rows, labels: Labels, pairs: Pairs, like: DenseNet, rng: np.random.Generator) -> DenseNet:
    """A network of the widths and classes of `like`, on raw codes; missing cells take their column's mean."""
    check_labels(rows, labels, len(like.classes))
    mean, scale = standards(rows)
    inputs, first, second = (_standard(each, mean, scale) for each in (rows, pairs.first, pairs.second))
    lesson = _Lesson(inputs, labels, first, second, pairs.weight)
    widths = [rows.shape[1], *(len(bias) for bias in like.biases)]
    for _ in range(TRIES):
        net = _descend(_Net.fresh(widths, rng), lesson, rng)
        if len(np.unique(net.forward(inputs[:PROBED])[-1].argmax(axis=1))) > 1:
            break  # narrow last layers can die, which leaves one answer for everybody
    return fold(DenseNet(tuple(net.kernels), tuple(net.biases), like.classes), mean, scale)


def _standard(rows: Rows, mean: Reals, scale: Reals) -> Floats:
    return np.nan_to_num((rows - mean) / scale, nan=0.0).astype(np.float32)


class _Net:
    """Weights with their Adam moments."""

    def __init__(self, kernels: list[Floats], biases: list[Floats]) -> None:
        self.kernels, self.biases = kernels, biases
        self.moments = [(np.zeros_like(w), np.zeros_like(w)) for w in (*kernels, *biases)]
        self.steps = 0

    @classmethod
    def fresh(cls, widths: list[int], rng: np.random.Generator) -> _Net:
        """He's initialisation."""
        shapes = list(pairwise(widths))
        kernels = [(rng.standard_normal(shape) * np.sqrt(2.0 / shape[0])).astype(np.float32) for shape in shapes]
        return cls(kernels, [np.zeros(shape[1], dtype=np.float32) for shape in shapes])

    def copy(self) -> _Net:
        """The same weights, apart from later steps."""
        return _Net([w.copy() for w in self.kernels], [w.copy() for w in self.biases])

    def forward(self, rows: Floats) -> list[Floats]:
        """The inputs of every layer, and the logits."""
        values = [rows]
        for place, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            out = values[-1] @ kernel
            out += bias
            values.append(np.maximum(out, 0, out=out) if place < len(self.kernels) - 1 else out)
        return values

    def step(self, values: list[Floats], back: Floats) -> None:
        """One step of Adam down the gradient whose derivative by the logits is `back`."""
        kernels, biases = [], []
        for place in range(len(self.kernels) - 1, -1, -1):
            kernels.append(values[place].T @ back)
            biases.append(back.sum(axis=0))
            if place:
                back = (back @ self.kernels[place].T) * (values[place] > 0)
        self._move([*kernels[::-1], *biases[::-1]])

    def _move(self, gradients: list[Floats]) -> None:
        self.steps += 1
        size = STEP * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for weight, gradient, moments in zip((*self.kernels, *self.biases), gradients, self.moments, strict=True):
            moments[0][...] += 0.1 * (gradient - moments[0])
            moments[1][...] += 0.001 * (gradient * gradient - moments[1])
            weight[...] -= np.float32(size) * moments[0] / (np.sqrt(moments[1]) + np.float32(1e-8))


def _descend(net: _Net, lesson: _Lesson, rng: np.random.Generator) -> _Net:
    held = rng.permutation(len(lesson.rows))[: len(lesson.rows) // 10 if len(lesson.rows) >= LEAST_TO_HOLD_OUT else 0]
    learn, check = lesson.split(held) if len(held) else (lesson, lesson)
    batch = min(256, max(32, len(learn.rows) // 20), len(learn.rows))
    best, kept, stale = np.inf, net, 0
    for _ in range(int(np.clip(2500 * batch // len(learn.rows), 60, 300))):
        order = rng.permutation(len(learn.rows))
        for at in range(0, len(order), batch):
            _learn(net, learn, order[at : at + batch], rng)
        now = _cost(net, check, rng)
        stale = 0 if now < best - 1e-4 else stale + 1
        if now < best:
            best, kept = now, net.copy()
        if stale > PATIENCE:
            break
    return kept


def _learn(net: _Net, lesson: _Lesson, chosen: Labels, rng: np.random.Generator) -> None:
    n = len(chosen)
    some = rng.integers(0, len(lesson.first), n) if len(lesson.first) else chosen[:0]
    end = n + len(some)
    values = net.forward(np.concatenate([lesson.rows[chosen], lesson.first[some], lesson.second[some]]))
    logits = values[-1]
    back = np.empty_like(logits)
    back[:n] = _chances(logits[:n]) / n
    back[np.arange(n), lesson.labels[chosen]] -= np.float32(1 / n)
    apart = _apart(logits[n:end], logits[end:])
    apart *= np.float32(2 * lesson.weight / max(1, apart.size))
    back[n:end], back[end:] = apart, -apart
    net.step(values, back)


def _cost(net: _Net, lesson: _Lesson, rng: np.random.Generator) -> float:
    logits = net.forward(lesson.rows)[-1]
    chances = _chances(logits)[np.arange(len(logits)), lesson.labels]
    loss = -float(np.log(np.maximum(chances, 1e-12)).mean())
    if not len(lesson.first):
        return loss
    some = rng.permutation(len(lesson.first))[:4096]
    apart = _apart(net.forward(lesson.first[some])[-1], net.forward(lesson.second[some])[-1])
    return loss + lesson.weight * float((apart**2).mean())


def _apart(first: Floats, second: Floats) -> Floats:
    """The difference of centred logits."""
    difference = first - second
    centred: Floats = difference - difference.mean(axis=1, keepdims=True)
    return centred


def _chances(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances: Floats = powers / powers.sum(axis=1, keepdims=True)
    return chances
