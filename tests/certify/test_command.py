"""`evenhand certify`: exit codes, JSON, the page and the summary."""

from __future__ import annotations

import json
from pathlib import Path

import joblib
import numpy as np
import pytest
from typer.testing import CliRunner

from evenhand.cli.main import build
from evenhand.report.sections.proof_bounds import bounds_picture

CITIES = ("<i>north</i>", "south", "east | west")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    folder = tmp_path_factory.mktemp("project")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 400), "city": rng.choice(CITIES, 400), "hours": rng.integers(0, 60, 400)})
    frame["hired"] = np.where((frame.hours > 30) & ((frame.sex == "m") | (frame.city == "south")), "yes", "no")
    frame.to_csv(folder / "people.csv", index=False)
    encoder = make_column_transformer((OneHotEncoder(), ["sex", "city"]), remainder="passthrough")
    for name, columns in (("biased", ["sex", "city", "hours"]), ("fair", ["city", "hours"])):
        label = frame.hired if name == "biased" else np.where(frame.hours > 30, "yes", "no")
        inputs = frame[["sex", "city", "hours"]]
        chosen = encoder if name == "biased" else make_column_transformer((OneHotEncoder(), ["city"]), ("passthrough", ["hours"]))
        joblib.dump(
            make_pipeline(chosen, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(inputs, label), folder / f"{name}.joblib"
        )
        assert columns
    run(folder, 0, "init", "people.csv", "--label", "hired", "--favourable", "yes", "--protected", "sex")
    return folder


def run(folder: Path, code: int, *words: object) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(build(), [str(word) for word in words])
    assert done.exit_code == code, (done.output, done.exception)
    return str(done.stdout)


def test_a_proved_violation_exits_with_1_and_says_the_exact_share(project: Path) -> None:
    told = json.loads(run(project, 1, "certify", "--model", "biased.joblib", "--trusted", "--json"))
    proved = told["body"]["certificate"]
    assert proved["exact"]
    assert proved["lower"] == proved["upper"] == pytest.approx(2 / 3 * 29 / 60, abs=0.02)
    assert (told["verb"], told["outcome"]) == ("certify", "violation")
    assert told["witnesses"][0]["person"]["sex"] != told["witnesses"][0]["twin"]["sex"]


def test_a_proved_absence_exits_with_0(project: Path) -> None:
    said = run(project, 0, "certify", "--model", "fair.joblib", "--trusted", "--text")
    assert "Exactly 0%" in said
    assert "PASS" in said


def test_too_little_time_exits_with_3(project: Path) -> None:
    told = json.loads(run(project, 3, "certify", "--model", "biased.joblib", "--trusted", "--json", "--boxes", 1, "--max-rate", 0.2))
    proved = told["body"]["certificate"]
    assert (proved["lower"], proved["upper"], proved["ended"]) == (0.0, 1.0, "boxes")


def test_a_tolerated_share_exits_with_0(project: Path) -> None:
    run(project, 0, "certify", "--model", "biased.joblib", "--trusted", "--json", "--max-rate", 0.6)


def test_page_and_summary_are_written_and_escaped(project: Path) -> None:
    run(project, 1, "certify", "--model", "biased.joblib", "--trusted", "--json", "--report", "out/page.html")
    run(project, 1, "certify", "--model", "biased.joblib", "--trusted", "--json", "--report", "out/summary.md")
    page, summary = (project / "out/page.html").read_text(), (project / "out/summary.md").read_text()
    assert "How the bounds tightened" in page
    assert "<i>north</i>" not in page
    assert "Violation" in summary


def test_the_curve_of_no_steps_is_no_picture() -> None:
    assert bounds_picture([]) is None
