"""Where findings lie, roughly: the leaves of a small tree that tells scouted findings from the other scouted rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.methods.parts.hunches import readable

MOST_REGIONS = 64
SMALLEST = 20


@dataclass(frozen=True)
class Regions:
    """A tree over the non-protected columns; a single region where there was nothing to tell apart."""

    tree: Any
    places: Index

    @classmethod
    def fit(cls, rows: Rows, unfair: Mask, domain: TabularDomain) -> Regions:
        """Grow the tree; small leaves are merged by the tree's own limits."""
        from sklearn.tree import DecisionTreeClassifier

        places = np.array(domain.free_places, dtype=np.intp)
        if unfair.all() or not unfair.any() or not places.size:
            return cls(None, places)
        grower = DecisionTreeClassifier(max_leaf_nodes=MOST_REGIONS, min_samples_leaf=SMALLEST, class_weight="balanced", random_state=0)
        return cls(grower.fit(readable(rows[:, places]), unfair).tree_, places)

    @property
    def count(self) -> int:
        """One more than the largest number of a region."""
        return 1 if self.tree is None else int(self.tree.node_count)

    def of(self, rows: Rows) -> Index:
        """The region of each row."""
        if self.tree is None:
            return np.zeros(len(rows), dtype=np.intp)
        found: Index = self.tree.apply(readable(rows[:, self.places])).astype(np.intp)
        return found
