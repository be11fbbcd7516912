"""The exact Kolmogorov-Smirnov distance of many groups to many distributions, without looking at every row, and its p-value.

The borders of a fine histogram bound the distance inside every bin; only bins that could hold the largest one are opened.
A distribution whose distance at some border already means p < .05 is given up there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.synthesis import families
from evenhand.synthesis.bins import WHOLE, Binned, Groups
from evenhand.synthesis.families import Parameters

_REJECTED_FOR_SURE = 1.3581015157406195  # sqrt(n) * D at p = .05 for infinite n; the exact critical value lies below
_COARSE = (9, 64)
_FINE = 64
_SMOOTH = 2e-5
"""How far the cube of a distribution's bend between two nodes, by the square of its mass there, may go for a cubic to be near enough."""
_OPENED_FIRST = 12
_OPENED_AT_ONCE = 16_384
_USUAL_MASS = 4
_ENDS = 4
_FEW_ROWS = 140
_SLACK = 2e-5
"""More than the error of the interpolated borders; whatever may be the maximum within it is computed exactly."""


@dataclass(frozen=True, eq=False)
class Guess:
    """A distribution that may fit a group: its family and the parameters."""

    family: int
    parameters: Parameters


@dataclass(frozen=True)
class ExactTest:
    """Groups of one column, ready to be compared with distributions."""

    column: Binned
    groups: Groups
    which: Index  # (tested,) groups
    upto: Rows  # (tested, bins) rows of the group up to and including the bin

    def nearest(self, guesses: Sequence[tuple[int, Parameters]]) -> tuple[Index, Reals]:
        """For every group the guess with the smallest distance and that distance; -1 where all are rejected for sure."""
        lowest = np.array([self._bound(family, parameters) for family, parameters in guesses])  # (guesses, tested)
        chosen = np.full(len(self.which), -1, dtype=np.intp)
        distance = _REJECTED_FOR_SURE / np.sqrt(self.upto[:, -1])
        for promising in np.argsort(lowest, axis=0):  # the best guess of every group, then the second best, ...
            tried = np.flatnonzero(np.take_along_axis(lowest, promising[None], axis=0)[0] <= distance)
            for guess in np.unique(promising[tried]):
                family, parameters = guesses[guess]
                for at, exact in self._distances(family, parameters, tried[promising[tried] == guess], distance):
                    if exact < distance[at] or (chosen[at] < 0 and exact <= distance[at]):
                        chosen[at], distance[at] = guess, exact
        return chosen, distance

    def _distances(self, family: int, parameters: Parameters, tried: Index, limit: Reals) -> Iterator[tuple[int, float]]:
        """The groups whose distance may be within their limit, and that distance."""
        expected = _at_borders(family, parameters[tried], self.column.top)
        found = np.abs(expected - self._share[tried]).max(axis=1)
        for row in np.flatnonzero(found - _SLACK <= limit[tried]):
            yield int(tried[row]), self._distance(int(tried[row]), Guess(family, parameters[tried[row]]), expected[row])

    @cached_property
    def _share(self) -> Rows:
        """(tested, bins) the part of the group up to and including the bin."""
        return self.upto / self.upto[:, -1:]

    def _bound(self, family: int, parameters: Parameters) -> Reals:
        """A lower bound of each group's distance from a few borders; infinite where it means rejection."""
        limit = _REJECTED_FOR_SURE / np.sqrt(self.upto[:, -1])
        lowest = np.full(len(limit), np.inf)
        tried, found = np.flatnonzero(np.isfinite(parameters).all(axis=1)), np.empty(0)
        for points in _COARSE:
            some = np.unique(np.linspace(0, self.column.bins - 1, points).astype(np.intp))
            expected = families.cdf(family, parameters[tried, None, :], self.column.top[None, some])
            found = np.abs(expected - self._share[np.ix_(tried, some)]).max(axis=1)
            tried, found = tried[found <= limit[tried]], found[found <= limit[tried]]
        lowest[tried] = found
        return lowest

    def _distance(self, at: int, guess: Guess, expected: Reals) -> float:
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

    def _inside(self, at: int, guess: Guess, bins: Index) -> float:
        """The exact largest distance within some bins."""
        upto = self.upto[at]
        n = upto[-1]
        before = np.where(bins > 0, upto[bins - 1], 0.0)
        sizes = (upto[bins] - before).astype(np.intp)
        values = self._values(int(self.which[at]), bins)
        rank = np.repeat(before - (np.cumsum(sizes) - sizes), sizes)
        rank += np.arange(len(rank))
        distance, doubt = self._roughly(guess, values, bins, sizes)
        distance -= rank / n
        np.maximum(distance, 1 / n - distance, out=distance)
        near = np.flatnonzero(distance + doubt >= (distance - doubt).max() - _SLACK)
        exact, rank = families.cdf(guess.family, guess.parameters, values[near]), rank[near]
        return max(float((exact - rank / n).max()), float(((rank + 1) / n - exact).max()))

    def _values(self, group: int, bins: Index) -> Reals:
        """The sorted values of one group inside some bins."""
        spans = self.column.spans(bins)
        if self.groups.source[group] == WHOLE:
            return np.concatenate([self.column.values[begin:end] for begin, end in spans])
        return self.column.values[self.groups.positions(group, spans)]

    def _roughly(self, guess: Guess, values: Reals, bins: Index, sizes: Index) -> tuple[Reals, Reals | float]:
        """The distribution at values inside bins, on a straight line between the exact ends of each bin, and how far off it may be.

        Bins of a usual mass are narrow enough for a line; in others, and at both ends, the bin's whole mass is the doubt.
        """
        bottom, top = self.column.bottom[bins], self.column.top[bins]
        ends = families.cdf(guess.family, guess.parameters, np.concatenate([bottom, top]))
        low, high = ends[: len(bins)], ends[len(bins) :]
        slope = np.divide(high - low, top - bottom, out=np.zeros_like(low), where=top > bottom)
        rough: Reals = values - np.repeat(bottom, sizes)
        rough *= np.repeat(slope, sizes)
        rough += np.repeat(low, sizes)
        count = self.column.bins
        bent = (high - low > _USUAL_MASS / count) | (bins < _ENDS) | (bins >= count - _ENDS)
        return rough, np.repeat(np.where(bent, high - low, 0.0), sizes) if bent.any() else 0.0


