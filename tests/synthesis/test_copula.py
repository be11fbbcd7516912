"""The copula inverts exactly, keeps every column's shape and the relation of two numbers."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DataError
from evenhand.synthesis.copula import Copula
from evenhand.synthesis.latent import Encoding

DOMAIN = TabularDomain(
    (
        Column("group", "category", ("a", "b", "c", "never")),
        Column("age", "integer", low=0, high=99),
        Column("income", "real", low=-50.0, high=150.0),
        Column("debt", "integer", low=0, high=9, missing=0.1),
    ),
    protected=("group",),
)


def rows_like_people(n: int = 3000) -> np.ndarray:
    rng = np.random.default_rng(0)
    group = rng.choice(3, n, p=[0.7, 0.2, 0.1])
    age = np.clip(np.rint(rng.normal(40 + 8 * group, 10)), 0, 99)
    income = np.clip(age + rng.normal(0, 8, n), -50, 150)
    debt = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 10, n))
    return np.column_stack([group, age, income, debt])


ROWS = rows_like_people()


@pytest.fixture(scope="module")
def copula() -> Copula:
    return Copula.fit(ROWS, DOMAIN, np.random.default_rng(0))


def test_every_row_is_encoded_and_decoded_exactly(copula: Copula) -> None:
    assert isinstance(copula, Encoding)
    np.testing.assert_allclose(copula.decode(copula.encode(ROWS, np.random.default_rng(1))), ROWS, atol=1e-9)


def test_latents_of_the_data_are_standard_normal(copula: Copula) -> None:
    latents = copula.encode(ROWS, np.random.default_rng(1))
    assert np.abs(latents.mean(axis=0)).max() < 0.06
    assert np.abs(np.cov(latents, rowvar=False) - np.eye(4)).max() < 0.08


def test_samples_have_the_shapes_and_the_correlation_of_the_data(copula: Copula) -> None:
    sample = copula.sample(20_000, np.random.default_rng(2))
    assert DOMAIN.contains(sample).all()
    assert np.abs(np.bincount(sample[:, 0].astype(int), minlength=4) / 20_000 - [0.7, 0.2, 0.1, 0.0]).max() < 0.03
    assert abs(np.isnan(sample[:, 3]).mean() - np.isnan(ROWS[:, 3]).mean()) < 0.02
    expected = np.corrcoef(ROWS[:, 1], ROWS[:, 2])[0, 1]
    assert abs(np.corrcoef(sample[:, 1], sample[:, 2])[0, 1] - expected) < 0.05


def test_rows_outside_the_domain_are_refused() -> None:
    with pytest.raises(DataError, match="inside the domain"):
        Copula.fit(ROWS + 1000.0, DOMAIN, np.random.default_rng(0))
