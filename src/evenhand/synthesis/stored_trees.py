"""A decision tree as plain arrays, such as a file holds: it answers as the tree did that it was taken from, and runs no code of others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals
from evenhand.errors import StoreError


@dataclass(frozen=True, eq=False)
class StoredTree:
    """Children, feature and threshold of every node; -1 is no child."""

    children_left: Index
    children_right: Index
    feature: Index
    threshold: Reals

    def __post_init__(self) -> None:
        nodes = len(self.children_left)
        numbers = np.arange(nodes)
        inner = self.children_left >= 0
        sizes = {len(part) for part in (self.children_right, self.feature, self.threshold)}
        sound = nodes > 0 and sizes == {nodes} and np.array_equal(inner, self.children_right >= 0)
        for children in (self.children_left, self.children_right) if sound else ():
            # Children stand behind their parents, so that every way down ends.
            sound &= bool((children[inner] > numbers[inner]).all() and (children < nodes).all())
        if not sound or (self.feature[inner] < 0).any():
            raise StoreError("a tree of this file is damaged: its nodes do not lead to leaves; make the file again")

    @classmethod
    def of(cls, tree: Any) -> StoredTree:
        """One of scikit-learn's trees, or one that is stored already."""
        return cls(*(np.array(getattr(tree, name)) for name in ("children_left", "children_right", "feature", "threshold")))

    @cached_property
    def _depth(self) -> int:
        depth = np.zeros(len(self.children_left), dtype=np.intp)
        for node in np.flatnonzero(self.children_left >= 0):
            depth[[self.children_left[node], self.children_right[node]]] = depth[node] + 1
        return int(depth.max())

    def apply(self, copies: NDArray[np.float32]) -> Index:
        """The leaf's node of every row."""
        rows, nodes = np.arange(len(copies)), np.zeros(len(copies), dtype=np.intp)
        for _ in range(self._depth):
            rows = rows[self.children_left[nodes[rows]] >= 0]
            at = nodes[rows]
            goes_left = copies[rows, self.feature[at]] <= self.threshold[at]
            nodes[rows] = np.where(goes_left, self.children_left[at], self.children_right[at])
        return nodes
