"""docs/architecture.md says what is there: the tree, the layers, the registries and every path that it names; the tree is tidy."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src" / "evenhand"


def block(heading):
    return re.split(r"```(?:text)?\n", PAGE.split(f"## {heading}\n")[1])[1]


def told_tree():
    """Every path of the tree block, from its indentation."""
    found, parent = [], ""
    for line in block("The tree").splitlines()[1:]:
        name = line.split()[0]
        if len(line) - len(line.lstrip()) == 2:
            parent = name if name.endswith("/") else ""
            found.append(name)
        else:
            found.append(parent + name)
    return found


def real_tree():
    folders = [path.parent for path in PACKAGE.rglob("__init__.py")]
    packages = [folder.relative_to(PACKAGE).as_posix() + "/" for folder in folders if folder != PACKAGE]
    shared = ("editors/parts/", "operators/parts/", "executors/parts/")  # told beside their packages
    return [*(name for name in packages if not name.endswith(shared)), *(path.name for path in PACKAGE.glob("*.py"))]


def test_the_tree_is_the_real_one():
    assert sorted(told_tree()) == sorted(real_tree())


def test_the_layers_are_those_that_are_held():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    assert block("Layers").split("\n")[:-1] == contract["layers"]
    assert contract["exhaustive"]
    assert not contract.get("ignore_imports")


def test_every_path_on_the_page_exists():
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_0-9]+)*(?:/|\.py))`", PAGE))
    assert len(named) > 20
    for name in named:
        assert (PACKAGE / name).exists() or (ROOT / name).exists(), name


@pytest.fixture(scope="module")
def house():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("house", ROOT / "benchmarks" / "house.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(ROOT / "benchmarks"))


def test_the_registries_are_those_that_are_declared(house):
    told = {tuple(cell.strip().strip("`") for cell in line.split("|")[1:-1]) for line in PAGE.splitlines() if line.startswith("| ")}
    declared = house.registries(house.Tree(PACKAGE))
    real = {(each.kind, each.package, f"evenhand.{each.package.rpartition('.')[2]}") for each in declared.values()}
    assert told - {("kind", "package", "entry points")} == real


MOST = {
    "class_names_reused": 5,
    "file_names_reused": 8,
    "tuple_parameters": 5,
    "unreachable_modules": 0,
    "modules_outside_layers": 0,
    "imports_by_string": 0,
    "ignored_imports": 0,
    "onnx_sessions": 1,
    "torch_adapters": 1,
}
LEAST = {"conformance_kinds": 9, "media": 5}


@pytest.fixture(scope="module")
def figures(house):
    return house.figures()


@pytest.mark.parametrize("name", MOST)
def test_the_house_stays_tidy(figures, name):
    assert len(figures[name]) <= MOST[name], figures[name]


@pytest.mark.parametrize("name", LEAST)
def test_the_house_stays_furnished(figures, name):
    assert len(figures[name]) >= LEAST[name], figures[name]
