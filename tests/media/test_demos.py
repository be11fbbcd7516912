"""Promises of the demos: each leaves a project, a result, a report and a replay line that works, with nothing but the core."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys

import pytest

from evenhand.cli.main import main
from evenhand.planted.demos import DEMOS
from evenhand.verbs.demo import demos


def run(monkeypatch, folder, *words):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["evenhand", *words])
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()), pytest.raises(SystemExit) as end:
        main()
    return end.value.code, said.getvalue()


@pytest.mark.parametrize("what", ["pictures", "text", pytest.param("scenes", marks=pytest.mark.slow)])
def test_a_demo_leaves_a_result_a_report_and_a_replay_line_that_works(what, tmp_path, monkeypatch):
    code, said = run(monkeypatch, tmp_path, "demo", what, "--candidates", "40")
    assert code in (0, None), said
    home = tmp_path / f"evenhand-demo-{what}"
    result = json.loads((home / "result.json").read_text())
    assert (result["evenhand_result"], result["verb"], result["outcome"]) == (2, "scan", "violation")
    assert result["header"]["medium"]["kind"] in ("portraits", "text", "scenes")
    assert (home / "report.html").stat().st_size > 5_000
    folder, identity = re.search(r"`cd (\S+) && evenhand replay (\w+)`", said).groups()
    code, _ = run(monkeypatch, tmp_path / folder, "replay", identity)
    assert code == 1  # the pair is still treated differently


def test_the_page_of_pictures_shows_them_and_that_of_texts_tells_them(tmp_path, monkeypatch):
    run(monkeypatch, tmp_path, "demo", "text", "--candidates", "40")
    page = (tmp_path / "evenhand-demo-text" / "report.html").read_text()
    assert "applied as a" in page or "would like to work" in page or "arrived with" in page


def test_every_demo_is_a_file_with_a_medium_of_its_own():
    assert {"table", "pictures", "scenes", "text"} <= set(demos())
    assert len(demos()) == len(DEMOS.entries())
