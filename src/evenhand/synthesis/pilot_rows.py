"""Rows drawn while a chain is being fitted, so that each column's groups are compared with the data under drawn parents, not real ones.

A tilt is fitted on real rows.  Drawn parents tell the groups apart a little less than real ones, link after link, and gaps would shrink;
so every tilt is bent until the drawn groups stand where the real ones do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.synthesis.links import Copies, Link, Tilt

CELLS = 200_000
FEWEST_ROWS = 4_000
MOST_ROWS = 12_000
BORDERS = 7
"""Borders between cells at which groups are compared; the label of two classes has one."""
STRONGEST = 3.0
STEPS = 5
CLOSE = 2e-4
FEWEST_IN_GROUP = 30


@dataclass(frozen=True, eq=False)
class PilotRows:
    """Drawn rows, filled column by column in the order of the chain."""

    rows: Rows
    copies: Copies = field(repr=False)

    @classmethod
    def empty(cls, columns: int) -> PilotRows:
        """Many rows of few columns, fewer of many."""
        n = int(np.clip(CELLS // columns, FEWEST_ROWS, MOST_ROWS))
        return cls(np.empty((n, columns)), np.empty((n, columns), dtype=np.float32))

    def calibrated(self, link: Link, places: Index, known: Copies) -> Link:
        """The link whose groups stand, on average, at the levels at which they stand in the data: `places` are the learnt rows' cells."""
        if link.trend is not None or not link.tilts or link.cells.count < 2:
            return link
        borders = np.unique(np.linspace(0, link.cells.count, min(BORDERS, link.cells.count - 1) + 2)[1:-1].astype(np.intp))
        levels = link.before[:, borders][link.leaves(self.copies)]  # (pilot rows, borders): how much of each leaf lies below
        tilts = list(link.tilts)
        for turn in (*range(len(tilts)), *range(len(tilts) - 1)):
            tilts[turn] = self._bent(tilts, turn, levels, _Wanted(tilts[turn].groups(known), places, borders))
        return replace(link, tilts=tuple(tilts))

    def _bent(self, tilts: Sequence[Tilt], turn: int, levels: Rows, wanted: _Wanted) -> Tilt:
        """One tilt, every group's curve raised to the power that brings the group where it should be."""
        before = self._straightened(tilts[:turn], levels)
        groups, curve = tilts[turn].groups(self.copies), tilts[turn].curve.copy()
        for group in range(len(curve)):
            mine = groups == group
            if (aim := wanted.share_below(group)) is not None and mine.sum() >= FEWEST_IN_GROUP:
                later = [self._within(tilt, mine) for tilt in tilts[turn + 1 :]]
                curve[group] = _powered(curve[group], before[mine], later, aim)
        return replace(tilts[turn], curve=curve)

    def _within(self, tilt: Tilt, mine: Mask) -> _Later:
        return _Later(tilt, tilt.groups(self.copies[mine]))

    def _straightened(self, tilts: Sequence[Tilt], levels: Rows) -> Rows:
        for tilt in tilts:
            levels = _Later(tilt, tilt.groups(self.copies)).straighten(levels)
        return levels


@dataclass(frozen=True, eq=False)
class _Wanted:
    """Where the groups of the learnt rows stand."""

    groups: Index
    places: Index
    borders: Index

    def share_below(self, group: int) -> float | None:
        """The average over the borders of how much of a group lies below; None for a group of too few rows."""
        places = self.places[self.groups == group]
        if len(places) < FEWEST_IN_GROUP:
            return None
        return float(np.mean([(places < border).mean() for border in self.borders]))


@dataclass(frozen=True, eq=False)
class _Later:
    """A tilt and the groups of some rows."""

    tilt: Tilt
    groups: Index

    def straighten(self, levels: Rows) -> Rows:
        """Every border's level."""
        return np.stack([self.tilt.straighten(levels[:, at], self.groups) for at in range(levels.shape[1])], axis=1)


def _powered(curve: Reals, levels: Rows, later: Sequence[_Later], aim: float) -> Reals:
    """The curve to the power, between 1 / 3 and 3, under which the share below the borders comes nearest to what is wanted."""
    knots = np.linspace(0, 1, len(curve))

    def below(power: float) -> float:
        moved = np.interp(levels, knots, curve**power)
        for each in later:
            moved = each.straighten(moved)
        return float(moved.mean())

    power = 1.0
    for _ in range(STEPS):  # a larger power leaves less below; the share falls about as its own logarithm does
        share = below(power)
        if not 0 < share < 1 or not 0 < aim < 1 or abs(share - aim) < CLOSE:
            break
        power = float(np.clip(power * np.log(aim) / np.log(share), 1 / STRONGEST, STRONGEST))
    bent: Reals = curve**power
    return bent
