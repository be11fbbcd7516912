"""A bandit over kinds of moves: which move to make next, by what each of them has brought per cost, recent rounds counting most."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evenhand.arrays import Index, Reals

LARGEST_SHARE = 0.2
"""No single step is favoured beyond this: a column of many values would otherwise be all that changes."""

FORGETTING = 0.8
KEENNESS = 3.0
FIRST_HOPE, LEAST_HOPE, PRIOR = 0.5, 1e-3, 8.0
"""What a try of a kind of move is hoped to bring, before it is known and at least; a hope weighs as much as so many tries."""

LEAST_COST = 2.0
"""What a move costs besides decoding, in units of one decoded column, before anything is known."""


@dataclass(frozen=True)
class Move:
    """One arm: a kind of move in one coordinate, and how many columns it decodes for one walk."""

    kind: str
    at: int
    reach: float
    decoding: float


@dataclass
class Arms:
    """What every arm has cost and brought; the last one always gets at least the share `least_of_last`."""

    moves: list[Move]
    favour: float
    least_of_last: float
    cost: Reals = field(init=False)
    found: Reals = field(init=False)
    recent: Reals = field(init=False)
    tries: Reals = field(init=False)

    def __post_init__(self) -> None:
        self.kinds = np.array([move.kind for move in self.moves])
        self.places = np.array([move.at for move in self.moves])
        self.reaches = np.array([move.reach for move in self.moves])
        self.decoding = np.array([move.decoding for move in self.moves])
        self.cost, self.found, self.recent, self.tries = np.zeros((4, len(self.moves)))

    def draw(self, n: int, rng: np.random.Generator, alike: bool) -> Index:
        """An arm for each walk, or the same one for all, those that bring more per cost more often."""
        worth = self._rates() ** KEENNESS
        worth = np.minimum(worth / worth.sum(), np.where(self.kinds == self.kinds[-1], 1.0, LARGEST_SHARE))
        spread = 1 / (self.decoding + LEAST_COST)
        shares = self.favour * worth / worth.sum() + (1 - self.favour) * spread / spread.sum()
        shares[-1] = max(shares[-1], self.least_of_last)
        shares /= shares.sum()
        return np.full(n, rng.choice(len(shares), p=shares)) if alike else rng.choice(len(shares), n, p=shares)

    def _rates(self) -> Reals:
        """What each arm brings per cost; of one that is new, as much is hoped for as the best of its kind brings."""
        hope = np.full(len(self.moves), FIRST_HOPE)
        for kind in np.unique(self.kinds):
            tried = (self.kinds == kind) & (self.recent > 0)
            if tried.any():
                hope[self.kinds == kind] = max(LEAST_HOPE, (self.found[tried] / self.recent[tried]).max())
        rates: Reals = (PRIOR * hope + self.found) / (PRIOR * (self.decoding + LEAST_COST) + self.cost)
        return rates

    def pay(self, drawn: Index, outcome: tuple[Index, Index], asking: float) -> None:
        """Book one round: which walks asked something new, and which of them found something."""
        asked, found = (np.bincount(drawn[walks], minlength=len(self.moves)) for walks in outcome)
        tries = np.bincount(drawn, minlength=len(self.moves))
        kept = np.where(tries > 0, FORGETTING, 1.0)
        self.cost = kept * self.cost + self.decoding * tries + asking * asked
        self.found = kept * self.found + found
        self.recent = kept * self.recent + tries
        self.tries += tries

    def summary(self) -> dict[str, int]:
        """Tries by kind of move."""
        return {str(kind): int(self.tries[self.kinds == kind].sum()) for kind in np.unique(self.kinds)}
