"""Rows drawn while a chain is being fitted, so that each column's groups are compared with the data under drawn parents, not real ones.

A tilt is fitted on real rows.  Drawn parents tell the groups apart a little less than real ones, link after link, and gaps would shrink;
so every tilt is bent until the drawn groups stand where the real ones do, as far as that is more than the chance of the drawn rows.
Protected cells are real people's, those of small groups more often than their share, each row with its weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.synthesis.links import Copies, Link, Tilt

CELLS = 280_000
FEWEST_ROWS = 4_000
MOST_ROWS = 20_000
BORDERS = 7
"""Borders between cells at which groups are compared; the label of two classes has one."""
STRONGEST = 3.0
STEPS = 5
CLOSE = 2e-4
FEWEST_IN_GROUP = 30
MOST_SHORT = 2**16


@dataclass(frozen=True, eq=False)
class LearntGroups:
    """Where learnt rows stand: their cells in a column, and their groups by protected column."""

    places: Index
    groups: Mapping[int, Index]


@dataclass(frozen=True, eq=False)
class Chosen:
    """Some of the learnt rows, and how many people each of them stands for, 1 on average."""

    places: Index
    weights: Reals

    @classmethod
    def by_rarity(cls, groups: Mapping[int, Index], of: int, n: int, rng: np.random.Generator, power: float = 0.5) -> Chosen:
        """Evenly over all of them, those of small groups more often than their share; with a power of 1 as many of each group."""
        rarity = _rarity(groups, of) ** power
        upto = np.cumsum(rarity)
        places = np.minimum(np.searchsorted(upto, (np.arange(n) + rng.random()) / n * upto[-1], side="right"), of - 1)
        weights = 1 / rarity[places]
        return cls(places, weights / weights.mean())


@dataclass(frozen=True, eq=False)
class PilotRows:
    """Drawn rows, filled column by column in the order of the chain."""

    rows: Rows
    copies: Copies = field(repr=False)
    groups: Index = field(repr=False)  # of rows that have the same in every protected column so far
    weights: Reals = field(repr=False)  # how many people each stands for, 1 on average

    @classmethod
    def begun(
        cls, learnt: Rows, copies: Copies, leading: Sequence[int], groups: Mapping[int, Index], rng: np.random.Generator
    ) -> PilotRows:
        """Many rows of few columns, fewer of many; the leading columns, up to the last protected one, are those of learnt rows."""
        columns = learnt.shape[1]
        n = int(np.clip(CELLS // columns, FEWEST_ROWS, MOST_ROWS))
        chosen = Chosen.by_rarity(groups, len(learnt), n, rng)
        pilot = cls(np.empty((n, columns)), np.empty((n, columns), dtype=np.float32), np.zeros(n, dtype=np.intp), chosen.weights)
        for at in leading:
            pilot.rows[:, at], pilot.copies[:, at] = learnt[chosen.places, at], copies[chosen.places, at]
        return pilot

    def levels(self, rng: np.random.Generator) -> Reals:
        """A level for every row, even within each group: groups then differ by what they are, not by the chance of their rows."""
        return even_levels(self.groups, rng)

    def split(self, place: int) -> None:
        """Tell groups apart further by what they have in a column."""
        codes = np.unique(self.copies[:, place], return_inverse=True)[1]
        self.groups[:] = np.unique(self.groups * (codes.max() + 1) + codes, return_inverse=True)[1]

    def calibrated(self, link: Link, leaves: Index, learnt: LearntGroups) -> Link:
        """The link whose groups stand, on average, at the levels at which they stand in the data; `leaves` are the drawn rows'."""
        if link.trend is not None or not link.tilts or link.cells.count < 2:
            return link
        borders = np.unique(np.linspace(0, link.cells.count, min(BORDERS, link.cells.count - 1) + 2)[1:-1].astype(np.intp))
        alike = self._alike(link, leaves, borders)
        tilts = list(link.tilts)
        for turn in (*range(len(tilts)), *range(len(tilts) - 1)):
            aims = shares_below(learnt.groups[tilts[turn].place], learnt.places, link.cells.count, borders)
            tilts[turn] = alike.bent(tilts, turn, aims)
        return replace(link, tilts=tuple(tilts))

    def _alike(self, link: Link, of_rows: Index, borders: Index) -> _Alike:
        """Rows of one leaf and the same groups count as one with their number."""
        shape = (len(link.share), *(len(tilt.curve) for tilt in link.tilts))
        parts = (of_rows, *(tilt.groups(self.copies) for tilt in link.tilts))
        flat = np.ravel_multi_index(parts, shape)
        people, squares = (np.bincount(flat, each).astype(np.float64) for each in (self.weights, self.weights**2))
        kinds = np.flatnonzero(people)
        leaves, *groups = np.unravel_index(kinds, shape)
        return _Alike(link.before[leaves][:, borders], tuple(groups), people[kinds], squares[kinds])


