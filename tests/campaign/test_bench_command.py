"""`evenhand bench` over several tables, protected sets and models: records, Parquet, the page, and how it ends."""

import contextlib
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

from evenhand.cli.bench_command import chosen_methods, chosen_tables
from evenhand.cli.main import main
from evenhand.errors import InvalidArgument
from evenhand.planted import shapes

PLANTED = shapes()["intersection"]


def evenhand(*words, cwd):
    with contextlib.chdir(cwd), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["evenhand", *map(str, words)])
        stdout, stderr = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr), pytest.raises(SystemExit) as end:
            main()
    return end.value.code, stdout.getvalue(), stderr.getvalue()


@pytest.fixture
def people(tmp_path):
    rows = PLANTED.domain.sample(300, np.random.default_rng(0))
    frame = PLANTED.domain.decode(rows)
    frame["decision"] = np.array(["refused", "granted"])[PLANTED.model.scores(rows).argmax(axis=1)]
    frame.to_csv(tmp_path / "people.csv", index=False)
    PLANTED.model.save(tmp_path / "model.npz")
    return tmp_path


WORDS = ("--dataset", "people.csv", "--label", "decision", "--model", "model.npz", "--candidates", 400, "--no-likeness")


@pytest.mark.slow
def test_several_protected_sets_give_records_parquet_and_a_page(people):
    more = ("--protected", "group", "--protected", "group,sex", "--seed", 0, "--seed", 1, "--folder", "kept")
    outputs = ("--json", "records.json", "--parquet", "records.parquet", "--report", "page.html")
    code, said, _ = evenhand("bench", "themis", "aequitas", *WORDS, *more, *outputs, cwd=people)
    assert code == 0
    assert "aequitas" in said
    records = json.loads((people / "records.json").read_text())
    assert [(r["protected"], r["seed"], r["method"]) for r in records] == [
        (protected, seed, method) for protected in ("group", "group,sex") for seed in (0, 1) for method in ("themis", "aequitas")
    ]
    assert len(pd.read_parquet(people / "records.parquet")) == len(list((people / "kept" / "records").glob("*.json"))) == 8
    assert "methods side by side" in (people / "page.html").read_text()


def test_how_the_answers_were_read_is_printed_and_stands_in_the_page(people):
    code, said, _ = evenhand(
        "bench", "themis", *WORDS, "--protected", "group", "--json", "records.json", "--report", "page.html", cwd=people
    )
    assert code == 0
    reading = json.loads((people / "records.json").read_text())[0]["reading"]
    assert reading.startswith("it says a score for each class; its classes are")
    assert f"The model's answers: {reading}." in said
    assert "How the answers were read" in (people / "page.html").read_text()


def test_an_unusable_model_ends_with_4(people):
    (people / "model.npz").write_bytes(b"nothing")
    code, _, told = evenhand("bench", "themis", *WORDS, "--protected", "group", cwd=people)
    assert code == 4
    assert "every run failed" in told


def test_protected_sets_can_be_meant_for_one_table():
    tables = chosen_tables(["adult", "credit"], ["adult:sex", "age", "credit:sex, age"])
    assert tables == [("adult", ("sex",)), ("adult", ("age",)), ("credit", ("age",)), ("credit", ("sex", "age"))]
    assert chosen_tables(["adult"], []) == [("adult", ())]
    assert chosen_tables(["adult"], ["odd:name"]) == [("adult", ("odd:name",))]
    with pytest.raises(InvalidArgument, match="no columns for credit"):
        chosen_tables(["adult", "credit"], ["adult:sex"])


def test_all_means_every_method():
    assert "themis" in chosen_methods(["all"])
    assert chosen_methods(["themis", "adf", "themis"]) == ["themis", "adf"]