def _at_borders(family: int, parameters: Parameters, top: Reals) -> Rows:
    """The distributions at all borders: exact where that is cheap, else cubic between exact nodes where they are smooth."""
    if families.FAMILIES[family] not in ("gamma", "beta") or len(top) <= 4 * _FINE:
        return families.cdf(family, parameters[:, None, :], top[None, :])
    nodes = _nodes(len(top))
    x = top[nodes]
    height = families.cdf(family, parameters[:, None, :], x[None, :])
    step = np.minimum(families.density(family, parameters[:, None, :], x[None, :]), 1e12)
    left = np.repeat(np.arange(len(nodes) - 1), np.diff(nodes))
    t = (top[:-1] - x[left]) / (x[left + 1] - x[left])
    mass = np.diff(height, axis=1)
    rise, fall = step[:, :-1] * np.diff(x) - mass, mass - step[:, 1:] * np.diff(x)  # how far the slopes are from a straight line's
    found = np.empty((len(parameters), len(top)))
    found[:, -1] = height[:, -1]
    found[:, :-1] = height[:, left] + t * mass[:, left] + t * (1 - t) * ((1 - t) * rise[:, left] + t * fall[:, left])
    bend = np.maximum(np.abs(rise), np.abs(fall))
    rough = (bend > _SLACK / 4) & ((bend * bend * bend > _SMOOTH * mass * mass) | (bend > mass / 2) | (mass > 2 / _FINE))
    _fill(found, np.nonzero(rough), nodes, lambda at, border: families.cdf(family, parameters[at], top[border]))
    return np.clip(found, 0.0, 1.0, out=found)


def _nodes(borders: int) -> Index:
    """Evenly spaced places, and towards both ends ever closer ones."""
    last = borders - 1
    ends = np.unique(np.rint(1.3 ** np.arange(np.log(last / _FINE) / np.log(1.3))).astype(np.intp))
    return np.unique(np.concatenate([np.linspace(0, last, _FINE).astype(np.intp), ends, last - ends]))


def _fill(found: Rows, where: tuple[Index, ...], nodes: Index, exact: Callable[[Index, Index], Reals]) -> None:
    """Put exact values between the nodes where a cubic would be too far off."""
    at, interval = where
    sizes = nodes[interval + 1] - nodes[interval]
    borders = np.repeat(nodes[interval] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    rows = np.repeat(at, sizes)
    found[rows, borders] = exact(rows, borders)


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
