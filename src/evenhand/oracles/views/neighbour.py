"""No invented person at all: the nearest real row of every other group, by everything but the protected cells."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evenhand.arrays import Index, Rows
from evenhand.contract import Model, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.measures.naturalness import coordinates
from evenhand.oracles.views.resampled import judge_people

_ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class NearestNeighbour:
    """Unfair when the nearest real person of another group gets another label."""

    reference: Rows = field(repr=False)

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input; a group without real rows has no neighbour to offer."""
        people = np.full((len(domain.combinations), *rows.shape), np.nan)
        own = domain.own_combination(rows)
        theirs = domain.own_combination(self.reference)
        for combination, neighbours in self._nearest(rows, domain, theirs):
            people[combination] = self.reference[neighbours]
        mine = np.flatnonzero(own >= 0)
        people[own[mine], mine] = rows[mine]
        people[np.isnan(people[:, :, list(domain.protected_places)]).any(axis=2)] = np.nan
        return judge_people(_nobody_outside(people, domain), domain, model)

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)

    def _nearest(self, rows: Rows, domain: TabularDomain, theirs: Index) -> list[tuple[int, Index]]:
        if not domain.free_places:
            raise InvalidArgument("every column is protected, so that there is nothing by which people could be alike")
        free = TabularDomain(tuple(domain.columns[place] for place in domain.free_places))
        places = list(domain.free_places)
        here, there = (coordinates(each[:, places], self.reference[:, places], free) for each in (rows, self.reference))
        return [
            (c, members[_closest(here, there[members])])
            for c in range(len(domain.combinations))
            if (members := np.flatnonzero(theirs == c)).size
        ]


def _closest(here: Rows, there: Rows) -> Index:
    """For every row the place of the nearest other one."""
    square = (there**2).sum(axis=1)
    parts = [np.argmin(square - 2 * here[at : at + _ROWS_AT_ONCE] @ there.T, axis=1) for at in range(0, len(here), _ROWS_AT_ONCE)]
    return np.concatenate(parts).astype(np.intp)


def _nobody_outside(people: Rows, domain: TabularDomain) -> Rows:
    """Where a combination has no neighbour, cells that lie outside every range, so that nobody is asked about them."""
    absent = np.isnan(people).all(axis=2)
    people[absent] = domain.high + 1.0
    return people
