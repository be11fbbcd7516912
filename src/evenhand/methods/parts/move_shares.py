"""How often each move is made: in proportion to the new findings that it has brought for its cost, from a prior that knows the chain.

Costs are declared, or measured once before the run; no clock is read here, so that a seed gives the same moves again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Reals
from evenhand.synthesis.level_chain import LevelChain, LevelMove

COLUMN_SECONDS = 6e-8
"""What decoding one cell takes, about, on any machine of these years; only its proportion to a question matters."""

EVEN_SHARE = 0.1
"""This share of the moves is made evenly, and none is favoured beyond it: a column of many values would be all that changes."""

FAVOUR = 3.0
"""Moves are made in proportion to this power of what they bring for their cost, and rows asked about to this power of their chance."""

NEAR = 0.1
"""How far a near move goes at most, of a column's whole distribution: near ones lead from finding to finding more often."""


class MoveShares:
    """What every move has cost and brought.

    Before it is tried, a move that may change m columns is hoped to lead to a new finding once in m times; the hope weighs as much as a
    small part of one round.  Too small a hope would never be put right: what is not made is not learnt about.
    """

    def __init__(self, chain: LevelChain, walks: int, question_seconds: float) -> None:
        self.moves: Sequence[LevelMove] = moves_of(chain)
        self.question_seconds = question_seconds
        self.columns = np.array([chain.decoded(move) for move in self.moves], dtype=np.float64)
        self.spent = 0.0  # since somebody last looked
        self.found: Reals = walks / np.array([len(chain.positions(move)) for move in self.moves], dtype=np.float64)
        self.cost: Reals = walks * (COLUMN_SECONDS * self.columns + self.question_seconds)

    @property
    def far(self) -> int:
        """The number of the move that draws everything again."""
        whole = [number for number, move in enumerate(self.moves) if move.position == 0 and move.reach >= 1.0]
        return whole[-1]  # of a single column alone both are the same

    def draw(self, rng: np.random.Generator) -> int:
        """The number of the next move."""
        return int(rng.choice(len(self.moves), p=self.shares()))

    def shares(self) -> Reals:
        """How often each move is to be made."""
        return favoured(self.found / self.cost)

    def pay(self, move: int, walks: int, asked: int, found: int) -> None:
        """Book one round."""
        self.spent += self.price(move, walks, asked)
        self.learn(move, walks, asked, found)

    def learn(self, move: int, walks: int, asked: int, found: int) -> None:
        """Take to heart what others have paid for."""
        self.cost[move] += self.price(move, walks, asked)
        self.found[move] += found

    def price(self, move: int, walks: int, asked: int) -> float:
        """What it costs to make a move with so many walks, and to ask about so many people."""
        return float(walks * COLUMN_SECONDS * self.columns[move] + asked * self.question_seconds)


@dataclass
class FindingPace:
    """What is found for its cost, in the latest rounds most of all.

    >>> walks, others = FindingPace(), FindingPace()
    >>> for _ in range(10):
    ...     walks.add(found=10, cost=1.0)
    ...     others.add(found=30, cost=1.0)
    >>> walks.falls_behind(others, rounds=5), walks.falls_behind(others, rounds=5, times=5)
    (True, False)
    >>> walks.share_beside(others), walks.share_beside(FindingPace())
    (0.25, 0.5)
    """

    rounds: int = 0
    found: float = 0.0
    cost: float = 0.0

    def add(self, found: int, cost: float) -> None:
        """Book one round."""
        kept = 1.0 - EVEN_SHARE
        self.rounds += 1
        self.found, self.cost = kept * self.found + found, kept * self.cost + cost

    @property
    def brings(self) -> float:
        """Findings for each unit of cost."""
        return self.found / self.cost if self.cost else 0.0

    def share_beside(self, others: FindingPace) -> float:
        """How much of what both spend is to go here, as each brings findings for its cost: a tenth at least, half until both are tried."""
        both = self.brings + others.brings
        if not (self.rounds and others.rounds and both):
            return 0.5
        return min(max(self.brings / both, EVEN_SHARE), 1.0 - EVEN_SHARE)

    def falls_behind(self, others: FindingPace, rounds: int, times: int = 1) -> bool:
        """Whether others bring more than so many times as much, beyond what chance would do, as so many rounds of both tell."""
        ahead = others.found * self.cost - times * self.found * others.cost
        variance = others.found * self.cost**2 + self.found * (times * others.cost) ** 2  # of counts
        # Three standard deviations, about: the same rounds are looked at again and again, until they are forgotten.
        return min(self.rounds, others.rounds) >= rounds and ahead > 0 and ahead**2 > variance / EVEN_SHARE


def favoured(worth: Reals) -> Reals:
    """How often each of some moves is to be made, from what each is worth."""
    powers = worth**FAVOUR
    capped = np.minimum(powers / powers.sum(), max(EVEN_SHARE, 1.0 / len(worth)))
    shares: Reals = (1.0 - EVEN_SHARE) * capped / capped.sum() + EVEN_SHARE / len(worth)
    return shares


def moves_of(chain: LevelChain) -> list[LevelMove]:
    """One column again, near or far, and all from one on, for every position but the protected ones."""
    alone = [LevelMove(position, False, reach) for reach in (NEAR, 1.0) for position in range(chain.free)]
    return alone + [LevelMove(position, True) for position in range(chain.free - 1)]
