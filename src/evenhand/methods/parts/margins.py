"""What a model says about a row, guessed from a table per column: additive log-scores, fitted by ridge regression.

The guess costs one look-up per column, so that many places can be compared before the model itself is asked about one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows, Scores
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.cells import Cells, cut

CELLS = 24
"""Cells that a column is cut into at most; a rarer value shares its cell with its neighbours."""

MOST_CELLS = 400
"""A column of more values than this is left out of the guess: too few rows would stand behind each entry."""

RIDGE = 1.0
STEEPEST = 8.0
"""Log-odds beyond this say only "certain"; a saturated network would otherwise bend the whole fit."""

BINS = 48


@dataclass(frozen=True)
class AdditiveMargins:
    """Tables whose sum guesses the log-odds of every class against the first."""

    places: tuple[int, ...]  # of the columns that take part
    cells: tuple[Cells, ...]
    tables: tuple[Rows, ...]  # for each of them (cells, classes - 1)
    middle: Reals  # (classes - 1,)

    @classmethod
    def fit(cls, rows: Rows, scores: Scores, domain: TabularDomain) -> AdditiveMargins:
        """Ridge regression of the log-odds on which cell of each column a row lies in."""
        cut_columns = {at: cut(column, rows[:, at], CELLS) for at, column in enumerate(domain.columns)}
        chosen = {at: cells for at, cells in cut_columns.items() if 1 < cells.count <= MOST_CELLS}
        begins = np.cumsum([0, *(cells.count for cells in chosen.values())])
        design = np.zeros((len(rows), begins[-1]))
        for begin, (at, cells) in zip(begins, chosen.items(), strict=False):
            design[np.arange(len(rows)), begin + _located(cells, rows[:, at])] = 1.0
        odds = log_odds(scores)
        middle: Reals = odds.mean(axis=0)
        weights: Rows = np.asarray(
            np.linalg.solve(design.T @ design + RIDGE * np.eye(begins[-1]), design.T @ (odds - middle)), dtype=np.float64
        )
        tables = tuple(weights[begin : begin + cells.count] for begin, cells in zip(begins, chosen.values(), strict=False))
        return cls(tuple(chosen), tuple(chosen.values()), tables, middle)

    def __call__(self, rows: Rows) -> Rows:
        """Guessed log-odds, (n, classes - 1)."""
        total = np.tile(self.middle, (len(rows), 1))
        for at, cells, table in zip(self.places, self.cells, self.tables, strict=True):
            total += table[_located(cells, rows[:, at])]
        return total

    def lead(self, rows: Rows) -> Reals:
        """How far the best class is ahead: signed for two classes, the lead over the second best for more."""
        odds = self(rows)
        if odds.shape[1] == 1:
            signed: Reals = odds[:, 0]
            return signed
        best = np.sort(np.column_stack([np.zeros(len(odds)), odds]), axis=1)[:, -2:]
        ahead: Reals = best[:, 1] - best[:, 0]
        return ahead


def _located(cells: Cells, codes: Reals) -> Index:
    if cells.is_single and not cells.has_missing and len(cells.edges) == cells.column.highest - cells.column.lowest + 1:
        return (codes - cells.column.lowest).astype(np.intp)
    return np.maximum(cells.locate(codes), 0)


def log_odds(scores: Scores) -> Rows:
    """Of every class but the first against the first, bounded; an amount, which has no classes, in standard deviations."""
    if scores.shape[1] == 1:
        amounts = np.asarray(scores, dtype=np.float64)
        spread: Rows = np.clip((amounts - amounts.mean()) / (amounts.std() or 1.0), -STEEPEST, STEEPEST)
        return spread
    logs = np.log(np.clip(np.asarray(scores, dtype=np.float64), 1e-9, None))
    odds: Rows = np.clip(logs[:, 1:] - logs[:, :1], -STEEPEST, STEEPEST)
    return odds


@dataclass(frozen=True)
class Chances:
    """How often rows of each guessed lead turned out to be unfair."""

    edges: Reals
    shares: Reals

    @classmethod
    def count(cls, leads: Reals, unfair: Mask) -> Chances:
        """Shares within bins of about equally many rows, finer where the unfair ones are."""
        of_unfair = leads[unfair] if unfair.any() else leads
        levels = np.linspace(0, 1, BINS // 2 + 1)[1:-1]
        edges = np.unique(np.concatenate([np.quantile(leads, levels), np.quantile(of_unfair, levels)]))
        bins = np.searchsorted(edges, leads)
        asked = np.bincount(bins, minlength=len(edges) + 1)
        hits = np.bincount(bins, weights=unfair, minlength=len(edges) + 1)
        overall = unfair.mean()
        return cls(edges, (hits + overall) / (asked + 1.0))

    def __call__(self, leads: Reals) -> Reals:
        """The chance of a finding at each lead."""
        chances: Reals = self.shares[np.searchsorted(self.edges, leads)]
        return chances
