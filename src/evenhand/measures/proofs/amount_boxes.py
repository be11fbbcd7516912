"""Boxes of the grid judged by trees that add up to an amount: how far apart twins can be, and at least are, everywhere in a box.

What two twins share in a tree cancels exactly, because every tree is bounded for each couple of twins at once, and not for each twin.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals
from evenhand.errors import MissingAbility
from evenhand.measures.proofs.grid import Grid
from evenhand.measures.proofs.orbits import Orbits, TwinTree
from evenhand.measures.proofs.tree_boxes import BATCH, Ask, Boxes, TreeJudge, add_bounds
from evenhand.oracles.parts.people import Tolerance

MOST_TWINS = 48
"""Twins that are told apart at most: every couple of them is bounded by itself."""
USUAL_COUPLES = 4
"""With more couples, fewer boxes are judged at once."""
LAST_PLACES = 1e-12
"""Amounts that differ by no more than this share of them are equal: they were added up in another order."""
CLOSE = 1e-9
"""The worst gap is known where its bounds are closer than this share of it."""
LEVEL = 1e-3
"""What the spread of an amount's own level counts beside that of differences, where a tolerance depends on the level."""


@dataclass(frozen=True)
class AmountBounds:
    """Bounds of the amounts of every twin, (twins, n), and of the difference of every couple, (couples, n)."""

    low: Reals
    high: Reals
    least: Reals
    most: Reals


@dataclass(frozen=True)
class Distances:
    """What is known of couples of twins everywhere in a box; arrays are (couples, n)."""

    least: Reals
    most: Reals
    slack: Reals  # what rounding may move a distance by
    within_share: Mask  # surely no more than the tolerated share of the larger amount
    beyond_share: Mask  # surely more

    def compared(self, tolerance: Tolerance) -> tuple[Mask, Mask]:
        """Which couples are surely within the tolerance, in the label's unit or as a share, and which surely beyond both."""
        within = self.within_share | (self.most <= tolerance.amount - self.slack)
        return within, self.beyond_share & (self.least > tolerance.amount + self.slack)


@dataclass(frozen=True)
class WorstGap:
    """The largest distance between the amounts of two twins lies between these two."""

    lower: float
    upper: float
    unit: str = ""

    @property
    def sentence(self) -> str:
        """For a reader."""
        unit = f" {self.unit}" if self.unit else ""
        if self.upper - self.lower <= 1e-4 * self.upper:
            return f"The two twins whose amounts differ most are {self.upper:,.5g}{unit} apart."
        return f"The two twins whose amounts differ most are between {self.lower:,.4g} and {self.upper:,.4g}{unit} apart."


def couples_of(twins: int) -> Index:
    """Every two of so many twins, (couples, 2); too many are refused."""
    if twins > MOST_TWINS:
        raise MissingAbility(
            f"certify compares at most {MOST_TWINS} values of what is protected for amounts, and the model tells "
            f"{twins} apart; declare bins or fewer compared values for the protected columns"
        )
    return np.array(list(combinations(range(twins), 2)), dtype=np.intp).reshape(-1, 2)


def distances_of(bounds: AmountBounds, couples: Index, tolerance: Tolerance, rounding: float) -> Distances:
    """How far apart the amounts of couples are, where bounds are of the amounts themselves."""
    first, second = couples.T
    nearest, furthest = _distance_bounds(bounds.least, bounds.most)
    is_around_zero = (bounds.low <= 0) & (bounds.high >= 0)
    smallest = np.where(is_around_zero, 0.0, np.minimum(np.abs(bounds.low), np.abs(bounds.high)))
    largest = np.maximum(np.abs(bounds.low), np.abs(bounds.high))
    share, slack = max(tolerance.share, LAST_PLACES), np.full(bounds.least.shape, rounding)
    within = furthest + slack <= tolerance.share * np.maximum(smallest[first], smallest[second])
    beyond = nearest - slack > share * np.maximum(largest[first], largest[second])
    return Distances(nearest, furthest, slack, within, beyond)


