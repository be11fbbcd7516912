"""How rows move: steps in the columns' own units, and walks that begin at findings and look for more around them."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.contract import Candidates, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import Share, WholeNumber, check_limits
from evenhand.methods.parts.known import Known

PARTS_OF_A_RANGE = 100
"""A step of 1 moves a real number by this part of its column's range; whole codes move by 1."""

STEPS_TOGETHER = 8
"""A walk that does not wait for its verdicts has this many steps judged at once: a thousand walkers fill the model's batch."""

FORESEEN_TOGETHER = 32
"""A walk that foresees its verdicts has this many steps judged at once: the engine then hears few and large batches."""

AUTHORS_ACCEPTANCE = float(np.exp(-1.0))
"""scipy's basinhopping at temperature 1, which the published codes call, keeps a step from a finding to a non-finding this often."""


@dataclass(frozen=True)
class Moves:
    """Steps that stay in the domain: cells at the border stay there, protected cells stay as they are."""

    domain: TabularDomain

    @cached_property
    def units(self) -> Rows:
        """The size of a step of 1 in every column; 0 in protected ones."""
        units = np.where(self.domain.integral, 1.0, (self.domain.high - self.domain.low) / PARTS_OF_A_RANGE)
        units[list(self.domain.protected_places)] = 0.0
        return units

    @cached_property
    def is_integral(self) -> bool:
        """Whether every column has whole codes."""
        return bool(self.domain.integral.all())

    @cached_property
    def free(self) -> Index:
        """Positions of the columns that may move."""
        return np.array(self.domain.free_places, dtype=np.intp)

    @cached_property
    def may_move(self) -> Mask:
        """Which columns may move."""
        return self.units > 0

    def step(self, rows: Rows, directions: Rows) -> Rows:
        """Rows moved by `directions` (in steps of each column), back into the ranges and the constraints."""
        moved: Rows = directions * self.units
        moved += rows
        if not self.is_integral:
            moved = self.domain.clip(moved)
        else:
            np.rint(moved, out=moved)
            np.clip(moved, self.domain.low, self.domain.high, out=moved)
        return self.domain.project(moved) if self.domain.constraints else moved

    def step_one(self, rows: Rows, places: Index, directions: Rows) -> Rows:
        """Rows moved in one column each."""
        if self.domain.constraints:
            everywhere = np.zeros(rows.shape)
            everywhere[np.arange(len(rows)), places] = directions
            return self.step(rows, everywhere)
        line = np.arange(len(rows))
        moved = rows.copy()
        cells = rows[line, places] + directions * self.units[places]
        whole = np.rint(cells)
        cells = whole if self.is_integral else np.where(self.domain.integral[places], whole, cells)
        moved[line, places] = np.clip(cells, self.domain.low[places], self.domain.high[places])
        return moved

    def random_directions(self, n: int, rng: np.random.Generator) -> Rows:
        """One random column and side for each of n rows: where to go when a gradient says nothing."""
        directions = np.zeros((n, len(self.units)))
        directions[np.arange(n), self.free[rng.integers(len(self.free), size=n)]] = signs(n, rng)
        return directions


def signs(n: int, rng: np.random.Generator) -> Rows:
    """-1 or 1, n times."""
    return np.where(rng.random(n) < 0.5, -1.0, 1.0)


def running_sums(weights: Rows) -> Rows:
    """The weights (columns, walkers) summed up in place down the columns; long lines of walkers add faster than short ones of columns."""
    for place in range(1, len(weights)):
        weights[place] += weights[place - 1]
    return weights


def pick(cumulative: Rows, rng: np.random.Generator) -> Index:
    """One column per walker, drawn with the weights whose running sums (columns, walkers) are given."""
    level = rng.random(cumulative.shape[1]) * cumulative[-1]
    below = (cumulative[:-1] <= level).sum(axis=0)  # without the last one: a level may round up to the total
    return np.asarray(below, dtype=np.intp)


class Stepper(Protocol):
    """Says where every walker goes next."""

    @property
    def lost(self) -> Mask:
        """Which walkers had no gradient to go by in the last step."""

    @property
    def foresees(self) -> bool:
        """Whether it is a `Seer` and can tell what the verdicts will be."""

    def propose(self, rows: Rows, stale: Mask) -> Rows:
        """The next row of every walker; `stale` marks the walkers that stand elsewhere than at the last call."""


@runtime_checkable
class Seer(Stepper, Protocol):
    """A stepper that sees by itself whether a row is unfair, so that several steps can be judged together."""

    def look(self, rows: Rows, who: Index) -> Mask:
        """Which of these walkers would be unfair there; what was seen of the place is kept for `settle`."""

    def settle(self, who: Mask) -> None:
        """The walkers last looked at that `who` marks do stand there now."""


