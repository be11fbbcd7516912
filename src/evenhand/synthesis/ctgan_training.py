"""Training of the conditional GAN: training by sampling, packed critic, Wasserstein loss with gradient penalty.

The critic's gradient is written out instead of differentiated twice, which is the same number at less than half the time.
Everything random comes from generators made of (seed, epoch).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Rows
from evenhand.errors import require
from evenhand.synthesis.adam import Adam, Rates
from evenhand.synthesis.ctgan import BATCH_NORM_FLOOR, Ctgan, CtganSettings, folded
from evenhand.synthesis.learning import one_thread
from evenhand.synthesis.normalisation import Normaliser, Vectors

LEAK = 0.2
MOMENTUM = 0.1
DISTANCE_ROWS = 5_000


@dataclass(frozen=True)
class Conditions:
    """Which (column, slot) a batch is conditioned on, and rows of the data that have it."""

    slots: Index  # position in the condition vector
    rows: Index


class Conditioner:
    """Training by sampling: a discrete column at random, a slot by the logarithm of its count, a row that has it."""

    def __init__(self, normaliser: Normaliser, slots: Index) -> None:
        self.sizes = [normaliser.sizes[at] for at in normaliser.listed]
        self.size = sum(self.sizes)
        self.rows = len(slots)
        orders, counts = [], []
        for at, size in zip(normaliser.listed, self.sizes, strict=True):
            orders.append(np.argsort(slots[:, at], kind="stable"))
            counts.append(np.bincount(slots[:, at], minlength=size))
        self._orders, self.counts = orders, counts
        self._levels = [np.cumsum(np.log1p(count) / np.log1p(count).sum()) for count in counts]
        self._begins = [np.cumsum(count) - count for count in counts]

    def draw(self, n: int, rng: np.random.Generator) -> Conditions:
        """n conditions with a fitting row each."""
        if not self.sizes:
            return Conditions(np.empty(0, dtype=np.intp), rng.integers(0, self.rows, n))
        column, level, inside = rng.integers(0, len(self.sizes), n), rng.random(n), rng.random(n)
        slots, rows = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
        first = 0
        for at, size in enumerate(self.sizes):
            mine = np.flatnonzero(column == at)
            slot = np.minimum(np.searchsorted(self._levels[at], level[mine], side="right"), size - 1)
            slot = np.where(self.counts[at][slot] > 0, slot, self.counts[at].argmax())
            place = self._begins[at][slot] + (inside[mine] * self.counts[at][slot]).astype(np.intp)
            slots[mine], rows[mine] = first + slot, self._orders[at][place]
            first += size
        return Conditions(slots, rows)

    def shares(self) -> tuple[NDArray[np.float64], ...]:
        """The share of every slot in the data, one array per discrete column."""
        return tuple(count / count.sum() for count in self.counts)


class CtganLearner:
    """Generator, critic and their optimisers."""

    def __init__(self, normaliser: Normaliser, settings: CtganSettings, rows: Rows, seed: int) -> None:
        self.torch: Any = require("torch", "torch")
        self.normaliser, self.settings, self.seed = normaliser, settings, seed
        places, slots = normaliser.slots(rows, np.random.default_rng([seed, 2]))
        self.real: Vectors = normaliser.vectors(places, slots)
        self.conditioner = Conditioner(normaliser, slots)
        self._listed = self._listed_slots()
        make = self._torch_generator(0)
        self.generator, self.statistics = self._new_generator(make)
        self.averaged = {name: tensor.detach().clone() for name, tensor in (self.generator | self.statistics).items()}
        self.critic = self._new_critic(make)
        rates = Rates(settings.rate, 0.5, 0.9, settings.decay)
        self.generator_adam = Adam(self.torch, self.generator, rates)
        self.critic_adam = Adam(self.torch, self.critic, rates)

    def _torch_generator(self, number: int) -> Any:
        seed = int(np.random.SeedSequence([self.seed, 3, number]).generate_state(1, np.uint64)[0] >> np.uint64(1))
        return self.torch.Generator().manual_seed(seed)

    def _listed_slots(self) -> Any:
        """Positions, in a vector, of the slots that conditions speak of."""
        normaliser = self.normaliser
        spans = [np.arange(normaliser.starts[at], normaliser.starts[at] + normaliser.sizes[at]) for at in normaliser.listed]
        return self.torch.from_numpy(np.concatenate(spans) if spans else np.empty(0, dtype=np.int64))

    def _layer(self, inputs: int, units: int, random: Any) -> tuple[Any, Any]:
        bound = inputs**-0.5
        kernel, bias = (self.torch.empty(shape).uniform_(-bound, bound, generator=random) for shape in ((units, inputs), (units,)))
        return kernel.requires_grad_(), bias.requires_grad_()

    def _new_generator(self, random: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        torch, inputs = self.torch, self.settings.embedding + self.conditioner.size
        weights: dict[str, Any] = {}
        statistics: dict[str, Any] = {}
        for at, units in enumerate(self.settings.generator):
            weights[f"layer_{at}.kernel"], weights[f"layer_{at}.bias"] = self._layer(inputs, units, random)
            weights[f"norm_{at}.scale"] = torch.ones(units).requires_grad_()
            weights[f"norm_{at}.shift"] = torch.zeros(units).requires_grad_()
            statistics |= {f"norm_{at}.mean": torch.zeros(units), f"norm_{at}.variance": torch.ones(units)}
            inputs += units
        last = len(self.settings.generator)
        weights[f"layer_{last}.kernel"], weights[f"layer_{last}.bias"] = self._layer(inputs, self.normaliser.width, random)
        return weights, statistics

    def _new_critic(self, random: Any) -> dict[str, Any]:
        inputs = (self.normaliser.width + self.conditioner.size) * self.settings.pack
        weights = {}
        for at, units in enumerate((*self.settings.discriminator, 1)):
            weights[f"layer_{at}.kernel"], weights[f"layer_{at}.bias"] = self._layer(inputs, units, random)
            inputs = units
        return weights

    def epoch(self, number: int) -> dict[str, float]:
        """As many steps as the data have batches; in each one critic step and one generator step."""
        steps = max(len(self.real) // self.settings.batch, 1)
        random, rng = self._torch_generator(number + 1), np.random.default_rng([self.seed, 4, number])
        losses = np.zeros(2)
        with one_thread(self.torch):
            for _ in range(steps):
                losses += (self._critic_step(random, rng), self._generator_step(random, rng))
        return {"critic": float(losses[0]) / steps, "generator": float(losses[1]) / steps}

    def _critic_step(self, random: Any, rng: np.random.Generator) -> float:
        torch, batch = self.torch, self.settings.batch
        drawn = self.conditioner.draw(batch, rng)
        condition = self._condition(drawn.slots)
        with torch.no_grad():
            fake = torch.cat([self._activate(self._generate(condition, random), random), condition], dim=1)
        order = rng.permutation(batch)
        real = torch.cat([torch.from_numpy(self.real[drawn.rows[order]]), condition[torch.from_numpy(order)]], dim=1)
        real, fake = (rows.reshape(batch // self.settings.pack, -1) for rows in (real, fake))
        loss = self._judge(fake, random).mean() - self._judge(real, random).mean()
        total = loss + self._penalty(real, fake, random)
        self.critic_adam.step(total)
        return float(loss.detach())

    def _generator_step(self, random: Any, rng: np.random.Generator) -> float:
        torch, batch = self.torch, self.settings.batch
        condition = self._condition(self.conditioner.draw(batch, rng).slots)
        raw = self._generate(condition, random)
        fake = torch.cat([self._activate(raw, random), condition], dim=1).reshape(batch // self.settings.pack, -1)
        loss = -self._judge(fake, random).mean()
        if self.conditioner.size:
            loss = loss + self._disobedience(raw, condition)
        self.generator_adam.step(loss)
        with torch.no_grad():
            for name, tensor in (self.generator | self.statistics).items():
                self.averaged[name].lerp_(tensor, 1.0 - self.settings.average)
        return float(loss.detach())

    def _condition(self, slots: Index) -> Any:
        condition = self.torch.zeros(self.settings.batch, self.conditioner.size)
        if len(slots):
            condition[np.arange(len(slots)), slots] = 1.0
        return condition

    def _generate(self, condition: Any, random: Any) -> Any:
        """Raw outputs in training mode; running statistics are updated."""
        torch, functional = self.torch, self.torch.nn.functional
        noise = torch.empty(self.settings.batch, self.settings.embedding).normal_(generator=random)
        values, w, s = torch.cat([noise, condition], dim=1), self.generator, self.statistics
        for at in range(len(self.settings.generator)):
            hidden = functional.linear(values, w[f"layer_{at}.kernel"], w[f"layer_{at}.bias"])
            hidden = functional.batch_norm(
                hidden, s[f"norm_{at}.mean"], s[f"norm_{at}.variance"], w[f"norm_{at}.scale"], w[f"norm_{at}.shift"],
                training=True, momentum=MOMENTUM, eps=BATCH_NORM_FLOOR,
            )  # fmt: skip
            values = torch.cat([functional.relu(hidden), values], dim=1)
        last = len(self.settings.generator)
        return functional.linear(values, w[f"layer_{last}.kernel"], w[f"layer_{last}.bias"])

    def _activate(self, raw: Any, random: Any) -> Any:
        """tanh for places, Gumbel softmax for the slots of every column."""
        torch, numbers = self.torch, len(self.normaliser.numbers)
        slots = raw[:, numbers:]
        noise = torch.empty(slots.shape).exponential_(generator=random).clamp_(min=1e-20).log_()
        blocks = torch.split((slots - noise) / self.settings.temperature, self.normaliser.sizes, dim=1)
        return torch.cat([torch.tanh(raw[:, :numbers]), *(torch.softmax(block, dim=1) for block in blocks)], dim=1)

    def _disobedience(self, raw: Any, condition: Any) -> Any:
        """Cross-entropy between the condition and what the generator made of it."""
        torch = self.torch
        blocks = torch.split(raw.index_select(1, self._listed), self.conditioner.sizes, dim=1)
        spoken = torch.cat([torch.log_softmax(block, dim=1) for block in blocks], dim=1)
        return -(spoken * condition).sum() / self.settings.batch

    def _judge(self, packs: Any, random: Any) -> Any:
        return self._judged(packs, random)[0]

    def _judged(self, packs: Any, random: Any) -> tuple[Any, list[Any]]:
        """The critic's opinion, and the slope of every hidden unit (leak and dropout)."""
        torch, functional, w = self.torch, self.torch.nn.functional, self.critic
        values, slopes = packs, []
        for at, units in enumerate(self.settings.discriminator):
            hidden = functional.linear(values, w[f"layer_{at}.kernel"], w[f"layer_{at}.bias"])
            kept = torch.empty(len(packs), units).bernoulli_(0.5, generator=random).mul_(2.0)
            slopes.append(torch.where(hidden > 0, kept, LEAK * kept).detach())
            values = hidden * slopes[-1]
        last = len(self.settings.discriminator)
        return functional.linear(values, w[f"layer_{last}.kernel"], w[f"layer_{last}.bias"]), slopes

    def _penalty(self, real: Any, fake: Any, random: Any) -> Any:
        """How far the critic's gradient between real and fake packs is from length one."""
        torch, w = self.torch, self.critic
        share = torch.empty(len(real), 1).uniform_(generator=random)
        with torch.no_grad():
            slopes = self._judged(share * real + (1 - share) * fake, random)[1]
        gradient = w[f"layer_{len(slopes)}.kernel"]
        for at in range(len(slopes) - 1, -1, -1):
            gradient = (gradient * slopes[at]) @ w[f"layer_{at}.kernel"]
        return self.settings.penalty * ((gradient.norm(2, dim=1) - 1) ** 2).mean()

    def state(self) -> dict[str, NDArray[Any]]:
        """Weights, running statistics and the optimisers' moments."""
        kept = {f"generator.{name}": tensor for name, tensor in (self.generator | self.statistics).items()}
        kept |= {f"averaged.{name}": tensor for name, tensor in self.averaged.items()}
        kept |= {f"critic.{name}": tensor for name, tensor in self.critic.items()}
        kept |= self.generator_adam.state("generator_adam") | self.critic_adam.state("critic_adam")
        return {name: tensor.detach().numpy().copy() for name, tensor in kept.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up a state."""
        tensors = {name: self.torch.from_numpy(np.array(array)) for name, array in state.items()}
        with self.torch.no_grad():
            for name, tensor in (self.generator | self.statistics).items():
                tensor.copy_(tensors[f"generator.{name}"])
                self.averaged[name].copy_(tensors[f"averaged.{name}"])
            for name, tensor in self.critic.items():
                tensor.copy_(tensors[f"critic.{name}"])
        self.generator_adam.restore(state, "generator_adam")
        self.critic_adam.restore(state, "critic_adam")

    def distance(self) -> float:
        """Mean absolute difference between samples and data of the second moments of their vectors."""
        rng = np.random.default_rng([self.seed, 5])
        real = self.real[rng.integers(0, len(self.real), DISTANCE_ROWS)]
        made = self.normaliser.vectors(*self.normaliser.slots(self.space().sample(DISTANCE_ROWS, rng), rng))
        return float(np.abs(real.T @ real - made.T @ made).mean() / DISTANCE_ROWS)

    def space(self) -> Ctgan:
        """The generator as it is now, averaged over the last steps."""
        state = {name: tensor.numpy() for name, tensor in self.averaged.items()}
        return Ctgan(self.normaliser, self.settings, folded(state, len(self.settings.generator) + 1), self.conditioner.shares())
