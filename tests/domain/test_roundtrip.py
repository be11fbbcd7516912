"""A table that becomes codes comes back as it was, and so does the inferred domain from its file."""

from __future__ import annotations

import warnings

import hypothesis.extra.numpy as arrays
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenhand.domain.infer import infer
from evenhand.domain.project_file import load, save

NASTY_NAMES = [
    "yes",
    "null",
    "1",
    "no:",
    "",
    " ",
    "a b",
    'say "hi"',
    "it's",
    "`tick`",
    "new\nline",
    "tab\t",
    "ünï€",
    "🙂",
    "- x",
    "#",
    "{a}",
    "? q",
    "~",
    "1e5",
    "2020-01-01",
    "0x1f",
    "x" * 1500,
    "\u2028",
    "\x7f",
]
NASTY_TEXTS = [
    "",
    " ",
    "?",
    "nan",
    "NaN",
    "None",
    "1",
    "1.0",
    "True",
    "yes",
    "no",
    "on",
    "2020-01-01",
    "a: b",
    "- a",
    "é",
    "\n",
    "'",
    '"',
    "`",
    "\\",
    "007",
    "1_000",
    "1:30",
    ".inf",
    "=",
    "<<",
    "😀",
    "\x00",
    "\x85",
    "a,b",
    "[x]",
    "&a",
    "*a",
    "!t",
    "%",
    "@",
]
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


def assert_same(back: pd.DataFrame, frame: pd.DataFrame) -> None:
    """Raise unless names, dtypes, missing cells and every present cell with its type are the same."""
    assert list(back.columns) == list(frame.columns)
    for name in frame.columns:
        old, new = frame[name], back[name]
        assert new.dtype == old.dtype, (name, new.dtype, old.dtype)
        assert (new.isna().to_numpy() == old.isna().to_numpy()).all(), name
        kept, wanted = list(new.dropna()), list(old.dropna())
        assert [type(cell) for cell in kept] == [type(cell) for cell in wanted], name
        assert kept == wanted, name
        if old.dtype.kind == "f":
            assert (np.signbit(new.dropna().to_numpy()) == np.signbit(old.dropna().to_numpy())).all(), name


def texts(n: int) -> st.SearchStrategy[list[object]]:
    cell = st.sampled_from(NASTY_TEXTS) | st.text(max_size=5)
    return st.lists(cell | st.none(), min_size=n, max_size=n)


def series_of(n: int) -> st.SearchStrategy[pd.Series]:
    def numbers(dtype: str) -> st.SearchStrategy[pd.Series]:
        elements = {"allow_infinity": False, "allow_nan": dtype.startswith("float")} if dtype.startswith("float") else None
        return arrays.arrays(dtype, n, elements=elements).map(pd.Series)

    def nullable(dtype: str, low: int, high: int) -> st.SearchStrategy[pd.Series]:
        return st.lists(st.integers(low, high) | st.none(), min_size=n, max_size=n).map(lambda cells: pd.Series(cells, dtype=dtype))

    big = st.integers(-(2**80), 2**80)
    mixed = st.sampled_from([1, True, 1.0, "1", 0, False, 0.0, "True", -1, 2**70, None])
    return st.one_of(
        *[numbers(dtype) for dtype in ("int8", "int64", "uint64", "float32", "float64", "float16", "bool")],
        nullable("Int64", -(2**63), 2**63 - 1),
        nullable("UInt64", 0, 2**64 - 1),
        nullable("Int8", -5, 5),
        st.lists(st.booleans() | st.none(), min_size=n, max_size=n).map(lambda cells: pd.Series(cells, dtype="boolean")),
        st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.none(), min_size=n, max_size=n).map(
            lambda c: pd.Series(c, dtype="Float64")
        ),
        texts(n).map(lambda cells: pd.Series(cells, dtype=object)),
        texts(n).map(lambda cells: pd.Series(cells, dtype="string")),
        texts(n).map(lambda cells: pd.Series(cells)),
        texts(n).map(lambda cells: pd.Series(cells, dtype="category")),
        texts(n).map(lambda cells: pd.Series(pd.Categorical(cells, ordered=True))),
        st.lists(big | st.none(), min_size=n, max_size=n).map(lambda cells: pd.Series(cells, dtype=object)),
        st.lists(st.integers(-5, 5) | st.none(), min_size=n, max_size=n).map(lambda cells: pd.Series(cells, dtype=object)),
        st.lists(mixed, min_size=n, max_size=n).map(lambda cells: pd.Series(cells, dtype=object)),
        st.lists(st.integers(0, 3), min_size=n, max_size=n).map(lambda cells: pd.Series(cells, dtype="category")),
        st.just(pd.Series([None] * n, dtype=object)),
        st.just(pd.Series([np.nan] * n)),
        st.just(pd.Series([-0.0] * n)),
    )


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.integers(1, 8))
    names = draw(st.lists(st.sampled_from(NASTY_NAMES) | st.text(max_size=6), min_size=1, max_size=5, unique=True))
    return pd.DataFrame({name: draw(series_of(rows)) for name in names})


