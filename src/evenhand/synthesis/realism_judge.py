"""How real synthetic rows look by AITEST's own four measures, and how well a model trained on them does.

Density anomalies follow the usual k-nearest-neighbour detector: the distance to the fifth neighbour, and a threshold that a tenth
of the real rows exceed.  Divergences are Jensen-Shannon in bits over values or twenty bins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import Index, Labels, Mask, Reals, Rows
from evenhand.contract import LabelledRows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument

NEIGHBOURS = 5
CONTAMINATION = 0.1
BINS = 20
FEWEST_IN_GROUP = 10
"""Groups with fewer rows on either side say nothing about a distribution."""


@dataclass(frozen=True)
class Realism:
    """AITEST's Table 2 for one sample."""

    rows: int
    range_anomalies: int
    density_anomalies: int
    divergence: float
    association_divergence: float

    def per_thousand(self) -> tuple[float, float]:
        """Range and density anomalies per 1,000 rows."""
        return 1_000 * self.range_anomalies / self.rows, 1_000 * self.density_anomalies / self.rows


def assess(real: Rows, synthetic: Rows, domain: TabularDomain) -> Realism:
    """All four measures."""
    if not len(synthetic) or len(real) <= NEIGHBOURS:
        came = f"{len(real)} and {len(synthetic)}"
        raise InvalidArgument(f"realism needs more than {NEIGHBOURS} real rows and some synthetic ones, got {came}")
    return Realism(
        len(synthetic),
        int(range_anomalies(real, synthetic, domain).sum()),
        int(density_anomalies(real, synthetic, domain).sum()),
        divergence(real, synthetic, domain),
        association_divergence(real, synthetic, domain),
    )


def range_anomalies(real: Rows, synthetic: Rows, domain: TabularDomain) -> Mask:
    """Rows with a value that the data lack, or a number outside its range given some category of the row."""
    strange = np.zeros(len(synthetic), dtype=bool)
    listed = [at for at, column in enumerate(domain.columns) if column.is_listed]
    numbers = [at for at, column in enumerate(domain.columns) if not column.is_listed]
    for at in listed:
        seen = np.bincount(_codes(real[:, at], domain, at), minlength=len(domain.columns[at].values) + 1) > 0
        strange |= ~seen[_codes(synthetic[:, at], domain, at)]
    for number in numbers:
        with np.errstate(invalid="ignore"):
            strange |= (synthetic[:, number] < np.nanmin(real[:, number])) | (synthetic[:, number] > np.nanmax(real[:, number]))
        for at in listed:
            strange |= _outside_group(real, synthetic, domain, (at, number))
    return strange


def _codes(cells: Reals, domain: TabularDomain, at: int) -> Index:
    return np.where(np.isnan(cells), len(domain.columns[at].values), cells).astype(np.intp)


def _outside_group(real: Rows, synthetic: Rows, domain: TabularDomain, pair: tuple[int, int]) -> Mask:
    source, number = pair
    size = len(domain.columns[source].values) + 1
    present = ~np.isnan(real[:, number])
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    groups = _codes(real[present, source], domain, source)
    np.minimum.at(low, groups, real[present, number])
    np.maximum.at(high, groups, real[present, number])
    mine = _codes(synthetic[:, source], domain, source)
    with np.errstate(invalid="ignore"):
        return np.asarray((synthetic[:, number] < low[mine]) | (synthetic[:, number] > high[mine]))


def density_anomalies(real: Rows, synthetic: Rows, domain: TabularDomain) -> Mask:
    """Rows farther from their fifth real neighbour than nine tenths of the real rows are."""
    from sklearn.neighbors import NearestNeighbors

    space = _Space(real, domain)
    index = NearestNeighbors(n_neighbors=NEIGHBOURS + 1).fit(space.of(real))
    usual = index.kneighbors(space.of(real))[0][:, -1]
    distance = index.kneighbors(space.of(synthetic), n_neighbors=NEIGHBOURS)[0][:, -1]
    return np.asarray(distance > np.quantile(usual, 1 - CONTAMINATION))


