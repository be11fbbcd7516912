"""The exact Kolmogorov-Smirnov distance of many groups to many distributions, without looking at every row.

The borders of a fine histogram bound the distance inside every bin; only bins that could hold the largest one are opened.
A distribution whose distance at some border already means p < .05 is given up there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.synthesis import families
from evenhand.synthesis.bins import WHOLE, Binned, Groups, positions_of
from evenhand.synthesis.families import Parameters

_REJECTED_FOR_SURE = 1.3581015157406195  # sqrt(n) * D at p = .05 for infinite n; the exact critical value lies below
_COARSE = 64
_FINE = 256
_EXACT_ENDS = 12
_OPENED_FIRST = 12
_SLACK = 2e-5
"""More than the error of the interpolated borders; whatever may be the maximum within it is computed exactly."""


@dataclass(frozen=True)
class ExactTest:
    """Groups of one column, ready to be compared with distributions."""

    column: Binned
    groups: Groups
    which: Index  # (tested,) groups
    upto: Rows  # (tested, bins) rows of the group up to and including the bin

    def nearest(self, guesses: Sequence[tuple[int, Parameters]]) -> tuple[Index, Reals]:
        """For every group the guess with the smallest distance and that distance; -1 where all are rejected for sure."""
        bounds = [self._bound(family, parameters) for family, parameters in guesses]
        lowest = np.array([bound[0] for bound in bounds])  # (guesses, tested)
        chosen = np.full(len(self.which), -1, dtype=np.intp)
        distance = np.full(len(self.which), np.inf)
        for at in np.flatnonzero(np.isfinite(lowest).any(axis=0)):
            for guess in np.argsort(lowest[:, at]):
                if lowest[guess, at] - _SLACK >= distance[at]:
                    break
                family, parameters = guesses[guess]
                exact = self._distance(int(at), (family, parameters[at]), bounds[guess][1][at])
                if exact < distance[at]:
                    chosen[at], distance[at] = guess, exact
        return chosen, distance

    def _bound(self, family: int, parameters: Parameters) -> tuple[Reals, dict[int, Reals]]:
        """A lower bound of each group's distance (infinite: rejected), and the distribution at the borders."""
        n = self.upto[:, -1]
        limit = _REJECTED_FOR_SURE / np.sqrt(n)
        coarse = np.unique(np.linspace(0, self.column.bins - 1, _COARSE).astype(np.intp))
        lowest = np.full(len(n), np.inf)
        usable = np.isfinite(parameters).all(axis=1)
        tried = np.flatnonzero(usable)
        at_top = families.cdf(family, parameters[tried, None, :], self.column.top[None, coarse])
        tried = tried[np.abs(at_top - self.upto[np.ix_(tried, coarse)] / n[tried, None]).max(axis=1) <= limit[tried]]
        if not tried.size:
            return lowest, {}
        expected = _at_borders(family, parameters[tried], self.column.top)
        found = np.abs(expected - self.upto[tried] / n[tried, None]).max(axis=1)
        kept = found - _SLACK <= limit[tried]
        lowest[tried[kept]] = found[kept]
        return lowest, {int(at): row for at, row in zip(tried[kept], expected[kept], strict=True)}

    def _distance(self, at: int, guess: tuple[int, Parameters], expected: Reals) -> float:
        """The exact distance of one group."""
        upto = self.upto[at]
        n = upto[-1]
        share = upto / n
        before = np.append(0.0, share[:-1])
        known = np.maximum(np.abs(expected - share), np.where(self.column.is_single, expected - before, 0.0))
        bottom = np.where(self.column.is_single, expected, np.append(0.0, expected[:-1]))
        possible = np.maximum(share - bottom, expected - before)
        possible[share <= before] = -1.0
        best = float(known.max()) - _SLACK
        # The most promising bins first: what they show often settles all the others.
        last = max(len(possible) - _OPENED_FIRST, 0)
        order = np.argpartition(possible, last)[last:]
        first = np.sort(order[possible[order] > best])
        found = self._inside(at, guess, first, upto) if first.size else 0.0
        possible[first] = -1.0
        rest = np.flatnonzero(possible > max(best, found))
        return max(found, self._inside(at, guess, rest, upto)) if rest.size else found

    def _inside(self, at: int, guess: tuple[int, Parameters], bins: Index, upto: Reals) -> float:
        """The exact largest distance within some bins."""
        n = upto[-1]
        before = np.where(bins > 0, upto[bins - 1], 0.0)
        sizes = (upto[bins] - before).astype(np.intp)
        values = self._values(int(self.which[at]), bins)
        rank = np.repeat(before - (np.cumsum(sizes) - sizes), sizes)
        rank += np.arange(len(rank))
        rough = self._roughly(guess, values, bins, sizes)
        distance = rough - rank / n
        np.maximum(distance, 1 / n - distance, out=distance)
        near = np.flatnonzero(distance >= distance.max() - _SLACK)
        exact, rank = families.cdf(guess[0], guess[1], values[near]), rank[near]
        return max(float((exact - rank / n).max()), float(((rank + 1) / n - exact).max()))

    def _values(self, group: int, bins: Index) -> Reals:
        """The sorted values of one group inside some bins."""
        positions = positions_of(self.column, bins)
        if self.groups.source[group] != WHOLE:
            positions = positions[self.groups.mask(group, positions)]
        return self.column.values[positions]

    def _roughly(self, guess: tuple[int, Parameters], values: Reals, bins: Index, sizes: Index) -> Reals:
        """The distribution at values inside bins, on a straight line between the exact ends of each bin."""
        bottom, top = self.column.bottom[bins], self.column.top[bins]
        low, high = np.split(families.cdf(guess[0], guess[1], np.concatenate([bottom, top])), 2)
        slope = np.divide(high - low, top - bottom, out=np.zeros_like(low), where=top > bottom)
        rough: Reals = values - np.repeat(bottom, sizes)
        rough *= np.repeat(slope, sizes)
        rough += np.repeat(low, sizes)
        return rough


def _at_borders(family: int, parameters: Parameters, top: Reals) -> Rows:
    """The distributions at all borders: exact where that is cheap, else by cubic Hermite interpolation between exact nodes."""
    if families.FAMILIES[family] not in ("gamma", "beta") or len(top) <= 2 * _FINE:
        return families.cdf(family, parameters[:, None, :], top[None, :])
    last = len(top) - 1
    ends = np.append(np.arange(_EXACT_ENDS), last - np.arange(_EXACT_ENDS))
    nodes = np.unique(np.append(np.linspace(0, last, _FINE).astype(np.intp), ends))
    x = top[nodes]
    height = families.cdf(family, parameters[:, None, :], x[None, :])
    slope = np.minimum(families.density(family, parameters[:, None, :], x[None, :]), 1e12)
    left = np.clip(np.searchsorted(nodes, np.arange(len(top)), side="right") - 1, 0, len(nodes) - 2)
    width = x[left + 1] - x[left]
    t = (top - x[left]) / width
    u = 1 - t
    found: Rows = u * u * (1 + 2 * t) * height[:, left] + t * t * (1 + 2 * u) * height[:, left + 1]
    found += width * t * u * (u * slope[:, left] - t * slope[:, left + 1])
    return np.clip(found, height[:, left], height[:, left + 1])
