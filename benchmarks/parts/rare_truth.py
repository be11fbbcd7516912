"""How large a planted share is: counted at its own width, not reckoned from how densely the log-odds lie in a wider one.

A net's log-odds do not lie evenly around zero: on the census they lie up to a tenth more densely within a hundredth of it than within a
twentieth.  Plain draws hardly ever meet a share of one in a million, so people near the border get the rest of the chain anew from the
finest column on, and then small steps in it; whoever is far goes on by a small chance only, and counts for all the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from evenhand.arrays import Reals
from evenhand.synthesis.level_chain import LevelMove, LevelStates
from parts.rare_places import KINDS, RATES, RIM, Ground, Place, densities, opened

DRAWN, AT_ONCE = 12_000_000, 100_000
OUTSIDE = 0.25
"""Of people outside of the pocket so many are looked at: there are many more of them."""


@dataclass(frozen=True)
class Branching:
    """Who goes on: everybody whose log-odds are within `near`, others by a chance; to `copies` places, up to `reach` away."""

    near: float
    chance: float
    copies: int
    reach: float


FRESH, LOCAL = Branching(near=1.5, chance=0.1, copies=16, reach=1.0), Branching(near=0.05, chance=0.02, copies=48, reach=0.02)


@dataclass(frozen=True)
class TrueShare:
    """A counted share, and its standard error as a share of it."""

    share: float
    error: float


@dataclass(frozen=True)
class Branches:
    """People, each with how many draws it stands for."""

    states: LevelStates
    weights: Reals

    def grown(self, place: Place, how: Branching, rng: np.random.Generator) -> Branches:
        """The next ones.  A step around the circle of levels leaves the population as it is, so nothing is weighed but the chances."""
        chain = place.chain.unscored
        chance = np.where(np.abs(place.log_odds(self.states.rows)) < how.near, 1.0, how.chance)
        going = np.repeat(np.flatnonzero(rng.random(len(chance)) < chance), how.copies)
        move = LevelMove(chain.trees.order.index(place.data.domain.place(place.ground.fine)), True, how.reach)
        there = chain.moved(self.states[going], move, rng)[1]
        return Branches(there, self.weights[going] / chance[going] / how.copies)


@cache
def true_shares(ground: Ground, family: str, drawn: int = DRAWN) -> Mapping[tuple[str, float], TrueShare]:
    """Of every kind and rate that is planted in a family."""
    place, rng = opened(ground, family), np.random.default_rng(36)
    planted = densities(ground, family)
    half = {(kind, rate): rate / planted[kind] / 2 for kind in KINDS for rate in RATES}
    batches = [_batch(place, half, rng) for _ in range(drawn // AT_ONCE)]
    people = np.array([batch.people for batch in batches])
    found = {}
    for asked in half:
        hits = np.array([batch.hits[asked] for batch in batches])
        share = float(hits.sum() / people.sum())
        off = hits - share * people
        found[asked] = TrueShare(share, float(np.sqrt((off**2).sum()) / hits.sum()))
    return found


@dataclass(frozen=True)
class Batch:
    """How many of some people can be, and how many of these are affected."""

    people: int
    hits: Mapping[tuple[str, float], float]


def _batch(place: Place, half: Mapping[tuple[str, float], float], rng: np.random.Generator) -> Batch:
    domain = place.data.domain
    states = place.chain.unscored.drawn(AT_ONCE, rng)
    chance = np.where(place.pocket(states.rows), 1.0, OUTSIDE)
    seen = np.flatnonzero(rng.random(len(chance)) < chance)
    branches = Branches(states[seen], 1.0 / chance[seen]).grown(place, FRESH, rng).grown(place, LOCAL, rng)
    rows = branches.states.rows
    distance, inside = np.abs(place.log_odds(rows)), place.pocket(rows)
    weights = branches.weights * domain.keeps_constraints(rows)
    reach = {"thin": np.ones(len(rows)), "pocket": inside.astype(float), "rim": np.where(inside, 1.0, RIM)}
    hits = {(kind, rate): float(weights[distance < width * reach[kind]].sum()) for (kind, rate), width in half.items()}
    return Batch(int(domain.keeps_constraints(states.rows).sum()), hits)
