"""Natural chains: walks that stay inside the set of findings and move by the population's own conditional distributions.

Paper: none; it goes beyond LIMI (Xiao, Liu, Li, Liu, "Latent Imitator", ISSTA 2023), whose latent space it walks in.

Seeds are findings among plain samples of the population.  Every step moves one coordinate of every walk's latent, near or far, or
now and then all of them, and keeps the new place where it is a finding.  Such a move leaves a standard normal latent distributed as
it was, so the limit of a walk is the population restricted to findings: people who exist as often as the population says, given
that they are treated unfairly.  Moves that led on are made more often, which changes the speed of a walk and not its limit; a
move that does not change the row is not asked about.  (The condition part of a CTGAN's latent is not normal: there the limit is
only close.)
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.contract import Candidates, Model, Search, Task, Verdict
from evenhand.limits import Count, Share, ShareAboveZero, check_limits
from evenhand.methods.parts.latent_at_hand import space_named
from evenhand.synthesis.latent import Latents, LatentSpace

ASKING = 4.0
"""What one move costs besides decoding, in units of one decoded column."""

LARGEST_SHARE = 0.1
"""No single move is favoured beyond this: a column of many values would otherwise be all that changes."""

WALKS_PER_SEED = 2
FEWEST_CHAINS = 256
"""Few seeds with many walks each would all look alike; a handful of walks would be slow."""

MOST_IDLE = 200
"""So many moves in a row that change nobody are the last ones."""

EVERYTHING = -1
"""Stands for all coordinates, and is the last of the moves."""

SeedSearch: TypeAlias = Generator[Candidates, Verdict, Latents]


@dataclass(frozen=True)
class Chains:
    """Many walks at once.

    space: the latent space, see `parts.latent`
    chains: how many walks advance together
    seeds: how many findings are looked for to start from; at most two walks share one, unless there are very few
    seed_share: of the budget at most this share goes into looking for seeds, once there is one
    reaches: how far a coordinate moves, from 0 (not at all) to 1 (drawn again); each reach is tried with each coordinate
    favour: 0 makes all moves alike often, 1 in proportion to how often each of them led on
    """

    space: str = "chained-trees"
    chains: Count = 8192
    seeds: Count = 4096
    seed_share: ShareAboveZero = 0.3
    reaches: tuple[ShareAboveZero, ...] = (0.5, 1.0)
    favour: Share = 0.9

    needs: ClassVar[type] = Model

    def __post_init__(self) -> None:
        check_limits(self)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Look for seeds, then walk from them until the budget ends."""
        space = space_named(self.space, task, rng)
        seeds = yield from self._seeds(space, task, rng)
        task.facts["seeds"] = len(seeds)
        if not len(seeds):
            task.facts["stopped"] = f"no finding among plain samples of {space.name}: there is nothing to walk from"
            return
        chains = min(self.chains, max(FEWEST_CHAINS, WALKS_PER_SEED * len(seeds)))
        here = seeds[rng.permutation(len(seeds))[np.arange(chains) % len(seeds)]]
        yield from self._walk(here, space, task, rng)

    def _seeds(self, space: LatentSpace, task: Task, rng: np.random.Generator) -> SeedSearch:
        """Latents of findings among plain samples."""
        found = [np.empty((0, space.latent_size))]
        limit = max(1, int(self.seed_share * task.fitting(1 << 62)))
        drawn, missing = 0, self.seeds
        while missing > 0 and (n := self._room(task, limit - drawn, missing < self.seeds)) > 0:
            latents = space.latents(n, rng)
            verdict = yield Candidates(space.decode(latents), "seeds")
            found.append(latents[verdict.unfair].astype(np.float64, copy=False))
            drawn, missing = drawn + n, missing - len(found[-1])
        task.facts["seed_samples"] = drawn
        return np.concatenate(found)

    def _room(self, task: Task, left: int, has_seed: bool) -> int:
        """How many more samples may go into looking for seeds: what is left of their share, and more as long as there is no seed at all."""
        return min(task.fitting(self.chains), left if has_seed or left > 0 else self.chains)

    def _walk(self, here: Latents, space: LatentSpace, task: Task, rng: np.random.Generator) -> Search:
        rows, moves = space.decode(here), ChainMoves(here.shape[1], self.reaches, links_after(space))
        moves.know_plain(task.facts["seed_samples"], task.facts["seeds"])
        keys = task.domain.keys(rows)
        idle = 0
        while (fitting := task.fitting(len(here))) and idle < MOST_IDLE:
            move = int(rng.choice(len(moves.tries), p=moves.shares(self.favour)))
            moved, there = proposed(here, rows, moves.described(move), space, rng)
            new = task.domain.keys(there)
            asked = np.flatnonzero(new != keys)[:fitting]
            moves.tries[move] += len(here)
            idle = 0 if asked.size else idle + 1
            if not asked.size:
                continue
            verdict = yield Candidates(there[asked], "walk")
            led_on = asked[verdict.unfair]
            here[led_on], rows[led_on], keys[led_on] = moved[led_on], there[led_on], new[led_on]
            moves.asked[move] += len(asked)
            moves.led_on[move] += len(led_on)
            task.facts["walk_hit_rate"] = float(moves.led_on[:EVERYTHING].sum() / moves.asked[:EVERYTHING].sum())
        if idle >= MOST_IDLE:
            task.facts["stopped"] = "no move changes any row: the population holds nobody else"


