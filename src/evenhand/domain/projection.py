"""The nearest valid row: as few changed cells as possible, then as small changes as possible, protected cells last.

Exact where a part of the constraints has few combinations of cells; elsewhere a search that tries every promising change of
one cell, then of two, and goes deeper only along the best of them; at last the nearest of known valid rows.  Deterministic,
and every row is mended by itself: the answer does not depend on the other rows of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.keys import row_keys
from evenhand.domain.moves import proposals, whole_moves
from evenhand.domain.parts import Part

if TYPE_CHECKING:
    from evenhand.domain.tabular import TabularDomain

EXACT_COMBINATIONS = 4_096
"""Parts with at most this many combinations are mended by comparing with every valid one."""
BEAM = 24
"""How many half-mended versions of a row are followed."""
DEEPEST = 6
"""How many cells a search changes at most before it falls back to known valid rows."""
DEEPEST_UNPROTECTED = 3
"""How many other cells are tried before a protected one is touched."""
CELLS_AT_ONCE = 4_000_000
FALLBACK_ROWS = 2_000


def repair(domain: TabularDomain, rows: Rows) -> Rows:
    """Rows inside the ranges, changed as little as keeps every constraint; valid rows stay as they are."""
    mended = rows.copy()
    for part in domain.parts:
        places = np.array(part.places)
        cells = mended[:, places]
        broken = np.flatnonzero(~part.keeps(cells))
        if broken.size:
            mended[np.ix_(broken, places)] = mend(part, cells[broken])
    return mended


def mend(part: Part, rows: Rows, beam: int = BEAM) -> Rows:
    """The nearest valid rows of one part; a narrower beam is quicker and less exact."""
    distinct, back = _distinct(part, rows)
    fine = part.keeps(distinct)
    mended = distinct.copy()
    if not fine.all():
        mended[~fine] = _mend_distinct(part, distinct[~fine], beam)
    return mended[back]


def _distinct(part: Part, rows: Rows) -> tuple[Rows, Index]:
    """Equal rows are mended once."""
    keys = row_keys(rows, part.columns, range(len(part.columns)))
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], back


def _mend_distinct(part: Part, rows: Rows, beam: int) -> Rows:
    if part.combinations is not None and part.combinations <= EXACT_COMBINATIONS:
        return nearest(part, rows, part.pool)
    mended, solved = search(part, rows, beam)
    if not solved.all():
        pool = part.pool[:: max(1, len(part.pool) // FALLBACK_ROWS)]
        mended[~solved] = _restored(part, rows[~solved], nearest(part, rows[~solved], pool))
    return mended


def distance(part: Part, rows: Rows, others: Rows) -> Reals:
    """Protected cells changed, then cells changed, then how far: one number that orders by the first, then the next."""
    cells = len(part.columns)
    total = np.zeros(np.broadcast_shapes(rows.shape, others.shape)[:-1])
    for place, column in enumerate(part.columns):
        first, second = rows[..., place], others[..., place]
        changed = ~((first == second) | (np.isnan(first) & np.isnan(second)))
        far = _far(column.highest - column.lowest, first, second) if column.kind in ("integer", "real", "ordinal") else 1.0
        total += changed * (1.0 + far / (cells + 1) + (cells + 1) * part.protected[place])
    return total


def _far(span: float, first: Reals, second: Reals) -> Reals:
    gap = np.abs(first - second) / span if span > 0 else np.zeros(np.broadcast_shapes(first.shape, second.shape))
    return np.where(np.isnan(gap), 1.0, gap)


def nearest(part: Part, rows: Rows, pool: Rows) -> Rows:
    """For each row the nearest row of the pool; the first of equals."""
    step = max(1, CELLS_AT_ONCE // max(1, pool.size))
    at = [distance(part, rows[i : i + step, None], pool[None]).argmin(axis=1) for i in range(0, len(rows), step)]
    return pool[np.concatenate(at)] if at else rows


def _restored(part: Part, rows: Rows, mended: Rows) -> Rows:
    """Cells put back where the constraints allow it, protected ones first."""
    mended = mended.copy()
    for place in sorted(range(len(part.columns)), key=lambda place: not part.protected[place]):
        trial = mended.copy()
        trial[:, place] = rows[:, place]
        fine = part.keeps(trial)
        mended[fine] = trial[fine]
    return mended


def search(part: Part, rows: Rows, beam: int = BEAM) -> tuple[Rows, Mask]:
    """Rows mended by changing cell after cell, and which of them could be; first without touching protected cells."""
    free = [place for place in range(len(part.columns)) if not part.protected[place]]
    everywhere = list(range(len(part.columns)))
    plans = [(everywhere, DEEPEST)]
    if 0 < len(free) < len(everywhere):
        plans.insert(0, (free, DEEPEST_UNPROTECTED))
    mended, solved = rows.copy(), np.zeros(len(rows), dtype=bool)
    for places, depth in plans:
        wanting = np.flatnonzero(~solved)
        if wanting.size:
            mended[wanting], solved[wanting] = _search_in_chunks(part, rows[wanting], _Plan(places, depth, beam))
    return mended, solved


@dataclass(frozen=True)
class _Plan:
    """Which columns may change, how many cells at most, and how many half-mended versions are followed."""

    places: list[int]
    depth: int
    beam: int


def _search_in_chunks(part: Part, rows: Rows, plan: _Plan) -> tuple[Rows, Mask]:
    step = max(1, CELLS_AT_ONCE // (plan.beam * 24 * len(part.columns) ** 2))
    pieces = [_search_chunk(part, rows[at : at + step], plan) for at in range(0, len(rows), step)]
    return np.vstack([piece[0] for piece in pieces]), np.concatenate([piece[1] for piece in pieces])


@dataclass(frozen=True)
class _States:
    """Half-mended rows: which row each belongs to, how many constraints it breaks, how far it is from its row."""

    rows: Rows
    owner: Index
    broken: Index
    first: Index  # the first constraint that it breaks
    cost: Reals

    def take(self, at: Index | Mask) -> _States:
        return _States(self.rows[at], self.owner[at], self.broken[at], self.first[at], self.cost[at])


def _search_chunk(part: Part, rows: Rows, plan: _Plan) -> tuple[Rows, Mask]:
    mended, solved = rows.copy(), np.zeros(len(rows), dtype=bool)
    states = _judged(part, rows, rows, np.arange(len(rows)))
    for _ in range(min(plan.depth, len(plan.places))):
        if not len(states.rows):
            break
        grown = _best(_grown(part, rows, states, plan.places), plan.beam)
        done = grown.take(grown.broken == 0)
        owners, first = np.unique(done.owner, return_index=True)  # sorted by cost within each owner
        mended[owners], solved[owners] = done.rows[first], True
        states = grown.take(~solved[grown.owner])
    return mended, solved


def _judged(part: Part, originals: Rows, rows: Rows, owner: Index) -> _States:
    broken = part.broken(rows)
    return _States(rows, owner, broken.sum(axis=0), broken.argmax(axis=0), distance(part, originals[owner], rows))


def _grown(part: Part, originals: Rows, states: _States, places: list[int]) -> _States:
    """Every state with one more change, in a column of its first broken constraint: one of them must change at any rate."""
    rows, owners = [], []
    for place in places:
        concerned = states.take(part.reads[states.first, place])
        now = concerned.rows[:, place]
        for codes in proposals(part, place, concerned.rows):
            moving = np.flatnonzero(~((codes == now) | (np.isnan(codes) & np.isnan(now))))
            changed = concerned.rows[moving]
            changed[:, place] = codes[moving]
            rows.append(changed)
            owners.append(concerned.owner[moving])
    if len(places) == len(part.columns):
        for moved in whole_moves(part, states.rows):
            rows.append(moved)
            owners.append(states.owner)
    if not rows:
        return states.take(np.zeros(0, dtype=np.intp))
    return _judged(part, originals, np.vstack(rows), np.concatenate(owners))


def _best(states: _States, most: int) -> _States:
    """The most promising states of each row, best first, each once."""
    ordered = states.take(np.lexsort((states.cost, states.broken, states.owner)))
    owner = ordered.owner
    same = np.zeros(len(owner), dtype=bool)
    alike = (ordered.rows[1:] == ordered.rows[:-1]) | (np.isnan(ordered.rows[1:]) & np.isnan(ordered.rows[:-1]))
    same[1:] = (owner[1:] == owner[:-1]) & alike.all(axis=1)
    ordered = ordered.take(~same)
    starts = np.searchsorted(ordered.owner, ordered.owner)
    return ordered.take(np.arange(len(ordered.owner)) - starts < most)
