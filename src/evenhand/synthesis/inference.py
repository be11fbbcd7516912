"""What the data say: frequencies, ranges, distributions and associations, each with its inference error (AITEST, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DataError
from evenhand.synthesis.bins import PIECE, Packed, bin_column, group_rows, pack_categories
from evenhand.synthesis.decimals import decimals_of
from evenhand.synthesis.fitting import Fits, fit_groups

SIGNIFICANT = 0.05
LARGEST_JOINT = 2**18
"""Most value combinations of joint sources."""
SMALL_TABLE = 2**12
"""Tables of up to as many entries are counted piece by piece, all at once."""
LARGEST_TABLE = 2**22
"""Most entries of one table of joint sources by target."""


@dataclass(frozen=True)
class CategoryPair:
    """A significant association of two categories, directed to the one that is explained better."""

    source: int
    target: int
    p_value: float  # chi-square
    certainty: float  # Theil's U of the target given the source
    counts: Rows = field(compare=False, repr=False)  # (values of the source, values of the target)

    @property
    def error(self) -> float:
        """1 - U."""
        return 1.0 - self.certainty


@dataclass(frozen=True)
class JointTable:
    """Frequencies of a target for every combination of its sources, the strongest source first."""

    sources: tuple[int, ...]
    sizes: tuple[int, ...]
    counts: Rows  # (combinations, values of the target)


@dataclass(frozen=True)
class DataConstraints:
    """Everything inferred from one table.  A category's last value is its missing cell."""

    domain: TabularDomain
    rows: int
    sizes: tuple[int, ...]  # number of values of a category; 0 for a number
    frequencies: dict[int, Reals]  # category -> counts
    numbers: dict[int, Fits]  # number -> the whole column as one group
    pairs: tuple[CategoryPair, ...]
    joints: dict[int, JointTable]  # category target -> its joint sources
    conditionals: dict[tuple[int, int], Fits]  # (category, number) -> one group per value
    decimals: dict[int, int | None]  # real number -> how many decimals its cells have

    def together(self, source: int, target: int) -> Rows:
        """(values, values) how often the values of two categories meet; where chance may be all, as often as by chance."""
        for pair in self.pairs:
            if {pair.source, pair.target} == {source, target}:
                counts = pair.counts if pair.source == source else pair.counts.T
                # Counts end with the last value where no cell is missing.
                return np.pad(counts, [(0, self.sizes[at] - length) for at, length in zip((source, target), counts.shape, strict=True)])
        met: Rows = np.outer(self.frequencies[source], self.frequencies[target]) / max(self.rows, 1)
        return met

    @property
    def categories(self) -> list[int]:
        """Places of the category columns."""
        return sorted(self.frequencies)


def infer(rows: Rows, domain: TabularDomain) -> DataConstraints:
    """All constraints of a table of codes."""
    if rows.ndim != 2 or rows.shape[1] != len(domain.columns) or not len(rows):
        raise DataError(f"inference needs at least one row of {len(domain.columns)} codes, got an array of shape {rows.shape}")
    sizes = tuple(len(c.values) + 1 if c.is_listed else 0 for c in domain.columns)
    columns = by_column(rows)
    codes = {at: category_codes(columns[at], size) for at, size in enumerate(sizes) if size}
    frequencies = {at: np.bincount(cells, minlength=sizes[at]).astype(np.float64) for at, cells in codes.items()}
    packed = pack_categories(codes, frequencies)
    pairs = tuple(pair for chosen, counts in _tables(packed) if (pair := associate(chosen, counts)) is not None)
    joints = {target: joint for target in codes if (joint := _joint(target, pairs, codes, sizes)) is not None}
    numbers, conditionals, decimals = _numbers(columns, domain, {at: sizes[at] for at in codes}, packed)
    return DataConstraints(domain, len(rows), sizes, frequencies, numbers, pairs, joints, conditionals, decimals)


