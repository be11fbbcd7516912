"""TVAE as a latent space: standard normal vectors, decoded by a small network.  NumPy encodes and decodes; torch only trains.

Paper: Xu, Skoularidou, Cuesta-Infante, Veeramachaneni, "Modeling Tabular Data using Conditional GAN", NeurIPS 2019 (the variational
autoencoder that the paper compares with).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, StoreError, require
from evenhand.limits import Count, check_limits
from evenhand.synthesis.adam import Adam, Rates
from evenhand.synthesis.latent import Latents, valid_rows
from evenhand.synthesis.learning import Schedule, digest, one_thread, read_arrays, train, write_arrays
from evenhand.synthesis.normalisation import Normaliser

Floats = NDArray[np.float32]

BATCH_ROWS = 4096
DISTANCE_ROWS = 5_000
NARROWEST = 0.01
"""The spread of a number around its decoded place stays within this and one."""


@dataclass(frozen=True)
class TvaeSettings:
    """The published parameters.  `discrete` names the columns that are no numbers; None takes the listed ones."""

    embedding: Count = 128
    encoder: tuple[int, ...] = (128, 128)
    decoder: tuple[int, ...] = (128, 128)
    rate: float = 1e-3
    decay: float = 1e-5
    batch: Count = 500
    factor: float = 2.0  # weight of the reconstruction beside the divergence
    epochs: Count = 300
    discrete: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_limits(self)
        if not self.encoder or not self.decoder:
            raise InvalidArgument(f"encoder={self.encoder!r} and decoder={self.decoder!r} need at least one hidden layer each")


@dataclass(frozen=True, eq=False)
class Tvae:
    """A trained autoencoder."""

    normaliser: Normaliser
    settings: TvaeSettings
    weights: Mapping[str, Floats]  # decoder_0.kernel (units, inputs), ..., encoder_0.kernel, ..., spreads
    name: str = "tvae"

    @classmethod
    def fit(
        cls,
        rows: Rows,
        domain: TabularDomain,
        rng: np.random.Generator,
        settings: TvaeSettings | None = None,
        schedule: Schedule | None = None,
    ) -> Tvae:
        """Train on real rows; the same rows, settings and rng give the same autoencoder."""
        settings, schedule = settings or TvaeSettings(), schedule or Schedule()
        seed = int(rng.integers(2**62))
        normaliser = Normaliser.fit(rows, domain, np.random.default_rng([seed, 1]), settings.discrete)
        learner = TvaeLearner(normaliser, settings, rows, seed)
        train(learner, settings.epochs, schedule, {"of": "tvae", "data": digest(rows, domain, settings), "seed": seed})
        return learner.space()

    @property
    def domain(self) -> TabularDomain:
        """What the decoded rows live in."""
        return self.normaliser.domain

    @property
    def latent_size(self) -> int:
        """How many numbers stand for one row."""
        return self.settings.embedding

    def latents(self, n: int, rng: np.random.Generator) -> Latents:
        """Standard normal vectors."""
        return rng.standard_normal((n, self.latent_size), dtype=np.float32)

    def decode(self, latents: Latents) -> Rows:
        """The middle of every number, the largest slot of every column."""
        rows = np.empty((len(latents), len(self.domain.columns)))
        for at in range(0, len(latents), BATCH_ROWS):
            rows[at : at + BATCH_ROWS] = self.normaliser.rows(self._outputs(latents[at : at + BATCH_ROWS]))
        return valid_rows(rows, self.domain)

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows with every number drawn around its middle and every slot by its probability."""
        rows = np.empty((n, len(self.domain.columns)))
        numbers = len(self.normaliser.numbers)
        for at in range(0, n, BATCH_ROWS):
            outputs = self._outputs(self.latents(min(BATCH_ROWS, n - at), rng))
            outputs[:, :numbers] += self.weights["spreads"] * rng.standard_normal((len(outputs), numbers), dtype=np.float32)
            outputs[:, numbers:] -= np.log(rng.standard_exponential(outputs[:, numbers:].shape, dtype=np.float32) + 1e-20)
            np.clip(outputs[:, :numbers], -1.0, 1.0, out=outputs[:, :numbers])
            rows[at : at + BATCH_ROWS] = self.normaliser.rows(outputs)
        return valid_rows(rows, self.domain)

    def encode(self, rows: Rows, rng: np.random.Generator) -> Latents:
        """The middle of each row's posterior; decoding it gives a similar row, not always the same."""
        vectors = self.normaliser.vectors(*self.normaliser.slots(rows, rng))
        return self._through("encoder", vectors)[:, : self.latent_size]

    def _outputs(self, latents: Latents) -> Floats:
        outputs = self._through("decoder", np.asarray(latents, dtype=np.float32))
        numbers = len(self.normaliser.numbers)
        outputs[:, :numbers] = np.tanh(outputs[:, :numbers])
        return outputs

    def _through(self, part: str, values: Floats) -> Floats:
        last = len(getattr(self.settings, part))
        for at in range(last + 1):
            values = values @ self.weights[f"{part}_{at}.kernel"].T + self.weights[f"{part}_{at}.bias"]
            if at < last:
                np.maximum(values, 0, out=values)
        return values

    def save(self, path: Path) -> None:
        """Write plain arrays that `load` reads back."""
        header = {"of": "tvae", "settings": asdict(self.settings), "columns": repr(self.domain.columns)}
        kept = {f"weights.{name}": array for name, array in self.weights.items()}
        write_arrays(path, {**kept, **self.normaliser.arrays()}, header)

    @classmethod
    def load(cls, path: Path, domain: TabularDomain) -> Tvae:
        """An autoencoder from a file, for the very columns that it was trained on."""
        arrays, header = read_arrays(path)
        if header.get("of") != "tvae" or header.get("columns") != repr(domain.columns):
            raise StoreError(f"{path} holds no TVAE for the columns of this domain; train one with Tvae.fit")
        kept: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in header["settings"].items()}
        weights = {name.removeprefix("weights."): array for name, array in arrays.items() if name.startswith("weights.")}
        return cls(Normaliser.from_arrays(arrays, domain), TvaeSettings(**kept), weights)


