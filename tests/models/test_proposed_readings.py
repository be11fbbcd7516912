"""How a model's answers are read is proposed as lines of evenhand.yaml, can be said on the command line, and holds for pictures too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.flags import ModelFlags
from evenhand.cli.main import build
from evenhand.cli.project import load_all
from evenhand.domain.project_sections import ModelSource
from evenhand.errors import InvalidArgument, MissingAbility, UnclearAnswers
from evenhand.models.readings import proposed_for, reading_of
from evenhand.verbs.init import init

CODE = """
import numpy as np
def share(frame): return 1 / (1 + np.exp(-(frame["pay"] - 50.0) / 5 - (frame["sex"] == "m")))
def percent(frame): return 100 * share(frame)
def refusal(frame): return 1 - share(frame)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    lines = ["pay,sex,ok"]
    for pay, sex in zip(rng.integers(20, 80, 300), rng.choice(["m", "f"], 300), strict=True):
        lines.append(f"{pay},{sex},{'yes' if pay + rng.normal(0, 8) > 50 else 'no'}")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "home_made_models.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("home_made_models", None)
    return tmp_path


def _written(project: Path, function: str) -> Any:
    return init(
        project / "people.csv", label="ok", favourable="yes", protected=["sex"], model=f"home_made_models:{function}",
        file=project / "evenhand.yaml",
    )  # fmt: skip


def _uncommented(file: Path, chosen: str) -> str:
    """The file as a person makes it: the model's line replaced by the proposed block, with one of its readings."""
    text = file.read_text()
    plain, _, block = text.partition("# How the model's answers are read.")
    lines = [line[2:] for line in block.split("\n")[1:] if line.startswith("# ")]
    kept = [line for line in lines if not line.strip().startswith(("#", "returns", "threshold", "classes"))]
    kept += [line for line in lines if line.strip().startswith(chosen)]
    return (
        plain.replace('model: "home_made_models:percent"\n', "").replace('model: "home_made_models:refusal"\n', "") + "\n".join(kept) + "\n"
    )


def test_init_writes_the_readings_of_an_unclear_model_with_their_evidence(project: Path) -> None:
    written = _written(project, "percent")
    told = "\n".join(written.lines)
    assert "more than one way" in told
    assert "balanced agreement with the labels" in told
    assert "returns: percent" in told
    with pytest.raises(UnclearAnswers):
        load_all(written.file)
    written.file.write_text(_uncommented(written.file, "returns: percent"))
    model = load_all(written.file).model
    assert "percentage" in reading_of(model)


def test_init_and_doctor_propose_lines_that_give_the_same_reading(project: Path) -> None:
    written = _written(project, "refusal")
    loaded = load_all(written.file)
    proposed = proposed_for(loaded.model)
    assert proposed is not None
    assert proposed.lines[1:] == ("returns: probability", 'classes: ["yes", "no"]')
    assert proposed.lines == eh.doctor(loaded.model, loaded.data).proposed
    declared = yaml.safe_load("\n".join(proposed.lines))
    again = eh.wrap("home_made_models:refusal", loaded.data, **declared)
    assert np.allclose(again.scores(loaded.data.rows), loaded.model.scores(loaded.data.rows))
    assert proposed_for(again) is None


def test_the_command_line_says_how_answers_are_read(project: Path) -> None:
    _written(project, "percent")
    run = CliRunner().invoke(build(), ["doctor", "--text", "--returns", "percent"])
    assert "percentage" in run.output


@pytest.mark.slow
def test_a_scan_is_told_how_answers_are_read(project: Path) -> None:
    _written(project, "percent")
    run = CliRunner().invoke(
        build(), ["scan", "--text", "--returns", "score", "--threshold", "60", "--classes", "no,yes", "--candidates", "300", "-q"]
    )
    assert "from 60 on" in run.output
    assert "declared as ['no', 'yes']" in run.output


