"""`evenhand repair`: what it writes, that it overwrites nothing, and its exit codes."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.cli.main import main
from evenhand.domain import project_file

from .tables import table

PROJECT = """version: 1
data: people.csv
model: {path: model.skops}
label: {column: decision, values: [deny, grant], favourable: [grant]}
protected: [sex of person]
columns:
  sex of person: {kind: category, values: [männlich, weiblich, x]}
  race: {kind: category, values: [a, b]}
  income: {kind: integer, low: -60, high: 180, missing: 0.05}
  job: {kind: category, values: [clerk, cook, nurse]}
"""
QUICK = ("--seeds", "2", "--candidates", "300", "--train-method", "themis", "--judge-method", "chains", "--json")


def command(capsys, *words):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["evenhand", "repair", *words])
        with pytest.raises(SystemExit) as end:
            main()
    return end.value.code, *capsys.readouterr()


@pytest.fixture
def project(tmp_path, monkeypatch):
    frame = table(250).frame
    frame.to_csv(tmp_path / "people.csv", index=False)
    names = ["sex of person", "race", "job"]
    prepare = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), names), (SimpleImputer(), ["income"]))
    model = make_pipeline(prepare, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(frame[[*names, "income"]], frame["decision"])
    skops.io.dump(model, tmp_path / "model.skops")
    (tmp_path / "evenhand.yaml").write_text(PROJECT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_it_writes_the_comparison_and_the_wanted_model_and_never_overwrites(project, capsys):
    code, out, err = command(capsys, "-r", "retrain_twins", "--set", "share=0.05", "--write", "retrain_twins", *QUICK)
    assert code == 3, err
    content = json.loads(out)
    assert (content["evenhand_result"], content["verb"]) == (2, "repair")
    assert content["body"]["repairs"]["best"] is None
    assert (project / "repair" / "comparison.html").is_file()
    assert len(pd.read_parquet(project / "repair" / "comparison.parquet")) > 100
    domain = project_file.load(project / "evenhand.yaml")
    rows = domain.sample(20, np.random.default_rng(0))
    assert eh.wrap(project / content["body"]["written"]["model"], domain).scores(rows).shape == (20, 2)
    before = (project / "repair" / "comparison.json").read_bytes()
    assert command(capsys, "-r", "adjust_thresholds", *QUICK)[0] == 3
    assert (project / "repair-2" / "comparison.json").is_file()
    assert (project / "repair" / "comparison.json").read_bytes() == before


def test_wrong_names_are_usage_errors(project, capsys):
    code, _, err = command(capsys, "-r", "retrain_twin")
    assert code == 2
    assert "retrain_twins" in err
    code, _, err = command(capsys, "--set", "share=0.1")
    assert code == 2
    assert "--repair" in err


def test_the_list_names_every_repair_with_its_role(capsys):
    code, out, _ = command(capsys, "--list")
    assert code == 0
    assert "marginalise" in out
    assert "baseline" in out
