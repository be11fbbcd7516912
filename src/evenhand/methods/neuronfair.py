"""NeuronFair: climb a loss over the hidden neurons that react to what is protected, instead of over the output.

Paper: Zheng, Chen, Du, Zhang, Cheng, Ji, Wang, Yu, Chen, "NeuronFair: Interpretable White-Box Fairness Testing through Biased Neuron
Identification", ICSE 2022.

Agrees with the paper: the layer with the largest area under its AS curve and its biased neurons (`evenhand.measures.neurons`); the
dynamic loss over biased and randomly drawn neurons, whose gradient path ends at that layer; momentum on both gradients and a step
along the sign of their sum (Algorithm 2); locally every attribute moves that way with its own probability,
softmax(1 / (|g + g'| + 1e-6)), and the walk goes on whatever the verdict (Algorithm 3).

Differs: all seeds advance together, as many as the budget lets finish; no row is evaluated twice.  Where the summed gradient is
zero in every attribute, where Algorithms 2 and 3 stand still for good, the step is a random one, and a local walker goes back to
its last finding after a few of them; the run's facts count such steps.  A ReLU at zero adds nothing (its logarithm is
infinite).  Layers that are never negative are preferred, because the loss takes logarithms.  The authors' code departs from the
paper in the local phase: one attribute drawn with those probabilities, moved by 1 at random, under scipy's basinhopping at
temperature 1; that is local="random", after_miss=exp(-1).

Better beside it: local="random", after_miss=0.  Walkers then never leave the findings, and find several times as many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.contract import Search, Task, Transparent
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, ShareBelowOne, check_limits
from evenhand.measures.neurons.bias import BiasMap, LayerBias, measure_bias
from evenhand.methods.parts.chosen_twin import Partners
from evenhand.methods.parts.climbing import Ascent, Start, Tally
from evenhand.methods.parts.gradients import dynamic_loss, pair_gradients
from evenhand.methods.parts.known import Known
from evenhand.methods.parts.walks import Moves, Walk, pick, running_sums, signs
from evenhand.models.meter import Meter

INSTANCES = 8_192
"""Activation differences are averaged over at most this many rows of the data."""

NEARLY_ZERO = 1e-6


@dataclass(frozen=True)
class NeuronFair:
    """Two phases guided by biased neurons."""

    seeds: int = 1000
    clusters: int = 4
    iterations: int = 40
    local_steps: int = 1000
    step: float = 1.0
    decay: ShareBelowOne = 0.1
    local_decay: ShareBelowOne = 0.05
    random_share: ShareBelowOne = 0.05
    random_every: Count = 1
    interval: float = 0.005
    local: Literal["gradient", "random"] = "gradient"
    after_miss: float = 1.0

    needs: ClassVar[type] = Transparent
    media: ClassVar[tuple[str, ...]] = ("table", "portraits", "text")

    def __post_init__(self) -> None:
        check_limits(self)
        if self.local not in ("gradient", "random"):
            raise InvalidArgument(f"local={self.local!r} must be 'gradient' (Algorithm 3) or 'random' (the authors' code)")
        self._start, self._walk  # noqa: B018  (both check their parts)

    @property
    def _start(self) -> Start:
        return Start(self.seeds, self.clusters, self.iterations, self.step)

    @property
    def _walk(self) -> Walk:
        return Walk(self.local_steps, self.after_miss)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Find the biased neurons, climb from the seeds, then walk around what was found."""
        layer = self._layer(task, rng)
        known, tally = Known(task), Tally(task)
        ascent = Ascent(task, known, tally, rng)

        def compass(seeds: Rows) -> Pull:
            return Pull(Dynamics(task.model, layer, self, rng), self.decay, np.zeros(seeds.shape))

        while (found := (yield from ascent.rounds(self._start, self.local_steps, compass))) is not None:
            if len(found):
                steps = SoftmaxSteps(task, found, Dynamics(task.model, layer, self, rng), tally)
                yield from self._walk.run(found, steps, known, rng)

    def _layer(self, task: Task, rng: np.random.Generator) -> LayerBias:
        rows = task.rows if task.rows is not None and len(task.rows) else task.domain.sample(INSTANCES, rng)
        if len(rows) > INSTANCES:
            rows = rows[rng.choice(len(rows), INSTANCES, replace=False)]
        bias = measure_bias(task.model, task.domain, rows, interval=self.interval)
        positive = tuple(layer for layer in bias.layers if layer.lowest >= 0)
        bias = BiasMap(positive or bias.layers, bias.pairs)
        task.facts["neurons"] = bias.as_dict()
        return bias.most_biased