def test_every_command_that_asks_a_model_has_the_options() -> None:
    for command in ("scan", "measure", "certify", "doctor", "repair", "replay", "gate", "compare"):
        told = CliRunner().invoke(build(), [command, "--help"], env={"COLUMNS": "200"}).output
        assert all(option in told for option in ("--returns", "--threshold", "--classes", "--preset")), command


def test_options_go_before_the_file_and_fit_the_label() -> None:
    flags = ModelFlags(classes="1,0", threshold="best 10%")
    source = flags.over(ModelSource(path=Path("x.skops"), returns="score"), (0, 1))
    assert source is not None
    assert (source.classes, source.threshold, source.returns) == ((1, 0), "best 10%", "score")
    with pytest.raises(InvalidArgument, match="behind a URL"):
        ModelFlags(preset="vertex").over(ModelSource(path=Path("x.skops")), ())


def test_pictures_are_read_by_the_same_rules() -> None:
    data = eh.open("portraits", protected=["tone"], settings={"count": 24, "size": 16})
    bright = lambda pictures: pictures.mean(axis=(1, 2, 3)) / 255  # noqa: E731
    names = ["dark", "bright"]
    with pytest.raises(UnclearAnswers, match="returns='percent'"):
        eh.wrap(lambda pictures: 100 * bright(pictures), data, classes=names)
    plain = eh.wrap(bright, data, classes=names)
    percent = eh.wrap(lambda pictures: 100 * bright(pictures), data, classes=names, returns="percent")
    assert np.allclose(plain.scores(data.rows), percent.scores(data.rows))
    assert "one percentage of 'bright'" in reading_of(percent)


def test_init_takes_a_declared_reading_and_writes_it(project: Path) -> None:
    words = ["people.csv", "--label", "ok", "--favourable", "yes", "--protected", "sex", "--model", "home_made_models:percent"]
    said = CliRunner().invoke(build(), ["init", *words, "--returns", "percent", "--threshold", "60", "--classes", "no,yes"])
    assert said.exit_code == 0, said.output
    assert "one percentage of 'yes', which is the answer from 60 on" in " ".join(said.output.split())
    written = yaml.safe_load((project / "evenhand.yaml").read_text())["model"]
    assert {name: written[name] for name in ("returns", "threshold", "classes")} == {
        "returns": "percent",
        "threshold": 60,
        "classes": ["no", "yes"],
    }
    assert "from 60 on" in reading_of(load_all(project / "evenhand.yaml").model)


def test_a_reading_without_a_model_is_a_usage_error(project: Path) -> None:
    with pytest.raises(InvalidArgument, match="name it too"):
        init(project / "people.csv", label="ok", returns="percent", file=project / "evenhand.yaml")


def test_which_of_several_labels_can_be_said_on_the_command_line(project: Path) -> None:
    import pandas as pd
    import skops.io
    from sklearn.tree import DecisionTreeClassifier

    frame = pd.read_csv(project / "people.csv")
    both = pd.DataFrame({"late": np.where(frame["pay"] % 2, "no", "yes"), "ok": frame["ok"]})
    skops.io.dump(DecisionTreeClassifier(max_depth=3).fit(frame[["pay"]], both), project / "both.skops")
    init(project / "people.csv", label="ok", favourable="yes", protected=["sex"], file=project / "evenhand.yaml")
    with pytest.raises(Exception, match="output=0"):
        load_all(project / "evenhand.yaml", ModelFlags("both.skops"))
    model = load_all(project / "evenhand.yaml", ModelFlags("both.skops", model_output=1)).model
    rows = model.domain.encode(frame[["pay", "sex"]])
    assert (model.scores(rows).argmax(axis=1) == (frame["ok"] == "yes")).mean() > 0.7
    with pytest.raises(MissingAbility, match="one of the labels of a DecisionTreeClassifier cannot be fitted again alone"):
        model.refit(rows, np.zeros(len(rows), dtype=int), np.random.default_rng(0))
    said = CliRunner().invoke(build(), ["doctor", "--model", "both.skops", "--model-output", "1"])
    assert "predicts 2" not in said.output
    assert "probability for each class" in " ".join(said.output.split())
