"""Whose cells of a column are missing, as far as the other columns tell: a wished share of missing cells is to fall on the same people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.links import Copies, tree_copy

MOST_ROWS = 20_000
FEWEST_MISSING = 20
"""Missing cells, and present ones, below which no pattern is looked for; also the fewest rows of a leaf."""
LEAVES = 64
STEADY_ROWS = 1.0
"""Rows of the whole column's share that every leaf is mixed with, so that nobody's cell is certain to be there."""
HALVINGS = 60


@dataclass(frozen=True, eq=False)
class MissingPattern:
    """A tree on the other columns, and the share of missing cells at each of its nodes."""

    tree: Any
    places: Index  # columns that the tree reads
    lowest: Reals  # smallest code of each of them
    shares: Reals  # (nodes,)

    @classmethod
    def learnt(cls, rows: Rows, at: int, domain: TabularDomain, rng: np.random.Generator) -> MissingPattern | None:
        """From real rows; None where too few cells are missing, or where the other columns tell nothing of held-out rows."""
        rows = rows[rng.permutation(len(rows))[:MOST_ROWS]]
        missing = np.isnan(rows[:, at])
        if min(missing.sum(), (~missing).sum()) < FEWEST_MISSING or rows.shape[1] < 2:
            return None
        places = np.delete(np.arange(rows.shape[1]), at)
        lowest = domain.low[places]
        copies, half = _copies(rows, places, lowest), len(rows) // 2
        tried = cls(_grown(copies[:half], missing[:half], rng), places, lowest, np.empty(0))
        tried = tried._counted(copies[:half], missing[:half])
        alone = np.full(len(rows) - half, missing[:half].mean())
        if _likelihood(tried._shares_of(copies[half:]), missing[half:]) <= _likelihood(alone, missing[half:]):
            return None
        return cls(_grown(copies, missing, rng), places, lowest, np.empty(0))._counted(copies, missing)

    def chosen(self, rows: Rows, count: int, rng: np.random.Generator) -> Index:
        """So many of the rows, those rather whose cells are missing more often: the odds of all of them change alike."""
        if not 0 < count < len(rows):
            return np.arange(count)
        shares = self._shares_of(_copies(rows, self.places, self.lowest))
        return _drawn(_shifted(shares, count), count, rng)

    def _shares_of(self, copies: Copies) -> Reals:
        shares: Reals = self.shares[self.tree.apply(copies)]
        return shares

    def _counted(self, copies: Copies, missing: Mask) -> MissingPattern:
        nodes = self.tree.apply(copies)
        size = int(nodes.max()) + 1
        rows, empty = np.bincount(nodes, minlength=size), np.bincount(nodes, missing, minlength=size)
        shares = (empty + STEADY_ROWS * missing.mean()) / (rows + STEADY_ROWS)
        padded = np.append(shares, np.full(max(len(self.tree.children_left) - size, 0), missing.mean()))
        return MissingPattern(self.tree, self.places, self.lowest, padded)


def _copies(rows: Rows, places: Index, lowest: Reals) -> Copies:
    copies = [tree_copy(rows[:, at], low) for at, low in zip(places.tolist(), lowest.tolist(), strict=True)]
    return np.ascontiguousarray(np.stack(copies, axis=1), dtype=np.float32)


def _grown(copies: Copies, missing: Mask, rng: np.random.Generator) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    fewest = max(FEWEST_MISSING, len(copies) // LEAVES)
    tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=fewest, random_state=int(rng.integers(2**31)))
    return tree.fit(copies, missing, check_input=False).tree_


def _likelihood(shares: Reals, missing: Mask) -> float:
    sure = np.clip(np.where(missing, shares, 1.0 - shares), 1e-9, 1.0)
    return float(np.log(sure).sum())


def _shifted(shares: Reals, count: int) -> Reals:
    """Shares whose odds are all multiplied by one number, so that they add up to a count."""
    sure = np.clip(shares, 1e-9, 1.0 - 1e-9)
    odds = np.log(sure / (1.0 - sure))
    low, high = -60.0, 60.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if (1.0 / (1.0 + np.exp(-odds - middle))).sum() < count else (low, middle)
    found: Reals = 1.0 / (1.0 + np.exp(-odds - high))
    return found


def _drawn(shares: Reals, count: int, rng: np.random.Generator) -> Index:
    """Exactly `count` places, each with its share: steps of one along the shares in random order."""
    order = rng.permutation(len(shares))
    upto = np.cumsum(shares[order])
    upto *= count / upto[-1]
    steps = np.minimum(rng.random() + np.arange(count), np.nextafter(count, 0.0))
    places: Index = order[np.searchsorted(upto, steps, side="right")]
    return places
