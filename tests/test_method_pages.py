"""Every method has a page, and its page names the parameters and defaults that the code has."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CURE = "run: python scripts/build_method_pages.py"


def load():
    spec = importlib.util.spec_from_file_location("build_method_pages", ROOT / "scripts" / "build_method_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = load()
METHODS = PAGES.own_entries()


@pytest.mark.parametrize("name", METHODS)
def test_the_page_has_the_parameters_of_the_code(name):
    page = ROOT / "docs" / "methods" / f"{name}.md"
    assert page.exists(), f"docs/methods/{name}.md is missing; {CURE}"
    listed = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", page.read_text(), re.MULTILINE))
    assert listed == {parameter: repr(default) for parameter, default in METHODS[name].parameters.items()}, f"{page.name} is old; {CURE}"


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_has_a_meaning(name):
    without = set(METHODS[name].parameters) - set(PAGES.meanings(METHODS[name]))
    assert not without, f"{name}: say what {sorted(without)} mean in the class's docstring, as `name: meaning`"


def test_the_index_lists_every_method_and_no_page_is_left_over():
    folder = ROOT / "docs" / "methods"
    index = (folder / "index.md").read_text()
    assert set(re.findall(r"^\| \[(\w+)\]", index, re.MULTILINE)) == set(METHODS), CURE
    assert {page.stem for page in folder.glob("*.md")} == {*METHODS, "index"}, CURE


def test_meanings_are_read_from_docstrings():
    text = "Fit.\n\nseeds, clusters: where it begins; reach: how far\n    it goes\ntraining: rows"
    assert PAGES._described(text) == {
        "seeds": "where it begins",
        "clusters": "where it begins",
        "reach": "how far it goes",
        "training": "rows",
    }
