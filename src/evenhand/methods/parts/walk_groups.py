"""Walks that make their moves together: where they stand, what they want of where they go, which moves pay; a batch of questions at a time.

Knows nothing of budgets beyond what fits now, and of nobody else's walks.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.contract import Candidates, Task, Verdict
from evenhand.methods.parts.known import Known
from evenhand.methods.parts.move_shares import COLUMN_SECONDS, FindingPace, MoveShares
from evenhand.methods.parts.plausible_walks import PlausibleSet, PlausibleStates, PlausibleStep
from evenhand.methods.parts.screen import Screen, accepted_then, asked_first
from evenhand.synthesis.level_chain import LevelStates
from evenhand.synthesis.level_walks import LevelWalks
from evenhand.synthesis.links import Copies

ROUNDS = 20
"""A budget is spent in so many rounds at least, or nothing could be learnt about the moves."""


@dataclass(frozen=True)
class Surroundings:
    """What all walks of a search share."""

    task: Task
    plausible: PlausibleSet
    known: Known
    screen: Screen | None  # where questions are expensive
    rng: np.random.Generator

    def weights(self, copies: Copies) -> Reals | None:
        """How readily each is asked about; None without a screen that can tell."""
        return self.screen.weights(copies) if self.screen is not None and self.screen.is_ready else None

    def dealt(self, seeds: LevelStates, count: int) -> LevelStates:
        """So many places to begin at, each seed as often as any other."""
        return seeds[self.rng.permutation(len(seeds))[np.arange(count) % len(seeds)]]

    def walks_from(self, seeds: LevelStates, count: int) -> LevelWalks:
        """So many walks that begin there."""
        return LevelWalks(self.plausible.chain, self.dealt(seeds, count))


@dataclass(frozen=True)
class Try:
    """One move of all walks: where it leads those whom it changes, whole rows, and how readily each is asked about."""

    number: int  # of the move
    there: PlausibleStep
    rows: Rows
    weights: Reals | None

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Index) -> Try:
        return Try(self.number, self.there[chosen], self.rows[chosen], None if self.weights is None else self.weights[chosen])


@dataclass(frozen=True)
class Heard:
    """What one batch has told, row by row, and what it cost."""

    rows: Rows
    unfair: Mask
    listed: Mask  # unfair between people whom one can believe in
    new: Mask  # not asked about before
    cost: float

    @property
    def found(self) -> Rows:
        """New findings."""
        return self.rows[self.unfair & self.new]


class Crew:
    """Walks that make their moves together, and how readily each would be asked about where it stands."""

    def __init__(self, walks: LevelWalks, around: Surroundings) -> None:
        self.walks, self._around = walks, around
        self.weigh()

    def __len__(self) -> int:
        return len(self.walks)

    def weigh(self) -> None:
        """Ask the screen."""
        self.weights = self._around.weights(self.walks.states.copies)

    def take_in(self, others: LevelStates) -> None:
        """Some of the walks, drawn by lot, go on from other places."""
        chosen = self._around.rng.permutation(len(self))[: len(others)]
        states = self.walks.states
        states.put(chosen, others, np.arange(len(chosen)))
        self.walks = LevelWalks(self.walks.chain, states)
        self.weigh()


class WalkGroup:
    """Walks that go on to findings, or to findings of plausible pairs alone; what their moves and they have brought for their cost.

    They move in crews, by turns: there are walks for all the places to begin at, and small batches of questions to learn about the moves.
    """

    def __init__(self, around: Surroundings, seeds: LevelStates, count: int, wants_pairs: bool) -> None:
        self.around, self.wants_pairs = around, wants_pairs
        self.stale = 0  # rounds in a row that asked about nobody
        self.set_out(seeds, count)

    def __len__(self) -> int:
        return len(self.crew)

    @property
    def crew(self) -> Crew:
        """Those whose turn it is."""
        return self.crews[0]

    def set_out(self, seeds: LevelStates, count: int) -> None:
        """Begin at these places, in crews of so many, with nothing known of the moves."""
        self.count = count  # of questions in a batch
        crews = -(-len(seeds) // count)
        walks = self.around.dealt(seeds, crews * count)
        self.crews = [self._crew(walks[at::crews]) for at in range(crews)]
        self.stale = 0
        seconds = min(self.around.task.question_seconds, 1.0)
        self.shares = MoveShares(self.around.plausible.chain, max(1, count // ROUNDS), seconds)
        self.pace, self.listed_pace = FindingPace(), FindingPace()  # findings for their cost, and plausible pairs among them

    def _crew(self, states: LevelStates) -> Crew:
        return Crew(LevelWalks(self.around.plausible.chain, states), self.around)

    def grow(self, count: int) -> None:
        """Batches of so many questions, and crews for them, from where the present walks stand."""
        walks = LevelStates.join([crew.walks.states for crew in self.crews])
        self.count = count
        crews = -(-len(walks) // count)
        self.crews = [self._crew(walks[np.arange(at, crews * count, crews) % len(walks)]) for at in range(crews)]

    def round(self) -> Generator[Candidates, Verdict, Heard]:
        """One batch of questions: every walk tries one move after the other from where it stands, until there is enough to ask about; then
        it goes on to one of the places where a finding is."""
        tries = self._fitting(self._tries())
        rows, likelihood = (np.concatenate(told) for told in zip(*((each.rows, each.there.likelihood) for each in tries), strict=True))
        known, before = self.around.known, self.shares.spent
        unfair = yield from known.judge_likely(rows, "walk", likelihood)
        new, listed = known.is_new, known.is_listed
        wanted = listed if self.wants_pairs else unfair
        for each, part in zip(tries, _parts(tries), strict=True):
            self.shares.pay(each.number, len(self), int(new[part].sum()), int((wanted & new)[part].sum()))
        cost = self.shares.spent - before
        self.stale = self.stale + 1 if new.sum() <= 1 else 0
        self.pace.add(int((unfair & new).sum()), cost)
        self.listed_pace.add(int((listed & new).sum()), cost)
        self._go_on(tries, wanted)
        self._learn(tries, wanted, new)
        self.crews.append(self.crews.pop(0))
        return Heard(rows, unfair, listed, new, cost)

    def _tries(self) -> list[Try]:
        """Moves that fill one batch together."""
        tries = [self._tried(self.shares.draw(self.around.rng))]
        while sum(map(len, tries)) < self.count and len(tries) < ROUNDS:
            tries.append(self._tried(self.shares.draw(self.around.rng)))
        return tries

    def _tried(self, number: int) -> Try:
        """Where one move leads; everybody who is drawn afresh is asked about."""
        plausible, rng = self.around.plausible, self.around.rng
        there = plausible.moved(self.crew.walks, self.shares.moves[number], self.wants_pairs, rng)
        weights = self.around.weights(there.step.copies)
        here = self.crew.weights
        if weights is not None and here is not None and number != self.shares.far:
            passed = np.flatnonzero(asked_first(here[there.places], weights, rng))
            there, weights = there[passed], weights[passed]
        return Try(number, there, plausible.likeliest(there.step.rows, there.likelihood), weights)

    def _fitting(self, tries: list[Try]) -> list[Try]:
        """All of it where the budget has room, else so many that nobody has asked about."""
        wanted = sum(map(len, tries))
        if (most := self.around.task.fitting(wanted)) == wanted:
            return tries
        unknown = [~self.around.known.knows(self.around.task.domain.keys(each.rows)) for each in tries]
        if sum(int(mask.sum()) for mask in unknown) <= most:
            return tries
        kept = []
        for each, mask in zip(tries, unknown, strict=True):
            kept.append(each[np.flatnonzero(mask)[:most]])
            most -= len(kept[-1])
        return kept

    def _go_on(self, tries: Sequence[Try], wanted: Mask) -> None:
        """Walks go where a finding is; of several such places to the last."""
        chosen = [self._accepted(each, np.flatnonzero(wanted[part])) for each, part in zip(tries, _parts(tries), strict=True)]
        last = np.full(len(self), -1)
        for at, (each, accepted) in enumerate(zip(tries, chosen, strict=True)):
            last[each.there.places[accepted]] = at
        for at, (each, accepted) in enumerate(zip(tries, chosen, strict=True)):
            going = accepted[last[each.there.places[accepted]] == at]
            if self.crew.weights is not None and each.weights is not None:
                self.crew.weights[each.there.places[going]] = each.weights[going]
            self.crew.walks.go(each.there.step, going)

    def _accepted(self, tried: Try, wanted: Index) -> Index:
        here = self.crew.weights
        if tried.weights is None or here is None or tried.number == self.shares.far:
            return wanted
        return wanted[accepted_then(here[tried.there.places[wanted]], tried.weights[wanted], self.around.rng)]

    def _learn(self, tries: Sequence[Try], wanted: Mask, new: Mask) -> None:
        screen = self.around.screen
        if screen is not None and screen.learn(np.concatenate([each.there.step.copies for each in tries])[new], wanted[new]):
            for crew in self.crews:
                crew.weigh()


class FreshDraws:
    """People drawn as a whole from everybody, so many at a time: they say what is known, and walks go on from those who are findings."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around

    def round(self, count: int, crew: Crew) -> Generator[Candidates, Verdict, Heard]:
        """One batch of questions; the findings take the places of some of a crew's walks."""
        around = self.around
        people = self._fitting(around.plausible.drawn_people(count, around.rng))
        states, known = people.states, around.known
        rows = around.plausible.likeliest(states.rows, people.likelihood)
        unfair = yield from known.judge_likely(rows, "fresh draws", people.likelihood)
        new = known.is_new
        asking = min(around.task.question_seconds, 1.0) * int(new.sum())
        cost = asking + COLUMN_SECONDS * len(rows) * len(around.plausible.chain.trees.order)
        if around.screen is not None:
            around.screen.learn(states.copies[new], unfair[new])
        if unfair.any():
            crew.take_in(states[unfair])
        return Heard(rows, unfair, known.is_listed, new, cost)

    def _fitting(self, people: PlausibleStates) -> PlausibleStates:
        """All of them where the budget has room, else the first so many with whom it is spent; what is known of these holds for all."""
        if (most := self.around.task.fitting(len(people.states))) == len(people.states):
            return people
        unknown = ~self.around.known.knows(self.around.task.domain.keys(people.states.rows))
        return people[np.flatnonzero(np.cumsum(unknown) <= most)]


class Turns:
    """Whose turn it is, where each of several is to have its share of what is spent.

    >>> turns, taken = Turns(), []
    >>> for _ in range(6):
    ...     taken.append(turns.next({"walks": 2.0, "draws": 1.0}))
    ...     turns.spend(1.0)
    >>> taken
    ['walks', 'draws', 'walks', 'draws', 'walks', 'walks']
    """

    def __init__(self) -> None:
        self._owed: dict[str, float] = {}
        self._shares: dict[str, float] = {}
        self._last = ""

    def next(self, shares: dict[str, float]) -> str:
        """Who has most to get, with such shares from now on."""
        self._shares = shares
        self._last = max(shares, key=lambda name: (self._owed.get(name, 0.0), shares[name]))
        return self._last

    def spend(self, cost: float) -> None:
        """Book what the last turn has cost."""
        whole = sum(self._shares.values())
        for name, share in self._shares.items():
            self._owed[name] = self._owed.get(name, 0.0) + cost * share / whole - cost * (name == self._last)


def _parts(tries: Sequence[Try]) -> list[slice]:
    """Where each of them lies in all together."""
    ends = np.cumsum([len(each) for each in tries]).tolist()
    return [slice(end - len(each), end) for each, end in zip(tries, ends, strict=True)]
