"""How often something rare happens in a population: a plain stage with its exact interval, then shallow levels towards it.

A level is a bound on how near a person's twins are to different outcomes.  People above the first level are kept from the plain stage, on
islands that know nothing of each other; every island walks on the population's own levels without leaving what it has reached, is
divided at the next level, and so on, until what is sought is no longer rare there.  The share of people above a level, given the one
before, is then a product of shares that are not small.

What the plain stage says holds exactly.  What the islands say rests on how much they differ from each other.  Both must hold at a higher
confidence, so that both together hold at the one that is stated; where the islands differ too much, the plain stage speaks alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows, Scores
from evenhand.contract import Model, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import ConfidenceLevel, Count, Positive, ShareAboveZero, TwoOrMore, check_limits
from evenhand.statistics.intervals import Interval, clopper_pearson
from evenhand.synthesis.level_chain import LevelChain, LevelMove, LevelStates

NOT_RARE = 400
"""So many affected people among plain draws tell the share within a tenth: nothing else is needed."""

REACHES = (1.0, 0.1, 0.01, 0.001, 0.0001)
"""How far a level may go in one move.  Where a model's answers come in steps, only short moves of a finely coded column stay near."""

EXPLORED, FORGOTTEN = 0.15, 8.0
"""This share of the moves is chosen whatever they are worth; and what is known of their worth counts so many times less at the next level,
where other moves stay near."""

LEVEL_SHARE = 0.06
"""This share of all people is judged at a level before the next one is chosen: islands whose people have hardly moved since they were
divided are too alike."""

MOVES, FEWEST_INHABITANTS = 10, 16
"""So often everybody moves at a level, about; with more moves there are fewer people, but never less than these on an island."""

SMALLEST_MARGIN, SMALLEST_GAP = 1e-9, 1e-7
"""Added to both, so that a model of a few hard answers has levels too."""

UNSURE = 0.4
"""Where the islands' mean is less sure than this share of it, it is not used."""


@dataclass(frozen=True)
class RareRateSettings:
    """How a rare share is looked for.

    people: how many are judged, all in all
    plain_share: how many of them are drawn plainly
    islands: groups that know nothing of each other
    kept: the share of the people that is above the next level
    reached: levels end where this share of the islands' people is affected: on deep ones hardly anybody moves any more, and the islands
    stay where they happened to be; many moves on a shallow one tell the rest
    alike: by so much the islands' own error is stretched: they were divided at the same levels, and those that lost what they sought say
    too little all together.  `benchmarks/rare.py --development` tries it and `reached`
    """

    people: Count = 1_000_000
    plain_share: ShareAboveZero = 0.4
    islands: TwoOrMore = 16
    kept: ShareAboveZero = 0.25
    reached: ShareAboveZero = 0.003
    alike: Positive = 1.5
    confidence: ConfidenceLevel = 0.95

    def __post_init__(self) -> None:
        check_limits(self)

    @property
    def inhabitants(self) -> int:
        """People of an island: so many that each of them moves often enough at a level."""
        return max(FEWEST_INHABITANTS, int(LEVEL_SHARE * self.people / (MOVES * self.islands)))


@dataclass(frozen=True)
class RareRate:
    """An estimated share with its interval, and where it comes from."""

    interval: Interval
    plain: Interval
    affected: int  # among plain draws
    levels: int  # 0 where plain draws were enough, or spoke alone
    island_error: float = 0.0  # of the islands' mean, as a share of it, before it is stretched; 0 where plain draws spoke alone

    @property
    def sentence(self) -> str:
        """For a reader."""
        share, plain = self.interval, f"{self.affected:,} of {self.plain.n:,} plain draws"
        road = f"{plain}, then {self.levels} levels" if self.levels else plain
        return f"about {share.estimate:.2g} of the population ({share.confidence:.0%} interval {share.low:.2g} to {share.high:.2g}; {road})"


@dataclass
class Islands:
    """People above a level, island after island, and how probable each island thinks the level is."""

    states: LevelStates
    nearness: Reals
    log_share: Reals  # (islands,)
    level: float

    def divide(self, level: float, rng: np.random.Generator) -> bool:
        """Go on to a level; False where an island has nobody above it."""
        count = len(self.log_share)
        above = self.nearness.reshape(count, -1) >= level
        if not above.any(axis=1).all():
            return False
        self.log_share = self.log_share + np.log(above.mean(axis=1))
        size = above.shape[1]
        chosen = np.concatenate([at * size + rng.choice(np.flatnonzero(each), size) for at, each in enumerate(above)])
        self.states, self.nearness, self.level = self.states[chosen], self.nearness[chosen], level
        return True

    @property
    def affected(self) -> Reals:
        """On every island, the share of those whose twins get different outcomes."""
        shares: Reals = np.isposinf(self.nearness).reshape(len(self.log_share), -1).mean(axis=1)
        return shares


