"""What a data set promises whatever its table: parts, protection, and errors that name the fault."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from evenhand import datasets
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import DataError, DomainError, InvalidArgument

DOMAIN = TabularDomain(
    (Column("age", "integer", low=0, high=99), Column("sex", "category", ("f", "m"))),
    ("sex",),
    Label("hired", ("no", "yes"), ("yes",)),
)
FRAME = pd.DataFrame({"sex": ["f", "m"] * 50, "age": range(100), "hired": ["no"] * 80 + ["yes"] * 20})


def test_a_users_own_frame_becomes_a_data_set() -> None:
    dataset = datasets.from_frame(FRAME, DOMAIN, "applicants")
    assert (dataset.name, dataset.label, dataset.favourable) == ("applicants", "hired", ("yes",))
    assert dataset.rows[3].tolist() == [3.0, 1.0]
    assert dataset.labels.tolist() == [0] * 80 + [1] * 20


def test_rows_out_of_range_stay_in_the_frame_and_are_counted() -> None:
    dataset = datasets.from_frame(FRAME.assign(age=FRAME["age"] + 10), DOMAIN)
    assert (len(dataset), len(dataset.rows), len(dataset.labels), dataset.left_out) == (100, 90, 90, 10)
    assert "10 outside the domain" in repr(dataset)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.drop(columns="age"), "lacks the column"),
        (FRAME.drop(columns="hired"), "lacks the label column 'hired'"),
        (FRAME.replace({"hired": {"no": "maybe"}}), "'maybe' is not one of"),
        (FRAME.replace({"sex": {"f": "x"}}), "'x' is not one of"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_at_once(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(DataError, match=message):
        datasets.from_frame(frame, DOMAIN)


def test_a_data_set_without_a_label_has_rows_but_says_that_there_is_no_label() -> None:
    dataset = datasets.from_frame(FRAME, dataclasses.replace(DOMAIN, label=None))
    assert len(dataset.rows) == 100
    with pytest.raises(DomainError, match="has no label"):
        _ = dataset.label


def test_a_split_keeps_every_row_once_and_the_share_of_every_label() -> None:
    train, test = datasets.from_frame(FRAME, DOMAIN).split(0.25, np.random.default_rng(1))
    assert sorted([*train.frame["age"], *test.frame["age"]]) == list(range(100))
    assert test.frame["hired"].value_counts().to_dict() == {"no": 20, "yes": 5}
    again = datasets.from_frame(FRAME, DOMAIN).split(0.25, np.random.default_rng(1))[1]
    other = datasets.from_frame(FRAME, DOMAIN).split(0.25, np.random.default_rng(2))[1]
    assert again.frame.equals(test.frame)
    assert not other.frame.equals(test.frame)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan"), 0.001])
def test_a_split_that_leaves_nothing_is_refused(share: float) -> None:
    with pytest.raises(InvalidArgument, match="test_share="):
        datasets.from_frame(FRAME, DOMAIN).split(share, np.random.default_rng(1))


def test_protecting_other_columns_leaves_the_data_alone() -> None:
    dataset = datasets.from_frame(FRAME, DOMAIN)
    other = dataset.protect("age")
    assert other.domain.protected == ("age",)
    assert dataset.domain.protected == ("sex",)
    assert other.frame is dataset.frame


def test_a_data_set_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        datasets.from_frame(FRAME, DOMAIN).name = "other"  # type: ignore[misc]


def test_cells_can_be_let_go_and_codes_stay():
    data = datasets.load("credit")
    light = data.without_cells()
    assert len(light) == len(data)
    assert light.rows is data.rows
    assert (light.protect("age").labels == data.labels).all()
    assert light.frame.empty
    owners = [light.frame[name].to_numpy() for name in ("age", "duration")]
    while any(each.base is not None for each in owners):
        owners = [each if each.base is None else each.base for each in owners]
    assert not sum(each.size for each in owners)  # no view of the old cells, which would keep them all
