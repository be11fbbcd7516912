"""Plain draws that several plantings share: runs of one seed draw the same people first, whatever is planted, so that they are drawn once.

What a run says stays the same to the last digit; only what it costs does not count.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any

from evenhand.arrays import Reals, Rows
from evenhand.measures.rare_rate import RareSearch, nearness
from evenhand.synthesis.level_chain import LevelStates
from parts.rare_places import Place, PlantedRate


@dataclass
class Draw:
    """People who were drawn, the generator after it, and their log-odds in each family."""

    states: LevelStates
    after: Any
    odds: dict[str, Reals] = field(default_factory=dict)


@dataclass
class SharedDraws:
    """The latest ones, by the state of the generator before them."""

    room: int = 200
    known: OrderedDict[str, Draw] = field(default_factory=OrderedDict)

    def drawn(self, search: SharedSearch, n: int) -> Draw:
        """As they were, or drawn now."""
        generator = search.rng.bit_generator
        asked = f"{search.model.place.ground.table} {n} {generator.state}"
        if asked not in self.known:
            states = RareSearch._drawn(search, n)
            self.known[asked] = Draw(states, generator.state)
            if len(self.known) > self.room:
                self.known.popitem(last=False)
        generator.state = self.known[asked].after
        return self.known[asked]


@dataclass(frozen=True, eq=False)
class KnownPlace(Place):
    """A place where the log-odds of whoever is asked about are known."""

    odds: Reals

    def log_odds(self, rows: Rows) -> Reals:
        """Those."""
        assert len(rows) == len(self.odds)
        return self.odds


DRAWS = SharedDraws()


@dataclass
class SharedSearch(RareSearch):
    """A run whose plain stage asks about people whom others have asked about."""

    model: PlantedRate
    _latest: Draw = field(init=False)

    def _drawn(self, n: int) -> LevelStates:
        self._latest = DRAWS.drawn(self, n)
        return self._latest.states

    def _asked(self, states: LevelStates) -> Reals:
        if states is not self._latest.states:
            return super()._asked(states)
        self.judged += len(states)
        place, odds = self.model.place, self._latest.odds
        if place.family not in odds:
            odds[place.family] = place.log_odds(states.rows)
        known = KnownPlace(place.ground, place.data, place.chain, place.base, place.family, odds[place.family])
        return nearness(states.rows, self.chain.domain, replace(self.model, place=known))
