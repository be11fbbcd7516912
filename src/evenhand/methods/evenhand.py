"""Evenhand: draw from the population restricted to findings.

Paper: none; it is what `scan` uses when no method is named.

The population is learnt from the data as a chain of trees.  A person counts as plausible who is not among the unlikeliest fifth of its
draws, and not among the fifth whose cells go together least; who is nearly as likely as the middle of them is plausible in any case.  A
finding is plausible where two such people who differ in the protected values alone show it; the likelier one of the two is called the
person.  What is sought is the population restricted to plausible findings; what is unfair only between others is set aside.

1. Seeds.  Real rows are judged; where they hold too few findings, fresh draws of the population are judged too.  Only where the
   plausible holds no finding at all is the rest of the domain looked at: then, and only then, may findings be implausible, and the
   run's facts say so.  As long as there are fewer seeds than wished, a sixth of what
   is spent goes into such draws beside the walks: what is rare may be met by one of them alone.  Walks go on from whom they find.
2. Walks.  Thousands of walks stand on findings, and move in crews by turns, so that batches are small and much is learnt of the moves.  A
   move draws one column again, near or far, or all columns from one on, by the population's own levels.  Moves are made from where the
   walks stand until there is enough to ask about at once; a new place that is a finding is where a walk goes on, of several the last.
   Two groups of walks take turns, each as often as it brings findings for its cost: one wants plausible pairs, the other everybody who
   is treated so.  The first one's findings are dense, the second one's are spread as the affected people are, over all rules by which
   a model treats people differently; what they come by is listed where the pair is plausible, and set aside elsewhere.  Half a crew of
   walks more makes any move as often as any other, at a tenth of the others' cost, and what it learns of the moves is learnt by all.  Such
   moves leave the population as it is, so that the limit of these walks is the population restricted to findings: where they stand is a
   sample of everybody who is treated so.  Nobody is asked about twice; known findings are walked through for nothing.
3. Where a question is expensive, cheap trees screen the proposals, with delayed acceptance, which leaves that limit as it is.  Moves that
   bring more new findings for their cost are made more often, which changes the speed of the walks and not their limit.

How much of it is known is told by fresh draws: the share of the affected ones among them who are in the list already.  Where that is
about nine tenths, or walks that go to anybody come by more plausible pairs for their cost, or by five times as many people of any kind,
all walks go to anybody, and set out again from the sample and from those who were found last.  Where nearly all of the population's
affected people are known, the search ends.

With `anybody` none of this is done: walks over the findings of the whole domain change one cell at a time, and those that lose their
finding go on from one that did not.  That lists the most in a second, and hardly anybody who could exist.

No choice sees the clock: costs are declared, or measured once before the run and kept with it.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.arrays import Index, Rows
from evenhand.contract import Candidates, Model, Search, Task, Verdict
from evenhand.limits import Count, Share, ShareAboveZero, check_limits
from evenhand.methods.parts.known import Known
from evenhand.methods.parts.known_share import KnownShare
from evenhand.methods.parts.latent_at_hand import rows_in_time
from evenhand.methods.parts.patience import PATIENCE
from evenhand.methods.parts.plausible_walks import PlausibleSet, PlausibleStates, has_pair
from evenhand.methods.parts.roaming import Roaming, anywhere
from evenhand.methods.parts.screen import Screen
from evenhand.methods.parts.walk_groups import ROUNDS, FreshDraws, Heard, Surroundings, Turns, WalkGroup
from evenhand.synthesis.level_chain import LevelChain, LevelStates

EXPENSIVE_SECONDS = 30e-6
"""A question that takes less is asked rather than screened: the trees would take as long.  On Cleveland, at 18 microseconds, a screen took
a tenth of the findings; on bank with a forest, at about 25, it changed nothing."""


@dataclass(frozen=True)
class Evenhand:
    """Walks over the plausible findings.

    walks: how many walks advance together
    seeds: how many findings are looked for before walking, people in the sample at most, and verdicts from which on a screen is grown
    seed_share: of the budget at most this share goes into looking for them; of its seconds at most twice this share into learning
    learnt_cells: how many cells of the data, rows times columns, the population is learnt from at most; a domain of fewer people than
        such rows is judged whole
    too_rare: the share of the population that is unlikeliest, and as large a share whose cells go together least, given how common each
        of them is by itself; neither counts as plausible
    anybody: list everybody, plausible or not, and learn no population: for whoever wants the most findings of any kind
    """

    walks: Count = 8192
    seeds: Count = 4096
    seed_share: ShareAboveZero = 0.1
    learnt_cells: Count = 168_000
    too_rare: Share = 0.2
    anybody: bool = False

    needs: ClassVar[type] = Model

    def __post_init__(self) -> None:
        check_limits(self)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Find seeds, then walk until the budget ends or nothing new is left; a small domain is looked at whole."""
        if (whole := everybody(task, self._rows(task))) is not None:
            task.facts["enumerated"] = f"all {len(whole):,} possible inputs were judged"
            yield Candidates(whole, "everybody")
            return
        if self.anybody:
            yield from self._roam(task, rng)
            return
        plausible = PlausibleSet.drawn(self._chain(task, rng), self, rng)
        plausible = plausible if task.population is not None or has_rows(task) else plausible.everything()
        seeking = Seeking(task, plausible, self, rng)
        yield from seeking.look()
        while not seeking.found and seeking.stale < PATIENCE and task.fitting(1):
            yield from seeking.look_everywhere()
        if seeking.found:
            yield from Walking(seeking, self).go()
        elif task.fitting(1):
            task.facts["stopped"] = "every row that could be reached is known, and none of them is unfair"

    def _roam(self, task: Task, rng: np.random.Generator) -> Search:
        """Findings of any kind: look for some, then change one cell after the other."""
        task.facts["plausible"] = "nobody was asked to be plausible, as the method was told"
        known, stale = Known(task), 0
        while stale < PATIENCE and (n := task.fitting(ROUNDS * self.walks) // ROUNDS or task.fitting(1)):
            rows, before = some_rows(task, n, rng), len(known)
            unfair = yield from known.judge(rows, "seeds")
            if unfair.any():
                count = max(1, task.fitting(ROUNDS * self.walks) // ROUNDS)
                yield from Roaming(rows[unfair][np.arange(count) % unfair.sum()], task, known, rng).go(ROUNDS)
                return
            stale = stale + 1 if len(known) - before <= 1 else 0

    def _chain(self, task: Task, rng: np.random.Generator) -> LevelChain:
        """The population, learnt once where the work is shared out."""
        chain: LevelChain = task.once(f"level chain {self!r}", rng, lambda own: self._learnt(task, own))
        return chain

    def _learnt(self, task: Task, rng: np.random.Generator) -> LevelChain:
        """The population, learnt from real rows, else from a sample of the one that was brought along, else from the whole domain."""
        until = task.deadline.part(min(1.0, 2 * self.seed_share))
        n = min(self._rows(task), rows_in_time(until, len(task.domain.columns)))
        if task.population is not None:
            rows = task.population.sample(n, rng)
        elif has_rows(task) and task.rows is not None:
            rows = task.rows[rng.permutation(len(task.rows))[:n]]
        else:
            task.facts["plausible"] = "no data was given: every row of the domain counts as plausible"
            rows = task.domain.sample(n, rng)
        chain = LevelChain.fit(rows, task.domain, rng, until)
        if chain.trees.cut:
            task.facts["population"] = chain.trees.cut
        return chain

    def _rows(self, task: Task) -> int:
        """How many rows the population is learnt from."""
        return max(1, self.learnt_cells // len(task.domain.columns))


class Seeking:
    """Judges real rows and fresh draws until there is something to walk from."""

    def __init__(self, task: Task, plausible: PlausibleSet, method: Evenhand, rng: np.random.Generator) -> None:
        self.task, self.plausible, self.method, self.rng = task, plausible, method, rng
        self.known, self.screen = Known(task), Screen(task.domain, method.seeds)
        self.is_expensive = task.question_seconds > EXPENSIVE_SECONDS
        self.states: list[LevelStates] = []  # findings to walk from
        self.listed: list[LevelStates] = []  # those of them that plausible people show
        self.looked = self.stale = 0

    @property
    def found(self) -> int:
        """How many findings there are to walk from."""
        return sum(map(len, self.states))

    def look(self) -> Search:
        """Real rows, then fresh draws, within the share of the budget."""
        real, left = self._real(), self.task.left()
        while self.found < self.method.seeds and self.stale < PATIENCE and (n := self._room(left)):
            places, real = real[:n], real[n:]
            if len(places) and self.task.rows is not None:
                yield from self._judge(self.plausible.real(self.task.rows[places], self.rng), "real rows")
            else:
                yield from self._judge(self.plausible.drawn_people(n, self.rng), "fresh draws")

    def _room(self, left: float) -> int:
        """How many more rows may be looked at, of the share of the budget that was left at the beginning."""
        if self.task.left() <= left * (1.0 - self.method.seed_share):
            return 0
        share = max(1, int(self.method.seed_share * self.task.fitting(int(self.method.walks / self.method.seed_share))))
        return min(self.method.walks, share, self.task.fitting(self.method.walks))

    def look_everywhere(self) -> Search:
        """Plausible rows in turns with rows from anywhere in the domain."""
        yield from self._judge(self.plausible.fresh(self.some(ROUNDS), self.rng), "fresh draws")
        if self.found or not self.task.fitting(1):
            return
        self.task.facts["scouted_whole_domain"] = True
        self.plausible = self.plausible.everything()
        yield from self._judge(self.plausible.real(anywhere(self.task, self.some(ROUNDS), self.rng), self.rng), "whole domain")

    def some(self, rounds: int) -> int:
        """As many rows as go into one of so many rounds of what is left, but not too few to be worth a call."""
        least = self.task.fitting(max(1, self.method.seeds // ROUNDS))
        return max(least, self.task.fitting(rounds * self.method.walks) // rounds)

    def _real(self) -> Index:
        """The places of real rows in random order; none where the task brings none.  A long table is not copied."""
        rows = self.task.rows
        return self.rng.permutation(0 if rows is None else len(rows))

    def _judge(self, people: PlausibleStates, phase: str) -> Search:
        inside = self.task.domain.contains(people.states.rows)
        people = people if inside.all() else people[np.flatnonzero(inside)]
        states, before = people.states, len(self.known)
        unfair = yield from self.known.judge_likely(states.rows, phase, people.likelihood)
        self.stale = self.stale + 1 if len(self.known) - before <= 1 else 0
        self.looked += len(states)
        if self.is_expensive:
            self.screen.learn(states.copies, unfair)
        if unfair.any():
            self.states.append(states[unfair])
            self.listed.append(states[self.known.is_listed])


class Walking:
    """Two groups of walks, over plausible pairs and over all findings, and a few more that are the sample."""

    def __init__(self, seeking: Seeking, method: Evenhand) -> None:
        self.task, self.plausible, self.known, self.rng = seeking.task, seeking.plausible, seeking.known, seeking.rng
        self.around = Surroundings(self.task, self.plausible, self.known, seeking.screen if seeking.is_expensive else None, self.rng)
        # At least one, also where the seeds took the whole budget: nobody walks then, but crews of nobody cannot be dealt out.
        self.most, self.count = method.walks, max(1, min(method.walks, seeking.some(2 * ROUNDS)))
        seeds, listed = LevelStates.join(seeking.states), LevelStates.join(seeking.listed)
        self.wide = WalkGroup(self.around, seeds, self.count, wants_pairs=False)
        has_pairs = len(listed) > 0 and not self.plausible.is_everything
        self.pairs = WalkGroup(self.around, listed, self.count, wants_pairs=True) if has_pairs else None
        self.sampling = self.around.walks_from(seeds, min(len(seeds), method.seeds, max(1, self.count // 2)))
        self.fresh, self.turns = FreshDraws(self.around), Turns()
        self.latest: list[Rows] = []  # who was found last
        self.owed = 0.0  # what the sample's walks may cost until they have had their share
        self.task.sample = self.sampling.states.rows
        self.seeds_missing = method.seeds - seeking.found
        self.known_share = KnownShare(max(1, method.seeds // 2))
        self.known_people = replace(self.known_share)  # the same for everybody affected, plausible or not
        self.told = 0  # affected people who were drawn afresh in the last of all rounds

    def go(self) -> Search:
        """Round after round, until the budget is spent, everybody affected is known, or nothing new turns up."""
        left = 1.0
        while self.task.fitting(1) and self.wide.stale < PATIENCE:
            self._double(left - self.task.left())
            left = self.task.left()
            turn = "fresh" if self._is_last_chance else self.turns.next(self._shares)
            heard = yield from self._round(turn)
            self.turns.spend(heard.cost)
            self._note(heard, turn == "fresh")
            for _ in range(ROUNDS // 2):  # not for ever: a move that asks about nobody costs next to nothing
                if self.owed > 0 and self.task.fitting(len(self.sampling)) == len(self.sampling):
                    yield from self._sample()
            if self.pairs is not None and self._is_time_for_others:
                self._leave_pairs()
            if turn == "fresh" and self.pairs is None and self.known_people.is_nearly_all and not self.plausible.is_everything:
                self.task.facts["stopped"] = f"{self.known_share.sentence}: there is little left to find among them"
                return
        if self.wide.stale >= PATIENCE and self.task.fitting(self.count) == self.count:
            self.task.facts["stopped"] = "hardly any new row can be reached from the findings: the plausible ones are known"

    def _round(self, turn: str) -> Generator[Candidates, Verdict, Heard]:
        """One batch of questions."""
        if turn == "fresh":
            return self.fresh.round(self.count, self.wide.crew)
        return self.pairs.round() if turn == "pairs" and self.pairs is not None else self.wide.round()

    @property
    def _shares(self) -> dict[str, float]:
        """Of what is spent, a sixth goes to fresh draws as long as there are too few seeds, since each may be the only one of its kind, and
        afterwards a twentieth as much as to walks, to say what is known.  Walks over plausible pairs and over everybody share the rest
        as they bring findings for their cost."""
        fresh = 1.0 if self.seeds_missing > 0 else 5.0 / ROUNDS
        if self.pairs is None:
            return {"wide": 5.0, "fresh": fresh}
        share = self.pairs.pace.share_beside(self.wide.pace)
        return {"pairs": 5.0 * share, "wide": 5.0 * (1.0 - share), "fresh": fresh}

    @property
    def _is_time_for_others(self) -> bool:
        """Whether walks over pairs are no longer worth it: nobody new is reached, about nine tenths are known, or walks that go to anybody
        come by more of them for their cost, or by several times as many people of any kind."""
        assert self.pairs is not None
        pairs, wide, rounds = self.pairs, self.wide, ROUNDS // 2
        is_known = self.known_share.is_nine_tenths(self.known_share.remembered // ROUNDS)
        is_slow = pairs.listed_pace.falls_behind(wide.listed_pace, rounds) or pairs.pace.falls_behind(wide.pace, rounds, ROUNDS // 4)
        return pairs.stale >= PATIENCE or is_known or is_slow

    def _leave_pairs(self) -> None:
        """All walks go to anybody from now on.  They set out again from the sample, as around the pairs there may be nobody else, and from
        those who were found last, each once: many walks from one place come by the same people."""
        self.pairs = None
        latest = self.plausible.chain.encoded(np.concatenate(self.latest), self.rng)
        self.wide.set_out(LevelStates.join([self.sampling.states, latest]), self.count)
        self.known_share.forget(self.known_share.remembered // ROUNDS)  # the list has grown: later draws say more

    def _double(self, taken: float) -> None:
        """Twice as many walks, where the budget has room for enough rounds of them.  Of time the last round has taken such a share,
        however many of its people were known; questions are counted."""
        more = min(2 * self.count, self.most)
        if more == self.count:
            return
        is_timed = self.task.deadline.is_set and taken > 0
        rounds = 4 * ROUNDS
        if self.task.left() < rounds * taken if is_timed else self.task.fitting(rounds * more) < rounds * more:
            return
        self.count = more
        for group in (self.wide, self.pairs):
            if group is not None:
                group.grow(more)

    @property
    def _is_last_chance(self) -> bool:
        """Whether what is known must be told now: from the last of all rounds on, as often as it takes to be sure."""
        return self.told < self.known_share.remembered and self.task.left() <= 1 / ROUNDS

    def _sample(self) -> Search:
        """One move, any as often as any other, of the walks that may go to everybody who is treated so."""
        number = int(self.rng.integers(len(self.wide.shares.moves)))
        there = self.plausible.moved(self.sampling, self.wide.shares.moves[number], False, self.rng)
        unfair = yield from self.known.judge_likely(there.step.rows, "walk", there.likelihood)
        self.sampling.go(there.step, np.flatnonzero(unfair))
        new = self.known.is_new
        self.owed -= self.wide.shares.price(number, len(self.sampling), int(new.sum()))
        self.wide.shares.learn(number, len(self.sampling), int(new.sum()), int((unfair & new).sum()))
        if self.pairs is not None:
            paired = new & has_pair(there.likelihood)
            self.pairs.shares.learn(number, len(self.sampling), int(paired.sum()), int((self.known.is_listed & paired).sum()))
        self._remember(there.step.rows[unfair & new])

    def _note(self, heard: Heard, is_fresh: bool) -> None:
        """Who was found, what the sample's walks may cost for it, and how many of those drawn afresh were known."""
        self._remember(heard.found)
        self.owed += heard.cost / (ROUNDS // 2)
        if not is_fresh:
            return
        listed, unfair, known = heard.listed, heard.unfair, ~heard.new
        self.wide.stale = 0 if heard.new.sum() > 1 else self.wide.stale
        self.seeds_missing -= int((unfair & heard.new).sum())
        self.known_share.add(int((listed & known).sum()), int(listed.sum()))
        self.known_people.add(int((unfair & known).sum()), int(unfair.sum()))
        self.told += int(listed.sum()) if self.task.left() <= 1 / ROUNDS else 0
        if self.known_share.share is not None:
            self.task.facts["known_share"] = round(self.known_share.share, 3)
            self.task.facts["known"] = self.known_share.sentence

    def _remember(self, found: Rows) -> None:
        """Keep as many of those who were found last as there may be walks, or a few more."""
        self.latest.append(found)
        while sum(map(len, self.latest[1:])) >= self.most:
            del self.latest[0]


def has_rows(task: Task) -> bool:
    """Whether the task brings real rows."""
    return task.rows is not None and len(task.rows) > 0


def everybody(task: Task, most: int) -> Rows | None:
    """Every possible person of a small domain that the budget allows to judge whole, under one protected combination each."""
    domain = task.domain
    columns = [domain.columns[at] for at in domain.free_places]
    count = math.prod(float(column.cardinality or math.inf) + (column.missing > 0) for column in columns)  # infinite for wide ones
    if count > most or task.fitting(int(count)) < count:
        return None
    values = [np.append(np.arange(c.lowest, c.highest + 1), [np.nan] * (c.missing > 0)) for c in columns]
    rows = np.empty((int(count), len(domain.columns)))
    rows[:, list(domain.free_places)] = np.stack([grid.ravel() for grid in np.meshgrid(*values, indexing="ij")], axis=1)
    rows[:, list(domain.protected_places)] = domain.combinations[0]
    possible = domain.twins(rows).valid.any(axis=0) & domain.inside(rows)
    return rows[possible]


def some_rows(task: Task, n: int, rng: np.random.Generator) -> Rows:
    """Real rows inside the domain where there are any, and as many from anywhere."""
    rows = anywhere(task, n, rng)
    if has_rows(task) and task.rows is not None:
        real = task.rows[rng.integers(len(task.rows), size=max(1, n // 2))]
        rows = np.concatenate([real[task.domain.contains(real)], rows])[:n]
    return rows
