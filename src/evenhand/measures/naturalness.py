"""How natural rows are beside real ones: ATN as SDMetrics defines it, a classifier's two-sample AUC, neighbours, likelihood.

ATN alone misleads: independently shuffled columns score about .96 though a classifier tells them from real rows with an AUC of .91,
and real rows of one kind score low because they are compared with everybody.  Report it together with the others.
"""

from __future__ import annotations

from itertools import combinations
from typing import Protocol, runtime_checkable

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.limits import Limit

_UNSEEN = 1e-6  # SDMetrics counts a value that only the synthetic rows have as this much of a real row
_HISTOGRAM_BINS = 10
_ROUNDED = 14
_MOST_COUNTED = 100_000  # whole numbers within such a range are counted instead of sorted


@runtime_checkable
class HasDensity(Protocol):
    """A population that knows how likely a row is."""

    def log_density(self, rows: Rows) -> Reals:
        """One logarithm per row."""


def atn(real: Rows, synthetic: Rows, domain: TabularDomain) -> float:
    """The mean of column shapes and pair trends, 0 to 1; equal to SDMetrics' quality score without thresholds."""
    real, synthetic = np.asfortranarray(real), np.asfortranarray(synthetic)  # everything below walks along columns
    return (column_shapes(real, synthetic, domain) + pair_trends(real, synthetic, domain)) / 2


def column_shapes(real: Rows, synthetic: Rows, domain: TabularDomain) -> float:
    """The mean over columns of 1 - KS distance (numbers) or 1 - total variation (categories)."""
    return float(np.nanmean(shape_scores(real, synthetic, domain)))


def shape_scores(real: Rows, synthetic: Rows, domain: TabularDomain) -> Reals:
    """One score per column; NaN where one side has no cells."""
    _check(real, synthetic)
    scores = []
    for at, column in enumerate(domain.columns):
        pair = [_present(cells) for cells in (real[:, at], synthetic[:, at])]
        if not len(pair[0]) or not len(pair[1]):
            scores.append(np.nan)
        else:
            scores.append(_tv_complement(*pair) if column.is_listed else _ks_complement(*pair))
    return np.array(scores)


def pair_trends(real: Rows, synthetic: Rows, domain: TabularDomain) -> float:
    """The mean over pairs of columns of correlation similarity (two numbers) or contingency similarity (all others)."""
    scores = pair_scores(real, synthetic, domain)
    above = scores[np.triu_indices(len(scores), 1)]
    return float(np.nanmean(above)) if np.isfinite(above).any() else float("nan")


def pair_scores(real: Rows, synthetic: Rows, domain: TabularDomain) -> Rows:
    """(columns, columns), symmetric, 1 on the diagonal; NaN where a correlation is undefined."""
    _check(real, synthetic)
    scores = np.eye(len(domain.columns))
    numbers = [at for at, column in enumerate(domain.columns) if not column.is_listed]
    scores[np.ix_(np.array(numbers, dtype=np.intp), np.array(numbers, dtype=np.intp))] = _correlation_similarity(real, synthetic, numbers)
    codes = [_contingency_codes(real[:, at], synthetic[:, at], domain.columns[at].is_listed) for at in range(len(domain.columns))]
    for a, b in combinations(range(len(domain.columns)), 2):
        if not (a in numbers and b in numbers):
            scores[a, b] = scores[b, a] = _contingency_similarity(codes[a], codes[b])
    return scores


def _check(real: Rows, synthetic: Rows) -> None:
    if not len(real) or not len(synthetic):
        raise InvalidArgument(f"naturalness compares rows: got {len(real)} real and {len(synthetic)} synthetic ones")


def _present(cells: Reals) -> Reals:
    missing = np.isnan(cells)
    return cells[~missing] if missing.any() else cells


def _ks_complement(real: Reals, synthetic: Reals) -> float:
    low, high = min(real.min(), synthetic.min()), max(real.max(), synthetic.max())
    if high - low < _MOST_COUNTED and (real == np.rint(real)).all() and (synthetic == np.rint(synthetic)).all():
        size = int(high - low) + 1
        first, second = (np.cumsum(np.bincount((cells - low).astype(np.intp), minlength=size)) / len(cells) for cells in (real, synthetic))
        return float(1 - np.abs(first - second).max())
    first, second = np.sort(np.round(real, _ROUNDED)), np.sort(np.round(synthetic, _ROUNDED))
    everything = np.concatenate([first, second])
    gap = np.searchsorted(first, everything, side="right") / len(first) - np.searchsorted(second, everything, side="right") / len(second)
    return float(1 - np.abs(gap).max())


def _tv_complement(real: Reals, synthetic: Reals) -> float:
    size = int(max(real.max(), synthetic.max())) + 1
    expected = np.bincount(real.astype(np.intp), minlength=size).astype(np.float64)
    observed = np.bincount(synthetic.astype(np.intp), minlength=size) / len(synthetic)
    expected[(expected == 0) & (observed > 0)] += _UNSEEN
    return float(1 - 0.5 * np.abs(observed - expected / expected.sum()).sum())


def _correlation_similarity(real: Rows, synthetic: Rows, numbers: list[int]) -> Rows:
    gap = np.abs(_correlations(real[:, numbers]) - _correlations(synthetic[:, numbers]))
    return np.asarray(1 - gap / 2)


