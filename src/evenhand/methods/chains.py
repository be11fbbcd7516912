"""Natural chains: walks that stay inside the set of findings and move by the population's own conditional distributions.

Paper: none; it goes beyond LIMI (Xiao, Liu, Li, Liu, "Latent Imitator", ISSTA 2023), whose latent space it walks in.

Seeds are findings among plain samples of the population.  Every step moves one coordinate of every walk's latent, near or far, or
now and then all of them, and keeps the new place where it is a finding.  Such a move leaves a standard normal latent distributed as
it was, so the limit of a walk is the population restricted to findings: people who exist as often as the population says, given
that they are treated unfairly.  A list of all that walks come by would still have too many people with many findings around them, where
nearly every move leads on; so walks take turns, and one that did not lead on tries again before the others go further.  Moves that led
on are made more often, which changes the speed of a walk and not its limit; a move that does not change the row is not asked about.
(The condition part of a CTGAN's latent is not normal: there the limit is only close.)
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np

from evenhand.arrays import Index, Keys, Reals, Rows
from evenhand.contract import Candidates, Model, Search, Task, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import Count, Share, ShareAboveZero, check_limits
from evenhand.methods.parts.latent_at_hand import space_named
from evenhand.synthesis.latent import Latents, LatentSpace

ASKING = 4.0
"""What it costs to ask about one moved row besides decoding it, in units of one decoded column."""

LARGEST_SHARE = 0.1
"""No single move is favoured beyond this: a column of many values would otherwise be all that changes."""

WALKS_PER_SEED = 2
FEWEST_CHAINS = 256
"""Few seeds with many walks each would all look alike; a handful of walks would be slow."""

TURNS = 8
"""How often a walk that does not lead on tries at most before the others go further."""
FEWEST_WAITING = 0.125
"""A smaller share of the walks than that is not waited for: asking about a handful costs as much as asking about many."""

MOST_CELLS = 2_000_000
"""Of the rows that are decoded together, so that wide tables are walked by fewer chains and a short budget sees its end coming."""

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
        chains = min(self._at_once(space), max(FEWEST_CHAINS, WALKS_PER_SEED * len(seeds)))
        here = seeds[rng.permutation(len(seeds))[np.arange(chains) % len(seeds)]]
        yield from self._walk(here, space, task, rng)

    def _seeds(self, space: LatentSpace, task: Task, rng: np.random.Generator) -> SeedSearch:
        """Latents of findings among plain samples."""
        found = [np.empty((0, space.latent_size))]
        limit = max(1, int(self.seed_share * task.fitting(1 << 62)))
        drawn, missing = 0, self.seeds
        while missing > 0 and (n := self._room(task, limit - drawn, missing < self.seeds)) > 0:
            n = min(n, self._at_once(space))
            latents = space.latents(n, rng)
            verdict = yield Candidates(space.decode(latents), "seeds")
            found.append(latents[verdict.unfair].astype(np.float64, copy=False))
            drawn, missing = drawn + n, missing - len(found[-1])
        task.facts["seed_samples"] = drawn
        return np.concatenate(found)

    def _room(self, task: Task, left: int, has_seed: bool) -> int:
        """How many more samples may go into looking for seeds: what is left of their share, and more as long as there is no seed at all."""
        return min(task.fitting(self.chains), left if has_seed or left > 0 else self.chains)

    def _at_once(self, space: LatentSpace) -> int:
        """How many rows are decoded together."""
        return min(self.chains, max(FEWEST_CHAINS, MOST_CELLS // space.latent_size))

    def _walk(self, here: Latents, space: LatentSpace, task: Task, rng: np.random.Generator) -> Search:
        walks = Walks(here, space.decode(here), task.domain)
        moves = ChainMoves(here.shape[1], self.reaches, links_after(space))
        moves.know_plain(task.facts["seed_samples"], task.facts["seeds"])
        idle = 0
        while (fitting := task.fitting(len(here))) and idle < MOST_IDLE:
            move = int(rng.choice(len(moves.tries), p=moves.shares(self.favour)))
            step = walks.proposed(moves.described(move), space, rng)
            asked = step.changed[:fitting]
            moves.tries[move] += len(step.rows)
            idle = 0 if asked.size else idle + 1
            verdict = (yield Candidates(step.rows[asked], "walk")) if asked.size else None
            led_on = asked if verdict is None else asked[verdict.unfair]
            walks.advance(step, led_on)
            moves.asked[move] += len(asked)
            moves.led_on[move] += len(led_on)
            task.facts["walk_hit_rate"] = float(moves.led_on[:EVERYTHING].sum() / moves.asked[:EVERYTHING].sum())
        if idle >= MOST_IDLE:
            task.facts["stopped"] = "no move changes any row: the population holds nobody else"


@dataclass(frozen=True, eq=False)
class WalkStep:
    """Where some walks would go."""

    latents: Latents
    rows: Rows
    keys: Keys
    changed: Index  # which of them are other people than before


@dataclass(eq=False)
class Walks:
    """Where all walks stand, and whose turn it is."""

    here: Latents
    rows: Rows
    domain: TabularDomain
    keys: Keys = field(init=False)
    waiting: Index = field(init=False)  # walks that have not led on since all went on
    turn: int = 0

    def __post_init__(self) -> None:
        self.keys, self.waiting = self.domain.keys(self.rows), np.arange(len(self.here))

    def proposed(self, move: ChainMove, space: LatentSpace, rng: np.random.Generator) -> WalkStep:
        """A move of those whose turn it is."""
        latents, rows = proposed(self.here[self.waiting], self.rows[self.waiting], move, space, rng)
        keys = self.domain.keys(rows)
        return WalkStep(latents, rows, keys, np.flatnonzero(keys != self.keys[self.waiting]))

    def advance(self, step: WalkStep, led_on: Index) -> None:
        """Go where it led to another finding; the others try again, up to so many turns."""
        places = self.waiting[led_on]
        self.here[places], self.rows[places], self.keys[places] = step.latents[led_on], step.rows[led_on], step.keys[led_on]
        self.turn += 1
        self.waiting = np.delete(self.waiting, led_on)
        if self.turn >= TURNS or len(self.waiting) < FEWEST_WAITING * len(self.here):
            self.waiting, self.turn = np.arange(len(self.here)), 0


@dataclass
class ChainMoves:
    """Every coordinate with every reach, a fresh draw of all, and how often each move changed a row and led to another finding."""

    size: int
    reaches: tuple[float, ...]
    links: Reals  # (size,) how many columns are decoded again after a move of each coordinate
    tries: Reals = field(init=False)
    asked: Reals = field(init=False)
    led_on: Reals = field(init=False)
    after: Reals = field(init=False)

    def __post_init__(self) -> None:
        count = self.size * len(self.reaches) + 1
        self.after = np.append(np.tile(self.links, len(self.reaches)), self.links.max())
        self.tries, self.asked, self.led_on = np.full(count, 4.0), np.full(count, 2.0), np.ones(count)

    def know_plain(self, samples: int, findings: int) -> None:
        """What looking for seeds has told about fresh draws of everything."""
        self.tries[-1], self.asked[-1], self.led_on[-1] = samples, samples, findings

    def described(self, move: int) -> ChainMove:
        """The move of this number; the last one draws all coordinates again."""
        return ChainMove(EVERYTHING, 1.0) if move == len(self.tries) - 1 else ChainMove(move % self.size, self.reaches[move // self.size])

    @property
    def cost(self) -> Reals:
        """Of one try: every walk's own column is decoded, and only where it changes the later ones, and the model is asked."""
        cost: Reals = 1.0 + (ASKING + self.after) * self.asked / self.tries
        return cost

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
    """For each coordinate, how many columns depend on it."""
    after = getattr(space, "after", None)
    if after is None:
        return np.full(space.latent_size, float(len(space.domain.columns)))
    return np.array([float(len(after[step])) for step in np.argsort(space.order)])  # type: ignore[attr-defined]