class AmountJudge(TreeJudge):
    """Judges boxes by how far apart the amounts of twins are; where rounding decides, the model itself is asked."""

    def __init__(self, orbits: Orbits, grid: Grid, ask: Ask, tolerance: Tolerance, is_logarithm: bool) -> None:
        self.couples = couples_of(orbits.combinations)
        super().__init__(orbits, grid, ask)
        self.tolerance, self.is_logarithm = tolerance, is_logarithm
        self.paired = tuple(_paired(tree, self.couples) for tree in orbits.trees)
        self.batch = max(256, BATCH * USUAL_COUPLES // max(USUAL_COUPLES, len(self.couples)))

    @property
    def _level_matters(self) -> bool:
        """Whether a distance, or what is tolerated of it, depends on how large the amounts are."""
        return self.is_logarithm or self.tolerance.share > 0

    def _decided(self, boxes: Boxes) -> tuple[Mask, Mask, NDArray[np.float32]]:
        """Which boxes are surely fair and surely unfair, and how undecided each tree is, (trees, n)."""
        distances, spread, apart = self._bounded(boxes)
        near, far = distances.compared(self.tolerance)
        possible = self._possible_couples(boxes)
        fair = (near | ~possible).all(axis=0)
        return fair | ~apart, (far & possible).any(axis=0) & apart, spread

    def _possible_couples(self, boxes: Boxes) -> Mask:
        """Which couples are two possible people, (couples, n)."""
        possible = self.possible[boxes[-1]]
        both: Mask = possible[:, self.couples[:, 0]] & possible[:, self.couples[:, 1]]
        return both.T

    def _bounded(self, boxes: Boxes) -> tuple[Distances, NDArray[np.float32], Mask]:
        """The distances of all couples, how undecided each tree is, and where any twins can differ at all."""
        orbits, n = self.orbits, len(boxes[0])
        low = np.zeros((orbits.combinations + len(self.couples), 1, n))
        low[: orbits.combinations] = orbits.offset[:, None]
        high = low.copy()
        spread = np.empty((len(self.paired), n), dtype=np.float32)
        apart = np.zeros(n, dtype=bool)
        for at, tree in enumerate(self.paired):
            lowest, highest, differ = tree.bounds(boxes)
            single = int(tree.variant[: orbits.combinations].max()) + 1  # the first entries are the twins themselves, then the couples
            width = highest - lowest
            spread[at] = width[single:].max(axis=0, initial=0.0)
            if self._level_matters:
                spread[at] += LEVEL * width[:single].max(axis=0)
            add_bounds(low, lowest, tree)
            add_bounds(high, highest, tree)
            apart |= differ
        return self._distances(low[:, 0], high[:, 0]), spread, apart

    def _distances(self, low: Reals, high: Reals) -> Distances:
        """From bounds of the sums, of each twin and of the difference of each couple."""
        count, (first, second) = self.orbits.combinations, self.couples.T
        least = np.maximum(low[count:], low[first] - high[second])
        most = np.minimum(high[count:], high[first] - low[second])
        if self.is_logarithm:
            return self._of_logarithms(low[:count], high[:count], least, most)
        return distances_of(AmountBounds(low[:count], high[:count], least, most), self.couples, self.tolerance, self.orbits.tolerance)

    def _of_logarithms(self, low: Reals, high: Reals, least: Reals, most: Reals) -> Distances:
        """Where sums are logarithms, the share that two amounts differ by depends on the difference of the sums alone."""
        first, second = self.couples.T
        slack, (nearest, furthest) = self.orbits.tolerance, _distance_bounds(least, most)
        within = -np.expm1(-(furthest + slack)) <= self.tolerance.share
        beyond = -np.expm1(-(nearest - slack)) > max(self.tolerance.share, LAST_PLACES)
        with np.errstate(over="ignore"):
            # exp(a) - exp(b) is exp(b) times (exp(a - b) - 1): of two factors with bounds, a corner is the extreme.
            corners = [np.exp(level[second]) * np.expm1(step) for level in (low, high) for step in (least, most)]
            largest = np.maximum(np.exp(high)[first], np.exp(high)[second])
        bounds = _distance_bounds(np.minimum.reduce(corners), np.maximum.reduce(corners))
        return Distances(*bounds, 4 * slack * largest, within, beyond)

    def worst_gap(self, seconds: float, unit: str) -> WorstGap:
        """The largest distance of any two twins of the domain: boxes that may hold it are halved, the most promising first."""
        begun, lower, slack = time.monotonic(), 0.0, 0.0
        fresh, promising = self.start()[0], None
        while True:
            told, spread, _ = self._bounded(fresh)
            possible = self._possible_couples(fresh)
            lower = max(lower, float(np.where(possible, told.least, 0.0).max(initial=0.0)))
            slack = max(slack, float(told.slack.max(initial=0.0)))
            met = _Promising(fresh, np.where(possible, told.most, 0.0).max(axis=0, initial=0.0), spread)
            promising = (met if promising is None else promising.joined(met, self)).above(lower * (1 + CLOSE), self)
            if not len(promising.upper) or time.monotonic() - begun > seconds:
                return WorstGap(max(0.0, lower - slack), max(lower, float(promising.upper.max(initial=0.0))) + slack, unit)
            first, promising = promising.parted(self.batch, self)
            axis, todo = self._choose(first.boxes, first.spread)
            fresh, _ = self._halves(first.boxes, first.upper, axis, todo)


@dataclass(frozen=True)
class _Promising:
    """Boxes that may hold the largest distance, the most that each may hold, and how undecided each tree is."""

    boxes: Boxes
    upper: Reals  # (n,)
    spread: NDArray[np.float32]  # (trees, n)

    def taken(self, chosen: Index | Mask, judge: AmountJudge) -> _Promising:
        """Some of them."""
        return _Promising(judge.take(self.boxes, chosen), self.upper[chosen], self.spread[:, chosen])

    def joined(self, other: _Promising, judge: AmountJudge) -> _Promising:
        """Both together."""
        spread = np.concatenate([self.spread, other.spread], axis=1)
        return _Promising(judge.join([self.boxes, other.boxes]), np.concatenate([self.upper, other.upper]), spread)

    def above(self, lower: float, judge: AmountJudge) -> _Promising:
        """Those that may hold more than is known."""
        return self.taken(self.upper > lower, judge)

    def parted(self, most: int, judge: AmountJudge) -> tuple[_Promising, _Promising]:
        """So many with the highest bounds, and the others."""
        order = np.argsort(-self.upper, kind="stable")
        return self.taken(order[:most], judge), self.taken(order[most:], judge)


def _distance_bounds(least: Reals, most: Reals) -> tuple[Reals, Reals]:
    """From bounds of a difference to those of its size."""
    return np.maximum(np.maximum(least, -most), 0.0), np.maximum(np.abs(least), np.abs(most))


def _paired(tree: TwinTree, couples: Index) -> TwinTree:
    """The tree with the difference of every couple of twins beside what it adds for each."""
    values = np.array(tree.values)[:, :, 0]  # (leaves, variants)
    wanted = tree.variant[couples]  # (couples, 2)
    distinct, which = np.unique(wanted, axis=0, return_inverse=True)
    differences = values[:, distinct[:, 0]] - values[:, distinct[:, 1]] if len(couples) else np.empty((len(values), 0))
    made = TwinTree(
        np.concatenate([tree.variant, values.shape[1] + which.reshape(-1)]).astype(np.intp),
        np.zeros(1, dtype=np.intp),
        tree.parent,
        tree.cells,
        tree.children,
        tree.split,
        tree.leaf,
        list(np.concatenate([values, differences], axis=1)[:, :, None]),
    )
    made.finish()
    made.unequal = tree.unequal
    return made
