"""The constraint language: what it accepts, what it means, and that mistakes are pointed at."""

from __future__ import annotations

import contextlib
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraint, compile_constraints
from evenhand.domain.parser import parse, quote_name, quote_value
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError

NAN = float("nan")
COLUMNS = (
    Column("age", "integer", low=0, high=100, missing=0.1),
    Column("sex", "category", ("Male", "Female"), missing=0.1),
    Column("education", "ordinal", ("HS", "Bachelors", "Masters"), missing=0.1),
    Column("start", "real", low=-1.0, high=1.0, missing=0.1),
    Column("end", "real", low=-1.0, high=1.0, missing=0.1),
    Column("employed", "boolean", (False, True), missing=0.1),
    Column("grade", "ordinal", (1, 2, 5), missing=0.1),
    Column("capital-gain", "integer", low=0, high=99_999),
    Column("code", "category", ("1", "a`b")),
)
PLACE = {column.name: place for place, column in enumerate(COLUMNS)}


def row(**cells: object) -> np.ndarray:
    """One row of codes; cells that are not named get their column's first code."""
    codes = [column.lowest for column in COLUMNS]
    for name, value in cells.items():
        name = name.replace("_", "-")
        codes[PLACE[name]] = COLUMNS[PLACE[name]].code(value)
    return np.array([codes])


@pytest.mark.parametrize(
    ("rule", "cells", "kept"),
    [
        ("age >= 18", {"age": 18}, True),
        ("age >= 18", {"age": 17}, False),
        ("18 <= age <= 65", {"age": 66}, False),
        ("18 <= age < 65 != 3", {"age": 64}, None),
        ("age * 2 - 1 == 39", {"age": 20}, True),
        ("-age < -10", {"age": 11}, True),
        ("age / 0 > 1", {"age": 1}, True),
        ('education >= "Bachelors"', {"education": "HS"}, False),
        ('"Bachelors" <= education', {"education": "Masters"}, True),
        ('sex != "Male"', {"sex": "Male"}, False),
        ("start <= end", {"start": 0.5, "end": 0.25}, False),
        ("start + 0.2 == 0.3", {"start": 0.1}, True),
        ('sex == "Male" => age >= 18', {"sex": "Female", "age": 3}, True),
        ('sex == "Male" => age >= 18 => employed', {"sex": "Male", "age": 20, "employed": False}, False),
        ("not employed or age > 14", {"employed": True, "age": 14}, False),
        ("employed", {"employed": False}, False),
        ("employed == true", {"employed": True}, True),
        ("age in [1, 2, 3]", {"age": 4}, False),
        ("age not in [1, 2, 3]", {"age": 3}, False),
        ("age in [1, 2, 3]", {"age": None}, True),
        ("age not in [1, 2, 3]", {"age": None}, True),
        ("age + 1 in [5]", {"age": 4}, True),
        ("grade >= 3", {"grade": 5}, True),
        ("grade >= 3", {"grade": 2}, False),
        ("grade + age < 3", {"grade": 2, "age": 1}, False),
        ("age is missing => employed", {"age": None, "employed": False}, False),
        ("age is not missing", {"age": None}, False),
        ("age > 50", {"age": None}, True),
        ("not age > 50", {"age": None}, True),
        ("age > 50 and employed", {"age": None, "employed": False}, False),
        ("age > 50 or employed", {"age": None, "employed": False}, True),
        ("`capital-gain` > 5", {"capital_gain": 4}, False),
        ('code == "a`b"', {"code": "1"}, False),
        ("(age > 3)", {"age": 3}, False),
    ],
)
def test_a_rule_means_what_it_says(rule, cells, kept):
    if kept is None:
        with pytest.raises(ConstraintError, match="two constants"):
            compile_constraint(rule, COLUMNS)
        return
    assert compile_constraint(rule, COLUMNS).holds(row(**cells)).tolist() == [kept]