@dataclass
class ChainMoves:
    """Every coordinate with every reach, a fresh draw of all, and how often each move changed a row and led to another finding."""

    size: int
    reaches: tuple[float, ...]
    links: Reals  # (size,) how many columns are decoded again after a move of each coordinate
    tries: Reals = field(init=False)
    asked: Reals = field(init=False)
    led_on: Reals = field(init=False)
    cost: Reals = field(init=False)

    def __post_init__(self) -> None:
        count = self.size * len(self.reaches) + 1
        self.cost = ASKING + np.append(np.tile(self.links, len(self.reaches)), self.links.max())
        self.tries, self.asked, self.led_on = np.full(count, 4.0), np.full(count, 2.0), np.ones(count)

    def know_plain(self, samples: int, findings: int) -> None:
        """What looking for seeds has told about fresh draws of everything."""
        self.tries[-1], self.asked[-1], self.led_on[-1] = samples, samples, findings

    def described(self, move: int) -> ChainMove:
        """The move of this number; the last one draws all coordinates again."""
        return ChainMove(EVERYTHING, 1.0) if move == len(self.tries) - 1 else ChainMove(move % self.size, self.reaches[move // self.size])

    def shares(self, favour: float) -> Reals:
        """How often each move is to be made."""
        worth = (self.led_on / self.asked) * (self.led_on / self.tries) / self.cost
        worth = np.minimum(worth / worth.sum(), LARGEST_SHARE)
        shares: Reals = favour * worth / worth.sum() + (1 - favour) / len(worth)
        return shares


@dataclass(frozen=True)
class ChainMove:
    """Which coordinate moves (EVERYTHING: all of them), and how far towards a fresh draw."""

    coordinate: int
    reach: float


def proposed(here: Latents, rows: Rows, move: ChainMove, space: LatentSpace, rng: np.random.Generator) -> tuple[Latents, Rows]:
    """Every latent moved in one coordinate towards a fresh draw, or drawn again as a whole; the population stays as it is."""
    coordinate, reach = move.coordinate, move.reach
    if coordinate == EVERYTHING:
        fresh = space.latents(len(here), rng)
        return fresh, space.decode(fresh)
    partly = getattr(space, "redecode", None)
    drawn = rng.standard_normal(len(here)) if partly else space.latents(len(here), rng)[:, coordinate]
    moved = here.copy()
    moved[:, coordinate] = np.sqrt(1.0 - reach**2) * here[:, coordinate] + reach * drawn
    return moved, partly(moved, rows, coordinate) if partly else space.decode(moved)


def links_after(space: LatentSpace) -> Reals:
    """For each coordinate, the columns that depend on it."""
    order = getattr(space, "order", None)
    if order is None:
        return np.full(space.latent_size, float(len(space.domain.columns)))
    return len(order) - np.argsort(order).astype(np.float64)
