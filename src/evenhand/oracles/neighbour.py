"""The most alike real person of another group gets another answer: nobody is invented.

Alike is meant by everything but the protected cells, numbers over their deviation, two different categories one apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from evenhand.arrays import Index, Orbit, Rows
from evenhand.contract import Model, Oracle, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, WholeNumber
from evenhand.measures.naturalness import coordinates
from evenhand.oracles.parts.learned import LearnedOracle, not_learned, real_rows
from evenhand.oracles.parts.people import given_pairs
from evenhand.oracles.parts.tolerated import Tolerated, usual_tolerance

ROWS_AT_ONCE = 1024
TIED = 1e-9
"""Distances closer than this are the same distance, and the earlier row is taken: rounding must not choose the neighbour."""


@dataclass(frozen=True)
class NearestNeighbour(Tolerated):
    """Unfair when the nearest real person of another group gets another answer.

    tolerance: compare scores or amounts instead of labels, and call them different when they are further apart than this.
    seed: of the choice of real rows, where there are more than `learned_from`.
    learned_from: among how many real rows neighbours are looked for.
    """

    seed: WholeNumber = 0
    learned_from: Count = 20_000

    because: ClassVar[str] = "as the most alike real person of another group"
    shows_pairs: ClassVar[bool] = True

    def learned(self, rows: Rows | None, domain: TabularDomain, model: Model) -> Oracle:
        """The same oracle with real rows to look among."""
        settings = replace(self, tolerance=usual_tolerance(self.tolerance, rows, domain, model))
        settings.check(model, "neighbour")
        return LearnedOracle(settings, Neighbours(real_rows(rows, "neighbour", self.learned_from, (self.seed, 23)), domain))

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:  # noqa: ARG002
        """Only after `learned`."""
        raise not_learned("neighbour")

    def judge_pairs(self, first: Rows, second: Rows, _domain: TabularDomain, model: Model) -> Verdict:
        """One entry per pair."""
        return given_pairs(first, second).ask(model).judge(self.apart)

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)


@dataclass(frozen=True)
class Neighbours:
    """Real rows, by group, in a space where distances mean something."""

    reference: Rows = field(repr=False)
    domain: TabularDomain

    def __post_init__(self) -> None:
        if not self.domain.free_places:
            raise InvalidArgument("every column is protected, so that there is nothing by which people could be alike")

    @cached_property
    def _groups(self) -> list[tuple[int, Index, Rows]]:
        """For every combination that has real rows: which they are, and where they lie."""
        there, own = self._lying(self.reference), self.domain.own_combination(self.reference)
        members = [(c, np.flatnonzero(own == c)) for c in range(len(self.domain.combinations))]
        return [(c, chosen, there[chosen]) for c, chosen in members if chosen.size]

    def _lying(self, rows: Rows) -> Rows:
        places = list(self.domain.free_places)
        free = TabularDomain(tuple(self.domain.columns[place] for place in places))
        return coordinates(rows[:, places], self.reference[:, places], free)

    def under(self, rows: Rows, domain: TabularDomain) -> Orbit:
        """Every row's nearest real person of every combination; NaN where a combination has none."""
        people = np.full((len(domain.combinations), *rows.shape), np.nan)
        here = self._lying(rows)
        for combination, members, there in self._groups:
            people[combination] = self.reference[members[_closest(here, there)]]
        return people


def _closest(here: Rows, there: Rows) -> Index:
    """For every row the place of the nearest other one, the first of equals."""
    square = (there**2).sum(axis=1)
    parts = []
    for at in range(0, len(here), ROWS_AT_ONCE):
        distance = square - 2 * here[at : at + ROWS_AT_ONCE] @ there.T
        parts.append(np.argmax(distance <= distance.min(axis=1, keepdims=True) + TIED, axis=1))
    return np.concatenate(parts).astype(np.intp)