MISTAKES = [
    ("agee > 1", "unknown column 'agee'; did you mean 'age'?", 0),
    ("capital-gain > 1", "put names with signs or spaces in backquotes: `capital-gain`", 0),
    ('sex == "male"', "column 'sex' has no value \"male\"; did you mean 'Male'?", 7),
    ('sex < "Male"', "column 'sex' is of kind category without order; use == or in, or declare it as ordinal", 4),
    ("code == 1", "column 'code' has no value 1; write \"1\"", 8),
    ('age == "old"', '"old" is not a number', 7),
    ('age in ["old"]', "column 'age' holds numbers, \"old\" is not one", 8),
    ("age = 3", "unexpected '='; write == to compare", 4),
    ("age > 3 & sex", "unexpected '&'; write `and`", 8),
    ("age >", "expected a column, a value or `(`, the text ends here", 5),
    ("(age > 3", "expected `)`, the text ends here", 8),
    ("age > 3 sex", "expected an operator or the end, got 'sex'", 8),
    ("age in []", "expected a column, a value or `(`, got ']'", 8),
    ("age in [sex]", "a list holds numbers, texts in quotes, true or false", 8),
    ('sex == "Male', "the text has no closing quote", 7),
    ("`age > 3", "the name has no closing backquote", 0),
    ("age is null", "expected `missing`, got 'null'", 7),
    ("1 < 2", "compares two constants; name a column", 2),
    ("age", "column 'age' is not true or false by itself; compare it with a value", 0),
    ("age + 1", "expected a condition such as a comparison, got a value", 4),
    ("(age > 3) + 1 > 2", "expected a number or a column, got a condition", 5),
    ("education + 1 > 2", "column 'education' of kind ordinal holds no numbers", 0),
    ("education < sex", "columns 'education' and 'sex' share no order", 10),
    ("missing > 3", "'missing' is a word of the language, put it in backquotes if it is a column", 0),
    ("age % 2 == 0", "only + - * / are known", 4),
    ("age == 1e999", "the number 1e999 is too large", 7),
    ('sex == "\\q"', "unknown escape '\\\\q'", 8),
    ("age + 1 is missing", "only a column can be missing", 8),
    ("age, sex determines start, end", "a dependency determines one column; write one rule for each", 27),
    ("   ", "the constraint is empty", 0),
    ("(" * 100 + "age", "nested deeper than 60 levels; split the rule into several", 60),
    ("not " * 100 + "employed", "nested deeper than 60 levels", 240),
    ("age > " + "1 + " * 100 + "1", "nested deeper than 60 levels", 248),
]


@pytest.mark.parametrize(("rule", "message", "at"), MISTAKES, ids=[rule[:20] for rule, _, _ in MISTAKES])
def test_a_mistake_is_named_and_pointed_at(rule, message, at):
    with pytest.raises(ConstraintError) as caught:
        compile_constraint(rule, COLUMNS)
    assert message in str(caught.value)
    assert caught.value.message.splitlines()[-1].index("^") == at + 2


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "a constraint is a text or a mapping, not 3"),
        ({}, "the key `columns` must be a list of column names, got None"),
        ({"columns": "sex", "allowed": []}, "the key `columns` must be a list of column names, got 'sex'"),
        ({"columns": ["sex", "sex"], "allowed": []}, "names a column twice"),
        ({"columns": ["sex", "educaton"], "allowed": []}, "unknown column 'educaton'; did you mean 'education'?"),
        ({"columns": ["sex", "education"], "allow": []}, "make no known constraint; expected {columns: [...], allowed: [...]}"),
        ({"columns": ["sex", "education"], "allowed": []}, "must be a list of lists with one value per column, got []"),
        ({"columns": ["sex", "education"], "allowed": [["Male"]]}, "must be a list of 2 values"),
        ({"columns": ["sex", "education"], "allowed": [["Mal", "HS"]]}, "'Mal' is not one of ['Male', 'Female']; did you mean 'Male'?"),
        ({"columns": ["sex", "education"], "allowed": [[None, "HS"]]}, "a missing cell belongs to no combination"),
        ({"columns": ["sex", "age"], "allowed": [["Male", 500]]}, "500 is outside the range of column 'age', 0 to 100"),
        ({"columns": ["sex"], "allowed": [["Male"]]}, "a combination needs at least two columns"),
        (
            {"columns": ["education"], "determines": "age"},
            "has no map, and there are no data rows to learn it from; give data, or write the map out",
        ),
        ("education determines age", "has no map, and there are no data rows to learn it from"),
        ({"columns": ["education"], "determines": "age", "map": [["HS", 1], ["HS", 2]]}, "['HS'] is determined twice, and differently"),
        ({"columns": ["sex", "education"], "determines": "age", "map": {"a": 1}}, "with several columns, `map` is a list of lists"),
        ({"columns": ["age"], "determines": "age", "map": {1: 1}}, "column 'age' cannot determine itself"),
    ],
)
def test_a_mistaken_mapping_is_refused_with_its_cure(source, message):
    with pytest.raises(ConstraintError) as caught:
        compile_constraint(source, COLUMNS)
    assert message in str(caught.value)