class TvaeLearner:
    """Encoder, decoder and their optimiser."""

    def __init__(self, normaliser: Normaliser, settings: TvaeSettings, rows: Rows, seed: int) -> None:
        self.torch: Any = require("torch", "torch")
        self.normaliser, self.settings, self.seed = normaliser, settings, seed
        self.real = normaliser.vectors(*normaliser.slots(rows, np.random.default_rng([seed, 2])))
        random = self._random(0)
        self.weights: dict[str, Any] = {"spreads": self.torch.full((len(normaliser.numbers),), 0.1).requires_grad_()}
        self._add_layers("encoder", (normaliser.width, *settings.encoder, 2 * settings.embedding), random)
        self._add_layers("decoder", (settings.embedding, *settings.decoder, normaliser.width), random)
        self.adam = Adam(self.torch, self.weights, Rates(settings.rate, decay=settings.decay))

    def _random(self, number: int) -> Any:
        seed = int(np.random.SeedSequence([self.seed, 3, number]).generate_state(1, np.uint64)[0] >> np.uint64(1))
        return self.torch.Generator().manual_seed(seed)

    def _add_layers(self, part: str, widths: tuple[int, ...], random: Any) -> None:
        for at, (inputs, units) in enumerate(pairwise(widths)):
            bound = inputs**-0.5
            for name, shape in (("kernel", (units, inputs)), ("bias", (units,))):
                made = self.torch.empty(shape).uniform_(-bound, bound, generator=random)
                self.weights[f"{part}_{at}.{name}"] = made.requires_grad_()

    def epoch(self, number: int) -> dict[str, float]:
        """Every row once, in random order."""
        torch, batch = self.torch, min(self.settings.batch, len(self.real))
        random, order = self._random(number + 1), np.random.default_rng([self.seed, 4, number]).permutation(len(self.real))
        total, steps = 0.0, len(order) // batch
        with one_thread(torch):
            for at in range(steps):
                total += self._step(torch.from_numpy(self.real[order[at * batch : (at + 1) * batch]]), random)
        return {"loss": total / steps}

    def _step(self, vectors: Any, random: Any) -> float:
        loss = self._loss(vectors, random)
        self.adam.step(loss)
        with self.torch.no_grad():
            self.weights["spreads"].clamp_(NARROWEST, 1.0)
        return float(loss.detach())

    def _through(self, part: str, values: Any) -> Any:
        functional, last = self.torch.nn.functional, len(getattr(self.settings, part))
        for at in range(last + 1):
            values = functional.linear(values, self.weights[f"{part}_{at}.kernel"], self.weights[f"{part}_{at}.bias"])
            values = functional.relu(values) if at < last else values
        return values

    def _loss(self, vectors: Any, random: Any) -> Any:
        """Reconstruction of places and slots, and the divergence of the posterior from standard normal."""
        torch, size, numbers = self.torch, self.settings.embedding, len(self.normaliser.numbers)
        posterior = self._through("encoder", vectors)
        middle, log_variance = posterior[:, :size], posterior[:, size:].clamp(-20.0, 20.0)
        noise = torch.empty(middle.shape).normal_(generator=random)
        outputs = self._through("decoder", middle + noise * (0.5 * log_variance).exp())
        spreads = self.weights["spreads"]
        misplaced = (((vectors[:, :numbers] - torch.tanh(outputs[:, :numbers])) / spreads) ** 2 / 2 + spreads.log()).sum()
        blocks = torch.split(outputs[:, numbers:], self.normaliser.sizes, dim=1)
        spoken = torch.cat([torch.log_softmax(block, dim=1) for block in blocks], dim=1)
        unlikely = -(spoken * vectors[:, numbers:]).sum()
        divergence = -0.5 * (1 + log_variance - middle**2 - log_variance.exp()).sum()
        return (self.settings.factor * (misplaced + unlikely) + divergence) / len(vectors)

    def state(self) -> dict[str, NDArray[Any]]:
        """Weights and the optimiser's moments."""
        kept = {f"weights.{name}": tensor for name, tensor in self.weights.items()}
        kept |= self.adam.state("adam")
        return {name: tensor.detach().numpy().copy() for name, tensor in kept.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up a state."""
        with self.torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(self.torch.from_numpy(np.array(state[f"weights.{name}"])))
        self.adam.restore(state, "adam")

    def distance(self) -> float:
        """Mean absolute difference between samples and data of the second moments of their vectors."""
        rng = np.random.default_rng([self.seed, 5])
        real = self.real[rng.integers(0, len(self.real), DISTANCE_ROWS)]
        made = self.normaliser.vectors(*self.normaliser.slots(self.space().sample(DISTANCE_ROWS, rng), rng))
        return float(np.abs(real.T @ real - made.T @ made).mean() / DISTANCE_ROWS)

    def space(self) -> Tvae:
        """The autoencoder as it is now."""
        return Tvae(self.normaliser, self.settings, {name: tensor.detach().numpy().copy() for name, tensor in self.weights.items()})
