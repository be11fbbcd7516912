"""Our integer codings equal the published files, row by row and column by column."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenhand import datasets
from evenhand.datasets import cards, papers

PUBLISHED = Path(os.environ.get("EVENHAND_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
FILES = {
    "adult": "census/census_int.csv",
    "credit": "credit/credit_int_named.csv",
    "bank": "bank/bank_int_named.csv",
    "meps": "meps/meps21_limi_int.csv",
    "compas": "compas/compas_aif360_401.npz",
}
SHAPES = {"adult": (32_561, 13), "credit": (600, 20), "bank": (45_211, 16), "meps": (15_675, 40), "compas": (6_167, 401)}
PROTECTABLE = {"adult": ("age", "race", "sex"), "credit": ("age", "sex"), "bank": ("age",)}


def published(name: str) -> Path:
    path = PUBLISHED / FILES[name]
    if not path.exists():
        pytest.skip(f"the published data are not at {PUBLISHED}; set EVENHAND_DATA to compare")
    return path


def published_table(name: str) -> np.ndarray:
    path = published(name)
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return np.column_stack([arrays["X"], arrays["y"]])
    return pd.read_csv(path).to_numpy()


@pytest.mark.parametrize("name", sorted(FILES))
def test_coding_equals_the_published_file_row_by_row(name: str) -> None:
    np.testing.assert_array_equal(datasets.load(name, "papers").frame.to_numpy(), published_table(name))


def test_one_hot_columns_have_the_published_names() -> None:
    with np.load(published("compas")) as arrays:
        assert list(datasets.compas("papers").domain.names) == arrays["feature_names"].tolist()


@pytest.mark.parametrize("name", papers.names())
def test_every_column_is_an_integer_within_its_bounds(name: str) -> None:
    dataset = datasets.load(name, "papers")
    assert dataset.inputs.shape == SHAPES[name]
    assert {column.kind for column in dataset.domain.columns} == {"integer"}
    assert dataset.domain.contains(dataset.rows).all()
    assert len(dataset.rows) == len(dataset.labels) == len(dataset) - dataset.left_out


def test_only_census_has_rows_outside_the_code_book() -> None:
    assert {name: datasets.load(name, "papers").left_out for name in papers.names()} == {
        "adult": 2_427, "bank": 0, "compas": 0, "credit": 0, "meps": 0,
    }  # fmt: skip


def test_missing_census_cells_are_the_code_100() -> None:
    adult = datasets.adult(coding="papers")
    counts = (adult.frame == 100).sum()
    assert counts[counts > 0].to_dict() == {"workclass": 1_836, "occupation": 1_843, "native_country": 583}
    assert not (adult.rows[:, [adult.domain.place("workclass"), adult.domain.place("occupation")]] == 100).any()


@pytest.mark.parametrize(("name", "protectable"), PROTECTABLE.items())
def test_protected_names_compare_every_value_of_the_code_book(name: str, protectable: tuple[str, ...]) -> None:
    dataset = datasets.load(name, "papers")
    assert dataset.protectable == protectable
    for column in protectable:
        domain = dataset.protect(column).domain
        assert len(domain.combinations) == domain.columns[domain.place(column)].cardinality


def test_a_table_of_ones_own_is_coded_whole() -> None:
    coded = papers.dataset("adult", cards.card("adult").table())
    assert len(coded) == 48_842
    assert coded.frame.head(32_561).equals(datasets.adult("papers").frame)