def _correlations(cells: Rows) -> Rows:
    """Pearson over the rows that have both cells; NaN for a constant column."""
    if not cells.shape[1]:
        return np.empty((0, 0))
    if len(cells) < 2:
        return np.full((cells.shape[1], cells.shape[1]), np.nan)
    if not np.isnan(cells).any():
        with np.errstate(invalid="ignore", divide="ignore"):
            complete: Rows = np.atleast_2d(np.corrcoef(cells, rowvar=False))
        constant = cells.min(axis=0) == cells.max(axis=0)
        complete[constant], complete[:, constant] = np.nan, np.nan
        return complete
    found = np.full((cells.shape[1], cells.shape[1]), np.nan)
    for a, b in combinations(range(cells.shape[1]), 2):
        both = cells[:, [a, b]][~np.isnan(cells[:, [a, b]]).any(axis=1)]
        if len(both) > 1 and (both.min(axis=0) < both.max(axis=0)).all():
            pair: Rows = np.atleast_2d(np.corrcoef(both, rowvar=False))
            found[a, b] = found[b, a] = pair[0, 1]
    return found


_Codes = tuple[tuple[Index, Index], int]  # of the real and of the synthetic rows, and how many there are


def _contingency_codes(real: Reals, synthetic: Reals, is_listed: bool) -> _Codes:
    """Both columns as small codes.  As in SDMetrics, numbers get ten bins over the range of *their own* table."""
    if is_listed:
        size = int(np.nanmax([np.nanmax(real, initial=0), np.nanmax(synthetic, initial=0)])) + 2
        first, second = (_filled(cells, size - 1) for cells in (real, synthetic))
        return (first, second), size
    return (_digitized(real), _digitized(synthetic)), _HISTOGRAM_BINS + 2


def _filled(cells: Reals, code: int) -> Index:
    missing = np.isnan(cells)
    return np.where(missing, code, cells).astype(np.intp) if missing.any() else cells.astype(np.intp)


def _digitized(cells: Reals) -> Index:
    present = _present(cells)
    edges = np.histogram_bin_edges(present, bins=_HISTOGRAM_BINS) if len(present) else np.arange(_HISTOGRAM_BINS + 1.0)
    return np.digitize(cells, edges)


def _contingency_similarity(first: _Codes, second: _Codes) -> float:
    size = first[1] * second[1]
    pairs = [a * second[1] + b for a, b in zip(first[0], second[0], strict=True)]
    real, synthetic = (np.bincount(codes, minlength=size) / len(codes) for codes in pairs)
    return float(1 - np.abs(real - synthetic).sum() / 2)


def two_sample_auc(real: Rows, synthetic: Rows, rng: np.random.Generator) -> float:
    """How well boosted trees tell synthetic rows from real ones they have not seen; .5 is not at all."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    _check(real, synthetic)
    n = min(len(real), len(synthetic))
    rows = np.vstack([real[rng.permutation(len(real))[:n]], synthetic[rng.permutation(len(synthetic))[:n]]])
    is_synthetic = np.repeat([0, 1], n)
    half = rng.permutation(2 * n) % 2
    scores = np.empty(2 * n)
    for fold in (0, 1):
        learner = HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=int(rng.integers(2**31)))
        learner.fit(rows[half != fold], is_synthetic[half != fold])
        scores[half == fold] = learner.decision_function(rows[half == fold])
    return float(np.mean([roc_auc_score(is_synthetic[half == fold], scores[half == fold]) for fold in (0, 1)]))


def coordinates(rows: Rows, reference: Rows, domain: TabularDomain) -> Rows:
    """Rows in a space where distances mean something: numbers over the reference's deviation, one axis per category value.

    A missing cell is the reference's mean, respectively no value at all.  Two different categories are one apart.
    """
    parts = []
    for at, column in enumerate(domain.columns):
        cells = rows[:, at]
        if column.is_listed:
            codes = np.where(np.isnan(cells), len(column.values), cells).astype(np.intp)
            parts.append(np.eye(len(column.values) + 1)[codes][:, :-1] / np.sqrt(2))
        else:
            present = reference[:, at][~np.isnan(reference[:, at])]
            centre, spread = (present.mean(), present.std() or 1.0) if len(present) else (0.0, 1.0)
            parts.append((np.where(np.isnan(cells), centre, cells) - centre)[:, None] / spread)
    return np.hstack(parts)


def neighbour_distances(rows: Rows, reference: Rows, domain: TabularDomain, k: int = 5, is_own: bool = False) -> Reals:
    """The distance of every row to its k-th nearest reference row; `is_own` leaves a row of the reference itself out."""
    from sklearn.neighbors import NearestNeighbors

    Limit(least=1, below=len(reference), whole=True).check("k", k, hint=", the number of reference rows")
    index = NearestNeighbors(n_neighbors=k + is_own).fit(coordinates(reference, reference, domain))
    found: Reals = index.kneighbors(coordinates(rows, reference, domain))[0][:, -1]
    return found


def likelihood_percentiles(rows: Rows, real: Rows, population: HasDensity) -> Reals:
    """For every row, the share of real rows that are at most as likely: near 0 is unlike anybody."""
    usual = np.sort(population.log_density(real))
    return np.searchsorted(usual, population.log_density(rows), side="right") / len(usual)