@dataclass
class Walkers:
    """Where everybody stands."""

    rows: Rows
    home: Rows  # the last finding of each
    inside: Mask  # who stands on a finding
    stale: Mask  # who stands elsewhere than its stepper believes
    asked: Rows  # where the last step began

    @classmethod
    def at(cls, start: Rows) -> Walkers:
        """Everybody at a finding."""
        return cls(start, start.copy(), np.ones(len(start), dtype=bool), np.ones(len(start), dtype=bool), start)


@dataclass(frozen=True)
class Visit:
    """One step: who moved, and where to."""

    who: Index
    rows: Rows


@dataclass(frozen=True)
class Walk:
    """How long walkers go on, and what they do when they are told that they have left the findings.

    `after_miss` is the probability that a walker who went from a finding to a non-finding stays there; otherwise it goes back to
    its last finding.  One who was outside already goes on.  1 follows wherever the steps lead, 0 never stays outside.

    Where the stepper foresees the verdicts, walkers act on what it saw and hear the engine's verdicts for several steps at once.
    The first verdict that differs ends this: from then on every step waits for its verdict.
    """

    steps: WholeNumber
    after_miss: Share

    def __post_init__(self) -> None:
        check_limits(self)

    def run(self, start: Rows, stepper: Stepper, known: Known, rng: np.random.Generator) -> Generator[Candidates, Verdict, None]:
        """All walkers, stretch by stretch."""
        walkers, begun = Walkers.at(start), 0
        follows = self.after_miss == 1.0
        seer = stepper if isinstance(stepper, Seer) and stepper.foresees and not follows else None
        while begun < self.steps:
            # The first step is judged by itself: it shows whether verdicts can be foreseen at all.
            together = STEPS_TOGETHER if follows else FORESEEN_TOGETHER if seer and begun else 1
            together = min(together, self.steps - begun)
            begun += together
            visits, told, home = [], [], walkers.home.copy()
            for _ in range(together):
                visits.append(self._step(walkers, stepper))
                if seer:
                    told.append(seer.look(visits[-1].rows, visits[-1].who))
                    back = self._decide(walkers, visits[-1], told[-1], seer, rng)
                    seer.settle(~back)
                    walkers.stale &= back
            heard = yield from self._hear(visits, known)
            if not seer:
                self._decide(walkers, _joined(visits), heard, stepper, rng)
            elif not np.array_equal(heard, np.concatenate(told)):
                seer, walkers.home = None, home
                self._correct(walkers, _joined(visits), heard)

    @staticmethod
    def _step(walkers: Walkers, stepper: Stepper) -> Visit:
        """Everybody one step on."""
        moved = stepper.propose(walkers.rows, walkers.stale)
        walkers.stale = (moved != walkers.rows).any(axis=1)
        walkers.asked, walkers.rows = walkers.rows, moved
        who = np.flatnonzero(walkers.stale)
        return Visit(who, moved[who])

    def _decide(self, walkers: Walkers, visit: Visit, unfair: Mask, stepper: Stepper, rng: np.random.Generator) -> Mask:
        """Note who stands on a finding, and send back those who do not stay outside; who went back."""
        before, walkers.inside = walkers.inside, walkers.inside.copy()
        # Assignments run in the order of the steps, so that of a walker's entries the last one stays.
        walkers.home[visit.who[unfair]] = visit.rows[unfair]
        walkers.inside[visit.who] = unfair
        outside = ~walkers.inside
        back: Mask = self._returning(before & outside, rng) | (stepper.lost & outside)
        going = np.flatnonzero(back)
        if going.size:
            target = walkers.home[going]
            walkers.stale[going] = (target != walkers.asked[going]).any(axis=1)
            walkers.rows[going] = target
            walkers.inside[going] = True
        return back

    @staticmethod
    def _hear(visits: list[Visit], known: Known) -> Generator[Candidates, Verdict, Mask]:
        """The verdicts on a stretch of steps."""
        visited = _joined(visits)
        if not visited.who.size:
            return np.zeros(0, dtype=bool)
        return (yield from known.judge(visited.rows, "local"))

    @staticmethod
    def _correct(walkers: Walkers, visited: Visit, unfair: Mask) -> None:
        """Believe the verdicts rather than what was foreseen, for whoever stands where it was judged."""
        walkers.home[visited.who[unfair]] = visited.rows[unfair]
        there = (walkers.rows[visited.who] == visited.rows).all(axis=1)
        walkers.inside[visited.who[there]] = unfair[there]

    def _returning(self, left: Mask, rng: np.random.Generator) -> Mask:
        """Which of the walkers that have left the findings go back."""
        if self.after_miss in (0.0, 1.0):
            return left & (self.after_miss == 0.0)
        return left & (rng.random(len(left)) >= self.after_miss)


def _joined(visits: list[Visit]) -> Visit:
    if len(visits) == 1:
        return visits[0]
    return Visit(np.concatenate([visit.who for visit in visits]), np.concatenate([visit.rows for visit in visits]))
