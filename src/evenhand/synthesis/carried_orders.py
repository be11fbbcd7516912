"""Numbers that come before or after moved ones: where a move would turn their order round, they keep their distance."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Rows
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.derivations import InOrder, read_rules


@dataclass(frozen=True)
class CarriedOrders:
    """Orders of a moved number and another one, which is carried along; the nearest to what was moved first."""

    steps: tuple[tuple[InOrder, int, int], ...]  # the order, the moved place, the carried place

    @classmethod
    def of(cls, trees: ChainedTrees, moved: Collection[int], decided: Collection[int]) -> CarriedOrders:
        """The found orders that reach beyond the moved columns; computed and decided columns are not carried."""
        rules = tuple(each.rule for each in trees.relations if each.kind == "order")
        orders = read_rules(rules, trees.domain, np.empty((0, len(trees.domain.columns)))).sequences if moved else ()
        computed = {at for at, guide in trees.guides.items() if guide.is_total}
        return cls(tuple(_steps(orders, set(moved), computed | set(decided))))

    @property
    def places(self) -> frozenset[int]:
        """What is carried."""
        return frozenset(carried for _, _, carried in self.steps)

    def carry(self, rows: Rows, before: Rows) -> None:
        """Put the rows right; `before` is how they were drawn."""
        for order, moved, carried in self.steps:
            first, second = rows[:, order.first], rows[:, order.second]
            wrong = (first >= second) if order.is_strict else (first > second)
            rows[wrong, carried] = before[wrong, carried] + rows[wrong, moved] - before[wrong, moved]


def _steps(orders: tuple[InOrder, ...], moved: set[int], still: set[int]) -> Iterator[tuple[InOrder, int, int]]:
    reached: list[int] = sorted(moved)
    for at in reached:  # grows
        for order in orders:
            other = order.second if order.first == at else order.first if order.second == at else at
            if other not in moved | still:
                yield order, at, other
                if other not in reached:
                    reached.append(other)
