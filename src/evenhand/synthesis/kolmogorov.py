"""The exact Kolmogorov-Smirnov distance of many groups to many distributions, without looking at every row, and its p-value.

The borders of a fine histogram bound the distance inside every bin; only bins that could hold the largest one are opened.
A distribution whose distance at some border already means p < .05 is given up there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.synthesis import families
from evenhand.synthesis.bins import WHOLE, Binned, Groups
from evenhand.synthesis.families import Parameters

_REJECTED_FOR_SURE = 1.3581015157406195  # sqrt(n) * D at p = .05 for infinite n; the exact critical value lies below
_COARSE = (9, 64)
_FINE = 256
_EXACT_ENDS = 12
_OPENED_FIRST = 12
_OPENED_AT_ONCE = 16_384
_FEW_ROWS = 140
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

    @cached_property
    def _share(self) -> Rows:
        """(tested, bins) the part of the group up to and including the bin."""
        return self.upto / self.upto[:, -1:]

    def _bound(self, family: int, parameters: Parameters) -> tuple[Reals, dict[int, Reals]]:
        """A lower bound of each group's distance (infinite: rejected), and the distribution at the borders."""
        limit = _REJECTED_FOR_SURE / np.sqrt(self.upto[:, -1])
        lowest = np.full(len(limit), np.inf)
        tried = np.flatnonzero(np.isfinite(parameters).all(axis=1))
        for points in _COARSE:
            some = np.unique(np.linspace(0, self.column.bins - 1, points).astype(np.intp))
            if not tried.size:
                break
            expected = families.cdf(family, parameters[tried, None, :], self.column.top[None, some])
            tried = tried[np.abs(expected - self._share[np.ix_(tried, some)]).max(axis=1) <= limit[tried]]
        if not tried.size:
            return lowest, {}
        expected = _at_borders(family, parameters[tried], self.column.top)
        found = np.abs(expected - self._share[tried]).max(axis=1)
        kept = found - _SLACK <= limit[tried]
        lowest[tried[kept]] = found[kept]
        return lowest, {int(at): row for at, row in zip(tried[kept], expected[kept], strict=True)}

    def _distance(self, at: int, guess: tuple[int, Parameters], expected: Reals) -> float:
        """The exact distance of one group."""
        share = self._share[at]
        before = np.append(0.0, share[:-1])
        single = self.column.is_single
        above = expected - before
        known = float(np.abs(expected - share).max())
        if self._any_single:
            known = max(known, float(above[single].max()))
        bottom = np.append(0.0, expected[:-1])
        if self._any_single:
            bottom[single] = expected[single]
        possible = np.maximum(share - bottom, above)
        possible[share <= before] = -1.0
        candidates = np.flatnonzero(possible > known - _SLACK)
        if self._rows_in(candidates) <= _OPENED_AT_ONCE or len(candidates) <= _OPENED_FIRST:
            return self._inside(at, guess, candidates) if candidates.size else known
        # The most promising bins first: what they show often settles all the others.
        order = np.argpartition(possible[candidates], len(candidates) - _OPENED_FIRST)
        first, rest = np.sort(candidates[order[-_OPENED_FIRST:]]), np.sort(candidates[order[:-_OPENED_FIRST]])
        found = self._inside(at, guess, first)
        rest = rest[possible[rest] > found]
        return max(found, self._inside(at, guess, rest)) if rest.size else found

    @cached_property
    def _any_single(self) -> bool:
        return bool(self.column.is_single.any())

    def _rows_in(self, bins: Index) -> int:
        return int((self.column.offsets[bins + 1] - self.column.offsets[bins]).sum())

    def _inside(self, at: int, guess: tuple[int, Parameters], bins: Index) -> float:
        """The exact largest distance within some bins."""
        upto = self.upto[at]
        n = upto[-1]
        before = np.where(bins > 0, upto[bins - 1], 0.0)
        sizes = (upto[bins] - before).astype(np.intp)
        values = self._values(int(self.which[at]), bins)
        rank = np.repeat(before - (np.cumsum(sizes) - sizes), sizes)
        rank += np.arange(len(rank))
        distance = self._roughly(guess, values, bins, sizes)
        distance -= rank / n
        np.maximum(distance, 1 / n - distance, out=distance)
        near = np.flatnonzero(distance >= distance.max() - _SLACK)
        exact, rank = families.cdf(guess[0], guess[1], values[near]), rank[near]
        return max(float((exact - rank / n).max()), float(((rank + 1) / n - exact).max()))

    def _values(self, group: int, bins: Index) -> Reals:
        """The sorted values of one group inside some bins."""
        spans = self.column.spans(bins)
        values = np.concatenate([self.column.values[begin:end] for begin, end in spans])
        return values if self.groups.source[group] == WHOLE else values[self.groups.mask(group, spans)]

    def _roughly(self, guess: tuple[int, Parameters], values: Reals, bins: Index, sizes: Index) -> Reals:
        """The distribution at values inside bins, on a straight line between the exact ends of each bin."""
        bottom, top = self.column.bottom[bins], self.column.top[bins]
        ends = families.cdf(guess[0], guess[1], np.concatenate([bottom, top]))
        low, high = ends[: len(bins)], ends[len(bins) :]
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


def survival(distance: Reals, n: Reals) -> Reals:
    """The p-value of every distance among n rows: what `scipy.stats.kstwo.sf` gives, many at once where rows are many."""
    from scipy.stats import kstwo

    found = np.empty(len(distance))
    many = (n > _FEW_ROWS) & (n * distance**2 < 2.2) & (np.sqrt(n) * distance > 0.2)
    many &= (n > 100_000) | (n * distance**1.5 > 1.4)
    found[many] = _pelz_good(np.sqrt(n[many]) * distance[many], n[many])
    found[~many] = kstwo.sf(distance[~many], n[~many].astype(np.intp))
    return found


def _pelz_good(z: Reals, n: Reals) -> Reals:
    """1 - (K0(z) + K1(z) / sqrt(n) + K2(z) / n + K3(z) / n^1.5), the expansion of Pelz and Good (1976)."""
    terms = np.arange(1, int(np.ceil(16 * z.max() / np.pi)) + 1 if len(z) else 1)[:, None]
    odd, square = (np.pi * (2 * terms - 1) / 2) ** 2, (np.pi * terms) ** 2
    z2, z4, z6 = z**2, z**4, z**6
    weight, whole = np.exp(-odd / (2 * z2)), np.exp(-square / (2 * z2))
    root = np.sqrt(2 * np.pi)
    first = root / z * weight.sum(axis=0)
    second = root / (6 * z4) * ((odd - z2) * weight).sum(axis=0)
    third = ((6 * z6 + 2 * z4 + odd * (2 * z4 - 5 * z2) + odd**2 * (1 - 2 * z2)) * weight).sum(axis=0) * root / (72 * z**7)
    third -= root / (36 * z**3) * (square * whole).sum(axis=0)
    inner = odd**3 * (5 - 30 * z2) + odd**2 * (-60 * z2 + 212 * z4) + odd * (135 * z4 - 96 * z6) - 30 * z6 - 90 * z**8
    fourth = (inner * weight).sum(axis=0) * root / (6480 * z**10)
    fourth += root / (216 * z6) * ((3 * z2 - square) * square * whole).sum(axis=0)
    return np.asarray(1 - first - second / np.sqrt(n) - third / n - fourth / n**1.5)
