"""Evenhand: scout among plausible people, learn where the model decides, then walk from finding to finding without leaving the plausible.

Paper: none; it combines what the published methods are best at, and is what `scan` uses when no method is named.

Why it works.  Unfair inputs lie together, along stretches of the model's decision boundary, so one finding is the best clue to the
next (ADF, EIDIG, NeuronFair walk from findings too, but leave the plausible within a few steps); plausible people are the rows that
a population decodes from normal latents (LIMI's insight), so whoever moves in the latents stays plausible however far he walks.

1. Scouting.  Real rows are judged, then samples of the population.  From some of their scores an additive guess of the model is
   fitted (one table per column), and from the verdicts the chance of a finding at each guessed lead; from then on a model that is
   expensive to ask is asked about the most promising of several samples.  Where the plausible holds no finding at all, the rest of the
   domain is scouted too: then, and only then, may findings be implausible, and the run's facts say so.
2. Walking.  Every walk stands on a finding.  A move draws one latent coordinate again, nearer or farther; a balanced move draws a
   second one as well, several times, and takes the draw that brings the guessed scores back to where they were: on a narrow
   stretch of boundary a single step always falls off, and two that cancel do not.  A new place that is a finding is where the walk goes on.
   Nobody is asked about twice; known findings are walked through for nothing.
3. Sharing the budget.  Each move and further scouting are arms of one bandit, paid by new findings per cost, scouting with a share
   that it never falls below, larger where findings are rare: walks alone would stay near where they began.  Every so often walks
   leave the regions that hold more than their share of walks for findings in the regions that hold fewer, so that one large
   region does not take everything.  Regions are leaves of a tree that tells the scouted findings from the rest.  Where asking is
   expensive, only the third of the proposals that is worth most is asked about: the chance of a finding, as a tree guesses it from the
   verdicts so far, divided by the root of how many findings its region has brought.

No arm sees the clock: the same header gives the same findings.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Keys, Mask, Reals, Rows
from evenhand.contract import Candidates, Differentiable, Model, Search, Task, Verdict
from evenhand.limits import Count, Share, ShareAboveZero, check_limits
from evenhand.methods.chains import links_after
from evenhand.methods.parts.arms import LEAST_COST, Arms, Move
from evenhand.methods.parts.hunches import Hunches, best_places
from evenhand.methods.parts.known import Known
from evenhand.methods.parts.latent_at_hand import space_named
from evenhand.methods.parts.margins import AdditiveMargins, Chances
from evenhand.methods.parts.regions import Regions
from evenhand.synthesis.latent import Encoding, Latents, LatentSpace

FIRST_LOOK = 4096
LOOKED_AT_ONCE = 2048
"""Real rows that are judged first, and samples that are judged together afterwards."""

GUESSED_FROM = 2048
GUESS_SHARE = 0.05
"""Scores that the guess is fitted to, and the share of the budget that they may take at most."""

FEWEST_LEARNT_FROM, MOST_LEARNING = 2000, 2_400_000
"""A wide table is learnt from fewer rows: the time to learn grows with rows times columns squared."""

FEWEST_GUESSED_FROM = 100
DEAR_SEEDS = 4
"""An expensive model is scouted for so many times fewer findings before the walks begin."""

ENOUGH, ENOUGH_LOOKED = 64, 4096
ENOUGH_CHEAP, ENOUGH_LOOKED_CHEAP = 256, 8192
"""Where findings are rare, so many among so many rows are enough to begin walking; more where asking costs little."""

PICKED_FROM = 4
"""Fresh samples of which an expensive model is asked about the most promising one; a cheap one is asked about them all."""

DRAWS = 4
"""Draws of the second coordinate of a balanced move."""

STALE_ROUNDS = 48
STALE_SHARE = 0.002
"""A search that for so many rounds sees fewer new rows than this share of its walks has seen what it can reach."""

ROUNDS = 10
FEWEST_WALKS = 512
"""So many rounds of at least so many walks, or the bandit would have no time to learn."""

REBALANCED_EVERY = 4
MOST_POOLED = 65_536

SCOUTS_SHARE = 0.15
DEAR_SCOUTS_SHARE = 0.4
COMMONNESS = 3.0
"""At least this share of the moves looks for places where nobody has been: more with an expensive model, since what is proposed costs
little there and only the best third is asked about; less the commoner findings are, by this power of the share of fair people."""

SCOUTS_BOLDNESS = 1.8
"""How much wider than the population these samples are drawn: its usual people have been met before."""

AT_AN_END = 0.5
"""How often a cell lies at an end of its range, among the rows that are scouted at the ends of the domain."""

SATIETY = 0.5
"""How fast a question loses worth with the findings that its region has already brought: 0 not at all, 1 in proportion."""

BOLDER = 0.6
"""How much wider a coordinate is drawn when everything proposed is known: rarer people, once the usual ones have been asked about."""

ASKED_SHARE = 0.33
"""Of the moves of a round, how many an expensive model is asked about: those with the best chances."""

CHEAP, DEAR = LEAST_COST, 40.0
"""What judging one candidate costs in units of one decoded column: a network in this process, and any other model."""


@dataclass(frozen=True)
class Evenhand:
    """Scouting and walking, shared out by a bandit.

    space: the latent space of plausible people, see `parts.latent`; without any data, the whole domain counts as plausible
    walks: how many walks advance together
    seeds: how many findings are scouted for before walking; a quarter of them where asking the model is expensive
    learnt_from: how many rows of the data the space is learnt from at most
    scout_share: of the budget at most this share goes into scouting before the first walk, if anything at all was found
    reaches: how far a coordinate moves, from 0 (not at all) to 1 (drawn again)
    favour: 0 makes all moves alike often, 1 in proportion to what each of them has brought
    """

    space: str = "chained-trees"
    walks: Count = 8192
    seeds: Count = 2048
    learnt_from: Count = 12_000
    scout_share: ShareAboveZero = 0.2
    reaches: tuple[ShareAboveZero, ...] = (0.5, 1.0)
    favour: Share = 0.9

    needs: ClassVar[type] = Model

    def __post_init__(self) -> None:
        check_limits(self)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Scout until there is something to walk from, then walk and scout until the budget ends or nothing new is left."""
        scout = Scout(task, self._plausible(task, rng), rng)
        yield from scout.look(
            self.seeds if scout.is_cheap else self.seeds // DEAR_SEEDS, max(1, int(self.scout_share * task.fitting(1 << 40)))
        )
        while not scout.found and scout.stale < STALE_ROUNDS and task.fitting(1):
            yield from scout.look_everywhere()
        if scout.found:
            yield from Walks(scout, self).go()
        elif task.fitting(1):
            task.facts["stopped"] = "every row that could be reached is known, and none of them is unfair"

    def _plausible(self, task: Task, rng: np.random.Generator) -> LatentSpace:
        """The space of plausible people; learnt from uniform rows where there is no data, which the run's facts then say."""
        if task.rows is not None and len(task.rows):
            most = max(FEWEST_LEARNT_FROM, min(self.learnt_from, MOST_LEARNING // len(task.domain.columns) ** 2))
            few = task.rows if len(task.rows) <= most else task.rows[rng.permutation(len(task.rows))[:most]]
            return space_named(self.space, replace(task, rows=few, labels=None), rng)
        if task.population is not None:
            return space_named(self.space, task, rng)
        from evenhand.synthesis.chained_trees import ChainedTrees

        task.facts["plausible"] = "no data was given: every row of the domain counts as plausible"
        return ChainedTrees.fit(task.domain.sample(self.learnt_from, rng), task.domain, rng)


class Scout:
    """Judges plausible rows, and learns from the verdicts where the next finding may be."""

    def __init__(self, task: Task, space: LatentSpace, rng: np.random.Generator) -> None:
        self.task, self.space, self.rng = task, space, rng
        self.known = Known(task)
        self.pool = np.empty((0, space.latent_size))  # latents of findings
        self.pooled = np.empty((0, len(task.domain.columns)))  # and their rows
        self.rows: list[Rows] = []
        self.unfair: list[Mask] = []
        self.margins: AdditiveMargins | None = None
        self.chances: Chances | None = None
        self.is_cheap = isinstance(task.model.model, Differentiable)
        self.enough = (ENOUGH_CHEAP, ENOUGH_LOOKED_CHEAP) if self.is_cheap else (ENOUGH, ENOUGH_LOOKED)
        self.stale = 0

    @property
    def found(self) -> int:
        """How many findings there are to walk from."""
        return len(self.pool)

    def look(self, seeds: int, limit: int) -> Search:
        """Real rows, plain samples, then promising ones, until there are enough findings or the limit is reached."""
        yield from self._look_at_real(min(FIRST_LOOK, limit))
        self._learn()
        while self.found < seeds and not self._is_enough() and self.stale < STALE_ROUNDS:
            if (n := min(LOOKED_AT_ONCE, limit - len(self.known), self.task.fitting(LOOKED_AT_ONCE))) <= 0:
                return
            yield from self.judge(*self.promising(n), "scouting")
            self._learn()

    def look_everywhere(self) -> Search:
        """Plausible rows in turns with rows from anywhere in the domain."""
        yield from self.judge(*self.promising(LOOKED_AT_ONCE), "scouting")
        if self.found or not self.task.fitting(1) or not isinstance(self.space, Encoding):
            return
        yield from self.judge(None, self._anywhere(LOOKED_AT_ONCE), "whole domain")
        self.task.facts["scouted_whole_domain"] = True

    def judge(self, latents: Latents | None, rows: Rows, phase: str) -> Search:
        """Ask about the rows that the budget allows, and keep the findings' latents; those of given rows are found afterwards."""
        rows = rows[: self.task.fitting(len(rows))]
        before = len(self.known)
        unfair = yield from self.known.judge(rows, phase)
        self.stale = self.stale + 1 if len(self.known) - before <= STALE_SHARE * len(rows) else 0
        if unfair.any():
            found = self._encoded(rows[unfair]) if latents is None else latents[: len(rows)][unfair]
            self.pool = np.concatenate([self.pool, found])[-MOST_POOLED:]
            self.pooled = np.concatenate([self.pooled, rows[unfair]])[-MOST_POOLED:]
        self.rows.append(rows)
        self.unfair.append(unfair)

    def _encoded(self, rows: Rows) -> Latents:
        assert isinstance(self.space, Encoding)
        return self.space.encode(rows, self.rng)

    def promising(self, n: int) -> tuple[Latents, Rows]:
        """Plain samples; for an expensive model, of several each, the one whose guessed scores were most often those of a finding."""
        if self.chances is None or self.margins is None:
            return self.plain(n)
        latents, rows = self.plain(n * PICKED_FROM)
        chances = self.chances(self.margins.lead(rows)).reshape(n, PICKED_FROM)
        best = np.argmax(chances, axis=1) + np.arange(n) * PICKED_FROM
        return latents[best], rows[best]

    def plain(self, n: int, boldness: float = 1.0) -> tuple[Latents, Rows]:
        """Fresh samples of the population, or of a wider one."""
        latents = boldness * self.space.latents(n, self.rng)
        return latents, self.space.decode(latents)

    def _anywhere(self, n: int) -> Rows:
        """Rows of the whole domain, every second one with some of its cells at an end of their range: what is odd is often odd there."""
        domain = self.task.domain
        rows = domain.sample(n, self.rng)
        odd = rows[::2]
        end = np.where(self.rng.random(odd.shape) < 0.5, domain.low, domain.high)
        extreme = np.where((self.rng.random(odd.shape) < AT_AN_END) & ~np.isnan(odd), end, odd)
        valid = domain.contains(extreme)
        rows[::2][valid] = extreme[valid]
        return rows

    def _look_at_real(self, n: int) -> Search:
        """Real people, whom nobody has to draw; plain samples where there are none, or no way from a row to its latent."""
        real = self.task.rows
        if real is None or not len(real) or not isinstance(self.space, Encoding):
            yield from self.judge(*self.plain(n), "scouting")
            return
        rows = real[self.rng.permutation(len(real))[:n]]
        yield from self.judge(None, rows[self.task.domain.contains(rows)], "real rows")

    def _is_enough(self) -> bool:
        return self.found >= self.enough[0] and sum(map(len, self.rows)) >= self.enough[1]

    def _learn(self) -> None:
        """Guess scores from a few, once, and for an expensive model the chances at each guessed lead from all verdicts so far."""
        rows, unfair = np.concatenate(self.rows), np.concatenate(self.unfair)
        if self.margins is None:
            n = min(GUESSED_FROM, len(rows), int(GUESS_SHARE * self.task.fitting(1 << 40)))
            if n < FEWEST_GUESSED_FROM:
                return
            chosen = rows[self.rng.permutation(len(rows))[:n]]
            self.margins = AdditiveMargins.fit(chosen, self.task.model.scores(chosen), self.task.domain)
        if unfair.any() and not self.is_cheap:
            self.chances = Chances.count(self.margins.lead(rows), unfair)

    def share_of_fair(self) -> float:
        """Among the scouted rows."""
        return 1.0 - float(np.concatenate(self.unfair).mean())

    def regions(self) -> Regions:
        """What the scouted rows say about where findings lie."""
        return Regions.fit(np.concatenate(self.rows), np.concatenate(self.unfair), self.task.domain)


class Walks:
    """Many walks over findings, and the bandit that shares the budget between their moves and further scouting."""

    def __init__(self, scout: Scout, method: Evenhand) -> None:
        self.scout, self.task, self.space, self.rng = scout, scout.task, scout.space, scout.rng
        self.asking = (CHEAP if scout.is_cheap else DEAR) * len(self.task.domain.combinations) / 2
        rounds = int(self.task.fitting(ROUNDS * method.walks) / ROUNDS / (1.0 if scout.is_cheap else ASKED_SHARE))
        self.count = min(method.walks, max(FEWEST_WALKS, rounds))
        scouts = (SCOUTS_SHARE if scout.is_cheap else DEAR_SCOUTS_SHARE) * scout.share_of_fair() ** COMMONNESS
        self.arms = Arms(self._moves(method.reaches), method.favour, scouts)
        self.regions = scout.regions()
        self.brought = np.zeros(self.regions.count)
        self.boldness = 1.0
        self.hunches = Hunches(self.task.domain)
        if not scout.is_cheap:
            self.hunches.learn(np.concatenate(scout.rows), np.concatenate(scout.unfair))
        starts = self.rng.permutation(scout.found)[np.arange(self.count) % scout.found]
        self.here, self.rows = scout.pool[starts], scout.pooled[starts]

    def _moves(self, reaches: tuple[float, ...]) -> list[Move]:
        links = links_after(self.space)
        size = self.space.latent_size
        moves = [Move("step", at, reach, links[at]) for reach in reaches for at in range(size)]
        if self.scout.margins is not None and size > 1:
            moves += [Move("balance", at, 1.0, DRAWS * links.mean()) for at in range(size)]
        return [*moves, Move("scout", 0, 1.0, float(len(links)))]

    def go(self) -> Search:
        """Round after round, until the budget is spent or nothing new turns up."""
        rounds = stale = 0
        while self.task.fitting(1) and stale < STALE_ROUNDS:
            drawn = self.arms.draw(self.count, self.rng, alike=self.scout.is_cheap)
            new = yield from self._round(drawn)
            stale = stale + 1 if new <= STALE_SHARE * self.count else 0
            rounds += 1
            if rounds % REBALANCED_EVERY == 0:
                self._rebalance()
        self.task.facts["moves"] = self.arms.summary()
        if stale >= STALE_ROUNDS and self.task.fitting(self.count) == self.count:
            self.task.facts["stopped"] = "hardly any new row can be reached from the findings: the plausible ones are known"

    def _round(self, drawn: Index) -> Generator[Candidates, Verdict, int]:
        """Every walk tries one move; says how many rows were new."""
        latents, there = self._proposals(drawn)
        keys = self.task.domain.keys(there)
        heard = self._affordable(self._worth_hearing(there, keys), keys)
        unfair = yield from self.scout.known.judge_keyed(taken(there, heard), taken(keys, heard), "walk")
        new = self.scout.known.is_new
        led_on = heard[unfair]
        self.here[led_on], self.rows[led_on] = latents[led_on], there[led_on]
        self.arms.pay(drawn, (heard[new], heard[new & unfair]), self.asking)
        if self.scout.is_cheap:
            self._embolden(1.0 - new.sum() / max(len(new), 1))
        else:
            self._learn(there[heard[new]], unfair[new])
        return int(new.sum())

    def _affordable(self, heard: Index, keys: Keys) -> Index:
        """What the budget still allows, which is all of it but for the last round; what is known then no longer matters."""
        if (fitting := self.task.fitting(len(heard))) == len(heard):
            return heard
        return heard[~self.scout.known.knows(keys[heard])][:fitting]

    def _embolden(self, known: float) -> None:
        """Draw wider the more of what is proposed is known."""
        self.boldness = 1.0 + BOLDER * known**2

    def _worth_hearing(self, there: Rows, keys: Keys) -> Index:
        """The proposals to hear about: all of them from a cheap model, else what is known anyway and the affordable rows worth most."""
        if self.scout.is_cheap:
            return np.arange(len(there))
        is_known = self.scout.known.knows(keys)
        self._embolden(float(is_known.mean()))
        unknown = np.flatnonzero(~is_known)
        if unknown.size and (chances := self.hunches(there[unknown])) is not None:
            worth = chances / (1.0 + self.brought[self.regions.of(there[unknown])]) ** SATIETY
            unknown = unknown[best_places(worth / (worth.max() or 1.0), int(ASKED_SHARE * self.count), self.rng)]
        return np.sort(np.concatenate([np.flatnonzero(is_known), unknown]))

    def _learn(self, rows: Rows, unfair: Mask) -> None:
        self.hunches.learn(rows, unfair)
        self.brought += np.bincount(self.regions.of(rows[unfair]), minlength=len(self.brought))

    def _proposals(self, drawn: Index) -> tuple[Latents, Rows]:
        """Where each walk may go next by its own arm."""
        kinds = self.arms.kinds[drawn]
        if (kinds == kinds[0]).all():
            return self._moved(kinds[0], np.arange(self.count), drawn)
        latents, rows = np.empty_like(self.here), np.empty_like(self.rows)
        for kind in np.unique(kinds):
            walks = np.flatnonzero(kinds == kind)
            latents[walks], rows[walks] = self._moved(kind, walks, drawn[walks])
        return latents, rows

    def _moved(self, kind: str, walks: Index, drawn: Index) -> tuple[Latents, Rows]:
        if kind == "scout":
            return self.scout.plain(len(walks), SCOUTS_BOLDNESS)
        return self._stepped(walks, drawn) if kind == "step" else self._balanced(walks, drawn)

    def _stepped(self, walks: Index, drawn: Index) -> tuple[Latents, Rows]:
        latents, at = self.here[walks], self.arms.places[drawn]
        self._redraw(latents, at, self.arms.reaches[drawn])
        return latents, self._decoded(latents, self.rows[walks], at)

    def _balanced(self, walks: Index, drawn: Index) -> tuple[Latents, Rows]:
        """Two coordinates drawn again, the second one so that the guessed scores stay as they are."""
        assert self.scout.margins is not None
        at = self.arms.places[drawn]
        shift = self.rng.integers(1, self.space.latent_size, 1 if self.scout.is_cheap else len(at))
        second = (at + shift) % self.space.latent_size
        moved = self.here[walks]
        self._redraw(moved, at, np.ones(len(at)))
        latents, rows = np.tile(moved, (DRAWS, 1)), np.tile(self.rows[walks], (DRAWS, 1))
        self._redraw(latents, np.tile(second, DRAWS), np.ones(DRAWS * len(at)))
        there = self._decoded(latents, rows, np.tile(self._earlier(at, second), DRAWS))
        away = np.abs(self.scout.margins(there).reshape(DRAWS, len(at), -1) - self.scout.margins(self.rows[walks])).sum(axis=2)
        best = np.argmin(away, axis=0) * len(at) + np.arange(len(at))
        return latents[best], there[best]

    def _redraw(self, latents: Latents, at: Index, reach: Reals) -> None:
        """Move one coordinate of each latent towards a fresh draw; it stays distributed as the space draws it."""
        each = np.arange(len(latents))
        normal = hasattr(self.space, "redecode_each")
        fresh = self.rng.standard_normal(len(each)) if normal else self.space.latents(len(each), self.rng)[each, at]
        latents[each, at] = np.sqrt(1.0 - reach**2) * latents[each, at] + reach * self.boldness * fresh

    def _earlier(self, one: Index, other: Index) -> Index:
        order = getattr(self.space, "order", None)
        if order is None:
            return one
        position = np.argsort(order)
        return np.where(position[one] < position[other], one, other)

    def _decoded(self, latents: Latents, rows: Rows, first: Index) -> Rows:
        if not hasattr(self.space, "redecode_each"):
            return self.space.decode(latents)
        trees: Any = self.space
        decoded: Rows = (
            trees.redecode(latents, rows, int(first[0])) if (first == first[0]).all() else trees.redecode_each(latents, rows, first)
        )
        return decoded

    def _rebalance(self) -> None:
        """Move walks from crowded regions to findings in sparse ones."""
        offered = self.rng.permutation(self.scout.found)[: self.count]
        start, goal = moves_between(self.regions.of(self.rows), self.regions.of(self.scout.pooled[offered]), self.rng)
        self.here[start], self.rows[start] = self.scout.pool[offered[goal]], self.scout.pooled[offered[goal]]


def taken(array: NDArray[Any], places: Index) -> NDArray[Any]:
    """The entries at ascending places, without a copy where that is all of them."""
    return array if len(places) == len(array) else array[places]


def moves_between(crowd: Index, offers: Index, rng: np.random.Generator) -> tuple[Index, Index]:
    """Which walks leave and for which offers, so that every region on offer has up to its even share of walks."""
    names, walks = np.unique(np.concatenate([crowd, np.unique(offers)]), return_counts=True)
    walks = walks - np.isin(names, offers)
    even = len(crowd) // len(names)
    goals, starts = [], []
    for name, here in zip(names, walks, strict=True):
        if here < even:
            goals.append(rng.permutation(np.flatnonzero(offers == name))[: even - here])
        elif here > even:
            starts.append(rng.permutation(np.flatnonzero(crowd == name))[: here - even])
    goal = np.concatenate(goals) if goals else np.empty(0, dtype=np.intp)
    start = np.concatenate(starts) if starts else np.empty(0, dtype=np.intp)
    n = min(len(goal), len(start))
    return rng.permutation(start)[:n], goal[:n]
