"""How large the leaves of a chain must be so that it does not learn single rows by heart.

The probability that a chain draws a learnt row is a product over its columns, so the share of copies is known without drawing
any, for every size of leaves that a grown tree can be cut to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.keys import hash_cells
from evenhand.synthesis.copy_limit import due_mass

if TYPE_CHECKING:
    from evenhand.synthesis.tree_growth import Grown

MOST_SURPLUS = 0.05
"""Share of rows that repeat a learnt one beyond what is due, above which the leaves are larger."""
ROWS = 4_000
"""Learnt rows, each different, that the share of copies is counted on."""


@dataclass
class LeafSizes:
    """The sizes that leaves may have, ascending, and how likely each makes some learnt rows, column after column."""

    sizes: Sequence[int]
    places: Index = field(repr=False)  # of learnt rows, each different
    weight: float  # how many different rows each of them stands for
    most: float  # share of copies that is allowed
    chances: Rows = field(repr=False)  # (sizes, places)

    @classmethod
    def of(cls, rows: Rows, sizes: Sequence[int], rng: np.random.Generator) -> LeafSizes:
        """Before any column is heard."""
        if len(sizes) == 1:
            return cls(sizes, np.empty(0, dtype=np.intp), 0.0, 1.0, np.empty((1, 0)))
        _, first, counts = np.unique(hash_cells(rows), return_index=True, return_counts=True)
        places = first[rng.permutation(len(first))[:ROWS]]
        return cls(sizes, places, len(first) / len(places), due_mass(counts).total + MOST_SURPLUS, np.ones((len(sizes), len(places))))

    def hear(self, grown: Grown) -> None:
        """One more column."""
        if self.is_settled or grown.is_told:
            return
        cells = grown.places[self.places]
        chance = 1.0 / grown.shape.codes_in_cells[cells]
        for at, size in enumerate(self.sizes):
            ends = grown.branches.ends(size)
            nodes = grown.nodes[self.places]
            nodes = nodes if ends is None else ends.stands[nodes]
            self.chances[at] *= grown.shares.at(nodes, cells) * chance

    @property
    def copies(self) -> Reals:
        """The share of copies by size; further columns make it smaller."""
        found: Reals = self.chances.sum(axis=1) * self.weight
        return found

    @property
    def is_settled(self) -> bool:
        """Whether the smallest leaves are fine, whatever comes."""
        return bool(self.copies[0] <= self.most)

    @property
    def chosen(self) -> int:
        """The smallest size with few enough copies, else the largest."""
        fine = np.flatnonzero(self.copies <= self.most)
        return self.sizes[fine[0]] if fine.size else self.sizes[-1]
