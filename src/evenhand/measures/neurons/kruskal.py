"""Which neurons have to do with fairness: the Kruskal-Wallis test between two groups of pairs, for thousands of neurons at once.

Paper: P. Zhang, J. Wang, J. Sun, X. Wang, "Fairness Testing of Deep Image Classification with Adequacy Metrics" (DeepFAIT), 2021.

The paper's Eq. 10 ignores ties, though activations are full of zeros; `corrected` divides by the usual tie correction, `as_printed`
does not.  The paper selects every neuron with p below alpha; over thousands of neurons that lets alpha of the innocent ones in, so
Benjamini-Hochberg is offered beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals
from evenhand.errors import InvalidArgument

UNITS_AT_ONCE = 16
Rule = Literal["alpha", "benjamini-hochberg"]


@dataclass(frozen=True)
class KruskalWallis:
    """The statistic of every neuron, both ways, and what follows from it."""

    corrected: Reals  # H with tie correction; 0 for a neuron that never varies
    as_printed: Reals  # H as Eq. 10 has it
    fair: int
    unfair: int

    @cached_property
    def p_values(self) -> Reals:
        """Chi-square with one degree of freedom, of the corrected statistic."""
        return tail(self.corrected)

    def related(self, alpha: float = 0.05, rule: Rule = "alpha", printed: bool = False) -> Mask:
        """Which neurons are called fairness-related."""
        p_values = tail(self.as_printed) if printed else self.p_values
        if rule == "alpha":
            return np.asarray(p_values < alpha)
        from evenhand.statistics.multiplicity import benjamini_hochberg

        return np.asarray(benjamini_hochberg(p_values) <= alpha)

    def strongest(self, count: int) -> NDArray[np.intp]:
        """The neurons with the largest statistic, strongest first."""
        return np.argsort(-self.corrected, kind="stable")[:count]


def tail(statistic: Reals) -> Reals:
    """The chance of a chi-square value (one degree of freedom) above this one."""
    from scipy.special import chdtrc

    return np.asarray(chdtrc(1.0, np.maximum(statistic, 0.0)), dtype=np.float64)


def kruskal_wallis(differences: NDArray[np.floating[Any]], unfair: Mask) -> KruskalWallis:
    """Compare the activation differences (pairs, neurons) of unfair pairs with those of fair ones, neuron by neuron.

    Ranks are whole and half numbers below 2**53, so the result is exact whether the differences are float32 or float64.
    """
    pairs, neurons = differences.shape
    count = int(unfair.sum())
    if len(unfair) != pairs:
        raise InvalidArgument(f"unfair has {len(unfair)} entries for {pairs} pairs")
    if count in (0, pairs):
        raise InvalidArgument(f"the test needs fair and unfair pairs, but {count} of {pairs} are unfair")
    sums, ties = np.empty(neurons), np.empty(neurons)
    for part, keys in _sorted_keys(differences, unfair):
        sums[part], ties[part] = _rank_sums(keys)
    return _statistic(sums, ties, count, pairs)


def _statistic(sums: Reals, ties: Reals, unfair: int, pairs: int) -> KruskalWallis:
    fair, total = pairs - unfair, pairs * (pairs + 1) / 2.0
    between = sums**2 / unfair + (total - sums) ** 2 / fair
    printed = 12.0 / (pairs * (pairs + 1.0)) * between - 3.0 * (pairs + 1.0)
    correction = 1.0 - ties / (float(pairs) ** 3 - pairs)
    varies = correction > 0
    corrected = np.where(varies, printed / np.where(varies, correction, 1.0), 0.0)
    return KruskalWallis(corrected, printed, fair, unfair)


def _sorted_keys(differences: NDArray[np.floating[Any]], unfair: Mask) -> Iterator[tuple[slice, NDArray[np.uint64]]]:
    """Per block of neurons, the sorted differences with the group in the lowest bit, (neurons, pairs).

    A non-negative float's bits, read as a whole number, keep its order and leave the sign bit free; so one plain sort carries the
    group along, several times faster than sorting positions.
    """
    group = unfair.astype(np.uint64)
    for start in range(0, differences.shape[1], UNITS_AT_ONCE):
        part = slice(start, min(start + UNITS_AT_ONCE, differences.shape[1]))
        values = np.array(differences[:, part].T, dtype=np.float64, order="C")
        lowest, highest = float(values.min()), float(values.max())
        if not np.isfinite(lowest + highest):
            raise InvalidArgument(f"differences of neurons {part.start} to {part.stop - 1} hold values that are not finite")
        keys = (_order_bits(values, lowest) << np.uint64(1)) | group
        keys.sort(axis=1)
        yield part, keys


def _order_bits(values: NDArray[np.float64], lowest: float) -> NDArray[np.uint64]:
    """Whole numbers below 2**63 in the order of the values; -0.0 counts as 0."""
    if lowest < 0:
        codes = [np.unique(line, return_inverse=True)[1] for line in values]
        return np.array(codes, dtype=np.uint64)
    values += 0.0
    return values.view(np.uint64)


def _rank_sums(keys: NDArray[np.uint64]) -> tuple[Reals, Reals]:
    """Per neuron: the rank sum of the unfair pairs, with midranks for ties, and the sum of t^3 - t over runs of ties."""
    neurons, pairs = keys.shape
    group = (keys & np.uint64(1)).astype(np.float32)
    sums = group.astype(np.float64) @ np.arange(1.0, pairs + 1.0)
    tied = np.zeros((neurons, pairs + 1), dtype=np.int8)  # tied[i] says whether places i - 1 and i of the order hold equal values
    np.less_equal(keys[:, 1:] ^ keys[:, :-1], np.uint64(1), out=tied[:, 1:-1].view(bool))
    change = np.diff(tied.ravel(), append=np.int8(0))
    starts, ends = np.flatnonzero(change == 1), np.flatnonzero(change == -1)  # first and last place of each run of equal values
    if not len(starts):
        return sums, np.zeros(neurons)
    line = starts // (pairs + 1)
    lengths = (ends - starts + 1).astype(np.float64)
    unfair = _counts(group, starts - line, ends - line + 1)
    # In a run the unfair pairs stand last, so plain ranks gave them the highest; midranks give them the mean.
    excess = unfair * (lengths - unfair) / 2.0
    return sums - np.bincount(line, excess, neurons), np.bincount(line, lengths**3 - lengths, neurons).astype(np.float64)


def _counts(group: NDArray[np.float32], starts: NDArray[np.intp], stops: NDArray[np.intp]) -> Reals:
    """How many unfair pairs stand in each run; starts and stops are places in the flattened order."""
    padded = np.append(group.ravel(), np.float32(0.0))
    bounds = np.stack([starts, stops], axis=1).ravel()
    return np.add.reduceat(padded, bounds)[::2].astype(np.float64)


def differences(first: NDArray[np.floating[Any]], second: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Eq. 7: how differently each neuron answers the two pictures of a pair."""
    return np.abs(first - second)
