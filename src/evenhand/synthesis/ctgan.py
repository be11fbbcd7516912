"""CTGAN as a latent space: noise joined with a condition, decoded by a generator network.  NumPy decodes; torch only trains.

Paper: Xu, Skoularidou, Cuesta-Infante, Veeramachaneni, "Modeling Tabular Data using Conditional GAN", NeurIPS 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, StoreError
from evenhand.limits import Count, ShareBelowOne, check_limits
from evenhand.synthesis.latent import Latents, valid_rows
from evenhand.synthesis.learning import Schedule, digest, read_arrays, train, write_arrays
from evenhand.synthesis.normalisation import Normaliser

Floats = NDArray[np.float32]

BATCH_NORM_FLOOR = 1e-5
BATCH_ROWS = 1024
"""Rows decoded at once; the hidden values of more would leave the cache."""


@dataclass(frozen=True)
class CtganSettings:
    """The published parameters, and two of our own.

    average: the generator is a moving average over training steps that keeps this share of itself in each (15 epochs on Adult: ATN
        .89 instead of .84); 0 takes the weights of the last step, as published
    discrete: the columns that are no numbers; None takes the listed ones
    """

    embedding: Count = 128
    generator: tuple[int, ...] = (256, 256)
    discriminator: tuple[int, ...] = (256, 256)
    rate: float = 2e-4
    decay: float = 1e-6
    batch: Count = 500
    pack: Count = 10
    penalty: float = 10.0
    temperature: float = 0.2
    epochs: Count = 300
    average: ShareBelowOne = 0.98
    discrete: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_limits(self)
        if self.batch % self.pack:
            raise InvalidArgument(f"batch={self.batch!r} must be a multiple of pack={self.pack!r}")
        for name in ("generator", "discriminator"):
            if len(getattr(self, name)) != 2:
                raise InvalidArgument(f"{name}={getattr(self, name)!r} must name the widths of two hidden layers")


@dataclass(frozen=True, eq=False)
class Ctgan:
    """A trained generator.  Its latent is the noise (`embedding` numbers) followed by the one-hot condition."""

    normaliser: Normaliser
    settings: CtganSettings
    weights: Mapping[str, Floats]  # layer_0.kernel (units, inputs), ..., batch norm folded in
    shares: tuple[Reals, ...]  # of every code, one array per discrete column
    name: str = "ctgan"

    @classmethod
    def fit(
        cls,
        rows: Rows,
        domain: TabularDomain,
        rng: np.random.Generator,
        settings: CtganSettings | None = None,
        schedule: Schedule | None = None,
    ) -> Ctgan:
        """Train on real rows; the same rows, settings and rng give the same generator."""
        from evenhand.synthesis.ctgan_training import CtganLearner

        settings, schedule = settings or CtganSettings(), schedule or Schedule()
        seed = int(rng.integers(2**62))
        normaliser = Normaliser.fit(rows, domain, np.random.default_rng([seed, 1]), settings.discrete)
        learner = CtganLearner(normaliser, settings, rows, seed)
        train(learner, settings.epochs, schedule, {"of": "ctgan", "data": digest(rows, domain, settings), "seed": seed})
        return learner.space()

    @property
    def domain(self) -> TabularDomain:
        """What the decoded rows live in."""
        return self.normaliser.domain

    @property
    def latent_size(self) -> int:
        """Noise and condition."""
        return self.settings.embedding + self.condition_size

    @cached_property
    def condition_size(self) -> int:
        """Slots of all discrete columns together."""
        return sum(len(share) for share in self.shares)

    def latents(self, n: int, rng: np.random.Generator) -> Latents:
        """Noise, and for each a discrete column at random with one of its codes by its share of the data."""
        latents = np.zeros((n, self.latent_size), dtype=np.float32)
        latents[:, : self.settings.embedding] = rng.standard_normal((n, self.settings.embedding), dtype=np.float32)
        if self.shares:
            column = rng.integers(0, len(self.shares), n)
            slot = np.searchsorted(self._ladder, column + rng.random(n), side="right")
            latents[np.arange(n), self.settings.embedding + np.minimum(slot, self.condition_size - 1)] = 1.0
        return latents

    @cached_property
    def _ladder(self) -> Reals:
        """Ascending ends of all slots' shares, one unit per discrete column."""
        steps = [at + np.append(np.cumsum(share)[:-1], 1.0) for at, share in enumerate(self.shares)]
        return np.concatenate(steps)

    def decode(self, latents: Latents) -> Rows:
        """Evaluation mode: running batch statistics, the largest slot of every column."""
        rows = np.empty((len(latents), len(self.domain.columns)))
        for at in range(0, len(latents), BATCH_ROWS):
            rows[at : at + BATCH_ROWS] = self.normaliser.rows(self._outputs(self.begin(latents[at : at + BATCH_ROWS])))
        return valid_rows(rows, self.domain)

    def begin(self, latents: Latents) -> Floats:
        """The part of the generator that is affine in the latent; `finish` does the rest."""
        numbers: Floats = np.asarray(latents, dtype=np.float32)
        kernel, bias = self._front
        slots = self._slots(numbers)
        noise = numbers.shape[1] if slots is None else self.settings.embedding
        front: Floats = numbers[:, :noise] @ kernel[:noise]
        front += bias if slots is None else self._conditions[slots]
        return front

    def _slots(self, latents: Floats) -> Index | None:
        """Which slot is the condition, where every latent has exactly one: its part of the first layer then needs no product."""
        condition = latents[:, self.settings.embedding :]
        if not condition.size or np.count_nonzero(condition) != len(condition):
            return None
        slots: Index = condition.argmax(axis=1)
        return slots if (condition[np.arange(len(slots)), slots] == 1.0).all() else None

    def finish(self, front: Floats) -> Rows:
        """Rows from what `begin` gave."""
        rows = np.empty((len(front), len(self.domain.columns)))
        for at in range(0, len(front), BATCH_ROWS):
            rows[at : at + BATCH_ROWS] = self.normaliser.rows(self._outputs(front[at : at + BATCH_ROWS]))
        return valid_rows(rows, self.domain)

    def _outputs(self, front: Floats) -> Floats:
        first, second = self.settings.generator
        into_later, into_last = self._later
        later: Floats = np.maximum(front[:, :first], 0) @ into_later
        later += front[:, first:]
        outputs: Floats = np.maximum(later[:, :second], 0) @ into_last
        outputs += later[:, second:]
        numbers = len(self.normaliser.numbers)
        outputs[:, :numbers] = np.tanh(outputs[:, :numbers])
        return outputs

    @cached_property
    def _front(self) -> tuple[Floats, Floats]:
        """What all three layers take from the latent itself, side by side."""
        first, second = self.settings.generator
        w = self.weights
        parts = [w["layer_0.kernel"], w["layer_1.kernel"][:, first:], w["layer_2.kernel"][:, second + first :]]
        kernel = np.ascontiguousarray(np.concatenate(parts).T)
        return kernel, np.concatenate([w[f"layer_{at}.bias"] for at in range(3)])

    @cached_property
    def _conditions(self) -> Floats:
        """What all three layers take from each condition, biases included."""
        kernel, bias = self._front
        return kernel[self.settings.embedding :] + bias

    @cached_property
    def _later(self) -> tuple[Floats, Floats]:
        """What the later layers take from the first, and the last from the second."""
        first, second = self.settings.generator
        w = self.weights
        into_later = np.concatenate([w["layer_1.kernel"][:, :first], w["layer_2.kernel"][:, second : second + first]])
        return np.ascontiguousarray(into_later.T), np.ascontiguousarray(w["layer_2.kernel"][:, :second].T)

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows with every slot drawn by its probability, which is the published way of sampling."""
        rows = np.empty((n, len(self.domain.columns)))
        for at in range(0, n, BATCH_ROWS):
            outputs = self._outputs(self.begin(self.latents(min(BATCH_ROWS, n - at), rng)))
            numbers = len(self.normaliser.numbers)
            outputs[:, numbers:] -= np.log(rng.standard_exponential(outputs[:, numbers:].shape, dtype=np.float32) + 1e-20)
            rows[at : at + BATCH_ROWS] = self.normaliser.rows(outputs)
        return valid_rows(rows, self.domain)

    def save(self, path: Path) -> None:
        """Write plain arrays that `load` reads back."""
        shares = {f"shares.{at}": share for at, share in enumerate(self.shares)}
        header = {"of": "ctgan", "settings": asdict(self.settings), "columns": repr(self.domain.columns)}
        write_arrays(path, {**self.weights, **shares, **self.normaliser.arrays()}, header)

    @classmethod
    def load(cls, path: Path, domain: TabularDomain) -> Ctgan:
        """A generator from a file, for the very columns that it was trained on."""
        arrays, header = read_arrays(path)
        if header.get("of") != "ctgan" or header.get("columns") != repr(domain.columns):
            raise StoreError(f"{path} holds no CTGAN for the columns of this domain; train one with Ctgan.fit")
        kept: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in header["settings"].items()}
        weights = {name: array for name, array in arrays.items() if name.startswith("layer_")}
        shares = tuple(arrays[f"shares.{at}"] for at in range(sum(name.startswith("shares.") for name in arrays)))
        return cls(Normaliser.from_arrays(arrays, domain), CtganSettings(**kept), weights, shares)


def folded(state: Mapping[str, NDArray[Any]], layers: int) -> dict[str, Floats]:
    """Generator weights with each hidden layer's batch norm (running statistics) made part of its kernel and bias."""
    weights = {}
    for at in range(layers):
        kernel, bias = state[f"layer_{at}.kernel"], state[f"layer_{at}.bias"]
        if at < layers - 1:
            scale = state[f"norm_{at}.scale"] / np.sqrt(state[f"norm_{at}.variance"] + BATCH_NORM_FLOOR)
            kernel, bias = kernel * scale[:, None], (bias - state[f"norm_{at}.mean"]) * scale + state[f"norm_{at}.shift"]
        weights[f"layer_{at}.kernel"] = np.ascontiguousarray(kernel, dtype=np.float32)
        weights[f"layer_{at}.bias"] = np.ascontiguousarray(bias, dtype=np.float32)
    return weights