def test_combinations_allow_and_forbid_what_they_list_and_missing_cells_pass():
    rows = np.vstack([row(sex="Male", education="HS"), row(sex="Female", education="HS"), row(sex=None, education="HS")])
    listed = [["Male", "HS"], ["Female", "Masters"]]
    assert compile_constraint({"columns": ["sex", "education"], "allowed": listed}, COLUMNS).holds(rows).tolist() == [True, False, True]
    assert compile_constraint({"columns": ["sex", "education"], "forbidden": listed}, COLUMNS).holds(rows).tolist() == [False, True, True]


def test_a_dependency_is_learned_by_majority_and_says_how_many_rows_disagree():
    rows = np.vstack([row(education="HS", age=9)] * 3 + [row(education="HS", age=8), row(education="Masters", age=14)])
    learned = compile_constraint("education determines age", COLUMNS, rows)
    assert learned.holds(rows).tolist() == [True, True, True, False, True]
    assert learned.disagreement == pytest.approx(0.2)
    assert learned.source == {"columns": ["education"], "determines": "age", "map": {"HS": 9, "Masters": 14}}
    assert compile_constraint(learned.source, COLUMNS) == learned
    assert learned.holds(row(education="Bachelors", age=77)).all(), "a source that the data never showed determines nothing"


def test_a_dependency_may_have_several_sources():
    rows = np.vstack([row(sex="Male", education="HS", age=1), row(sex="Female", education="HS", age=2)])
    learned = compile_constraint("sex, education determines age", COLUMNS, rows)
    assert learned.holds(np.vstack([rows, row(sex="Male", education="HS", age=2)])).tolist() == [True, True, False]
    assert compile_constraint(learned.source, COLUMNS) == learned


def test_compiled_constraints_can_be_sent_to_another_process():
    sources = ["age >= 18 => employed", {"columns": ["sex", "education"], "allowed": [["Male", "HS"]]}]
    compiled = compile_constraints(sources, COLUMNS)
    assert pickle.loads(pickle.dumps(compiled)) == compiled


def test_an_empty_batch_is_kept_by_every_rule():
    for source in ("age > 3", "employed", {"columns": ["sex", "education"], "allowed": [["Male", "HS"]]}):
        assert compile_constraint(source, COLUMNS).holds(np.empty((0, len(COLUMNS)))).shape == (0,)


def test_huge_integers_compare_exactly():
    column = Column("id", "ordinal", (2**60, 2**60 + 1, 2**60 + 2))
    rows = np.array([[0.0], [1.0], [2.0]])
    assert compile_constraint(f"id > {2**60}", [column]).holds(rows).tolist() == [False, True, True]
    assert compile_constraint(f"id == {2**60 + 1}", [column]).holds(rows).tolist() == [False, True, False]


