"""Findings page by page: the same rows in the same order as pandas gives, from as many parts as there are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand.dashboard.found_rows import FindingsWish, FoundRows
from evenhand.errors import InvalidArgument
from parts.dashboard_store import many_findings


@pytest.fixture(scope="module")
def found(made_store, tmp_path_factory):
    first = next((made_store / "loans" / "runs").glob("themis-*"))
    search = tmp_path_factory.mktemp("large") / "search"
    many_findings(search, first, 2_500, per_part=1_000)
    frame = pd.concat([pd.read_parquet(part) for part in sorted((search / "findings").glob("*.parquet"))], ignore_index=True)
    return FoundRows.below(search), frame


def numbers(page):
    return [int(number) for number in page.numbers]


def test_pages_follow_each_other(found):
    rows, frame = found
    assert rows.count == len(frame) == 2_500
    page = rows.page(FindingsWish(), 990, 20)  # across two parts
    assert numbers(page) == list(range(990, 1010))
    place = page.columns.index("income")
    assert [line[place] for line in page.cells] == frame.income[990:1010].tolist()


@pytest.mark.parametrize("column", ["income", "town", "evenhand.gap", "evenhand.outcome"])
@pytest.mark.parametrize("is_descending", [False, True])
def test_sorted_as_pandas_sorts(found, column, is_descending):
    rows, frame = found
    expected = frame.sort_values(column, ascending=not is_descending, kind="stable").index[700:750]
    assert numbers(rows.page(FindingsWish(column, is_descending), 700, 50)) == list(expected)


@pytest.mark.parametrize(
    ("wish", "keeps"),
    [
        (FindingsWish(where="town", value="OR"), lambda f: f.town.str.contains("or")),
        (FindingsWish(where="town", test="is", value="south"), lambda f: f.town == "south"),
        (FindingsWish(where="income", test="at least", value="50"), lambda f: f.income >= 50),
        (FindingsWish(where="income", test="at most", value="49.5"), lambda f: f.income <= 49.5),
        (FindingsWish(where="income", test="is", value="50.0"), lambda f: f.income == 50),
        (FindingsWish("income", True, "town", "is", "north"), lambda f: f.town == "north"),
    ],
)
def test_filtered_as_pandas_filters(found, wish, keeps):
    rows, frame = found
    kept = frame[keeps(frame)]
    assert len(kept) > 0
    if wish.sort:
        kept = kept.sort_values(wish.sort, ascending=False, kind="stable")
    page = rows.page(wish, 0, 40)
    assert page.total == len(kept)
    assert numbers(page) == list(kept.index[:40])


def test_codes_are_those_of_the_finding(found):
    rows, frame = found
    assert rows.codes(1234) == frame["evenhand.row_codes"][1234].tolist()
    assert rows.codes(1234, "twin")[0] != rows.codes(1234)[0]
    assert np.isfinite(rows.codes(0)).all()


def test_an_unknown_column_is_refused(found):
    with pytest.raises(InvalidArgument, match="not one of"):
        found[0].page(FindingsWish("nothing"), 0, 1)


def test_missing_cells_come_last_either_way(tmp_path):
    (tmp_path / "findings").mkdir()
    pd.DataFrame({"a": [2.0, None, 1.0]}).to_parquet(tmp_path / "findings" / "part-000001.parquet")
    pd.DataFrame({"a": ["x", None]}).to_parquet(tmp_path / "findings" / "part-000002.parquet")
    rows = FoundRows.below(tmp_path)
    assert numbers(rows.page(FindingsWish("a"), 0, 9)) == [2, 0, 3, 1, 4]
    assert numbers(rows.page(FindingsWish("a", True), 0, 9)) == [3, 0, 2, 1, 4]


@pytest.mark.parametrize("is_descending", [False, True])
@pytest.mark.parametrize("column", ["town", "evenhand.gap"])
def test_an_early_page_is_sorted_as_a_late_one(found, column, is_descending):
    rows, frame = found
    expected = frame.sort_values(column, ascending=not is_descending, kind="stable").index[20:70]
    assert numbers(rows.page(FindingsWish(column, is_descending), 20, 50)) == list(expected)


def test_scattered_rows_of_a_part_are_read_from_their_groups_alone(tmp_path):
    (tmp_path / "findings").mkdir()
    frame = pd.DataFrame({"a": np.random.default_rng(0).permutation(1_000), "b": [f"w{place % 7}" for place in range(1_000)]})
    frame.to_parquet(tmp_path / "findings" / "part-000001.parquet", row_group_size=64)
    page = FoundRows.below(tmp_path).page(FindingsWish("a"), 10, 30)
    assert [tuple(line) for line in page.cells] == [(a, frame.b[frame.index[frame.a == a][0]]) for a in range(10, 40)]
