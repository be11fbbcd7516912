"""Some rows of a large text file are drawn evenly over it, and only they are read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.domain import csv_sample
from evenhand.domain.csv_sample import sample_csv
from evenhand.domain.frames import read_table
from evenhand.errors import DataError, InvalidArgument


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "people.csv"
    rng = np.random.default_rng(0)
    notes = np.where(np.arange(5_000) % 3 == 0, 'two\nlines, and a "quote"', "plain")
    codes = [f"{at:05d}" for at in rng.integers(0, 99_999, 5_000)]
    pd.DataFrame({"number": np.arange(5_000), "age": rng.integers(18, 90, 5_000), "code": codes, "note": notes}).to_csv(path, index=False)
    return path


def test_rows_are_drawn_evenly_and_read_as_the_whole_file_is(people):
    drawn = sample_csv(people, 1_000, np.random.default_rng(1))
    assert (len(drawn.frame), drawn.rows_in_file, drawn.is_whole) == (1_000, 5_000, False)
    whole = read_table(people).iloc[drawn.frame["number"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(drawn.frame, whole)  # line breaks in cells, leading zeros and types included
    assert abs(drawn.frame["number"].mean() - 2_499.5) < 4 * 1_443 / np.sqrt(1_000)


def test_a_file_of_fewer_rows_is_taken_whole(people):
    assert sample_csv(people, 50_000, np.random.default_rng(1)).is_whole


def test_only_the_drawn_rows_are_read(people, monkeypatch):
    sizes = []
    real = csv_sample.read_formatted
    monkeypatch.setattr(csv_sample, "read_formatted", lambda path, form: sizes.append(path.stat().st_size) or real(path, form))
    sample_csv(people, 100, np.random.default_rng(1))
    assert sizes[0] < people.stat().st_size / 20


def test_open_takes_the_wish(tmp_path):
    path = tmp_path / "ages.csv"
    pd.DataFrame({"age": np.arange(900) % 70}).to_csv(path, index=False)
    assert len(eh.open(path, settings={"most_rows": 300}).rows) == 300


def test_faults_name_the_file_and_the_argument(people, tmp_path):
    with pytest.raises(DataError, match=r"none\.csv"):
        sample_csv(tmp_path / "none.csv", 10, np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="most_rows=0"):
        sample_csv(people, 0, np.random.default_rng(0))
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("a,b\n" + "1,2\n" * 50 + "1,2,3\n" * 5 + "1,2\n" * 50)
    with pytest.raises(DataError, match=r"ragged\.csv.*52"):
        sample_csv(ragged, 100, np.random.default_rng(0))
