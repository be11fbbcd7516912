"""A straight trend of one number in the numbers before it: the part of a column that trees would need many steps for.

A column with a trend is chained by what is left of it, so that sums, shares and other smooth relations keep their sharpness.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.columns import Column
from evenhand.synthesis.cells import Cells, grid_of, tails
from evenhand.synthesis.links import Copies

RIDGE = 1e-6
FEWEST_EXPLAINED = 0.8
"""The share of a column's variance below which a trend is not worth a second fit."""


@dataclass(frozen=True)
class Trend:
    """Where a cell would be expected: `centre` + weights * (parents - their means), inside the column's range."""

    column: Column
    places: Index
    means: Reals  # of the parents; a missing parent counts as its mean
    lowest: Reals
    weights: Reals
    centre: float
    grid: int | str | None  # decimals of the column's cells

    def expected(self, copies: Copies) -> Reals:
        """One number for every row."""
        parents = copies[:, self.places].astype(np.float64)
        parents = np.where(parents < self.lowest, self.means, parents) - self.means
        found: Reals = np.clip(self.centre + parents @ self.weights, self.column.lowest, self.column.highest)
        return found

    @cached_property
    def half_step(self) -> float:
        """Half the distance of two neighbouring cells; 0 where cells lie densely."""
        if self.column.is_integral:
            return 0.5
        return 0.5 * 10.0**-self.grid if isinstance(self.grid, int) else 0.0

    def codes(self, rests: Reals, expected: Reals) -> Reals:
        """The cell nearest to what is expected and what is left."""
        codes = expected + rests
        if self.column.is_integral:
            codes = np.floor(codes + 0.5)
        elif isinstance(self.grid, int):
            codes = np.round(np.floor(codes * 10.0**self.grid + 0.5) / 10.0**self.grid, self.grid)
        return np.clip(codes, self.column.lowest, self.column.highest)

    def ends(self, codes: Reals, expected: Reals) -> tuple[Reals, Reals]:
        """The rests from which and up to which each cell is the nearest; the outermost cells take all that lies beyond."""
        low, high = codes - self.half_step - expected, codes + self.half_step - expected
        return np.where(codes <= self.column.lowest, -np.inf, low), np.where(codes >= self.column.highest, np.inf, high)


def fit_trend(codes: Reals, copies: Copies, column: Column, parents: list[int], lowest: Reals) -> Trend | None:
    """The trend by ridge regression; None where it explains too little, or where the column is not one for it."""
    present = ~np.isnan(codes)
    grid = None if column.is_integral else grid_of(np.unique(codes[present]))
    if column.is_listed or not parents or present.sum() < 10 * len(parents) or not (column.is_integral or isinstance(grid, int)):
        return None
    cells = copies[present][:, parents].astype(np.float64)
    below = lowest[parents]
    known: Mask = cells >= below
    means = np.where(known, cells, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, cells, means) - means
    wanted = codes[present] - codes[present].mean()
    scale = np.maximum(centred.std(axis=0), 1e-300)
    scaled: Rows = centred / scale
    gram = scaled.T @ scaled + RIDGE * len(scaled) * np.eye(len(parents))
    weights = np.linalg.solve(gram, scaled.T @ wanted) / scale
    left = wanted - centred @ weights
    if not wanted.any() or left.var() > (1 - FEWEST_EXPLAINED) * wanted.var():
        return None
    return Trend(column, np.array(parents), means, below, weights, float(codes[present].mean()), grid)


def rest_cells(rests: Reals, trend: Trend, most: int, has_missing: bool) -> Cells:
    """Intervals of what is left of a column, wide enough for every valid cell under every expectation."""
    reach = trend.column.highest - trend.column.lowest + 2 * trend.half_step + 1.0
    present = rests[~np.isnan(rests)]
    count = min(most, max(2, len(present) // 2))
    inner = np.concatenate([np.quantile(present, np.linspace(0, 1, count), method="linear"), tails(np.sort(present), count)])
    # The largest rest ends its cell; it would otherwise spread over everything beyond it.
    edges = np.unique(np.concatenate([[-reach], inner[inner < present.max()], [np.nextafter(present.max(), np.inf), reach]]))
    pseudo = Column(trend.column.name, "real", low=-reach, high=reach, missing=trend.column.missing)
    places = np.minimum(np.arange(len(edges)), len(edges) - 2)
    return Cells(pseudo, edges[:-1], np.diff(edges), edges, places, places, has_missing)
