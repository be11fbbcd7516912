"""Selection, crossing and mutation for many populations at once: arrays (populations, individuals, columns), never a loop over rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.methods.parts.walks import Moves


def roulette(fitness: Reals, rng: np.random.Generator) -> Index:
    """For every place of every population (populations, individuals) an individual, drawn in proportion to its fitness."""
    populations, size = fitness.shape
    share = np.cumsum(fitness, axis=1)
    share /= share[:, -1:]
    # Populations stand one after the other on one line, so that a single search serves them all.
    line = (share + np.arange(populations)[:, None]).ravel()
    level = rng.random((populations, size)) + np.arange(populations)[:, None]
    found = np.searchsorted(line, level.ravel(), side="right").reshape(populations, size)
    chosen: Index = np.clip(found - size * np.arange(populations)[:, None], 0, size - 1)
    return chosen


def tournament(order: Index, entrants: int, places: int, rng: np.random.Generator) -> tuple[Index, Index]:
    """Two different parents for each of `places`: the best of some drawn from the leaders, order (populations, leaders) best first."""
    populations, leaders = order.shape
    first = _drawn(leaders, entrants, (populations, places), rng)
    second = _drawn(leaders, entrants, (populations, places), rng)
    mate = np.where(second[0] == first[0], second[1], second[0])
    line = np.arange(populations)[:, None]
    return order[line, first[0]], order[line, mate]


def _drawn(leaders: int, entrants: int, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Index, Index]:
    """The best and the second best of some different leaders."""
    entrants = min(entrants, leaders)
    drawn = rng.random((*shape, leaders)).argpartition(entrants - 1, axis=2)[:, :, :entrants]
    drawn.sort(axis=2)
    return drawn[:, :, 0], drawn[:, :, min(1, entrants - 1)]


def segments(n: int, free: Index, columns: int, rng: np.random.Generator) -> Mask:
    """A stretch of neighbouring free columns for each of n rows: two cut points, (n, columns)."""
    cuts = np.sort(rng.integers(0, len(free) + 1, (n, 2)), axis=1)
    place = np.arange(len(free))
    mask = np.zeros((n, columns), dtype=bool)
    mask[:, free] = (place >= cuts[:, :1]) & (place < cuts[:, 1:])
    return mask


def nudged(rows: Rows, count: int, reach: int, moves: Moves, rng: np.random.Generator) -> Rows:
    """Rows moved by up to `reach` whole steps either way in `count` different free columns each."""
    directions = np.zeros(rows.shape)
    chosen = moves.free[different(len(moves.free), count, len(rows), rng)]
    np.put_along_axis(directions, chosen, rng.integers(-reach, reach + 1, chosen.shape).astype(np.float64), axis=1)
    return moves.step(rows, directions)


def different(total: int, count: int, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """`count` different numbers below `total` for each of n rows."""
    count = min(count, total)
    return rng.random((n, total)).argpartition(count - 1, axis=1)[:, :count]
