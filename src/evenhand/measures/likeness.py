"""How natural the findings of any method are, in four figures and as curves.

The curves are those of the paper's Figure 2 (LIMI): rows on the first principal axis of the real rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import Limit
from evenhand.measures.naturalness import HasDensity, atn, coordinates, likelihood_percentiles, two_sample_auc

FEWEST = 50
"""Below this many rows on one side a classifier says nothing about naturalness."""
MOST = 10_000
"""Rows of each side that a classifier sees at most."""


@dataclass(frozen=True)
class LikenessReference:
    """What findings are held against: real rows, those of them that are findings themselves, and a population with a density."""

    rows: Rows
    findings: Rows
    domain: TabularDomain
    population: HasDensity | None = None


def likeness(rows: Rows, reference: LikenessReference, rng: np.random.Generator) -> dict[str, float | None]:
    """ATN, two-sample AUC against real rows and against real findings, and the median log-likelihood percentile.

    Findings on both sides count once per distinct non-protected part, as everywhere.  None stands for too few rows to say.
    """
    sample = rows[rng.permutation(len(rows))[: len(reference.rows)]]
    real = distinct(reference.findings, reference.domain)
    return {
        "atn": atn(reference.rows, sample, reference.domain) if len(sample) else None,
        "c2st_auc": _auc(reference.rows, rows, rng),
        "c2st_auc_real_findings": _auc(real, rows, rng),
        "log_likelihood_percentile": _percentile(sample[:MOST], reference),
    }


def distinct(rows: Rows, domain: TabularDomain) -> Rows:
    """The first row of every non-protected part."""
    first: Index = np.sort(np.unique(domain.keys(rows), return_index=True)[1])
    return rows[first]


def _auc(real: Rows, rows: Rows, rng: np.random.Generator) -> float | None:
    if min(len(real), len(rows)) < FEWEST:
        return None
    n = min(len(real), len(rows), MOST)
    return two_sample_auc(real[rng.permutation(len(real))[:n]], rows[rng.permutation(len(rows))[:n]], rng)


def _percentile(rows: Rows, reference: LikenessReference) -> float | None:
    if reference.population is None or not len(rows):
        return None
    return float(np.median(likelihood_percentiles(rows, reference.rows, reference.population)))


@dataclass(frozen=True)
class LatentAxis:
    """The direction in which real rows vary most."""

    reference: Rows
    domain: TabularDomain
    direction: Reals
    centre: Reals

    @classmethod
    def of(cls, real: Rows, domain: TabularDomain) -> LatentAxis:
        """Fit it to real rows."""
        Limit(least=2, whole=True).check("real", len(real), hint=": a principal axis is fitted to real rows")
        cells = coordinates(real, real, domain)
        centre = cells.mean(axis=0)
        direction = np.linalg.eigh((cells - centre).T @ (cells - centre))[1][:, -1]
        return cls(real, domain, direction * np.sign(direction[np.abs(direction).argmax()]), centre)

    def places(self, rows: Rows) -> Reals:
        """Where rows lie on the axis."""
        places: Reals = (coordinates(rows, self.reference, self.domain) - self.centre) @ self.direction
        return places


@dataclass(frozen=True, eq=False)
class Density:
    """How rows are spread along an axis: a curve of unit area."""

    label: str
    places: Reals
    density: Reals


def densities(groups: Mapping[str, Rows], axis: LatentAxis, rng: np.random.Generator, rows_each: int = 1000) -> list[Density]:
    """One density curve for the real rows and one per group along the principal axis; a group that lies in one point has none."""
    from scipy.stats import gaussian_kde

    shown = {"real rows": axis.reference, **groups}
    places = {name: axis.places(rows[rng.permutation(len(rows))[:rows_each]]) for name, rows in shown.items() if len(rows) > 1}
    ends = np.quantile(np.concatenate(list(places.values())), [0.001, 0.999])
    line = np.linspace(float(ends[0]), float(ends[1]), 200)
    return [Density(name, line, gaussian_kde(where)(line)) for name, where in places.items() if np.ptp(where) > 0]
