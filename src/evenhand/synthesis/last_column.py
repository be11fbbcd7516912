"""The outcome, or the last column of a chain: its groups stand where the data have them among rows as they are really drawn.

Columns drawn after it leave its frequencies as they are, so they can be set right once all else, the thinning of copies too, is known.
The odds of its cells are changed alike in all leaves of a group; which people of the group have which cell stays as the tree has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.synthesis.links import Asked, Copies, GroupBorders, Link, make_link

CELLS = 3_400_000
FEWEST_ROWS, MOST_ROWS = 10_000, 160_000
"""Rows that are drawn to see where groups stand; fewer of a wide table.  Their chance stays in the gaps: about half a point with 10,000."""
MOST_VALUES = 12
"""A column of more cells, say an amount, is left as it is."""
SWEEPS = 12
STRONGEST = 2.0
"""The most by which one sweep changes the odds of a cell."""
LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class LastCells:
    """Rows as the last column sees them: how likely each of its cells is, what its tree reads, how many people each row stands for."""

    chances: Rows  # (rows, cells)
    copies: Copies
    weights: Reals

    @classmethod
    def of(cls, places: Index, count: int, copies: Copies) -> LastCells:
        """Of rows whose cells are known."""
        return cls(np.eye(count)[places], copies, np.ones(len(places)))

    def shares(self, group_of: GroupBorders) -> Rows:
        """(groups, cells) how often the people of each group have each cell; NaN in a group without people."""
        groups = group_of.of(self.copies)
        table = np.stack([np.bincount(groups, self.weights * cell, minlength=group_of.count) for cell in self.chances.T], axis=1)
        with np.errstate(invalid="ignore"):
            shares: Rows = table / table.sum(axis=1, keepdims=True)
        return shares


def chances_of(link: Link, copies: Copies, kept: Rows) -> Rows:
    """How likely each cell of the link is in each row, where copies of learnt rows are kept only so often (rows, cells)."""
    chances = link.share[link.leaves(copies)] * kept
    likely: Rows = chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300)
    return likely


def can_be_settled(link: Link) -> bool:
    """Whether it has few cells, and leaves that tell groups apart."""
    return bool(link.groups) and link.is_plain and 1 < link.cells.count <= MOST_VALUES


def rows_to_draw(columns: int) -> int:
    """Many rows of few columns, fewer of many."""
    return int(np.clip(CELLS // columns, FEWEST_ROWS, MOST_ROWS))


def settled(link: Link, learnt: LastCells, drawn: LastCells) -> Link:
    """The link under which drawn groups have their cells as often as learnt groups do."""
    leaves = _Leaves.of(link, np.bincount(link.leaves(drawn.copies), drawn.weights, minlength=len(link.share)).astype(np.float64))
    aims = []
    for turn, each in enumerate(link.groups):
        moved = learnt.shares(each) - drawn.shares(each)
        aim = np.maximum(leaves.averages(link.share, turn) + np.nan_to_num(moved), LEAST)
        aims.append(aim / aim.sum(axis=1, keepdims=True))
    share = leaves.raked(link.share, aims)
    return make_link(link.cells, Asked(link.tree, link.parents, link.leaf_of_node, link.groups), share)


@dataclass(frozen=True, eq=False)
class _Leaves:
    """The leaves of a link: how many people end in each, and its group by protected column."""

    people: Reals
    groups: tuple[Index, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, link: Link, people: Reals) -> _Leaves:
        """Leaves of the tree stand once for every combination of groups."""
        counts = tuple(each.count for each in link.groups)
        places = np.unravel_index(np.arange(len(people)), (len(people) // int(np.prod(counts)), *counts))
        return cls(people, tuple(places[1:]), counts)

    def averages(self, share: Rows, turn: int) -> Rows:
        """(groups, cells) of one protected column, over its people."""
        sums = np.zeros((self.counts[turn], share.shape[1]))
        np.add.at(sums, self.groups[turn], share * self.people[:, None])
        people = np.bincount(self.groups[turn], self.people, minlength=self.counts[turn])
        found: Rows = sums / np.maximum(people, 1e-300)[:, None]
        return found

    def raked(self, share: Rows, aims: Sequence[Rows]) -> Rows:
        """The frequencies with their odds changed group by group until the averages are the wanted ones."""
        for turn in (*range(len(aims)),) * SWEEPS:
            now = self.averages(share, turn)
            factors = np.where(now > 0, np.clip(aims[turn] / np.maximum(now, LEAST), 1 / STRONGEST, STRONGEST), 1.0)
            share = share * factors[self.groups[turn]]
            share = share / share.sum(axis=1, keepdims=True)
        return share
