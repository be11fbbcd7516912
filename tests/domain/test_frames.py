"""Table files: read exactly, or refused with the line at fault and the cure."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.domain.columns import Column
from evenhand.domain.frames import as_frame, read_table, suspected_missing
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DataError

MISTAKES = [
    (b"", {}, "{path} is empty; expected a header line and data lines"),
    (b"\n  \n", {}, "{path} is empty; expected a header line and data lines"),
    (b"a,b,a\n1,2,3\n", {}, "{path}:1: the header names 'a' twice; rename one of the columns"),
    (
        b"a,b\n1,2\n3\n4,5,6\n7,8\n",
        {},
        "{path}:3: 2 lines without 2 fields as in the header (line 3 has 1, line 4 has 3); quote cells that contain the delimiter, or mend the lines",  # noqa: E501 - the whole message
    ),
    (
        b'a,b\n"x\ny",2\n3\n',
        {},
        "{path}:4: 1 line without 2 fields as in the header (line 4 has 1); quote cells that contain the delimiter, or mend the lines",
    ),
    (b"a;b;c\n1;2;3\n", {"delimiter": ","}, "{path}: delimiter=',' gives the single column 'a;b;c'; the file looks separated by ';'"),
    (b"a:b:c\n1:2:3\n", {}, "{path}: read as the single column 'a:b:c'; pass the delimiter, such as delimiter=':'"),
    (b"a,b\nx,\xe9\n", {}, "{path}:2: byte 0xe9 is not utf-8; save the file as UTF-8, or pass encoding='latin-1' or 'cp1252'"),
    ("a,b\n1,2\n".encode("utf-16"), {}, "{path} is written in UTF-16; pass encoding='utf-16'"),
    (b"a,b\n1,\x002\n", {}, "{path}:2: a zero byte; this is not a text table"),
    (b"a,b\n1,2\n", {"encoding": "utf-9"}, "encoding='utf-9' is unknown; the usual ones are 'utf-8', 'latin-1', 'cp1252', 'utf-16'"),
    (b"a,b\n1,2\n", {"missing_values": "?"}, "missing_values='?' must be a list of texts, such as ['', '?']"),
]


@pytest.mark.parametrize(("content", "options", "message"), MISTAKES, ids=[message[:50] for _, _, message in MISTAKES])
def test_a_faulty_file_is_refused_with_its_cure(content, options, message, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_table(path, **options)
    assert str(caught.value) == message.format(path=path)


def test_a_missing_file_is_compared_with_its_neighbours(tmp_path):
    (tmp_path / "adult.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r"there is no file .*adlt\.csv; did you mean '.*adult\.csv'\?"):
        read_table(tmp_path / "adlt.csv")
    with pytest.raises(DataError, match="there is no folder"):
        read_table(tmp_path / "no" / "adult.csv")
    with pytest.raises(DataError, match="is a folder; name the table file in it"):
        read_table(tmp_path)


def test_other_formats_are_refused(tmp_path):
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"expected \.csv, \.tsv, \.txt, \.data or \.parquet"):
        read_table(tmp_path / "table.xlsx")
    (tmp_path / "table.parquet").write_bytes(b"PK")
    with pytest.raises(DataError, match="is not a readable Parquet file"):
        read_table(tmp_path / "table.parquet")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_out(delimiter, tmp_path):
    path = tmp_path / "table.txt"
    path.write_text(f'name{delimiter}n\n"x, y; z"{delimiter}1\nb{delimiter}2\n')
    assert read_table(path).to_dict("list") == {"name": ["x, y; z", "b"], "n": [1, 2]}


def test_one_column_is_a_table_too(tmp_path):
    (tmp_path / "one.csv").write_text("age\n1\n2\n")
    assert read_table(tmp_path / "one.csv")["age"].tolist() == [1, 2]


def test_only_empty_and_nan_cells_are_missing_unless_said_otherwise(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n?,1\n,2\nNA,NaN\nNone,4\n")
    table = read_table(tmp_path / "t.csv")
    assert table["a"].isna().tolist() == [False, True, False, False]
    assert table["b"].isna().tolist() == [False, False, True, False]
    assert suspected_missing(table) == {"?": ["a"], "NA": ["a"], "None": ["a"]}
    assert read_table(tmp_path / "t.csv", missing_values=["", "?", "NaN"])["a"].isna().tolist() == [True, True, False, False]


def test_spaces_after_every_delimiter_belong_to_the_delimiter(tmp_path):
    (tmp_path / "t.data").write_text("age, work\n39, State-gov\n50, Private\n")
    table = read_table(tmp_path / "t.data")
    assert list(table.columns) == ["age", "work"]
    assert table["work"].tolist() == ["State-gov", "Private"]


def test_numbers_are_read_to_the_last_digit(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n0.1234567890123456789,9007199254740993\n1e-300,1\n")
    table = read_table(tmp_path / "t.csv")
    assert table["x"].tolist() == [0.1234567890123456789, 1e-300]
    assert table["y"].tolist() == [9007199254740993, 1]


def test_a_byte_order_mark_is_not_part_of_the_first_name(tmp_path):
    (tmp_path / "t.csv").write_bytes("\ufeffage,sex\n1,m\n".encode())
    assert list(read_table(tmp_path / "t.csv").columns) == ["age", "sex"]


def test_parquet_comes_back_with_its_dtypes(tmp_path):
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["x", "y"], "c": pd.Categorical(["u", "v"])})
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").dtypes.tolist() == frame.dtypes.tolist()


def test_lazy_polars_tables_are_collected():
    polars = pytest.importorskip("polars")
    assert as_frame(polars.LazyFrame({"a": [1, 2]}))["a"].tolist() == [1, 2]
    with pytest.raises(DataError, match=r"expected a pandas or polars table, got builtins\.list"):
        as_frame([1])


def test_leading_zeros_make_a_code_and_not_a_number(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("zip,n,share,date\n04109,1,0.5,2020-01-02\n10115,2,00.5,2020-01-03\n")
    frame = read_table(path)
    assert frame["zip"].tolist() == ["04109", "10115"]
    assert frame["n"].tolist() == [1, 2]
    assert frame["share"].tolist() == [0.5, 0.5]


def test_a_fault_far_down_is_told_with_its_own_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.domain.tabular._ROWS_AT_ONCE", 4)
    domain = TabularDomain((Column("a", "integer", low=0, high=9),))
    table = pd.DataFrame({"a": [1, 2, 3, 4, 5, 6, "seven", 8]}, dtype=object)
    with pytest.raises(DataError, match="row 6: 'seven' is not a number"):
        domain.encode(table)
    assert domain.encode(table.drop(index=6))[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 8]


def test_decimal_commas_of_a_table_with_other_delimiters_are_numbers(tmp_path):
    """As spreadsheets write them in much of Europe; texts that only look a little like it stay texts."""
    (tmp_path / "pay.csv").write_text("name;pay;share;code;when\na;1.234,50;0,25;1,2;1,2\nb;-7,5;;x,3;3\n", encoding="utf-8")
    found = read_table(tmp_path / "pay.csv")
    assert found["pay"].tolist() == [1234.5, -7.5]
    assert found["share"].iloc[0] == 0.25
    assert found["share"].isna().iloc[1]
    assert found["code"].tolist() == ["1,2", "x,3"]
    assert found["when"].tolist() == [1.2, 3.0]
