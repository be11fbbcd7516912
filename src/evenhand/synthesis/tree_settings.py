"""How fine chained trees are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.deadline import NEVER, Deadline
from evenhand.limits import Count, NotNegative, ShareBelowOne, TwoOrMore, check_limits

FEWEST_STRUCTURE_ROWS = 10_000
FEWEST_PARENTS = 18
"""Fewer are not enough in wide tables: on a generated questionnaire rows were told apart with an AUC of .584 with 12, .572 with 18."""
FINEST, FINE = 5, 8
"""Rows of a leaf: the fewest, and the fewest of a tree that asks few columns, which would only learn chance from finer ones."""
MANY_ASKED = 10
"""Columns that tell something, from which on a tree needs its finest leaves: each split tells of one of them."""
LARGER_LEAVES = (8, 20, 40)
FEWEST_LEAVES = 25


@dataclass(frozen=True)
class TreeSettings:
    """How fine the trees are.

    leaf_rows: fewest rows of a leaf; None takes rows / 500, between 5 and 8, 5 where many columns are asked, and more where too many
        learnt rows are repeated
    held_out: share of the structure rows that say whether a trend pays; 0 for no trends
    parents: most columns that a column's tree may ask, beside the protected ones; None for as many as `asked_cells` allow
    asked_cells: cells of parents that all trees together may be grown on, so that wide tables stay affordable; never below 18 parents
    relations: whether sums, orders, dependencies and other relations are looked for and kept
    tilts: whether what groups differ in beyond the trees is put back
    rarer_copies: whether rows that repeat a learnt one are thinned to as many as fresh real rows would be
    doubts_protected: whether a protected column gets no tree where none of any size tells of held-out rows: for who judges twins by it
    cells: most cells of one numeric column
    structure_rows: most rows that the splits are chosen on; leaf frequencies always use all rows
    structure_cells: the same in cells of all columns together, so that wide tables stay affordable; never below 10,000 rows
    table_cells: most cells of one column's leaves together; columns with many values get fewer leaves
    seconds: how long learning may take; where that is short, trees are grown on fewer rows and some columns get none
    until: the same as a moment, by the wall's clock or the processor's
    """

    leaf_rows: Count | None = None
    held_out: ShareBelowOne = 0.1
    parents: TwoOrMore | None = None
    asked_cells: TwoOrMore = 12_000_000
    relations: bool = True
    tilts: bool = True
    rarer_copies: bool = True
    doubts_protected: bool = False
    cells: TwoOrMore = 256
    structure_rows: TwoOrMore = 20_000
    structure_cells: TwoOrMore = 700_000
    table_cells: TwoOrMore = 1_000_000
    seconds: NotNegative | None = None
    until: Deadline = NEVER

    def __post_init__(self) -> None:
        check_limits(self)

    def rows_for_structure(self, columns: int) -> int:
        """How many rows the splits are chosen on at most, in a table of this many columns."""
        return min(self.structure_rows, max(FEWEST_STRUCTURE_ROWS, self.structure_cells // columns))

    def rows_per_leaf(self, rows: int, asked: int) -> int:
        """The fewest rows of a leaf for a table of this many rows, in a tree that asks this many columns."""
        if self.leaf_rows is not None:
            return self.leaf_rows
        return FINEST if asked >= MANY_ASKED else int(np.clip(rows // 500, FINEST, FINE))

    def leaf_sizes(self, rows: int) -> tuple[int, ...]:
        """The same, and what is tried next where leaves of so few rows learn single rows by heart."""
        first = self.rows_per_leaf(rows, MANY_ASKED)
        larger = () if self.leaf_rows is not None or not self.rarer_copies else LARGER_LEAVES
        return (first, *(size for size in larger if first < size <= rows // FEWEST_LEAVES))

    def most_parents(self, columns: int, rows: int) -> int:
        """How many columns a tree may ask in a table of this many columns, grown on this many rows."""
        return self.parents if self.parents is not None else max(FEWEST_PARENTS, self.asked_cells // (columns * max(rows, 1)))
