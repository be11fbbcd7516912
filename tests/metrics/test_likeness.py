"""The four figures tell natural findings from unnatural ones, and every group has its density curve."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.measures.likeness import LatentAxis, LikenessReference, densities, distinct, likeness
from evenhand.synthesis.chained_trees import ChainedTrees

DOMAIN = TabularDomain(
    (Column("sex", "category", ("f", "m")), Column("age", "integer", low=0, high=99), Column("hours", "integer", low=0, high=99)),
    protected=("sex",),
)


def people(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    age = np.clip(np.rint(rng.normal(40, 12, n)), 0, 99)
    return np.column_stack([rng.integers(0, 2, n), age, np.clip(np.rint(rng.normal(20 + age / 2, 5)), 0, 99)]).astype(np.float64)


ROWS = people(3000, 0)
FINDINGS = ROWS[np.abs(ROWS[:, 2] - 40) < 4]


@pytest.fixture(scope="module")
def reference() -> LikenessReference:
    return LikenessReference(ROWS, FINDINGS, DOMAIN, ChainedTrees.fit(ROWS, DOMAIN, np.random.default_rng(0)))


def test_other_real_findings_are_natural_and_uniform_ones_are_not(reference: LikenessReference) -> None:
    fresh = people(6000, 1)
    natural = likeness(distinct(fresh[np.abs(fresh[:, 2] - 40) < 4], DOMAIN), reference, np.random.default_rng(0))
    uniform = DOMAIN.sample(20_000, np.random.default_rng(0))
    unnatural = likeness(uniform[np.abs(uniform[:, 2] - 40) < 4], reference, np.random.default_rng(0))
    assert natural["atn"] > unnatural["atn"]
    assert natural["c2st_auc_real_findings"] < 0.65 < unnatural["c2st_auc_real_findings"]
    assert natural["c2st_auc"] > natural["c2st_auc_real_findings"]
    assert natural["log_likelihood_percentile"] > 2 * unnatural["log_likelihood_percentile"]


def test_too_few_findings_are_no_zero(reference: LikenessReference) -> None:
    few = likeness(FINDINGS[:10], reference, np.random.default_rng(0))
    assert few["c2st_auc"] is None
    assert likeness(FINDINGS[:0], reference, np.random.default_rng(0)) == dict.fromkeys(few)


def test_twins_count_once() -> None:
    twins = FINDINGS[:5].copy()
    twins[:, 0] = 1 - twins[:, 0]
    assert len(distinct(np.vstack([FINDINGS[:5], twins]), DOMAIN)) == len(distinct(FINDINGS[:5], DOMAIN))


def test_axis_is_where_real_rows_vary_most() -> None:
    axis = LatentAxis.of(ROWS, DOMAIN)
    spread = axis.places(ROWS).std()
    assert abs(np.corrcoef(axis.places(ROWS), ROWS[:, 1])[0, 1]) > 0.9
    assert axis.places(ROWS).mean() == pytest.approx(0.0, abs=1e-9)
    assert spread > 1.0


def test_every_group_has_a_density_curve() -> None:
    curves = densities({"limi": FINDINGS, "none": FINDINGS[:0]}, LatentAxis.of(ROWS, DOMAIN), np.random.default_rng(0))
    assert [curve.label for curve in curves] == ["real rows", "limi"]
    assert all(np.trapezoid(curve.density, curve.places) == pytest.approx(1.0, abs=0.1) for curve in curves)
