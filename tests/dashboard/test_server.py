"""How the dashboard is started: on this machine only, with its extra, and over a folder that is there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from evenhand.cli.dashboard_command import dashboard_command
from evenhand.dashboard.server import listen, serve
from evenhand.dashboard.start_form import words_of_form, words_of_header
from evenhand.disk import read_sealed
from evenhand.errors import EvenhandError, InvalidArgument, MissingExtra


def test_it_listens_to_this_machine_only():
    with listen(0) as made:
        assert made.getsockname()[0] == "127.0.0.1"
        with pytest.raises(InvalidArgument, match="in use"):
            listen(made.getsockname()[1])


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidArgument, match="no such folder"):
        serve(tmp_path / "nothing", 0, False, print)


def test_without_the_extra_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    with pytest.raises(MissingExtra, match=r"evenhand\[dashboard\]"):
        dashboard_command(tmp_path, 0, False)


def test_a_form_becomes_a_command_line():
    form = {"verb": "scan", "candidates": "5,000", "seed": "7", "method": "themis\nadf", "oracle": "gap:threshold=0.2"}
    assert words_of_form(form, "evenhand.yaml", False) == [
        "scan", "evenhand.yaml", "--text", "--candidates=5000", "--seed=7", "--method=themis", "--method=adf", "--oracle=gap:threshold=0.2",
    ]  # fmt: skip
    assert words_of_form({"verb": "measure", "candidates": "5"}, "a.yaml", True) == ["measure", "a.yaml", "--text", "--trusted"]


@pytest.mark.parametrize(
    "form",
    [{"verb": "rm"}, {"verb": "scan", "candidates": "-1"}, {"verb": "scan", "candidates": "0"}, {"verb": "scan", "seconds": "1e9"},
     {"verb": "scan", "method": "--help"}, {"verb": "scan", "oracle": "--trusted"}, {"verb": "scan", "seed": "x"}],
)  # fmt: skip
def test_a_form_that_asks_for_nonsense_is_refused(form):
    with pytest.raises(EvenhandError):
        words_of_form(form, "evenhand.yaml", False)


def test_a_search_is_continued_by_the_command_of_its_header(store):
    header = read_sealed(next((store / "loans" / "runs").glob("themis-*")) / "header.json")
    words = words_of_header(header, "evenhand.yaml", False)
    assert {"scan", "--method=themis", "--seed=0", "--candidates=600", "--oracle=flip", "--protected=sex"} <= set(words)
    assert not [word for word in words if word.startswith("--set")]  # everything as usual
    changed = {**header, "parameters": {**header["parameters"], next(iter(header["parameters"])): 12345}}
    assert [word for word in words_of_header(changed, "evenhand.yaml", False) if word.startswith("--set")]


@pytest.mark.slow
def test_the_command_prints_an_address_that_opens_and_ends_with_ctrl_c(store):
    process = subprocess.Popen(
        [sys.executable, "-m", "evenhand", "dashboard", "--store", str(store), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, PYTHONUNBUFFERED="1"),
    )  # fmt: skip
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())[0]
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert answer.status == 200
        token = address.partition("token=")[2]
        live = urllib.request.Request(f"{address.partition('?')[0]}events", headers={"x-evenhand-token": token})
        page = urllib.request.urlopen(live, timeout=30)  # an open page that follows what goes on
        assert page.readline().startswith(b"data:")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert "Traceback" not in out + err
    finally:
        process.kill()
        process.wait()