class Dynamics:
    """The dynamic loss: biased neurons, and a few random ones drawn again every so often for each row."""

    def __init__(self, model: Meter, layer: LayerBias, method: NeuronFair, rng: np.random.Generator) -> None:
        self.model, self.layer, self.method, self.rng = model, layer, method, rng
        self.biased, self.every = layer.biased, method.random_every
        self.drawn = int(len(self.biased) * method.random_share)
        self._iteration, self._random = 0, np.zeros((0, len(self.biased)), dtype=bool)

    @property
    def is_fixed(self) -> bool:
        """Whether no random neurons are drawn, so that a row's gradient stays the same."""
        return self.drawn == 0

    def turn(self, n: int) -> None:
        """Draw the random neurons of n walkers, if their time has come."""
        if not self.is_fixed and (self._iteration % self.every == 0 or len(self._random) < n):
            self._random = np.zeros((n, len(self.biased)), dtype=bool)
            chosen = self.rng.random((n, len(self.biased))).argpartition(self.drawn - 1, axis=1)[:, : self.drawn]
            np.put_along_axis(self._random, chosen, True, axis=1)
        self._iteration += 1

    def gradients(self, rows: Rows, twins: Rows, at: Index) -> tuple[Rows, Rows]:
        """The gradient of the loss on rows and on twins; `at` says which walkers they are."""
        step = max(1, self.model.batch_rows // 2)
        if self.is_fixed:
            return pair_gradients(self.model, rows, twins, dynamic_loss(self.biased), self.layer.name)
        parts = []
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            slope = dynamic_loss(self.biased | self._random[at[part]])
            parts.append(pair_gradients(self.model, rows[part], twins[part], slope, self.layer.name))
        return np.concatenate([first for first, _ in parts]), np.concatenate([second for _, second in parts])


@dataclass(frozen=True)
class Pull:
    """Up the loss along the sum of both gradients with momentum; the sum is all that needs to be remembered."""

    dynamics: Dynamics
    decay: float
    memory: Rows  # (seeds, columns)

    def directions(self, rows: Rows, twins: Rows, seeds: Index) -> Rows:
        """The sign of the sum."""
        self.dynamics.turn(len(self.memory))
        first, second = self.dynamics.gradients(rows, twins, seeds)
        self.memory[seeds] = self.decay * self.memory[seeds] + first + second
        return np.sign(self.memory[seeds])


class SoftmaxSteps:
    """Attributes that hardly move the loss are moved most often."""

    foresees = False

    def __init__(self, task: Task, start: Rows, dynamics: Dynamics, tally: Tally) -> None:
        self.dynamics, self.method, self.tally, self.rng = dynamics, dynamics.method, tally, dynamics.rng
        self.moves, self.partners = Moves(task.domain), Partners(task.domain, task.model)
        self.chosen = self.partners.choose(start)
        # (columns, walkers): sums and maxima down the columns are far quicker than along short rows.
        self.fresh, self.memory = np.zeros(start.shape[::-1]), np.zeros(start.shape[::-1])
        self.lost: Mask = np.zeros(len(start), dtype=bool)

    def propose(self, rows: Rows, stale: Mask) -> Rows:
        """The next row of every walker."""
        self._remember(rows, stale)
        size = np.abs(self.memory)
        self.lost = size.max(axis=0) == 0
        lost = np.flatnonzero(self.lost)
        self.tally.add("local", len(rows), len(lost))
        chances = _softmax(size, self.moves.may_move)
        if self.method.local == "random":
            return self.moves.step_one(rows, pick(running_sums(chances), self.rng), self.method.step * signs(len(rows), self.rng))
        directions = np.sign(self.memory)
        if lost.size:
            directions[:, lost] = signs(lost.size * rows.shape[1], self.rng).reshape(-1, lost.size)
        directions *= self.rng.random(directions.shape, dtype=np.float32) < chances
        return self.moves.step(rows, self.method.step * np.ascontiguousarray(directions.T))

    def _remember(self, rows: Rows, stale: Mask) -> None:
        """The next momentum of the summed gradients; a walker that stands still keeps its gradient unless the loss changes."""
        self.dynamics.turn(len(rows))
        at = np.flatnonzero(stale) if self.dynamics.is_fixed else np.arange(len(rows))
        if at.size:
            here = rows[at]
            first, second = self.dynamics.gradients(here, self.partners.twins(here, self.chosen[at]), at)
            summed = first.T + second.T
            summed *= self.moves.may_move[:, None]
            if at.size == len(rows):
                self.fresh = summed
            else:
                self.fresh[:, at] = summed
        self.memory *= self.method.local_decay
        self.memory += self.fresh


def _softmax(size: Rows, allowed: Mask) -> Rows:
    """softmax(1 / (size + 1e-6)) down the allowed columns, (columns, walkers); works in `size`."""
    size += NEARLY_ZERO
    values = np.reciprocal(size, out=size)
    values[~allowed] = -np.inf
    values -= values.max(axis=0)
    powers = np.exp(values.astype(np.float32))  # the differences were taken in full precision
    powers /= powers.sum(axis=0)
    return powers
