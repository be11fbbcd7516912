"""The command line: what it prints, what it writes, and its exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenhand.planted import shapes

from .command import evenhand

PLANTED = shapes()["wide_band"]


def test_the_module_runs_as_a_command(tmp_path):
    done = subprocess.run([sys.executable, "-m", "evenhand", "--version"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("evenhand ")


@pytest.fixture(scope="module")
def table():
    rows = PLANTED.domain.sample(800, np.random.default_rng(0))
    frame = PLANTED.domain.decode(rows)
    labels = PLANTED.model.scores(rows).argmax(axis=1)
    frame["decision"] = np.array(["refused", "granted"])[labels]
    return frame


@pytest.fixture
def project(tmp_path, table):
    table.to_csv(tmp_path / "people.csv", index=False)
    PLANTED.model.save(tmp_path / "model.npz")
    evenhand(
        "init",
        "people.csv",
        "--label",
        "decision",
        "--favourable",
        "granted",
        "--protected",
        "group",
        "--model",
        "model.npz",
        cwd=tmp_path,
        check=0,
    )
    return tmp_path


def test_init_writes_a_file_that_a_person_can_edit_and_never_overwrites_it(project):
    text = (project / "evenhand.yaml").read_text()
    assert "protected: [group]" in text
    assert "favourable: [granted]" in text
    again = evenhand("init", "people.csv", cwd=project, check=2)
    assert "exists already and is not overwritten" in again.stderr.replace("\n", " ")


def test_doctor_says_that_the_wiring_is_right(project):
    done = evenhand("doctor", "--text", cwd=project, check=0)
    assert "deterministic" in done.stdout
    assert "protected: changing group moves" in done.stdout
    checks = json.loads(evenhand("doctor", "--json", "--candidates", 1000, cwd=project, check=0).stdout)
    assert checks["body"]["cost"]["rows"] == 2000


def test_every_command_writes_the_formats_that_the_endings_say(project):
    """`--report` may be given several times; SARIF points at the line of the project file, and a wrong ending is told at once."""
    evenhand("scan", "-m", "themis", "--candidates", 500, "--report", "s.sarif", "--report", "s.card.md", "-q", cwd=project, check=1)
    log = json.loads((project / "s.sarif").read_text())["runs"][0]
    place = log["results"][0]["locations"][0]["physicalLocation"]
    lines = (project / "evenhand.yaml").read_text().splitlines()
    assert place["artifactLocation"] == {"uri": "evenhand.yaml", "uriBaseId": "SRCROOT"}
    assert lines[place["region"]["startLine"] - 1].strip().startswith("group:")
    assert set(log["originalUriBaseIds"]) == {"SRCROOT", "RUN"}
    assert (project / "s.card.md").read_text().startswith("## Fairness evaluation")
    evenhand("doctor", "--report", "d.xml", cwd=project, check=0)
    assert (project / "d.xml").read_text().startswith("<?xml")
    kept = next((project / "runs" / "witnesses").glob("*.json")).stem
    evenhand("replay", kept, "--report", "r.md", "--report", "r.csv", cwd=project, check=1)
    assert (project / "r.md").read_text().startswith("# ")
    assert (project / "r.csv").read_text().startswith("witness,")
    wrong = evenhand("measure", "--report", "m.doc", cwd=project, check=2)
    assert "m.doc" in wrong.stderr
    assert ".xml" in wrong.stderr


def test_a_shell_can_complete_commands(tmp_path):
    shown = evenhand("--help", cwd=tmp_path, check=0)
    assert "--install-completion" in shown.stdout


def test_a_scan_that_finds_unfairness_exits_with_1_and_leaves_its_evidence(project):
    done = evenhand("scan", "--method", "themis", "--candidates", 3000, "--seed", 1, "--text", cwd=project, check=1)
    assert done.stdout.startswith("VIOLATION")
    result = json.loads((project / "runs" / "result.json").read_text())
    assert result["outcome"] == "violation"
    assert result["body"]["runs"][0]["candidates"] == 3000
    assert "<h1" in (project / "runs" / "report.html").read_text()
    if os.name == "posix":  # both show people's rows
        assert [oct((project / "runs" / name).stat().st_mode & 0o077) for name in ("", "result.json")] == ["0o0", "0o0"]
    ids = [path.stem for path in (project / "runs" / "witnesses").glob("*.json")]
    assert ids
    again = evenhand("replay", ids[0], "--text", cwd=project, check=1)
    assert "still unfair" in again.stdout
    whole = json.loads(evenhand("replay", "runs/witnesses", "--json", cwd=project, check=1).stdout)
    assert len(whole["checks"]) == len(whole["witnesses"]) == len(ids)
    for ending in ("html", "md", "xml", "sarif"):
        evenhand("report", "runs", f"again.{ending}", cwd=project, check=0)
        assert (project / f"again.{ending}").stat().st_size > 500
    assert "not overwritten" in evenhand("report", "runs", "again.html", cwd=project, check=2).stderr


def test_a_second_scan_keeps_the_first_result(project):
    for _ in range(2):
        evenhand("scan", "--method", "themis", "--candidates", 500, cwd=project, check=1)
    assert (project / "runs" / "result-2.json").exists()
    assert (project / "runs" / "report-2.html").exists()


def test_json_is_all_that_is_printed(project):
    done = evenhand("scan", "--method", "themis", "--candidates", 500, "--json", cwd=project, check=1)
    assert json.loads(done.stdout)["evenhand_result"] == 2


def test_a_pipe_gets_json_and_no_progress(project):
    done = evenhand("scan", "--method", "themis", "--candidates", 500, cwd=project, check=1)
    assert json.loads(done.stdout)["outcome"] == "violation"
    assert done.stderr == ""
    assert json.loads(evenhand("methods", "themis", cwd=project, check=0).stdout)[0]["name"] == "themis"
    words = ["bench", "themis", "--dataset", "evenhand.yaml", "--candidates", 100]
    record = json.loads(evenhand(*words, cwd=project, check=0).stdout)["body"]["records"][0]
    assert (record["candidates"], record["model"]) == (100, "project")


def test_a_fair_model_passes_only_with_enough_evidence(project):
    shapes()["fair"].model.save(project / "fair.npz")
    done = evenhand("scan", "--method", "themis", "--model", "fair.npz", "--candidates", 500, "--text", cwd=project, check=3)
    assert done.stdout.startswith("INCONCLUSIVE: nothing found, but with 800 judged")
    text = (project / "evenhand.yaml").read_text()
    (project / "evenhand.yaml").write_text(text + "gate: {max_rate: 0.01}\n" if "gate:" not in text else text)
    done = evenhand("scan", "--method", "themis", "--model", "fair.npz", "--candidates", 500, cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_broken_model_exits_with_4(project):
    (project / "evenhand.yaml").write_text(
        (project / "evenhand.yaml").read_text().replace("model: model.npz", "model: http://127.0.0.1:9/none")
    )
    text = (project / "evenhand.yaml").read_text()
    assert "127.0.0.1:9" in text
    done = evenhand("scan", "--method", "themis", "--candidates", 10, cwd=project, check=4)
    assert "error:" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scan"], "evenhand init"),
        (["scan", "--candidates", "0"], "candidates"),
        (["bench", "temis"], "did you mean 'themis'"),
        (["bench", "themis", "--dataset", "adlut"], "did you mean 'adult'"),
        (["bench", "themis", "--dataset", "x.csv"], "--label is needed"),
        (["methods", "nothing"], "unknown method"),
        (["replay", "0123456789"], "evenhand init"),
        (["nonsense"], "No such command"),
    ],
)
def test_usage_mistakes_exit_with_2(words, message, tmp_path):
    done = evenhand(*words, cwd=tmp_path, check=2)
    assert message in " ".join(done.stderr.split())


def test_ctrl_c_saves_and_says_how_to_resume(project):
    command = [
        sys.executable,
        "-m",
        "evenhand",
        "scan",
        "--method",
        "themis",
        "--set",
        "batch=200",
        "--set",
        "margin=0",
        "--candidates",
        "30000000",
    ]
    process = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(project.glob("runs/*/journal/part-*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert "the same command continues where it stopped" in stderr


def test_bench_writes_the_promised_records(project, tmp_path):
    words = ["bench", "themis", "--dataset", "evenhand.yaml", "--model", "model.npz", "--candidates", 2000, "--seed", 1, "--seed", 2]
    evenhand(*words, "--json", "bench.json", cwd=project, check=0)
    records = json.loads((project / "bench.json").read_text())
    assert [entry["seed"] for entry in records] == [1, 2]
    promised = {
        "method", "dataset", "protected", "model", "seed", "candidates", "findings", "duplicates", "model_rows", "cpu_seconds",
        "findings_per_cpu_second", "rate", "valid_share",
    }  # fmt: skip
    assert promised <= set(records[0])
    assert {"estimate", "low", "high", "population"} <= set(records[0]["rate"])
    assert records[0]["candidates"] == 2000


def test_bench_trains_a_family_on_a_users_table_once(project):
    words = [
        "bench",
        "themis",
        "--dataset",
        "people.csv",
        "--label",
        "decision",
        "--protected",
        "group",
        "--model",
        "forest",
        "--candidates",
        300,
    ]
    evenhand(*words, "--json", "bench.json", cwd=project, check=0)
    assert json.loads((project / "bench.json").read_text())[0]["model"] == "forest"
    assert len(list((Path(os.environ["EVENHAND_CACHE"]) / "models").glob("forest-*.skops"))) >= 1


def test_selftest_prints_the_power_table(tmp_path):
    done = evenhand("selftest", "themis", "--candidates", 500, "--seeds", 1, "--json", "power.json", cwd=tmp_path, check=0)
    assert "needle" in done.stdout
    assert len(json.loads((tmp_path / "power.json").read_text())) == 9


def test_a_table_without_a_label_can_be_looked_at(tmp_path):
    pd.DataFrame({"age": range(20, 60), "sex": ["f", "m"] * 20}).to_csv(tmp_path / "t.csv", index=False)
    done = evenhand("init", "t.csv", cwd=tmp_path, check=0)
    assert "no label" in done.stdout
    assert "columns that look protected: age, sex" in done.stdout


def test_several_protected_columns_are_named_with_commas_or_with_the_option_repeated(tmp_path):
    pd.DataFrame({"sex": ["f", "m"] * 20, "race": ["a", "b", "b", "a"] * 10, "pay": range(40), "hired": ["n", "y"] * 20}).to_csv(
        tmp_path / "staff.csv", index=False
    )
    for words in (["--protected", "sex", "--protected", "race"], ["--protected", "sex,race"]):
        evenhand("init", "staff.csv", "--label", "hired", *words, "--out", f"{len(words)}.yaml", cwd=tmp_path, check=0)
        assert "protected: [sex, race]" in (tmp_path / f"{len(words)}.yaml").read_text()


def test_an_option_for_one_value_that_is_given_twice_is_refused():
    from typer.testing import CliRunner

    from evenhand.cli.main import build

    told = CliRunner().invoke(build(), ["scan", "--seed", "1", "--quiet", "--quiet", "--seed", "2"])
    assert told.exit_code == 2
    assert "--seed takes one value and was given 2 times" in " ".join(told.output.replace("│", " ").split())
    assert "--quiet takes" not in told.output
