"""Simple statements about one cell of a row, in the words of the domain: a few values, a range, or a missing cell.  Judges nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Mask, Reals, Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain

BINS = 8
HEAVY = 0.15
"""A number that makes up this share of a column gets a bin of its own, such as no capital gain."""
MOST_SETS = 12
"""Sets of values that are tried for one column of categories."""
LONGEST_SET = 3


@dataclass(frozen=True)
class RuleCondition:
    """One column's cell is among these codes, or in this closed range, or missing."""

    place: int
    codes: tuple[float, ...] = ()
    low: float = -np.inf
    high: float = np.inf
    is_missing: bool = False

    def holds(self, rows: Rows) -> Mask:
        """Which rows it is true of."""
        cells = rows[:, self.place]
        if self.is_missing:
            return np.isnan(cells)
        if self.codes:
            return np.isin(cells, self.codes)
        with np.errstate(invalid="ignore"):
            inside: Mask = (cells >= self.low) & (cells <= self.high)
        return inside

    def text(self, domain: TabularDomain) -> str:
        """For a reader."""
        column = domain.columns[self.place]
        if self.is_missing:
            return f"{column.name} is missing"
        if self.codes:
            return f"{column.name} = {_listed([str(column.value(code)) for code in self.codes])}"
        return f"{column.name} {self._range(column)}"

    def _range(self, column: Column) -> str:
        low, high = (_number(bound, column) for bound in (self.low, self.high))
        if self.low == self.high:
            return f"= {low}"
        if self.low <= column.lowest:
            return f"at most {high}"
        return f"at least {low}" if self.high >= column.highest else f"{low} to {high}"


def _listed(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"


def _number(value: float, column: Column) -> str:
    is_whole = column.is_integral or 1e4 <= abs(value) < 1e9
    return f"{value:,.0f}" if is_whole and np.isfinite(value) else f"{value:.4g}"


def conditions(rows: Rows, unfair: Mask, domain: TabularDomain) -> list[RuleCondition]:
    """Every statement worth trying about the cells that are not protected."""
    found: list[RuleCondition] = []
    for place in domain.free_places:
        column, cells = domain.columns[place], rows[:, place]
        missing = np.isnan(cells)
        if missing.any() and not missing.all():
            found.append(RuleCondition(place, is_missing=True))
        known = cells[~missing]
        if len(known):
            found += _sets(place, known, unfair[~missing]) if column.is_listed else _ranges(place, known, column)
    return found


def _sets(place: int, codes: Reals, unfair: Mask) -> list[RuleCondition]:
    """Single values, and the values with the highest shares together, as far as a reader can take in."""
    seen, inverse = np.unique(codes, return_inverse=True)
    if len(seen) < 2:
        return []
    counts = np.bincount(inverse)
    # A rare value counts as average until it has shown otherwise.
    order = np.argsort(-(np.bincount(inverse, weights=unfair) + 5 * unfair.mean()) / (counts + 5.0), kind="stable")
    common = np.argsort(-counts, kind="stable")[: 4 * MOST_SETS]
    found = [RuleCondition(place, (float(seen[at]),)) for at in common]
    for size in range(2, min(len(seen), LONGEST_SET + 1)):
        found.append(RuleCondition(place, tuple(sorted(float(code) for code in seen[order[:size]]))))
    return found[: 4 * MOST_SETS + LONGEST_SET]


def _ranges(place: int, numbers: Reals, column: Column) -> list[RuleCondition]:
    """Every stretch of neighbouring bins but the whole."""
    starts = bin_starts(numbers, column)
    ends = np.append(_before(starts[1:], column), column.highest)
    lows = np.append(column.lowest, starts[1:])
    pairs = [(i, j) for i in range(len(starts)) for j in range(i, len(starts)) if (i, j) != (0, len(starts) - 1)]
    return [RuleCondition(place, low=float(lows[i]), high=float(ends[j])) for i, j in pairs]


def bin_starts(numbers: Reals, column: Column, bins: int = BINS) -> Reals:
    """The lower ends of at most about so many bins of equal weight; a heavy value stands alone."""
    values, counts = np.unique(numbers, return_counts=True)
    starts = set(np.quantile(numbers, np.linspace(0, 1, bins + 1)[:-1], method="lower").tolist())
    for value in values[counts >= HEAVY * len(numbers)]:
        starts.add(float(value))
        starts.add(float(value) + 1.0 if column.is_integral else float(np.nextafter(value, np.inf)))
    rounded = {start if column.is_integral else _readable(start) for start in starts}
    kept = sorted(start for start in rounded if column.lowest < start <= column.highest)
    return np.array([column.lowest, *kept])


def _readable(value: float) -> float:
    """Three digits, unless it marks a heavy value exactly."""
    short = float(f"{value:.3g}")
    return short if short >= value else value


def _before(starts: Reals, column: Column) -> Reals:
    return starts - 1 if column.is_integral else np.nextafter(starts, -np.inf)
