"""One road for every medium: the same command, result schema, resume after kill -9, replay, JUnit, SARIF and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

from evenhand.report.record import read

from .road_projects import PROJECTS, write_project

HEADER = {"evenhand", "date", "command", "seed", "budget", "data", "domain", "model", "medium", "oracle", "details"}
WHOLE = {"evenhand_result", "verb", "header", "outcome", "reason", "sentences", "checks", "witnesses", "body"}
CODES = {"pass": 0, "violation": 1, "inconclusive": 3}
SCAN = ("scan", "--method", "themis", "--set", "batch=40", "--set", "margin=0", "--candidates", "400", "--seed", "3", "--json")

KILLED = """
import os, signal
from evenhand.engine import court
from evenhand.engine.store import RunFolder
court.SECONDS_PER_PART = 0.0
append, parts = RunFolder.append, []
def counted(self, *words):
    append(self, *words)
    parts.append(1)
    if len(parts) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
RunFolder.append = counted
"""
PRESSED = """
from evenhand.engine.court import Court
hear, heard = Court.hear, []
def pressed(self, candidates):
    heard.append(1)
    if len(heard) == 3:
        raise KeyboardInterrupt
    return hear(self, candidates)
Court.hear = pressed
"""
RAISING = """
from evenhand.models.meter import Meter
def broken(self, rows, at):
    from evenhand.errors import ModelFailed
    raise ModelFailed("the model raised OSError: it is gone")
Meter._ask = broken
"""
CRASHING = """
from evenhand.verbs import scan_result
def crash(self):
    raise TypeError("a mistake of ours")
scan_result.ScanResult.as_dict = crash
"""


@dataclass(frozen=True)
class Home:
    """A project in its folder, and the command run there in a process of its own."""

    kind: str
    folder: Path

    def evenhand(self, *words: str, before: str = "") -> subprocess.CompletedProcess[str]:
        code = f"{before}\nimport sys\nsys.argv = ['evenhand', *{list(words)!r}]\nfrom evenhand.cli.main import main\nmain()"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
        return subprocess.run([sys.executable, "-c", code], cwd=self.folder, capture_output=True, text=True, env=environment)


def project(kind: str, folder: Path) -> Home:
    write_project(kind, folder)
    return Home(kind, folder)


@pytest.fixture(scope="module", params=PROJECTS)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Home:
    return project(request.param, tmp_path_factory.mktemp(request.param) / "project")


@pytest.fixture(scope="module")
def scanned(home: Home) -> dict[str, object]:
    done = home.evenhand(*SCAN)
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert done.returncode == CODES[told["outcome"]], done.stderr
    return told


def test_the_result_has_one_schema(home, scanned):
    assert set(scanned) == WHOLE
    assert set(scanned["header"]) == HEADER
    assert scanned["header"]["medium"]["kind"] == home.kind
    record = read(scanned)
    assert record.body.rates
    assert record.body.runs[0].candidates > 0
    assert json.loads((home.folder / "runs" / "result.json").read_text())["header"] == scanned["header"]
    assert (home.folder / "runs" / "report.html").stat().st_size > 2_000


def test_unfairness_is_found_and_replayed(home, scanned):
    # Every recogniser loses something: of scenes the classes decide, and four streets are too few for that.
    assert scanned["outcome"] == ("inconclusive" if home.kind == "scenes" else "violation")
    first = scanned["witnesses"][0]["id"]
    done = home.evenhand("replay", first, "--json")
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert (told["verb"], told["outcome"]) == ("replay", "violation")
    assert told["header"]["model"]["digest"] == scanned["header"]["model"]["digest"]
    assert {witness["id"] for witness in told["witnesses"]} == {first}


def test_a_killed_scan_goes_on_and_finds_the_same(home, tmp_path):
    whole = json.loads(project(home.kind, tmp_path / "whole").evenhand(*SCAN).stdout)
    broken = project(home.kind, tmp_path / "broken")
    assert broken.evenhand(*SCAN, before=KILLED).returncode == -signal.SIGKILL
    assert not (broken.folder / "runs" / "result.json").exists()
    again = broken.evenhand(*SCAN)
    assert again.stdout, again.stderr
    told = json.loads(again.stdout)
    timed = ("cpu_seconds", "wall_seconds", "calls", "curve")
    runs = [[{k: v for k, v in run.items() if k not in timed} for run in each["body"]["runs"]] for each in (whole, told)]
    assert runs[0] == runs[1]
    assert [w["id"] for w in told["witnesses"]] == [w["id"] for w in whole["witnesses"]]
    log = next((broken.folder / "runs").glob("themis-*/log.jsonl")).read_text()
    assert "resumed" in log


def test_build_servers_and_code_scanning_read_it(home, scanned, tmp_path):
    for name in ("junit.xml", "pairs.sarif", "page.md"):
        done = home.evenhand("report", "runs", str(tmp_path / name))
        assert done.returncode == 0, done.stderr
    suite = ET.parse(tmp_path / "junit.xml").getroot()
    assert suite.findall(".//testcase")
    assert bool(suite.findall(".//failure")) == (scanned["outcome"] == "violation")
    sarif = json.loads((tmp_path / "pairs.sarif").read_text())
    assert sarif["version"] == "2.1.0"
    assert len(sarif["runs"][0]["results"]) >= (1 if scanned["outcome"] == "violation" else 0)


@pytest.mark.parametrize(
    ("before", "code"), [(PRESSED, 130), (RAISING, 4), (CRASHING, 5)], ids=["interrupted", "model failed", "internal error"]
)
def test_exit_codes_are_the_same(home, tmp_path, before, code):
    fresh = project(home.kind, tmp_path / "fresh")
    done = fresh.evenhand(*SCAN, before=before)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_a_mistake_of_the_user_is_2(home):
    done = home.evenhand("scan", "--method", "temis")
    assert done.returncode == 2
    assert "did you mean 'themis'" in done.stderr
