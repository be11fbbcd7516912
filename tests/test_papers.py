"""The inventory of the papers: every command is there, and takes what it is given."""

import subprocess
import sys
from pathlib import Path

import pytest
from inventory import ITEMS, coverage_page

ROOT = Path(__file__).parents[1]


def test_every_item_is_named_once_and_says_what_it_is():
    assert len({(item.paper, item.name) for item in ITEMS}) == len(ITEMS)
    assert {item.paper for item in ITEMS} == {"limi", "neuronfair", "aitest", "deepfait", "distrofair"}
    assert [item.name for item in ITEMS if (item.state == "missing") == bool(item.command)] == []
    assert [item.name for item in ITEMS if item.state == "part" and not item.note] == []


def test_the_scripts_of_all_commands_exist_and_have_the_short_form():
    for script in {item.command[0] for item in ITEMS if item.command}:
        text = (ROOT / script).read_text()
        assert "--quick" in text or "options(" in text or "--data" in text, script


def test_the_page_has_every_item():
    page = coverage_page()
    assert [item.name for item in ITEMS if item.line and f"`{item.line}`" not in page] == []


@pytest.mark.parametrize(("words", "code", "told"), [
    (["--list"], 0, "table-12"),
    (["limi", "table-99"], 1, "it has table-1"),
    (["distrofair", "table-12"], 1, "not redone yet"),
])  # fmt: skip
def test_the_command_line(words, code, told):
    done = subprocess.run([sys.executable, "-m", "papers", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert told in done.stdout + done.stderr