class _Space:
    """Numbers over their deviation, one axis per category value."""

    def __init__(self, real: Rows, domain: TabularDomain) -> None:
        self.domain = domain
        with np.errstate(invalid="ignore"):
            self.centre, self.spread = np.nanmean(real, axis=0), np.nanstd(real, axis=0)
        self.spread[~(self.spread > 0)] = 1.0

    def of(self, rows: Rows) -> Rows:
        parts = []
        for at, column in enumerate(self.domain.columns):
            if column.is_listed:
                parts.append(np.eye(len(column.values) + 1)[_codes(rows[:, at], self.domain, at)] / np.sqrt(2))
            else:
                parts.append(np.nan_to_num((rows[:, at : at + 1] - self.centre[at]) / self.spread[at]))
        return np.hstack(parts)


def jensen_shannon(first: ArrayLike, second: ArrayLike) -> float:
    """In bits, 0 to 1, of two tables of counts."""
    p, q = (np.asarray(counts, dtype=np.float64) / np.sum(counts) for counts in (first, second))
    middle = (p + q) / 2

    def part(share: NDArray[np.float64]) -> float:
        present = share > 0
        return float((share[present] * np.log2(share[present] / middle[present])).sum())

    return (part(p) + part(q)) / 2


def column_counts(real: Reals, synthetic: Reals, domain: TabularDomain, at: int) -> tuple[Reals, Reals, Reals]:
    """Counts of both sides over values or bins, and the borders of the bins (empty for categories)."""
    column = domain.columns[at]
    if column.is_listed:
        first, second = (np.bincount(_codes(cells, domain, at), minlength=len(column.values) + 1) for cells in (real, synthetic))
        return first.astype(np.float64), second.astype(np.float64), np.empty(0)
    present = [cells[~np.isnan(cells)] for cells in (real, synthetic)]
    edges = np.histogram_bin_edges(np.concatenate(present), bins=BINS)
    first, second = (np.append(np.histogram(cells, edges)[0], 0) for cells in present)
    first[-1], second[-1] = len(real) - len(present[0]), len(synthetic) - len(present[1])
    return first.astype(np.float64), second.astype(np.float64), edges


def divergence(real: Rows, synthetic: Rows, domain: TabularDomain) -> float:
    """The mean over columns."""
    found = [jensen_shannon(*column_counts(real[:, at], synthetic[:, at], domain, at)[:2]) for at in range(len(domain.columns))]
    return float(np.mean(found))


def association_divergence(real: Rows, synthetic: Rows, domain: TabularDomain) -> float:
    """The mean over numbers within each value of each category; 0 where there is no such pair."""
    found = list(_within_values(real, synthetic, domain))
    return float(np.mean(found)) if found else 0.0


def _within_values(real: Rows, synthetic: Rows, domain: TabularDomain) -> Iterator[float]:
    numbers = [at for at, column in enumerate(domain.columns) if not column.is_listed]
    for at, column in enumerate(domain.columns):
        if not column.is_listed:
            continue
        for code in range(len(column.values)):
            first, second = real[real[:, at] == code], synthetic[synthetic[:, at] == code]
            if min(len(first), len(second)) < FEWEST_IN_GROUP:
                continue
            for number in numbers:
                counts = column_counts(first[:, number], second[:, number], domain, number)
                yield jensen_shannon(*counts[:2])


class RealismLearner(Protocol):
    """What scikit-learn calls a classifier."""

    def fit(self, rows: Rows, labels: Labels) -> RealismLearner:
        """Learn."""

    def predict(self, rows: Rows) -> Labels:
        """Labels of rows."""


@dataclass(frozen=True)
class Accuracies:
    """AITEST's Table 3: a model of real rows, and one of synthetic rows that the first model labelled."""

    real: float
    synthetic: float


def train_on_synthetic(
    learners: tuple[RealismLearner, RealismLearner], train: LabelledRows, test: LabelledRows, synthetic: Rows
) -> Accuracies:
    """Both models' accuracy on real test rows."""
    first = learners[0].fit(train.rows, train.labels)
    labels = first.predict(synthetic)
    accuracy = float(np.mean(first.predict(test.rows) == test.labels))
    if len(np.unique(labels)) < 2:
        return Accuracies(accuracy, float(np.mean(labels[0] == test.labels)))
    second = learners[1].fit(synthetic, labels)
    return Accuracies(accuracy, float(np.mean(second.predict(test.rows) == test.labels)))
