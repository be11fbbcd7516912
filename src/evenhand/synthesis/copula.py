"""Gaussian copula as a latent space: every column's own distribution, joined by one correlation matrix.

The cheapest space there is.  It decodes and encodes exactly, but knows only monotone relations between two columns at a time;
the codes of a category are ordered by how they go along with the other columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DataError
from evenhand.synthesis.cells import Cells, cut
from evenhand.synthesis.latent import Latents, valid_rows

MOST_CELLS = 256
RIDGE = 1e-6
_BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True)
class Margin:
    """One column: its cells in the order of the copula, and how much of the column lies before and in each."""

    cells: Cells
    order: Index  # (cells,) the cell at each rank
    rank: Index  # (cells,) the rank of each cell
    before: Reals  # (cells,) by rank
    share: Reals

    @classmethod
    def fit(cls, cells: Cells, places: Index, order: Index) -> Margin:
        """Count the cells; every one keeps a little of the column, so that every valid row is possible."""
        counts = np.bincount(places, minlength=cells.count) + 1.0 / cells.count
        share = (counts / counts.sum())[order]
        return cls(cells, order, np.argsort(order), np.cumsum(share) - share, share)

    def levels(self, codes: Reals, rng: np.random.Generator) -> Reals:
        """A uniform draw from the levels that decode to each code."""
        places = self.cells.locate(codes)
        low, high = self.cells.inner(codes, places)
        ranks = self.rank[places]
        # A draw in the middle part of its interval survives the rounding on the way back.
        inner = low + (high - low) * (0.001 + 0.998 * rng.random(len(codes)))
        levels: Reals = self.before[ranks] + inner * self.share[ranks]
        return levels

    def codes(self, levels: Reals) -> Reals:
        """The inverse distribution function."""
        ranks = np.clip(np.searchsorted(self.before, levels, side="right") - 1, 0, len(self.before) - 1)
        inner = np.clip((levels - self.before[ranks]) / self.share[ranks], 0.0, _BELOW_ONE)
        return self.cells.codes(self.order[ranks], inner)


@dataclass(frozen=True, eq=False)
class Copula:
    """A fitted Gaussian copula."""

    domain: TabularDomain
    margins: tuple[Margin, ...]
    root: Rows  # lower triangular: correlated = latent @ root.T
    name: str = "copula"

    @classmethod
    def fit(cls, rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> Copula:
        """Learn margins and correlations from real rows."""
        if rows.ndim != 2 or rows.shape[1] != len(domain.columns) or len(rows) < 2 or not domain.inside(rows).all():
            raise DataError(f"a copula needs at least two rows of {len(domain.columns)} codes inside the domain, got {rows.shape}")
        margins = []
        for at, column in enumerate(domain.columns):
            cells = cut(column, rows[:, at], MOST_CELLS)
            places = cells.locate(rows[:, at])
            order = _order(places, cells, rows, at) if column.kind == "category" else np.arange(cells.count)
            margins.append(Margin.fit(cells, places, order))
        normal = _normal_scores(rows, margins, rng)
        correlation = np.atleast_2d(np.corrcoef(normal, rowvar=False))
        correlation = np.nan_to_num(correlation, nan=0.0)
        np.fill_diagonal(correlation, 1.0 + RIDGE)
        return cls(domain, tuple(margins), _root(correlation))

    @property
    def latent_size(self) -> int:
        """One number per column."""
        return len(self.margins)

    def latents(self, n: int, rng: np.random.Generator) -> Latents:
        """Standard normal vectors."""
        return rng.standard_normal((n, self.latent_size))

    def decode(self, latents: Latents) -> Rows:
        """The row that each vector stands for."""
        from scipy.special import ndtr

        levels = np.minimum(ndtr(np.asarray(latents, dtype=np.float64) @ self.root.T), _BELOW_ONE)
        rows = np.column_stack([margin.codes(levels[:, at]) for at, margin in enumerate(self.margins)])
        return valid_rows(rows, self.domain)

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows of the population."""
        return self.decode(self.latents(n, rng))

    def encode(self, rows: Rows, rng: np.random.Generator) -> Latents:
        """A vector for each row that decodes to it."""
        from scipy.linalg import solve_triangular

        latents: Rows = solve_triangular(self.root, _normal_scores(rows, list(self.margins), rng).T, lower=True).T
        return latents


def _order(places: Index, cells: Cells, rows: Rows, at: int) -> Index:
    """Categories by the mean of the first principal component of the other columns; unseen ones last."""
    others = np.nan_to_num(np.delete(rows, at, axis=1), nan=0.0)
    if not others.shape[1]:
        return np.arange(cells.count)
    others = (others - others.mean(axis=0)) / (others.std(axis=0) + 1e-12)
    main = others @ np.linalg.eigh(others.T @ others)[1][:, -1]
    counts = np.bincount(places, minlength=cells.count)
    means = np.bincount(places, weights=main, minlength=cells.count) / np.maximum(counts, 1)
    return np.argsort(np.where(counts > 0, means, np.inf), kind="stable")


def _normal_scores(rows: Rows, margins: list[Margin], rng: np.random.Generator) -> Rows:
    from scipy.special import ndtri

    levels = np.column_stack([margin.levels(rows[:, at], rng) for at, margin in enumerate(margins)])
    scores: Rows = ndtri(np.clip(levels, 1e-300, _BELOW_ONE))
    return scores


def _root(correlation: Rows) -> Rows:
    """The Cholesky factor of the nearest matrix that has one."""
    values, vectors = np.linalg.eigh(correlation)
    mended = (vectors * np.maximum(values, RIDGE)) @ vectors.T
    scale = np.sqrt(np.diag(mended))
    root: Rows = np.linalg.cholesky(mended / np.outer(scale, scale))
    return root