@given(st.text())
def test_quoted_names_and_texts_read_back(text):
    assert parse(f"{quote_name(text)} == {quote_value(text)}").operands[0].name == text
    assert parse(f"{quote_name(text)} == {quote_value(text)}").operands[1].value == text


@given(st.text(alphabet="ab01 ()[]`'\"=<>!+-*/,.~\\\nnotandris", max_size=30))
@settings(max_examples=100)
def test_any_text_is_compiled_or_refused_and_nothing_else(text):
    with contextlib.suppress(ConstraintError):
        assert compile_constraint(text, COLUMNS).columns


# A second, slow evaluator: one row at a time, None for unknown.
def _kleene_and(values):
    return False if False in values else None if None in values else True


def _kleene_not(value):
    return None if value is None else not value


def comparisons() -> st.SearchStrategy[tuple[str, object]]:
    operators = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}

    def numeric(name, operator, number):
        def truth(cells):
            cell = cells[PLACE[name]]
            return None if math.isnan(cell) else getattr(float(cell), operators[operator])(float(number))

        return f"{name} {operator} {number}", truth

    def missing(name):
        return f"{quote_name(name)} is missing", lambda cells: math.isnan(cells[PLACE[name]])

    return st.one_of(
        st.builds(numeric, st.sampled_from(["age", "start", "end"]), st.sampled_from(list(operators)), st.integers(-1, 2)),
        st.builds(missing, st.sampled_from(["age", "sex", "employed"])),
    )


def conditions() -> st.SearchStrategy[tuple[str, object]]:
    def both(a, b):
        return f"({a[0]} and {b[0]})", lambda cells: _kleene_and([a[1](cells), b[1](cells)])

    def either(a, b):
        return f"({a[0]} or {b[0]})", lambda cells: _kleene_not(_kleene_and([_kleene_not(a[1](cells)), _kleene_not(b[1](cells))]))

    def implies(a, b):
        return f"({a[0]} => {b[0]})", lambda cells: _kleene_not(_kleene_and([a[1](cells), _kleene_not(b[1](cells))]))

    def negated(a):
        return f"not ({a[0]})", lambda cells: _kleene_not(a[1](cells))

    return st.recursive(
        comparisons(),
        lambda inner: st.one_of(
            st.builds(both, inner, inner), st.builds(either, inner, inner), st.builds(implies, inner, inner), st.builds(negated, inner)
        ),
        max_leaves=8,
    )


@given(
    condition=conditions(), cells=st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, -1.0, NAN]) for _ in COLUMNS]), min_size=1, max_size=6)
)
@settings(deadline=None)
def test_three_valued_logic_agrees_with_a_row_by_row_reading(condition, cells):
    text, truth = condition
    expected = [truth(row) is not False for row in cells]
    assert compile_constraint(text, COLUMNS).holds(np.array(cells)).tolist() == expected


@pytest.mark.parametrize(
    ("rule", "kept"), [("flag == True", [0, 1]), ("flag != TRUE", [1, 0]), ("flag in [False]", [1, 0]), ("not flag", [1, 0])]
)
def test_truth_values_may_be_spelt_as_in_other_languages(rule: str, kept: list[int]) -> None:
    columns = (Column("flag", "boolean", (False, True)),)
    domain = TabularDomain(columns, constraints=(compile_constraint(rule, columns),))
    assert domain.keeps_constraints(np.array([[0.0], [1.0]])).tolist() == [bool(k) for k in kept]


def test_a_rule_on_nothing_is_told_how_to_ask_for_missing_cells() -> None:
    with pytest.raises(ConstraintError, match="is missing"):
        compile_constraint("flag == None", (Column("flag", "boolean", (False, True)),))


def test_a_column_called_true_keeps_its_backquotes() -> None:
    columns = (Column("True", "integer", low=0, high=3),)
    assert quote_name("True") == "`True`"
    assert compile_constraint(f"{quote_name('True')} > 1", columns).columns == (0,)