def _rarity(groups: Mapping[int, Index], n: int) -> Reals:
    """How rare the rarest group of each row is: all rows for each of its."""
    rarity = np.ones(n)
    for of_rows in groups.values():
        with np.errstate(divide="ignore"):
            rarity = np.maximum(rarity, (n / np.bincount(of_rows))[of_rows])
    return rarity


def shares_below(groups: Index, places: Index, cells: int, borders: Index) -> list[float | None]:
    """For every group the average over the borders of how much of it lies below; None for a group of too few rows."""
    counts = np.bincount(groups * cells + places, minlength=(int(groups.max()) + 1) * cells).reshape(-1, cells)
    rows, below = counts.sum(axis=1), np.cumsum(counts, axis=1)[:, borders - 1].mean(axis=1)
    return [float(part / n) if n >= FEWEST_IN_GROUP else None for part, n in zip(below, rows, strict=True)]


def even_levels(groups: Index, rng: np.random.Generator) -> Reals:
    """Evenly spaced levels in random order within each group: what is shared alike in a group comes out to within one row."""
    sizes = np.bincount(groups)
    shuffled = rng.permutation(len(groups))
    short = groups[shuffled].astype(np.uint16 if len(sizes) <= MOST_SHORT else np.intp)  # short whole numbers are sorted in one pass
    order = shuffled[np.argsort(short, kind="stable")]
    rank = np.empty(len(groups))
    rank[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    levels: Reals = (rank + rng.random(len(sizes))[groups]) / sizes[groups]
    return levels


@dataclass(frozen=True, eq=False)
class _Alike:
    """Kinds of drawn rows: how much of their leaf lies below each border, their groups by tilt, and how many people they stand for."""

    levels: Rows  # (kinds, borders)
    groups: tuple[Index, ...]
    weights: Reals
    squares: Reals  # of the weights of single rows, summed

    def bent(self, tilts: Sequence[Tilt], turn: int, aims: Sequence[float | None]) -> Tilt:
        """One tilt, every group's curve raised to the power that brings the group where it should be."""
        before = self.levels
        for tilt, groups in zip(tilts[:turn], self.groups[:turn], strict=True):
            before = tilt.straighten(before, groups[:, None])
        curve = tilts[turn].curve.copy()
        for group, aim in enumerate(aims):
            mine = np.flatnonzero(self.groups[turn] == group)
            if aim is not None and self.weights[mine].sum() ** 2 >= FEWEST_IN_GROUP * self.squares[mine].sum():
                later = [_Later(tilt, groups[mine]) for tilt, groups in zip(tilts[turn + 1 :], self.groups[turn + 1 :], strict=True)]
                curve[group] = _powered(curve[group], _Kinds(before[mine], self.weights[mine], self.squares[mine], later), aim)
        return replace(tilts[turn], curve=curve)


@dataclass(frozen=True, eq=False)
class _Later:
    """A tilt and the groups of some kinds of rows."""

    tilt: Tilt
    groups: Index


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Kinds of rows of one group, and the tilts that come after the one that is bent."""

    levels: Rows
    weights: Reals
    squares: Reals
    later: Sequence[_Later]

    def share_below(self, curve: Reals) -> float:
        """How much of them lies below the borders, on average, under a curve."""
        return float(self.weights @ self._below(curve) / self.weights.sum())

    def beyond_chance(self, curve: Reals, aim: float) -> float:
        """The aim, drawn towards where they stand by as much as chance alone would set it apart (James and Stein)."""
        below = self._below(curve)
        total = self.weights.sum()
        share = self.weights @ below / total
        chance = float(self.squares @ (below - share) ** 2 / total**2)
        kept = 1.0 - chance / (aim - share) ** 2 if aim != share else 0.0
        return float(share + max(kept, 0.0) * (aim - share))

    def _below(self, curve: Reals) -> Reals:
        """Of each kind, under a curve."""
        moved = np.interp(self.levels, np.linspace(0, 1, len(curve)), curve)
        for each in self.later:
            moved = each.tilt.straighten(moved, each.groups[:, None])
        below: Reals = moved.mean(axis=1)
        return below


def _powered(curve: Reals, kinds: _Kinds, aim: float) -> Reals:
    """The curve to the power, between 1 / 3 and 3, under which the share below the borders comes nearest to what is wanted."""
    power, aim = 1.0, kinds.beyond_chance(curve, aim)
    for _ in range(STEPS):  # a larger power leaves less below; the share falls about as its own logarithm does
        share = kinds.share_below(curve**power)
        if not 0 < share < 1 or not 0 < aim < 1 or abs(share - aim) < CLOSE:
            break
        power = float(np.clip(power * np.log(aim) / np.log(share), 1 / STRONGEST, STRONGEST))
    bent: Reals = curve**power
    return bent
