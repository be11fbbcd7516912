"""A new thing is one file: one plug-in of every kind is put into a copy of the tree, and is found, listed and checked there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from one_file_of_each_kind import FILES

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow

PLUGINS = {
    "method": "lucky",
    "oracle": "strict",
    "synthesiser": "echo",
    "repair": "leave_it",
    "adapter": "thermometers",
    "editor": "darker",
    "operator": "repaint",
    "medium": "tokens",
    "loader": "notebooks",
    "format": "shout",
    "executor": "backwards",
}
FOUND = {
    "evenhand.synthesis.picture_latent:SPACES": "brightness",
    "evenhand.media.disturbances:DISTURBANCES": "negative",
    "evenhand.measures.studies:STUDIES": "counting",
    "evenhand.models.recognisers:RECOGNISERS": "blind",
    "evenhand.datasets.albums:LAYOUTS": "shoe_box",
    "evenhand.planted.demos:DEMOS": "coin",
}
"""Kinds without promises of their own beside their protocol: a file is found by its name, and has what the protocol asks for."""


MOODY = '''
"""Never the same twice."""

import random

endings = (".moody",)


def render(record):
    return str(random.random())
'''
COMMANDS = {
    **{kind: ["selftest", "--kind", kind, name, "--json", f"{kind}.json"] for kind, name in PLUGINS.items()},
    "moody": ["selftest", "--kind", "format", "moody"],
    "methods": ["methods", "--text"],
    "oracles": ["methods", "--oracles", "--text"],
    "repairs": ["repair", "--list"],
}
EACH = """
import contextlib, importlib, io, json, sys
from evenhand.cli.main import main

ends, places = {}, sys.argv[2]
for name, words in json.loads(sys.argv[1]).items():
    sys.argv, told = ["evenhand", *words], io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            main()
        except SystemExit as end:
            ends[name] = {"code": end.code, "told": told.getvalue()}
for place in json.loads(places):
    module, _, name = place.partition(":")
    registry = getattr(importlib.import_module(module), name)
    ends[place] = list(registry.entries())
print(json.dumps(ends))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "src" / "evenhand", folder / "evenhand", ignore=shutil.ignore_patterns("__pycache__", "tables"))
    if sys.pycache_prefix and (compiled := Path(sys.pycache_prefix + str(ROOT / "src" / "evenhand"))).exists():
        shutil.copytree(compiled, sys.pycache_prefix + str(folder / "evenhand"))  # what is compiled already stays so
    for path, text in {**FILES, "report/formats/moody.py": MOODY}.items():
        (folder / "evenhand" / path).write_text(text.lstrip())
    return folder


@pytest.fixture(scope="module")
def ends(tree):
    """What every command printed in that tree and how it ended, in one process."""
    command = [sys.executable, "-c", EACH, json.dumps(COMMANDS), json.dumps(list(FOUND))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", PLUGINS)
def test_one_file_is_found_and_checked(tree, ends, kind):
    assert ends[kind]["code"] == 0, ends[kind]["told"]
    told = json.loads((tree / f"{kind}.json").read_text())
    assert len(told) > 2
    assert {each["name"] for each in told} == {PLUGINS[kind]}
    assert not [each for each in told if each["broken"] or each["skipped"]]


@pytest.mark.parametrize("place", FOUND)
def test_one_file_of_a_kind_without_promises_is_found(ends, place):
    assert FOUND[place] in ends[place]


def test_every_registry_has_a_file_here():
    declared = [path.parent.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("__init__.py") if "Registry(" in path.read_text()]
    mine = {(Path("evenhand") / path).parent for path in FILES}
    assert not [str(package) for package in declared if package not in mine]


def test_a_broken_promise_is_told(ends):
    assert ends["moody"]["code"] == 1, ends["moody"]["told"]
    assert "rendered in two ways" in ends["moody"]["told"]


def test_new_methods_and_oracles_are_listed(ends):
    assert "lucky" in ends["methods"]["told"]
    assert "strict" in ends["oracles"]["told"]
    assert "leave_it" in ends["repairs"]["told"]
