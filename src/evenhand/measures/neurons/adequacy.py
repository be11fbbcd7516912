"""How differently a layer answers the two pictures of a pair, five ways, and how much of each measure's range the pairs have covered.

Paper: P. Zhang et al., DeepFAIT, 2021, Eqs. 11 to 15.  Eq. 11 needs squared norms (it is the Tanimoto coefficient).  Eq. 13 ignores ties;
`spearman` is the correlation of midranks, `spearman_as_printed` the formula as it stands.  The relative distance of Eq. 14 has no
bound near zero, so its range ends at a quantile of the training pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.errors import InvalidArgument

ROWS_AT_ONCE = 32
BINS = 1000
TOP = 10
LAYER_MEASURES = ("tanimoto", "cosine", "spearman")
MEASURES = (*LAYER_MEASURES, "absolute", "relative")
RANGES = {"tanimoto": (0.0, 1.0), "cosine": (0.0, 1.0), "spearman": (-1.0, 1.0)}
HIGHEST_QUANTILE = 0.99


@dataclass(frozen=True)
class Adequacy:
    """All five measures of a batch of pairs on one layer."""

    tanimoto: Reals  # (n,)
    cosine: Reals  # (n,)
    spearman: Reals  # (n,)
    absolute: NDArray[np.float32]  # (n, top); NaN where one picture leaves the neuron silent
    relative: NDArray[np.float32]  # (n, top); NaN likewise

    def measure(self, name: str) -> NDArray[Any]:
        """One measure by name."""
        found: NDArray[Any] = getattr(self, name)
        return found

    def __len__(self) -> int:
        return len(self.tanimoto)


def adequacy(first: NDArray[np.floating[Any]], second: NDArray[np.floating[Any]], top: NDArray[np.intp]) -> Adequacy:
    """The measures of a layer's fairness-related neurons (pairs, neurons); `top` names the columns that get a distance."""
    if first.shape != second.shape or first.ndim != 2 or first.shape[1] < 2:
        raise InvalidArgument(f"activations of shapes {first.shape} and {second.shape} must be equal matrices of at least two neurons")
    absolute, relative = distances(first[:, top], second[:, top])
    count = len(first)
    found = np.empty((3, count))
    for start in range(0, count, ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        one, other = first[part].astype(np.float32, copy=False), second[part].astype(np.float32, copy=False)
        found[0, part], found[1, part], found[2, part] = tanimoto(one, other), cosine(one, other), spearman(one, other)
    return Adequacy(found[0], found[1], found[2], absolute, relative)


def tanimoto(first: NDArray[np.float32], second: NDArray[np.float32]) -> Reals:
    """Of the neurons that either picture wakes, the share that both wake; 1 where neither wakes any."""
    one, other = first > 0, second > 0
    both = np.count_nonzero(one & other, axis=1)
    either = np.count_nonzero(one | other, axis=1)
    return np.where(either > 0, both / np.maximum(either, 1), 1.0)


def cosine(first: NDArray[np.float32], second: NDArray[np.float32]) -> Reals:
    """Cosine of the two activation vectors; 1 where both are zero, 0 where one is."""
    product = np.einsum("ij,ij->i", first, second).astype(np.float64)
    one, other = np.einsum("ij,ij->i", first, first).astype(np.float64), np.einsum("ij,ij->i", second, second).astype(np.float64)
    norms = np.sqrt(one * other)
    return np.where(norms > 0, np.minimum(product / np.where(norms > 0, norms, 1.0), 1.0), np.where(one == other, 1.0, 0.0))


def spearman(first: NDArray[np.float32], second: NDArray[np.float32]) -> Reals:
    """Correlation of the midranks of the two activation vectors; 1 where both are constant, 0 where one is."""
    centre = np.float32((first.shape[1] + 1) / 2)
    one, other = midranks(first) - centre, midranks(second) - centre
    product = np.einsum("ij,ij->i", one, other).astype(np.float64)
    first_spread, second_spread = np.einsum("ij,ij->i", one, one).astype(np.float64), np.einsum("ij,ij->i", other, other).astype(np.float64)
    norms = np.sqrt(first_spread * second_spread)
    flat = np.where(first_spread == second_spread, 1.0, 0.0)
    return np.where(norms > 0, np.clip(product / np.where(norms > 0, norms, 1.0), -1.0, 1.0), flat)


def spearman_as_printed(first: NDArray[np.float32], second: NDArray[np.float32]) -> Reals:
    """Eq. 13 as it stands: right only where no two neurons have the same value."""
    neurons = first.shape[1]
    apart = midranks(first).astype(np.float64) - midranks(second)
    return np.asarray(1.0 - 6.0 * (apart**2).sum(axis=1) / (neurons * (neurons**2 - 1.0)))


def midranks(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Ranks along each row, equal values sharing the mean of their ranks.

    The order-preserving bits of a float32 and the position share one whole number, so that a plain sort does the work of an argsort.
    """
    rows, neurons = values.shape
    bits = (values + np.float32(0.0)).view(np.uint32)
    ordered = np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(0x80000000)).astype(np.uint64)
    ordered <<= np.uint64(32)
    ordered |= np.arange(neurons, dtype=np.uint64)
    ordered.sort(axis=1)
    position = (ordered & np.uint64(0xFFFFFFFF)).view(np.intp)
    ordered >>= np.uint64(32)
    first = np.ones((rows, neurons), dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=first[:, 1:])
    starts = np.flatnonzero(first)
    lengths = np.diff(starts, append=rows * neurons)
    middle = (starts - starts // neurons * neurons + (lengths + 1) * 0.5).astype(np.float32)
    ranks = np.empty((rows, neurons), np.float32)
    position += np.arange(rows)[:, None] * neurons
    ranks.ravel()[position.ravel()] = np.repeat(middle, lengths)
    return ranks


def distances(first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Absolute and relative distance per neuron where both pictures wake it, NaN elsewhere."""
    high, low = np.maximum(first, second).astype(np.float32), np.minimum(first, second).astype(np.float32)
    awake = low > 0
    absolute = np.where(awake, high - low, np.float32(np.nan))
    relative = np.where(awake, high / np.where(awake, low, 1), np.float32(np.nan))
    return absolute, relative


@dataclass(frozen=True)
class Ruler:
    """The ranges that coverage divides into bins: fixed for similarities, from training pairs for distances."""

    absolute: NDArray[np.float64]  # (top,): upper ends
    relative: NDArray[np.float64]  # (top,)
    bins: int = BINS

    @classmethod
    def of(cls, training: Adequacy, bins: int = BINS) -> Ruler:
        """Upper ends from training pairs: the largest absolute distance, a high quantile of the relative one."""
        return cls(_column_quantile(training.absolute, 1.0, 1e-6), _column_quantile(training.relative, HIGHEST_QUANTILE, 1.0 + 1e-6), bins)

    def coverage(self, found: Adequacy, measure: str) -> float:
        """The share of bins that some pair falls into; for distances the mean over the top neurons."""
        values = found.measure(measure)
        if measure in RANGES:
            return covered(values, *RANGES[measure], self.bins)
        low = 0.0 if measure == "absolute" else 1.0
        ends = self.absolute if measure == "absolute" else self.relative
        return float(np.mean([covered(values[:, k], low, float(ends[k]), self.bins) for k in range(values.shape[1])]))

    def coverages(self, found: Adequacy) -> dict[str, float]:
        """All five."""
        return {measure: self.coverage(found, measure) for measure in MEASURES}


def covered(values: NDArray[Any], low: float, high: float, bins: int = BINS) -> float:
    """The share of equal bins between two ends that hold a value; values outside count for no bin, NaN for none."""
    inside = values[(values >= low) & (values <= high)].astype(np.float64)
    places = np.minimum(((inside - low) / (high - low) * bins).astype(np.intp), bins - 1)
    return len(np.unique(places)) / bins


def _column_quantile(values: NDArray[np.float32], share: float, least: float) -> NDArray[np.float64]:
    found = np.full(values.shape[1], least)
    for column in range(values.shape[1]):
        known = values[:, column][np.isfinite(values[:, column])]
        if len(known):
            found[column] = max(least, float(np.quantile(known, share)))
    return found


def joined(*parts: Adequacy) -> Adequacy:
    """The measures of several batches of pairs as one."""
    return Adequacy(*(np.concatenate([part.measure(name) for part in parts]) for name in MEASURES))
