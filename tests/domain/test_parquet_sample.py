"""Some rows of a Parquet file: so many, evenly over the file, never all of it at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.domain import parquet_sample
from evenhand.domain.parquet_sample import sample_parquet
from evenhand.errors import DataError, InvalidArgument


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.parquet"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"at": np.arange(30_000), "sex": rng.choice(["f", "m"], 30_000), "pay": rng.integers(0, 9, 30_000) / 2})
    frame.to_parquet(path, row_group_size=1_000)
    return path


def test_rows_are_drawn_evenly_without_repetition_and_in_order(people, monkeypatch):
    monkeypatch.setattr(parquet_sample, "BATCH_ROWS", 700)
    drawn = sample_parquet(people, 3_000, np.random.default_rng(1))
    places = drawn.frame["at"].to_numpy()
    assert (len(places), drawn.rows_in_file, drawn.is_whole) == (3_000, 30_000, False)
    assert (np.diff(places) > 0).all()
    counts = np.histogram(places, 10, (0, 30_000))[0]
    assert counts.min() > 240
    assert counts.max() < 360
    again = sample_parquet(people, 3_000, np.random.default_rng(1))
    pd.testing.assert_frame_equal(drawn.frame, again.frame)


def test_a_small_file_is_taken_whole(people):
    drawn = sample_parquet(people, 50_000, np.random.default_rng(1))
    assert drawn.is_whole
    pd.testing.assert_frame_equal(drawn.frame, pd.read_parquet(people))


def test_the_file_is_never_read_at_once(people, monkeypatch):
    monkeypatch.setattr(pd, "read_parquet", lambda *_: pytest.fail("the whole file was read"))
    data = eh.open(people, settings={"most_rows": 500})
    assert len(data.rows) == 500


def test_faults_are_told(people, tmp_path):
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(people.read_bytes()[:5_000])
    with pytest.raises(DataError, match="not a readable Parquet file"):
        sample_parquet(broken, 10, np.random.default_rng(0))
    with pytest.raises(DataError, match="there is no file"):
        sample_parquet(tmp_path / "none.parquet", 10, np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="most_rows=0"):
        sample_parquet(people, 0, np.random.default_rng(0))