def by_column(rows: Rows) -> Rows:
    """(columns, rows): every column in one piece of memory."""
    columns = np.empty(rows.shape[::-1])
    for begin in range(0, len(rows), PIECE // 64):
        span = slice(begin, begin + PIECE // 64)
        columns[:, span] = rows[span].T
    return columns


def category_codes(cells: Reals, size: int) -> NDArray[Any]:
    """Codes as whole numbers of the smallest type, the missing cell last."""
    if not np.isnan(cells.sum()):
        return cells.astype(np.min_scalar_type(size))
    return np.where(np.isnan(cells), size - 1, cells).astype(np.min_scalar_type(size))


def associate(pair: tuple[int, int], counts: Rows) -> CategoryPair | None:
    """The association of two categories by their table of counts, or None where chi-square finds them independent."""
    first, second = pair
    p_value, shared, entropies = _dependence(counts)
    if p_value >= SIGNIFICANT or min(entropies) <= 0:
        return None
    # U(target | source) = shared information / entropy of the target: the column with less entropy is explained better.
    source, target, table = (first, second, counts) if entropies[1] <= entropies[0] else (second, first, counts.T)
    return CategoryPair(source, target, p_value, float(np.clip(shared / min(entropies), 0.0, 1.0)), table)


def _dependence(counts: Rows) -> tuple[float, float, tuple[float, float]]:
    """Chi-square p-value, mutual information, and both entropies."""
    from scipy.special import chdtrc

    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    n = counts.sum()
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    p_value = float(chdtrc(freedom, ((counts - expected) ** 2 / expected).sum())) if freedom else 1.0
    shared = float((counts * np.log(counts / expected, out=np.zeros_like(counts), where=counts > 0)).sum() / n)
    return p_value, shared, (_entropy(counts.sum(axis=1) / n), _entropy(counts.sum(axis=0) / n))


def _entropy(shares: Reals) -> float:
    return float(-(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)).sum())


def _joint(target: int, pairs: Sequence[CategoryPair], codes: dict[int, NDArray[Any]], sizes: Sequence[int]) -> JointTable | None:
    """Joint sources of one target, taken by strength while the table stays smaller than the data."""
    incoming = sorted((pair for pair in pairs if pair.target == target), key=lambda pair: -pair.certainty)
    return joint_table(target, [pair.source for pair in incoming], codes, sizes)


def joint_table(target: int, candidates: Sequence[int], codes: dict[int, NDArray[Any]], sizes: Sequence[int]) -> JointTable | None:
    """The table over as many of the candidate sources, in their order, as the data support."""
    n = len(codes[target])
    most = min(LARGEST_JOINT, max(n // 2, max((sizes[source] for source in candidates[:1]), default=1)), LARGEST_TABLE // sizes[target])
    sources: list[int] = []
    product = 1
    for source in candidates:
        if product * sizes[source] <= most:
            sources.append(source)
            product *= sizes[source]
    if not sources:
        return None
    keys = np.zeros(n, dtype=np.intp)
    for source in sources:
        keys = keys * sizes[source] + codes[source]
    counts = np.bincount(keys * sizes[target] + codes[target], minlength=product * sizes[target])
    return JointTable(tuple(sources), tuple(sizes[s] for s in sources), counts.reshape(product, sizes[target]).astype(np.float32))


def _numbers(
    columns: Rows, domain: TabularDomain, sizes: dict[int, int], packed: Packed
) -> tuple[dict[int, Fits], dict[tuple[int, int], Fits], dict[int, int | None]]:
    """Fits of every number: of the whole column, and for every value of each category; and its decimals."""
    numbers, conditionals, decimals = {}, {}, {}
    for at, column in enumerate(domain.columns):
        if column.is_listed:
            continue
        binned = bin_column(columns[at])
        fits = fit_groups(binned, group_rows(binned, packed, sizes))
        numbers[at], decimals[at] = fits.take(slice(0, 1)), decimals_of(binned.bottom)
        begin = 1
        for source, size in sizes.items():
            conditionals[source, at] = fits.take(slice(begin, begin + size))
            begin += size
    return numbers, conditionals, decimals


def _tables(packed: Packed) -> Iterator[tuple[tuple[int, int], Rows]]:
    """The table of counts of every two categories, several of them from one count over the rows."""
    packs = packed.packs
    small = _small_counts(packed)
    for first, second in combinations_with_replacement(range(len(packs)), 2):
        is_same = first == second
        counts = small.pop((first, second), None)
        if counts is None:
            counts = _joint_counts(packed.codes[:, first], packed.codes[:, second], (packs[first].size, packs[second].size))
        members = packs[first].members if is_same else (*packs[first].members, *packs[second].members)
        shape = packs[first].shape if is_same else (*packs[first].shape, *packs[second].shape)
        for a, b in combinations(range(len(members)), 2):
            if is_same or (a < len(packs[first].members) <= b):
                others = tuple(i for i in range(len(members)) if i not in (a, b))
                yield (members[a], members[b]), counts.reshape(shape).sum(axis=others).astype(np.float64)


def _small_counts(packed: Packed) -> dict[tuple[int, int], Index]:
    """How many rows have each combination of codes, for all pairs of packs with few combinations and each pack by itself."""
    sizes = [pack.size for pack in packed.packs]
    pairs = [pair for pair in combinations(range(len(sizes)), 2) if sizes[pair[0]] * sizes[pair[1]] <= SMALL_TABLE]
    counts = {pair: np.zeros(sizes[pair[0]] * sizes[pair[1]], dtype=np.intp) for pair in pairs}
    counts |= {(place, place): np.zeros(size, dtype=np.intp) for place, size in enumerate(sizes)}
    for begin in range(0, len(packed.codes), PIECE):
        codes = packed.codes[begin : begin + PIECE].T.astype(np.intp, order="C")
        for place, size in enumerate(sizes):
            counts[place, place] += np.bincount(codes[place], minlength=size)
        for first, second in pairs:
            counts[first, second] += _joint_counts(codes[first], codes[second], (sizes[first], sizes[second]))
    return counts


def _joint_counts(first: NDArray[Any], second: NDArray[Any], sizes: tuple[int, int]) -> Index:
    keys = np.multiply(first, sizes[1], dtype=np.intp)
    keys += second
    return np.bincount(keys, minlength=sizes[0] * sizes[1])
