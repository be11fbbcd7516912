"""Sequential CART, the baseline that a synthesiser must beat: a tree per column on all columns before it, donors drawn from leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain

LEAF_ROWS = 5
_MISSING = -1e6


class SequentialCart:
    """Nowok, Raab, Dibben, "synthpop", 2016, in its default form: every cell is some real row's cell."""

    def __init__(self, rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> None:
        del rng
        self.rows, self.seen = rows, np.where(np.isnan(rows), _MISSING, rows).astype(np.float32)
        self.trees = [self._tree(at, domain) for at in range(rows.shape[1])]

    def _tree(self, at: int, domain: TabularDomain) -> Any:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        if not at:
            return None
        kind = DecisionTreeClassifier if domain.columns[at].kind in ("category", "boolean") else DecisionTreeRegressor
        return kind(min_samples_leaf=LEAF_ROWS, random_state=0).fit(self.seen[:, :at], self.seen[:, at])

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows, a column at a time."""
        made, seen = np.empty((n, self.rows.shape[1])), np.empty((n, self.rows.shape[1]), dtype=np.float32)
        for at, tree in enumerate(self.trees):
            donors = rng.integers(0, len(self.rows), n) if tree is None else self._donors(tree, seen[:, :at], rng)
            made[:, at], seen[:, at] = self.rows[donors, at], self.seen[donors, at]
        return made

    def _donors(self, tree: Any, seen: Any, rng: np.random.Generator) -> Any:
        leaves, wanted = tree.apply(self.seen[:, : seen.shape[1]]), tree.apply(seen)
        order = np.argsort(leaves, kind="stable")
        first, last = (np.searchsorted(leaves[order], wanted, side) for side in ("left", "right"))
        return order[first + (rng.random(len(seen)) * (last - first)).astype(np.intp)]
