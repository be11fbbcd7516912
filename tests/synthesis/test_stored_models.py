"""Models of data are kept and read safely, complete partial rows, and make up what stands beside a domain."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenhand.arrays import Rows
from evenhand.contract import Headway
from evenhand.disk import sealed
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError, DataError, InvalidArgument, StoreError
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.chunks import Stream, write_rows
from evenhand.synthesis.companions import beside, learn_companions
from evenhand.synthesis.completion import completed, partial_rows
from evenhand.synthesis.population_files import load_model, save_model
from evenhand.synthesis.stored_trees import StoredTree
from evenhand.synthesis.wishes import Wishes


def pay(n: int) -> Rows:
    rng = np.random.default_rng(1)
    sex, region = rng.integers(0, 2, n), rng.integers(0, 3, n)
    basic = np.round(np.exp(rng.normal(7 - 0.5 * sex, 0.4, n)), 2)
    bonus = np.round(rng.exponential(100, n) * (rng.random(n) < 0.5), 2)
    return np.column_stack([sex, region, basic, bonus, np.round(basic + bonus, 2)]).astype(np.float64)


ROWS = pay(1_200)
DOMAIN = TabularDomain(
    (
        Column("sex", "category", ("m", "f")),
        Column("region", "category", ("n", "s", "w")),
        *(Column(name, "real", low=0.0, high=float(ROWS[:, at].max())) for at, name in enumerate(("basic", "bonus", "total"), 2)),
    ),
    ("sex",),
)


@pytest.fixture(scope="module")
def trees() -> ChainedTrees:
    return ChainedTrees.fit(ROWS, DOMAIN, np.random.default_rng(0))


def test_a_stored_chain_draws_the_same_rows_and_knows_the_same_way_back(trees, tmp_path):
    again = load_model(save_model(trees, tmp_path / "pay.model"))
    drawn = trees.sample(500, np.random.default_rng(2))
    np.testing.assert_array_equal(again.sample(500, np.random.default_rng(2)), drawn)
    np.testing.assert_array_equal(again.decode(again.encode(drawn, np.random.default_rng(3))), drawn)
    assert (np.round(drawn[:, 2] + drawn[:, 3], 2) == drawn[:, 4]).all()


def test_stored_wishes_hold(tmp_path):
    made = ChainedTrees.fit_steered(ROWS, DOMAIN, Wishes.preset("3:1 sex m:f", DOMAIN), np.random.default_rng(0))
    rows = load_model(save_model(made, tmp_path / "steered.model")).sample(400, np.random.default_rng(1))
    assert (rows[:, 0] == 1).sum() == 100


def rewritten(path: Path, name: str, content: bytes) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {entry: archive.read(entry) for entry in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for entry, held in {**parts, name: content}.items():
            archive.writestr(entry, held)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("0.npy", b"\x93NUMPY garbage", "checksum of array 0"),
        ("model.json", b'{"checksum": "00"}', "damaged"),
        ("model.json", sealed({"format": 1, "arrays": [], "model": {"is": "Popen", "of": {"args": "ls"}}}).encode(), "damaged"),
        ("model.json", sealed({"format": 9, "arrays": [], "model": None}).encode(), "another release"),
        ("model.json", sealed({"format": 1, "arrays": [], "model": {"is": "Scaling", "of": {"old": 1, "new": 2}}}).encode(), "not a model"),
    ],
)
def test_a_changed_file_is_refused_in_one_line(trees, tmp_path, name, content, told):
    path = save_model(trees, tmp_path / "pay.model")
    rewritten(path, name, content)
    with pytest.raises(StoreError, match=told):
        load_model(path)


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "no.model").write_bytes(b"cos\nsystem\n(S'ls'\ntR.")
    for name, told in (("no.model", "no model of data"), ("absent.model", "cannot read")):
        with pytest.raises(StoreError, match=told):
            load_model(tmp_path / name)


def test_changed_bytes_anywhere_are_refused_in_one_line(trees, tmp_path):
    whole = save_model(trees, tmp_path / "whole.model").read_bytes()
    told = []
    for begin in range(0, len(whole), max(1, len(whole) // 60)):
        path = tmp_path / "changed.model"
        path.write_bytes(whole[:begin] + bytes([whole[begin] ^ 0xFF]) + whole[begin + 1 :])
        try:
            load_model(path)  # some bytes, such as a date within the archive, mean nothing
        except StoreError as fault:
            told.append(str(fault))
    assert len(told) > 30
    assert not any("\n" in each for each in told)


def test_a_tree_that_leads_in_a_circle_is_refused():
    with pytest.raises(StoreError, match="do not lead to leaves"):
        StoredTree(np.array([0, -1]), np.array([1, -1]), np.array([0, -2]), np.zeros(2))


def test_unknown_cells_follow_known_ones_that_come_later_in_the_chain(trees):
    late = trees.order.index(2) > trees.order.index(0)
    assert late  # sex is drawn first, so pay must tell about it backwards
    known = np.zeros((400, 5), dtype=bool)
    known[:, 2] = True
    rows = np.full((400, 5), np.nan)
    rows[:, 2] = np.repeat(np.quantile(ROWS[:, 2], [0.03, 0.97], method="nearest"), 200)
    full = completed(trees, rows, known, np.random.default_rng(5))
    np.testing.assert_array_equal(full[:, 2], rows[:, 2])
    assert full[:200, 0].mean() > 0.85
    assert full[200:, 0].mean() < 0.15
    assert (np.round(full[:, 2] + full[:, 3], 2) == full[:, 4]).all()


def test_a_known_total_leaves_its_parts_what_fits(trees):
    known = np.zeros((300, 5), dtype=bool)
    known[:, 4] = True
    full = completed(trees, ROWS[:300], known, np.random.default_rng(0))
    np.testing.assert_array_equal(full[:, 4], ROWS[:300, 4])
    np.testing.assert_allclose(full[:, 2] + full[:, 3], full[:, 4], atol=1e-6)
    assert full[:, 2].mean() == pytest.approx(ROWS[:300, 2].mean(), rel=0.05)


def test_a_known_category_leaves_the_values_that_it_follows_from():
    rng = np.random.default_rng(0)
    city = rng.integers(0, 60, 1_500).astype(float)
    columns = (Column("city", "category", tuple(f"c{at}" for at in range(60))), Column("country", "category", tuple("abcdefghij")))
    trees = ChainedTrees.fit(np.column_stack([city, city // 6]), TabularDomain(columns), rng)
    rows = np.column_stack([np.full(100, np.nan), np.repeat(np.arange(10.0), 10)])
    full = completed(trees, rows, np.array([[False, True]] * 100), rng, tries=4)
    np.testing.assert_array_equal(full[:, 0] // 6, rows[:, 1])
    assert len(np.unique(full[:, 0])) > 35


def test_what_cannot_be_completed_is_said():
    rng = np.random.default_rng(0)
    sides = np.round(rng.uniform(1, 9, (300, 2)), 1)
    columns = tuple(Column(name, "real", low=1.0, high=81.0) for name in ("length", "width", "area"))
    areas = ChainedTrees.fit(np.column_stack([sides, np.round(sides.prod(axis=1), 2)]), TabularDomain(columns), rng)
    with pytest.raises(InvalidArgument, match="'area' follows from length, width"):
        completed(areas, np.full((1, 3), 12.0), np.array([[False, False, True]]), rng)
    known = np.zeros((1, 5), dtype=bool)
    ruled = ChainedTrees.fit(
        ROWS, replace(DOMAIN, constraints=compile_constraints(["sex == 'm' or basic > 1"], DOMAIN.columns)), np.random.default_rng(0)
    )
    known[0] = [True, False, True, False, False]
    with pytest.raises(ConstraintError, match="cannot be completed"):
        completed(ruled, np.array([[1.0, np.nan, 0.5, np.nan, np.nan]]), known, np.random.default_rng(0))


def test_partial_rows_of_a_table_leave_empty_cells_open():
    partial = partial_rows(pd.DataFrame({"region": ["s", None], "basic": [None, 12.5]}), DOMAIN)
    np.testing.assert_array_equal(partial.known, [[False, True, False, False, False], [False, False, True, False, False]])


def test_a_wrong_cell_of_partial_rows_is_named_by_its_row():
    with pytest.raises(DataError, match="row 2: 'x' is not one of"):
        partial_rows(pd.DataFrame({"region": ["s", None, "x"]}), DOMAIN)


def test_numbers_and_codes_never_repeat_and_are_none_of_the_data():
    frame = pd.DataFrame(
        {
            "number": range(100, 200),
            "code": [f"{'AB'[at % 2]}X-{at:04d}" for at in range(100)],
            "hex": [f"{at * 7_919:08x}" for at in range(100)],
            "note": [f"spoke to client {at} twice" for at in range(100)],
            "paid": range(100),
        }
    )
    companions = learn_companions(frame, ["number", "code", "hex", "note"])
    assert [type(each).__name__ for each in companions] == ["Numbers", "Codes", "Codes", "Texts"]
    taken: dict[str, set[object]] = {}
    rng = np.random.default_rng(0)
    made = pd.concat([beside(frame[["paid"]], companions, taken, rng) for _ in range(3)])
    assert list(made.columns) == list(frame.columns)
    for name in ("number", "code", "hex"):
        assert made[name].is_unique
        assert not set(made[name]) & set(frame[name])
    assert made["code"].str.fullmatch(r"[AB]X-\d{4}").all()
    assert set(made["note"]) <= set(frame["note"])


def test_a_stream_that_fails_leaves_no_file(trees, tmp_path):
    def fail(headway: Headway) -> None:
        raise OSError(f"the disk is full after {headway}")

    with pytest.raises(OSError, match="disk is full"):
        write_rows(trees, 10, Stream(tmp_path / "rows.csv", (), fail), np.random.default_rng(0))
    assert list(tmp_path.iterdir()) == []
