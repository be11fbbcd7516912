"""ATN agrees with SDMetrics, and the measures beside it see what ATN misses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.measures import naturalness
from evenhand.synthesis import realism_judge
from evenhand.synthesis.chained_trees import ChainedTrees

DOMAIN = TabularDomain(
    (
        Column("age", "integer", low=18, high=90),
        Column("sex", "category", ("f", "m")),
        Column("job", "category", ("a", "b", "c", "d"), missing=0.1),
        Column("income", "real", low=0.0, high=1e6, missing=0.1),
        Column("level", "ordinal", ("low", "middle", "high")),
    )
)


def rows_of(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    age = np.clip(np.rint(40 + 12 * rng.normal(size=n)), 18, 90)
    sex = rng.integers(0, 2, n)
    job = np.where(rng.random(n) < 0.1, np.nan, (age // 20).clip(0, 3))
    income = np.where(rng.random(n) < 0.1, np.nan, np.clip(age * 1_000 + sex * 9_000 + rng.normal(size=n) * 5_000, 0, 1e6))
    return np.column_stack([age, sex, job, income, rng.integers(0, 3, n)])


def sdmetrics_score(real: np.ndarray, synthetic: np.ndarray) -> float:
    column_shapes = pytest.importorskip("sdmetrics.reports.single_table._properties").ColumnShapes()
    from sdmetrics.reports.single_table._properties import ColumnPairTrends

    kinds = {"integer": "numerical", "real": "numerical", "category": "categorical", "ordinal": "categorical"}
    metadata = {"columns": {column.name: {"sdtype": kinds[column.kind]} for column in DOMAIN.columns}}
    tables = [DOMAIN.decode(rows) for rows in (real, synthetic)]
    for table in tables:
        table["age"], table["income"] = table["age"].astype(float), table["income"].astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (column_shapes.get_score(*tables, metadata) + ColumnPairTrends().get_score(*tables, metadata)) / 2


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.filterwarnings("ignore")
def test_atn_is_the_quality_score_of_sdmetrics(seed):
    real, synthetic = rows_of(800, 0), DOMAIN.sample(500, np.random.default_rng(seed))
    assert naturalness.atn(real, synthetic, DOMAIN) == pytest.approx(sdmetrics_score(real, synthetic), abs=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_atn_agrees_when_a_value_is_only_in_the_synthetic_rows():
    real, synthetic = rows_of(300, 0), rows_of(200, 5)
    real[:, 4] = 0
    assert naturalness.atn(real, synthetic, DOMAIN) == pytest.approx(sdmetrics_score(real, synthetic), abs=1e-9)


def test_the_classifier_sees_what_atn_misses():
    real, held_out, rng = rows_of(4_000, 0), rows_of(4_000, 1), np.random.default_rng(0)
    shuffled = np.column_stack([rng.permutation(column) for column in real.T])
    assert naturalness.column_shapes(held_out, shuffled, DOMAIN) > 0.97
    assert naturalness.two_sample_auc(held_out, shuffled, rng) > 0.75
    assert naturalness.two_sample_auc(held_out, real, rng) < 0.54


def test_likelihood_percentiles_of_real_rows_are_uniform_and_of_random_rows_low():
    real, rng = rows_of(3_000, 0), np.random.default_rng(0)
    trees = ChainedTrees.fit(real, DOMAIN, rng)
    assert naturalness.likelihood_percentiles(rows_of(2_000, 3), rows_of(2_000, 4), trees).mean() == pytest.approx(0.5, abs=0.04)
    assert naturalness.likelihood_percentiles(DOMAIN.sample(500, rng), real, trees).mean() < 0.1


def test_neighbours_of_random_rows_are_farther_than_those_of_real_rows():
    real = rows_of(1_000, 0)
    mine = naturalness.neighbour_distances(rows_of(300, 1), real, DOMAIN)
    random = naturalness.neighbour_distances(DOMAIN.sample(300, np.random.default_rng(0)), real, DOMAIN)
    assert np.median(random) > 2 * np.median(mine)


def test_empty_samples_are_refused():
    with pytest.raises(InvalidArgument, match="0 synthetic"):
        naturalness.atn(rows_of(10, 0), np.empty((0, 5)), DOMAIN)


def test_realism_of_real_rows_is_near_perfect_and_of_random_rows_is_not():
    real, again, rng = rows_of(4_000, 0), rows_of(1_000, 1), np.random.default_rng(0)
    good, bad = realism_judge.assess(real, again, DOMAIN), realism_judge.assess(real, DOMAIN.sample(1_000, rng), DOMAIN)
    assert good.range_anomalies < 30 < 300 < bad.range_anomalies
    assert good.density_anomalies < 200 < 500 < bad.density_anomalies
    assert good.divergence < 0.02 < bad.divergence
    assert good.association_divergence < 0.08 < bad.association_divergence


def test_jensen_shannon_runs_from_zero_to_one():
    assert realism_judge.jensen_shannon([1, 2, 3], [2, 4, 6]) == pytest.approx(0.0)
    assert realism_judge.jensen_shannon([1, 0], [0, 5]) == pytest.approx(1.0)