@dataclass
class RareSearch:
    """One estimate: what was judged so far."""

    chain: LevelChain
    model: Model
    settings: RareRateSettings
    rng: np.random.Generator
    judged: int = 0
    tries: Reals = field(init=False)
    changes: Reals = field(init=False)

    def __post_init__(self) -> None:
        alone = [LevelMove(at, False, reach) for reach in REACHES for at in range(self.chain.free) if self._is_fine(at, reach)]
        self.moves = alone + [LevelMove(at, True) for at in range(self.chain.free - 1)]
        self.tries, self.changes = np.full(len(self.moves), 2.0), np.ones(len(self.moves))

    def _is_fine(self, position: int, reach: float) -> bool:
        """Whether a column has so many values that a short move changes any."""
        cardinality = self.chain.domain.columns[self.chain.trees.order[position]].cardinality
        return reach >= 0.1 or cardinality is None or cardinality * reach >= 1.0

    def go(self) -> RareRate:
        """Plain draws, and levels where they are too few."""
        plain = self.plain()
        alone = clopper_pearson(plain.hits, plain.drawn, self.settings.confidence)
        if plain.hits >= NOT_RARE or (islands := plain.islands(self.rng)) is None:
            return RareRate(alone, alone, plain.hits, 0)
        levels = self.climb(islands)
        return together(self.shares(islands), plain, levels) or RareRate(alone, alone, plain.hits, 0)

    def plain(self) -> PlainStage:
        """Plain draws: all of them where what is sought is not rare."""
        settings, plain = self.settings, PlainStage(self.settings)
        while self.judged < settings.plain_share * settings.people or (plain.hits >= NOT_RARE and self.judged < settings.people):
            states = self._drawn(4096)
            plain.add(states, self._asked(states))
        return plain

    def climb(self, islands: Islands) -> int:
        """Level after level, as long as what is sought is rare on the islands; the moves of a level are made before the next is chosen."""
        levels = 1
        self._stay(islands)
        while islands.affected.mean() < self.settings.reached and self.judged < 0.8 * self.settings.people:
            level = float(np.quantile(islands.nearness, 1.0 - self.settings.kept, method="higher"))
            if not level > islands.level or not islands.divide(level, self.rng):
                break
            levels += 1
            self._stay(islands)
        return levels

    def _stay(self, islands: Islands) -> None:
        """The moves of one level."""
        self.tries, self.changes = 2.0 + self.tries / FORGOTTEN, 1.0 + self.changes / FORGOTTEN
        end = self.judged + LEVEL_SHARE * self.settings.people
        while self.judged < min(end, self.settings.people):
            self._step(islands)

    def shares(self, islands: Islands) -> Reals:
        """What every island says, from the rest of the people."""
        told, rounds = islands.affected, 1
        while self.judged < self.settings.people:
            self._step(islands)
            told, rounds = told + islands.affected, rounds + 1
        shares: Reals = np.exp(islands.log_share) * told / rounds
        return shares

    def _step(self, islands: Islands) -> None:
        """Everybody tries one move, and stays where it would lead below the level."""
        worth = self.changes / self.tries
        number = int(self.rng.choice(len(self.moves), p=EXPLORED / len(worth) + (1.0 - EXPLORED) * worth / worth.sum()))
        changed, there = self.chain.moved(islands.states, self.moves[number], self.rng)
        self.judged += max(1, len(islands.nearness) // 50)  # proposals cost something too
        self.tries[number] += len(islands.nearness)
        if not len(changed):
            return
        nearness = self._nearness(there)
        accepted = np.flatnonzero(nearness >= islands.level)
        going = changed[accepted]
        self.changes[number] += _way(islands.nearness[going], nearness[accepted])
        islands.states.put(going, there, accepted)
        islands.nearness[going] = nearness[accepted]

    def _drawn(self, n: int) -> LevelStates:
        states = self.chain.drawn(n, self.rng)
        domain = self.chain.domain
        return states[np.flatnonzero(domain.keeps_constraints(states.rows))] if domain.constraints else states

    def _nearness(self, states: LevelStates) -> Reals:
        """How near everybody is to different outcomes of the twins; infinite for the affected, minus infinite for who cannot be."""
        domain = self.chain.domain
        told = self._asked(states)
        return np.where(domain.keeps_constraints(states.rows), told, -np.inf) if domain.constraints else told

    def _asked(self, states: LevelStates) -> Reals:
        """The same of people who can be."""
        self.judged += len(states)
        return nearness(states.rows, self.chain.domain, self.model)


def _way(before: Reals, after: Reals) -> float:
    """How far people have come, in nearness, each by 1 at most: moves that leave it as it is are accepted and tell nothing."""
    with np.errstate(invalid="ignore"):
        return float(np.nan_to_num(np.minimum(np.abs(after - before), 1.0)).sum())  # from affected to affected is no way


class PlainStage:
    """Plain draws: how many were affected, and the nearest of them, dealt to the islands in turn."""

    def __init__(self, settings: RareRateSettings) -> None:
        self.settings = settings
        self.hits = self.drawn = 0
        self._room = settings.islands * settings.inhabitants
        self._counts = np.zeros(settings.islands)
        self._states: list[LevelStates] = []
        self._nearness: list[Reals] = []
        self._island: list[Index] = []
        self._level = -np.inf

    def add(self, states: LevelStates, told: Reals) -> None:
        """One batch; what is below the level that is certain to be passed is forgotten."""
        island = (self.drawn + np.arange(len(told))) % self.settings.islands
        self.hits, self.drawn = self.hits + int(np.isposinf(told).sum()), self.drawn + len(told)
        self._counts += np.bincount(island, minlength=self.settings.islands)
        self._keep(states, told, island, told >= self._level)
        if sum(map(len, self._nearness)) > 4 * self._room:
            self._forget()

    def islands(self, rng: np.random.Generator) -> Islands | None:
        """The people above the first level, as many on every island; None where some island has none."""
        self._forget()
        states, told, island = LevelStates.join(self._states), np.concatenate(self._nearness), np.concatenate(self._island)
        level = float(np.partition(told, -min(self._room, len(told)))[-min(self._room, len(told))])
        who = [np.flatnonzero((island == at) & (told >= level)) for at in range(self.settings.islands)]
        if not all(map(len, who)):
            return None
        log_share = np.log(np.array([len(each) for each in who]) / self._counts)
        chosen = np.concatenate([rng.choice(each, self.settings.inhabitants) for each in who])
        return Islands(states[chosen], told[chosen], log_share, level)

    def _keep(self, states: LevelStates, told: Reals, island: Index, kept: Mask) -> None:
        chosen = np.flatnonzero(kept)
        self._states.append(states[chosen])
        self._nearness.append(told[chosen])
        self._island.append(island[chosen])

    def _forget(self) -> None:
        """Only the nearest stay, twice as many as there is room for."""
        states, told, island = LevelStates.join(self._states), np.concatenate(self._nearness), np.concatenate(self._island)
        if len(told) > 2 * self._room:
            self._level = float(np.partition(told, -2 * self._room)[-2 * self._room])
        self._states, self._nearness, self._island = [], [], []
        self._keep(states, told, island, told >= self._level)


def rare_rate(chain: LevelChain, model: Model, rng: np.random.Generator, settings: RareRateSettings | None = None) -> RareRate:
    """The share of the chain's population whose label depends on the protected values.

    >>> from evenhand.planted import shapes
    >>> planted, rng = shapes()["needle"], np.random.default_rng(0)
    >>> chain = LevelChain.fit(planted.domain.sample(500, rng), planted.domain, rng)
    >>> rare_rate(chain, planted.model, rng, RareRateSettings(people=20_000)).interval.high < 0.01
    True
    """
    return RareSearch(chain.unscored, model, settings or RareRateSettings(), rng).go()


def nearness(rows: Rows, domain: TabularDomain, model: Model) -> Reals:
    """How near the twins of every row are to different labels: their gap over the smallest margin, in logarithms; infinite where labels
    differ."""
    twins = domain.twins(rows).rows
    combinations, n, width = twins.shape
    scores = np.asarray(model.scores(twins.reshape(combinations * n, width)), dtype=np.float64)
    labels = labels_of(scores).reshape(combinations, n)
    margin = _margins(scores).reshape(combinations, n).min(axis=0)
    columns = np.ascontiguousarray(scores.T).reshape(-1, combinations, n)
    gap = np.max([column.max(axis=0) - column.min(axis=0) for column in columns], axis=0)
    told = np.log((gap + SMALLEST_GAP) / (margin + SMALLEST_MARGIN))
    return np.where((labels != labels[0]).any(axis=0), np.inf, told)


def _margins(scores: Scores) -> Reals:
    """How far the highest score is above the second."""
    if scores.shape[1] == 2:
        return np.abs(scores[:, 1] - scores[:, 0])
    top = np.partition(scores, -2, axis=1)
    margins: Reals = top[:, -1] - top[:, -2]
    return margins


def together(shares: Reals, plain: PlainStage, levels: int) -> RareRate | None:
    """The islands' mean, within what the plain stage leaves possible; None where the islands are too unlike."""
    from scipy.stats import t

    confidence, alike = plain.settings.confidence, plain.settings.alike
    each = 1.0 - (1.0 - confidence) / 2.0
    exact = clopper_pearson(plain.hits, plain.drawn, each)
    mean, count = float(shares.mean()), len(shares)
    error = alike * float(shares.std(ddof=1) / np.sqrt(count))
    if not mean > 0 or error > UNSURE * mean:
        return None
    reach = float(t.ppf(0.5 + each / 2, count - 1)) * error / mean
    low, high = max(exact.low, mean * np.exp(-reach)), min(exact.high, mean * np.exp(reach))
    if low >= high:  # they contradict each other: the exact one is right
        return None
    told = Interval(float(np.clip(mean, low, high)), low, high, plain.drawn, confidence)
    return RareRate(told, clopper_pearson(plain.hits, plain.drawn, confidence), plain.hits, levels, error / mean / alike)
