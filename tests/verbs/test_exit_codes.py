"""A crash is never a verdict: an internal error has an exit code of its own, one line, and a file with the traceback."""

import contextlib
import io
import re
import sys
from pathlib import Path

import pytest

from evenhand.cli import main as entrance


def called(monkeypatch, fault):
    def build(_asked):
        def crash(**_):
            raise fault

        return crash

    monkeypatch.setattr(entrance, "build", build)
    monkeypatch.setattr(sys, "argv", ["evenhand", "scan", "https://user:secret@example.org/model?token=secret"])
    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr), pytest.raises(SystemExit) as end:
        entrance.main()
    return end.value.code, stderr.getvalue()


@pytest.mark.parametrize("fault", [TypeError("a [bold]mistake[/]\nof ours"), ZeroDivisionError("x"), AssertionError()])
def test_an_internal_error_is_5_one_line_and_a_file(monkeypatch, tmp_path, fault):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, said = called(monkeypatch, fault)
    assert code == 5
    assert len(said.strip().splitlines()) == 1
    assert type(fault).__name__ in said
    file = Path(re.search(r"the traceback is in (\S+)", said)[1])
    text = file.read_text()
    assert "Traceback" in text
    assert "secret" not in text


def test_ctrl_c_is_130(monkeypatch):
    assert called(monkeypatch, KeyboardInterrupt())[0] == 130
