"""Codes, dates, padded codes and yes/no answers are kept as what they are, and what is protected is recognised in any language."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from evenhand.domain.bulk_csv import BulkFile, read_bulk
from evenhand.domain.column_kinds import guess, same_answer
from evenhand.domain.columns import Column
from evenhand.domain.frames import TextFormat, _carefully, read_table
from evenhand.domain.infer import InferWishes, infer, propose
from evenhand.domain.project_file import load, save
from evenhand.domain.protected_words import concept_of, meant
from evenhand.errors import DataError, DomainError, UnknownName

RNG = np.random.default_rng(5)


def series(values: object, name: str = "x") -> pd.Series:
    return pd.Series(values, name=name)


def test_few_whole_numbers_are_codes_and_a_word_makes_them_numbers():
    cells = series(RNG.choice([1, 2, 4, 10, 99], 500), "product")
    found = guess(cells)
    assert found.column.kind == "category"
    assert found.column.values == (1, 2, 4, 10, 99)
    assert "numbers: product" in found.reason
    assert guess(cells, as_number=True).column.kind == "integer"
    assert infer(cells.to_frame(), numbers=["product"]).columns[0].kind == "integer"


@pytest.mark.parametrize("name", ["number_of_children", "age", "hours_per_week", "Anzahl Kinder", "credit_score"])
def test_what_is_counted_or_measured_stays_a_number(name):
    assert guess(series(RNG.integers(0, 6, 500), name)).column.kind == "integer"


@pytest.mark.parametrize("cells", [RNG.integers(0, 5, 30), RNG.integers(0, 90, 900), np.arange(400) % 45])
def test_many_values_or_few_rows_say_nothing_about_codes(cells):
    assert guess(series(cells)).column.kind == "integer"


@pytest.mark.parametrize(
    ("words", "values"),
    [
        *[
            (["Y", "N"], ("N", "Y")),
            (["ja", "nein"], ("nein", "ja")),
            (["TRUE", "FALSE"], ("FALSE", "TRUE")),
            (["oui", "non"], ("non", "oui")),
        ],
        *[(["VRAI", "FAUX"], ("FAUX", "VRAI")), (["J", "N"], ("N", "J")), (["Sí", "No"], ("No", "Sí")), (["não", "sim"], ("não", "sim"))],
        *[(["Wahr", "Falsch"], ("Falsch", "Wahr")), (["Kyllä", "Ei"], ("Ei", "Kyllä")), (["예", "아니오"], ("아니오", "예"))],
    ],
)
def test_yes_and_no_are_truth_values_in_any_spelling(words, values):
    column = guess(series(RNG.choice(words, 100))).column
    assert (column.kind, column.values) == ("boolean", values)


def test_zeros_and_ones_are_truth_values_of_their_own_dtype():
    column = guess(series(RNG.integers(0, 2, 100))).column
    assert (column.kind, column.values, column.dtype) == ("boolean", (0, 1), "int64")
    assert column.decode(np.array([0.0, 1.0])).tolist() == [0, 1]


MOMENTS = {
    "texts": ["2021-03-04", "2020-12-31", "2019-01-01"],
    "German texts": ["04.03.2021", "31.12.2020", "01.01.2019"],
    "texts with a time": ["2021-03-04 10:30:00", "2020-12-31 00:00:01", "2019-01-01 23:59:59"],
    "timestamps": pd.to_datetime(["2021-03-04", "2020-12-31", None]),
    "timestamps with a time": pd.to_datetime(["2021-03-04 10:30", "2020-12-31 00:00", "1969-07-20 20:17"]),
    "a time zone": pd.to_datetime(["2021-03-04", "2020-12-31", "2019-01-01"]).tz_localize("UTC"),
    "dates of Python": [dt.date(2021, 3, 4), dt.date(2020, 12, 31), dt.date(1950, 1, 1)],
}


@pytest.mark.parametrize("cells", MOMENTS.values(), ids=MOMENTS)
def test_dates_and_times_come_back_exactly(cells, tmp_path):
    frame = pd.DataFrame({"when": cells, "sex": ["f", "m", "f"]})
    domain = infer(frame)
    assert domain.columns[0].kind in ("date", "datetime")
    pd.testing.assert_series_equal(domain.decode(domain.encode(frame))["when"], frame["when"], check_dtype=False)
    save(domain, tmp_path / "evenhand.yaml")
    assert load(tmp_path / "evenhand.yaml") == domain
    column = domain.columns[0]
    assert column.code(column.value(column.highest)) == column.highest


def test_a_date_that_could_be_read_two_ways_stays_text():
    assert guess(series(["01/02/2020", "03/04/2020", "05/06/2020"] * 20)).column.kind == "category"


def test_the_first_and_last_day_are_readable_in_the_file(tmp_path):
    save(infer(pd.DataFrame({"born": ["2001-02-03", "1999-12-31", "2000-01-01"]})), tmp_path / "e.yaml")
    text = (tmp_path / "e.yaml").read_text()
    assert "1999-12-31" in text
    assert "2001-02-03" in text
    (tmp_path / "e.yaml").write_text(text.replace("1999-12-31", "the beginning"))
    with pytest.raises(DomainError, match="'the beginning' is not a date; write it as 2024-03-31"):
        load(tmp_path / "e.yaml")


@pytest.mark.parametrize(
    ("given", "values", "found"),
    [
        ("1", (0, 1), 1),
        (1, ("0", "1"), "1"),
        ("YES", ("no", "yes"), "yes"),
        (True, ("N", "Y"), "Y"),
        ("1.0", (0, 1), 1),
        ("maybe", (0, 1), None),
    ],
)
def test_the_favourable_answer_is_found_however_it_is_written(given, values, found):
    assert same_answer(given, values) == found


@pytest.mark.parametrize(
    "name",
    [
        "Geschlecht",
        "sexe",
        "género",
        "idade",
        "Età",
        "leeftijd",
        "płeć",
        "cinsiyet",
        "возраст",
        "性别",
        "年齢",
        "성별",
        "Staatsangehörigkeit",
        "raça",
        "estado_civil",
        "جنس",
        "الديانة_الدين",
    ],
)
def test_what_is_protected_is_recognised_in_many_languages(name):
    assert concept_of(name) is not None


def test_an_arabic_article_and_a_longer_word_change_nothing_or_the_meaning():
    assert concept_of("العمر") == concept_of("عمر") == "age"
    assert concept_of("الجنسية") == "nationality"


@pytest.mark.parametrize("is_missing", [False, True])
def test_whole_numbers_whose_digits_are_dates_are_dates_and_come_back_as_numbers(tmp_path, is_missing):
    cells = series(pd.to_datetime(RNG.integers(0, 9_000, 300), unit="D").strftime("%Y%m%d").astype("int64"), "day")
    cells = cells.where(cells.index % 5 > 0) if is_missing else cells
    column = guess(cells).column
    assert (column.kind, column.dtype) == ("date", "number:%Y%m%d")
    pd.testing.assert_series_equal(column.decode(column.encode(cells)), cells)
    assert guess(cells, as_number=True).column.kind == "integer"
    assert guess(series(RNG.integers(19_000_000, 21_000_000, 300), "price")).column.kind == "integer"


def test_numbers_of_many_digits_of_which_no_two_are_alike_are_identifiers():
    frame = pd.DataFrame({"account": RNG.integers(10**16, 10**17, 300), "sex": RNG.choice(["f", "m"], 300), "y": RNG.integers(0, 2, 300)})
    assert "identifier" in propose(frame, InferWishes("y", 1, ("sex",)), suggestions=False).left_out["account"]


@pytest.mark.parametrize("name", ["wage", "page", "income", "balance", "home_owner", "package", "colony", "address", "duration", "general"])
def test_other_names_are_left_alone(name):
    assert concept_of(name) is None


def test_a_column_of_women_and_men_is_proposed_whatever_its_name():
    frame = pd.DataFrame({"kolumna7": RNG.choice(["kobieta", "mężczyzna"], 60), "v": RNG.random(60)})
    assert propose(frame).protected_candidates == ("kolumna7",)


def test_the_column_that_means_the_same_is_pointed_to():
    frame = pd.DataFrame({"Geschlecht": ["m", "w"] * 30, "home_owner": ["a", "b"] * 30})
    with pytest.raises(UnknownName, match="did you mean 'Geschlecht'"):
        propose(frame, InferWishes(protected=("gender",)))
    assert meant("gender", ["home_owner"]) is None


ODD = {
    "plain": "a,b,c\n1,2.5,x\n2,3.5,y\n",
    "missing": "a,b,c\n1,,x\n,3.5,\n3,NaN,nan\n",
    "quoted": 'a,b,c\n1,"2,5","say ""hi"""\n2,"line\nbreak",z\n',
    "padded": "a,b,c\n04109,1,x\n10115,2,y\n",
    "padded with spaces": "a,b,c\n 04109,1,x\n 10115,2,y\n",
    "zeros": "a,b,c\n0,1,x\n10,0,y\n",
    "dates": "a,b,c\n2020-01-01,10:30,x\n2020-01-02,11:30,y\n",
    "truth": "a,b,c\nTrue,1,x\nFalse,0,y\n",
    "late text": "a,b,c\n" + "1,2,x\n" * 3000 + "one,2.5,x\n",
    "large": "a,b,c\n9223372036854775808,1,x\n3,2,y\n",
    "long digits": "a,b,c\n0.1234567890123456789,1e300,x\n-0.0,5e-324,y\n",
    "blank lines": "a,b,c\n1,2,x\n\n3,4,y\n\n",
    "empty column": "a,b,c\n1,,x\n2,,y\n",
    "late padding": "a,b,c\n" + "1,2,x\n" * 200_000 + ",05,x\n",
    "late decimals": "a,b,c\n" + "1,2,x\n" * 200_000 + "1.5,,x\n",
    "spaced whole numbers": "a,b,c\n 5,1,x\n6 ,2,y\n",
    "signed": "a,b,c\n-5,1,x\n-0,-2,y\n",
    "quoted whole numbers": 'a,b,c\n"5",1,x\n"06",2,y\n',
    "hexadecimal": "a,b,c\n0x1F,1,x\n0x20,2,y\n",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_the_bulk_reader_gives_every_cell_of_the_careful_one_or_nothing(text, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text, newline="")
    quick = read_bulk(BulkFile(path, ",", ("", "NaN", "nan")))
    careful = _carefully(path, TextFormat())
    if quick is not None:
        pd.testing.assert_frame_equal(quick, careful)


@pytest.mark.parametrize(
    "name", ["plain", "missing", "padded", "padded with spaces", "zeros", "dates", "late text", "late padding", "long digits"]
)
def test_ordinary_files_are_read_in_bulk(name, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(ODD[name], newline="")
    assert read_bulk(BulkFile(path, ",", ("", "NaN", "nan"))) is not None


def test_a_ragged_large_file_is_explained_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.domain.frames.SMALLEST_BULK", 0)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(Exception, match=r"t.csv:3: 1 line without 2 fields"):
        read_table(path)


def test_truth_values_stand_for_words_only_where_the_words_say_no_and_yes():
    cells = pd.Series([True, False, True], name="car")
    assert Column("car", "boolean", ("yes", "no")).encode(cells).tolist() == [0, 1, 0]
    for strange in (Column("car", "boolean", ("old", "new")), Column("car", "category", ("no", "yes"))):
        with pytest.raises(DataError, match=r"row 0: True is not one of"):
            strange.encode(cells)
