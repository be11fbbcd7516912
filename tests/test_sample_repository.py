"""The sample repository: the commands of its workflow, its policy and its tests do what its README says."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evenhand.cli.main import main

SAMPLE = Path(__file__).parents[1] / "examples" / "ci"
WORKFLOW = yaml.safe_load((SAMPLE / ".github" / "workflows" / "fairness.yml").read_text())


def run(words: list[str]) -> int:
    """One command of the workflow, in this process: `python train.py ...` or `evenhand ...`."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as said:
        patch.setattr(sys, "argv", words[1:] if words[0] == "python" else words)
        if words[0] == "python":
            runpy.run_path(words[1], run_name="__main__")
            return 0
        with pytest.raises(SystemExit) as end:
            main()
    LAST.append(said.getvalue())
    return int(end.value.code or 0)


LAST: list[str] = []


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(SAMPLE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def steps() -> list[str]:
    """What the workflow runs, but for the installation and the shell of the runner."""
    told = [step["run"] for step in WORKFLOW["jobs"]["gate"]["steps"] if "run" in step]
    return [each for each in told if each.startswith(("python", "evenhand"))]


def build(*options: str, gate: str = "") -> int:
    """The workflow's commands; `options` go to the training, `gate` to the gate."""
    train, judge = steps()
    assert run([*train.split(), *options]) == 0
    return run([*judge.split(), *gate.split()])


@pytest.mark.slow
def test_the_workflow_passes_on_a_fair_model_and_leaves_what_it_uploads(repository: Path) -> None:
    assert build() == 0
    uploads = [step for step in WORKFLOW["jobs"]["gate"]["steps"] if "upload-sarif" in step.get("uses", "")]
    log = json.loads((repository / uploads[0]["with"]["sarif_file"]).read_text())
    assert log["runs"][0]["results"] == []
    assert (repository / "summary.md").read_text().startswith("# ✅ Pass")
    for kept in ("report.html", "junit.xml", "runs/gate.json"):
        assert (repository / kept).stat().st_size > 1_000


@pytest.mark.slow
def test_a_planted_model_fails_then_only_what_is_new_fails_and_kept_pairs_are_asked_again(repository: Path) -> None:
    assert build("--planted") == 1
    log = json.loads((repository / "fairness.sarif").read_text())
    assert log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "evenhand.yaml"
    shutil.copy("runs/gate.json", "baseline.json")
    assert build("--planted", gate="--baseline baseline.json") == 0
    assert "1 known" in LAST[-1]
    assert build("--worse", gate="--baseline baseline.json") == 1
    assert "against the baseline" in LAST[-1]
    assert build(gate="--baseline baseline.json") == 0
    # Pairs of the worse model are kept: the fair one stays fair to them, the planted one is caught by them first.
    run(["python", "train.py", "--worse"])
    run(["evenhand", "scan", "-q", "--candidates", "300"])
    shutil.copytree("runs/witnesses", "witnesses", dirs_exist_ok=True)
    run(["evenhand", "gate", "--json", "-q"])
    told = json.loads(LAST[-1])
    assert any(each["name"].startswith("witness ") and each["outcome"] == "violation" for each in told["body"]["conditions"])
    assert build() == 0


@pytest.mark.slow
def test_a_planted_model_fails_and_tiny_data_are_inconclusive(repository: Path) -> None:
    assert build("--planted") == 1
    assert build("--rows", "40") == 3


@pytest.mark.slow
def test_a_waiver_is_honoured_until_its_day(repository: Path) -> None:
    file, waiver = repository / "evenhand.yaml", "\n  waivers:\n    - {of: rate, owner: ada, reason: retraining, expires: %s}\n"
    text = file.read_text()
    file.write_text(text + waiver % "2999-12-31")
    assert build("--planted") == 0
    assert "waived by ada until 2999-12-31: retraining" in LAST[-1]
    file.write_text(text + waiver % "2020-01-31")
    assert run(["evenhand", "gate", "--text", "-q"]) == 1
    assert "the waiver of ada expired on 2020-01-31" in LAST[-1]
    file.write_text(text + waiver % "soon")
    assert run(["evenhand", "gate", "--text", "-q"]) == 2


@pytest.mark.slow
def test_the_other_files_call_commands_that_there_are(repository: Path) -> None:
    gitlab = yaml.safe_load((repository / ".gitlab-ci.yml").read_text())["fairness"]["script"]
    hook = yaml.safe_load((repository / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"][0]["entry"]
    run(["python", "train.py"])
    assert run(gitlab[-1].split()) == run(hook.split()) == 0


@pytest.mark.slow
def test_the_unit_test_of_the_repository_fails_with_the_pairs(repository: Path) -> None:
    run(["python", "train.py", "--planted"])
    installed = any(each.value.startswith("evenhand.") for each in importlib.metadata.entry_points(group="pytest11"))
    flags = [] if installed else ["-p", "evenhand.integrations.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", "-q", *flags, "--evenhand-budget", "500", "--evenhand-seed", "3", "tests"]
    shown = subprocess.run(command, capture_output=True, text=True)
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert re.search(r"evenhand replay [0-9a-f]+: '\w+' becomes", shown.stdout)
    run(["python", "train.py"])
    assert subprocess.run(command, capture_output=True, text=True).returncode == 0


def test_the_pytest_plugin_imports_nothing_until_it_is_used() -> None:
    look = "import sys, pytest; import evenhand.integrations.pytest_plugin; print([m for m in sys.modules if m.startswith('evenhand')])"
    loaded = subprocess.run([sys.executable, "-c", f"{look}; print('numpy' in sys.modules)"], capture_output=True, text=True).stdout
    assert loaded.split("\n")[:2] == ["['evenhand', 'evenhand.integrations', 'evenhand.integrations.pytest_plugin']", "False"]
