"""The domain for a network: every axis a row of cells, a box a stretch of neighbouring cells on each, with the features' hull there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import MissingAbility
from evenhand.measures.proofs.dense_layers import Network
from evenhand.measures.proofs.grid import is_constrained, is_joint, joint_values, levels, own_value, tied
from evenhand.models.inputs import probe_rows

REAL_CELLS = 1_024
"""Intervals that a column of real numbers is cut into at most."""
MOST_CELLS = 200_000
MOST_TABLED = 256
"""Cells up to which the hull of every stretch is kept in a table; beyond, features must go one way along the cells."""


@dataclass(frozen=True)
class CellStrip:
    """One axis.  `low` and `high` hold the hull of its features over a stretch, by (combination, first, last) or by cell."""

    places: tuple[int, ...]
    codes: Rows  # (cells, columns)
    weights: Reals
    features: Index  # which inputs of the network it feeds
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    is_tabled: bool
    is_point: bool  # whether a single cell is a single value
    allowed: NDArray[np.bool_]  # (combinations or 1, cells)

    def hull(self, k: int, first: NDArray[Any], last: NDArray[Any]) -> tuple[Reals, Reals]:
        """The features' bounds over stretches, (n, features) each, for the k-th combination."""
        k = k if len(self.low) > 1 else 0
        if self.is_tabled:
            return self.low[k, first, last], self.high[k, first, last]
        ends = np.stack([self.low[k, first], self.low[k, last], self.high[k, first], self.high[k, last]])
        return ends.min(axis=0), ends.max(axis=0)


def strips_of(network: Network, domain: TabularDomain) -> list[CellStrip]:
    """Every axis of the domain."""
    base = probe_rows(domain, 1)
    return [_strip(network, domain, places, base) for places in tied(domain)]


def _strip(network: Network, domain: TabularDomain, places: tuple[int, ...], base: Rows) -> CellStrip:
    codes, ends, weights = _cells(domain, places)
    is_protected = bool(set(places) & set(domain.protected_places))
    starts_at, ends_at = (_features(network, domain, _with_cells(base, places, each), is_protected) for each in (codes, ends))
    seen = np.concatenate([starts_at, ends_at], axis=1)
    fed = np.flatnonzero((seen != seen[:1, :1]).any(axis=(0, 1)))
    low, high = np.minimum(starts_at, ends_at)[:, :, fed], np.maximum(starts_at, ends_at)[:, :, fed]
    order = np.argsort(low[0, :, 0], kind="stable") if len(places) == 1 and len(fed) == 1 else np.arange(len(codes))
    codes, weights, low, high = codes[order], weights[order], low[:, order], high[:, order]
    allowed = _allowed(domain, places, codes, base) if is_protected else np.ones((1, len(codes)), dtype=bool)
    is_tabled = len(codes) <= MOST_TABLED and not _one_way(low)
    if is_tabled:
        low, high = _table(low, np.minimum), _table(high, np.maximum)
    elif not _one_way(low):
        names = ", ".join(repr(domain.names[place]) for place in places)
        raise MissingAbility(
            f"the network's inputs do not go one way along the {len(codes):,} values of {names}; certify cannot bound them"
        )
    return CellStrip(places, codes, weights, fed, low, high, is_tabled, bool((codes == ends[order])[~np.isnan(codes)].all()), allowed)


def _cells(domain: TabularDomain, places: tuple[int, ...]) -> tuple[Rows, Rows, Reals]:
    """First and last codes of every cell, and the cells' shares."""
    column = domain.columns[places[0]]
    if is_joint(places, domain):
        only = set(places) <= set(domain.protected_places) and not is_constrained(domain, places)
        codes, weights = own_value(domain, places) if only else joint_values(domain, places)
        return codes, codes, weights
    if column.is_integral:
        if (column.cardinality or 0) > MOST_CELLS:
            return _intervals(column, np.unique(np.rint(np.linspace(column.lowest, column.highest + 1, MOST_CELLS))), 1.0)
        listed, shares = levels(column)
        return listed[:, None], listed[:, None], shares
    return _intervals(column, np.linspace(column.lowest, column.highest, REAL_CELLS + 1), 0.0)


def _intervals(column: object, edges: Reals, step: float) -> tuple[Rows, Rows, Reals]:
    missing = float(getattr(column, "missing", 0.0))
    edges = np.unique(edges) if len(np.unique(edges)) > 1 else np.repeat(edges[:1], 2)
    starts, ends = edges[:-1], edges[1:] - step
    width = np.diff(edges)
    weights = (1 - missing) * (width / width.sum() if width.sum() > 0 else np.ones(1))
    if missing > 0:
        starts, ends, weights = np.append(starts, np.nan), np.append(ends, np.nan), np.append(weights, missing)
    return starts[:, None], ends[:, None], weights


def _with_cells(base: Rows, places: tuple[int, ...], codes: Rows) -> Rows:
    """The one base row, once for every line of codes, which stand in it at these places."""
    rows = np.repeat(base, len(codes), axis=0)
    rows[:, list(places)] = codes
    return rows


def _features(network: Network, domain: TabularDomain, rows: Rows, is_protected: bool) -> Reals:
    """The network's inputs for every combination and row, (combinations or 1, rows, inputs)."""
    orbit = domain.twins(rows).rows if is_protected else rows[None]
    found = network.features(orbit.reshape(-1, orbit.shape[2]))
    if np.isnan(found).any():
        raise MissingAbility("missing cells reach the network as NaN; certify needs a network that fills them (DenseNet.fill, an imputer)")
    return found.reshape(*orbit.shape[:2], -1)


def _allowed(domain: TabularDomain, places: tuple[int, ...], codes: Rows, base: Rows) -> NDArray[np.bool_]:
    rows = np.repeat(base, len(codes), axis=0)
    rows[:, list(places)] = codes
    orbit = domain.twins(rows).rows
    allowed = np.ones(orbit.shape[:2], dtype=bool)
    for part in domain.parts:
        if set(part.places) <= set(places):
            allowed &= part.keeps(orbit.reshape(-1, orbit.shape[2])[:, list(part.places)]).reshape(allowed.shape)
    return allowed


def _one_way(values: NDArray[np.float64]) -> bool:
    steps = np.diff(values, axis=1)
    return bool(((steps >= 0).all(axis=1) | (steps <= 0).all(axis=1)).all())


def _table(values: NDArray[np.float64], combine: np.ufunc) -> NDArray[np.float64]:
    """The running extreme from every first cell to every last one, (combinations, first, last, features)."""
    table = np.empty((values.shape[0], values.shape[1], *values.shape[1:]))
    for first in range(values.shape[1]):
        table[:, first, first:] = combine.accumulate(values[:, first:], axis=1)
        table[:, first, :first] = values[:, first : first + 1]
    return table
