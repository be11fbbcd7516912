"""What is read off a table, what is only suggested, and what is refused."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from evenhand.domain.infer import InferenceWarning, InferWishes, infer, propose
from evenhand.errors import DataError, DomainError, UnknownName


def kind_of(cells: object) -> str:
    return infer(pd.DataFrame({"x": cells})).columns[0].kind


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, 2, 3], "integer"),
        ([1.0, 2.0, None], "integer"),
        ([1.5, 2.0], "real"),
        ([True, False], "boolean"),
        ([True, None], "boolean"),
        (["a", "b"], "category"),
        ([2**60, 1], "ordinal"),
        ([2**70, 1], "ordinal"),
        ([1e300, 1.0], "real"),
        ([1, "1"], "category"),
        ([None, None], "category"),
        (pd.Categorical(["s", "m"], categories=["s", "m"], ordered=True), "ordinal"),
        (pd.Categorical(["s", "m"]), "category"),
    ],
)
def test_the_kind_of_a_column_is_read_off_its_cells(cells, kind):
    assert kind_of(cells) == kind


def test_ranges_missing_shares_and_dtypes_are_kept():
    column = infer(pd.DataFrame({"x": pd.array([3, None, 9, 5], dtype="Int16")})).columns[0]
    assert (column.low, column.high, column.missing, column.dtype) == (3, 9, 0.25, "Int16")


TABLE = pd.DataFrame({"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"], "const": [1, 1, 1, 1], "out": ["no", "yes", "no", "no"]})

REFUSED = [
    (TABLE, {"label": "ouch"}, UnknownName, "unknown label 'ouch'; did you mean 'out'?"),
    (TABLE, {"protected": ["sx"]}, UnknownName, "unknown protected column 'sx'; did you mean 'sex'?"),
    (
        TABLE,
        {"protected": ["const"]},
        DomainError,
        "protected column 'const' has a single value in the data: there is nobody to compare with",
    ),
    (TABLE, {"label": "out", "protected": ["out"]}, DomainError, "protected column 'out' is the label; protect an input"),
    (TABLE, {"label": "const"}, DomainError, "label 'const' has only the values [1]; a model needs at least two classes"),
    (TABLE, {"label": "out", "favourable": "often"}, DomainError, "label 'out': favourable value 'often' is not one of ['no', 'yes']"),
    (TABLE.iloc[:0], {}, DataError, "the table has no rows; ranges and values cannot be inferred from it"),
    (TABLE[["out"]], {"label": "out"}, DataError, "no column is left to test: there is only the label"),
    (
        TABLE.rename(columns={"age": 7}),
        {},
        DataError,
        "column name 7 is not text; rename the columns (frame.columns = frame.columns.map(str))",
    ),
    (pd.concat([TABLE, TABLE], axis=1), {}, DataError, "the table has two columns called 'age'; rename one of them"),
    (
        TABLE.assign(spell=pd.Timedelta(days=3)),
        {},
        DataError,
        "column 'spell' holds periods or durations; turn them into numbers first (such as days), or drop the column",
    ),
    (
        TABLE.assign(x=[np.inf, 1.5, 2, 3]),
        {},
        DataError,
        "column 'x' holds infinity (present row 0); replace it by a number or by a missing cell",
    ),
    (
        TABLE.assign(x=[[1], [2], [3], [4]]),
        {},
        DataError,
        "column 'x' holds list cells such as [1]; turn them into text or numbers, or drop the column",
    ),
    (
        TABLE.assign(x=[Decimal(1)] * 4),
        {},
        DataError,
        "column 'x' holds Decimal cells such as Decimal('1'); turn them into text or numbers, or drop the column",
    ),
    (
        pd.DataFrame({"x": [1, 2] * 200, "y": [f"answer {number}" for number in range(400)]}),
        {"label": "y"},
        DomainError,
        "label 'y' has 400 different values; cut it into classes first",
    ),
    ([1, 2], {}, DataError, "expected a pandas or polars table, got builtins.list"),
]


@pytest.mark.parametrize(("table", "options", "error", "message"), REFUSED, ids=[message[:40] for *_, message in REFUSED])
def test_what_cannot_be_tested_is_refused_with_its_cure(table, options, error, message):
    with pytest.raises(error) as caught:
        infer(table, **options)
    assert str(caught.value) == message


def test_a_label_of_very_many_numbers_is_an_amount():
    label = infer(pd.DataFrame({"x": [1, 2] * 200, "y": np.arange(400) / 7}), label="y").label
    assert label.is_amount
    assert label.values == ()


def test_identifiers_and_free_text_are_left_out_with_a_warning_unless_asked_for():
    n = 200
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"id": np.arange(n), "note": [f"text {i}" for i in range(n)], "weight": rng.permutation(100_000)[:n], "city": ["a", "b"] * (n // 2)}
    )
    with pytest.warns(InferenceWarning) as caught:
        assert infer(frame).names == ("weight", "city")
    assert (
        str(caught[0].message)
        == "column 'id' is left out: every row has its own value, as an identifier has; name it in keep=[...] to use it"
    )
    assert infer(frame, keep=["id", "note"]).names == ("id", "note", "weight", "city")


def test_protected_candidates_are_suggested_by_name_and_not_set():
    names = [
        "Sex",
        "applicantGender",
        "race_white",
        "age",
        "wage",
        "ethnicity",
        "Religion",
        "disability",
        "nationality",
        "marital-status",
        "page",
        "income",
    ]
    proposal = propose(pd.DataFrame({name: [1, 2] for name in names}))
    assert proposal.protected_candidates == (
        "Sex",
        "applicantGender",
        "race_white",
        "age",
        "ethnicity",
        "Religion",
        "disability",
        "nationality",
        "marital-status",
    )
    assert proposal.domain.protected == ()


def test_a_protected_real_column_is_compared_in_quartile_bins():
    frame = pd.DataFrame({"score": np.linspace(0, 1, 41), "x": [1, 2] * 20 + [1]})
    domain = infer(frame, protected=["score"])
    assert domain.comparisons["score"].edges == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert len(domain.combinations) == 4


def test_constraints_are_suggested_with_the_share_of_rows_that_break_them():
    rng = np.random.default_rng(0)
    n = 2_000
    sex = rng.choice(["m", "f"], n)
    role = np.where(rng.random(n) < 0.5, np.where(sex == "m", "Husband", "Wife"), "Own")
    role[np.flatnonzero(sex == "f")[0]] = "Husband"
    level = rng.integers(1, 9, n)
    start = rng.integers(0, 50, n)
    frame = pd.DataFrame(
        {
            "sex": sex,
            "role": role,
            "level": level,
            "name": [f"level {i // 2}" for i in level],
            "start": start,
            "end": start + rng.integers(0, 30, n),
            "huge": start + 10**6,
        }
    )
    found = {suggestion.text: suggestion.broken for suggestion in propose(frame).constraints}
    assert found == {
        "level determines name": 0.0,
        "start determines huge": 0.0,
        "start <= end": 0.0,
        'role == "Husband" => sex == "m"': pytest.approx(1 / n),
        'role == "Wife" => sex == "f"': 0.0,
    }


def test_unrelated_columns_suggest_nothing():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "a": rng.choice(list("xyz"), 500),
            "b": rng.choice(list("uv"), 500),
            "c": rng.integers(0, 9, 500),
            "d": rng.integers(0, 9, 500),
            "e": rng.integers(1000, 2000, 500),
        }
    )
    assert propose(frame).constraints == ()


def test_notes_name_what_a_person_should_look_at():
    frame = pd.DataFrame({"work": ["?", "x"], "same": [3, 3], "gone": [None, None], "out": [0, 1]})
    notes = propose(frame, InferWishes("out")).notes
    assert notes == (
        "'?' is kept as an answer in ['work']; if it means missing, read the table with missing_values=['', '?']",
        "column 'same' has a single value, 3",
        "column 'gone' has only missing cells",
        "the favourable value of label 'out' is not declared; it is one of [0, 1]",
    )


def test_a_path_is_read(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    domain = infer(tmp_path / "t.csv", label="out", favourable="yes", protected="sex")
    assert domain.names == ("age", "sex", "const")
    assert domain.label.values == ("no", "yes")
    assert domain.protected == ("sex",)