@QUICK
@given(frame=frames())
def test_decoding_the_codes_of_a_table_gives_the_table_back(frame):
    domain = infer(frame)
    rows = domain.encode(frame)
    assert domain.contains(rows).all()
    assert_same(domain.decode(rows), frame[list(domain.names)])


@QUICK
@given(frame=frames())
def test_a_saved_domain_loads_as_an_equal_one(frame, tmp_path_factory):
    domain = infer(frame)
    path = tmp_path_factory.mktemp("saved") / "domain.yaml"
    save(domain, path)
    back = load(path)
    assert back == domain
    for old, new in zip(domain.columns, back.columns, strict=True):
        assert [type(value) for value in new.values] == [type(value) for value in old.values]
    assert_same(back.decode(back.encode(frame)), frame[list(domain.names)])


@QUICK
@given(frame=frames(), data=st.data())
def test_a_saved_label_keeps_the_types_of_its_values(frame, data, tmp_path_factory):
    values = data.draw(
        st.lists(
            st.sampled_from(NASTY_TEXTS) | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
            min_size=4,
            max_size=4,
        )
    )
    from dataclasses import replace

    from evenhand.domain.tabular import Label

    domain = replace(infer(frame), label=Label("the label nobody has", tuple(values), tuple(values[:1])))
    path = tmp_path_factory.mktemp("labelled") / "domain.yaml"
    save(domain, path)
    assert [(type(v), v) for v in load(path).label.values] == [(type(v), v) for v in values]


@pytest.mark.parametrize("name", NASTY_NAMES)
def test_every_nasty_name_survives_the_file_and_the_constraint_language(name, tmp_path):
    from dataclasses import replace

    from evenhand.domain.constraints import compile_constraints
    from evenhand.domain.parser import quote_name

    domain = infer(pd.DataFrame({name: [1, 2, 3], "other": [3, 4, 5]}))
    rule = f"{quote_name(name)} <= other"
    domain = replace(domain, constraints=compile_constraints([rule], domain.columns))
    save(domain, tmp_path / "d.yaml")
    back = load(tmp_path / "d.yaml")
    assert back == domain
    assert back.constraints[0].holds(np.array([[1.0, 3.0], [3.0, 3.0], [3.0, 2.0]])).tolist() == [True, True, False]


def test_polars_tables_are_read_without_losing_digits():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"big": [2**60 + 1, None, 5], "flag": [True, None, False], "text": ["a", None, ""], "real": [0.5, None, 1.25]})
    domain = infer(table)
    back = domain.decode(domain.encode(table))
    assert list(back["big"].dropna()) == [2**60 + 1, 5]
    assert [column.kind for column in domain.columns] == ["ordinal", "boolean", "category", "real"]
    assert back["text"].isna().tolist() == [False, True, False]


def test_unused_categories_are_kept_in_order():
    frame = pd.DataFrame({"size": pd.Categorical(["m", "s"], categories=["s", "m", "l"], ordered=True)})
    domain = infer(frame)
    assert domain.columns[0].kind == "ordinal"
    assert domain.columns[0].values == ("s", "m", "l")
    assert_same(domain.decode(domain.encode(frame)), frame)


def test_a_domain_needs_no_warning_for_plain_tables():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        infer(pd.DataFrame({"age": range(20, 60), "sex": ["f", "m"] * 20}).assign(age=lambda t: t.age % 7))


def test_python_floats_that_are_whole_stay_floats():
    frame = pd.DataFrame({"x": pd.Series([1.0, 2.0, 2.0], dtype=object)})
    domain = infer(frame)
    assert_same(domain.decode(domain.encode(frame)), frame)
