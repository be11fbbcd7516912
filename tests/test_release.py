"""What is released: the version stands everywhere, and the wheel works by itself in an environment of its own."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

import evenhand as eh

ROOT = Path(__file__).parents[1]


def test_the_version_is_the_one_that_the_changelog_and_the_citation_name():
    newest = re.search(r"^## (\S+) \((\d{4}-\d{2}-\d{2})\)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert newest is not None
    assert newest.group(1) == cited["version"] == eh.__version__
    assert newest.group(2) == str(cited["date-released"])


def ran(*command, **where):
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=alone, **where)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("build", reason="the extra `release` builds what is released")
    folder = tmp_path_factory.mktemp("dist")
    ran(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return folder


@pytest.mark.slow
def test_wheel_and_source_archive_pass_the_registry_checks_and_hold_what_they_should(built):
    ran(sys.executable, "-m", "twine", "check", "--strict", *built.iterdir())
    wheel = zipfile.ZipFile(next(built.glob("*.whl"))).namelist()
    assert {"evenhand/py.typed", "evenhand/datasets/tables/adult.yaml"} <= set(wheel)
    assert [name for name in wheel if not name.startswith(("evenhand/", "evenhand-"))] == []
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "src/evenhand/__init__.py", "tests/test_release.py"} <= names


@pytest.mark.slow
def test_the_wheel_works_in_an_environment_of_its_own(built, tmp_path):
    home = tmp_path / "env"
    ran(sys.executable, "-m", "venv", home)
    python, command = home / "bin" / "python", home / "bin" / "evenhand"
    ran(python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", next(built.glob("*.whl")), cwd=tmp_path)
    assert eh.__version__ in ran(command, "--version", cwd=tmp_path)
    ran(command, "demo", cwd=tmp_path)
    assert list(tmp_path.rglob("*.html"))
    found = ran(python, "-c", "import evenhand as eh; print(eh.__file__, len(eh.open('adult').rows))", cwd=tmp_path)
    assert str(home) in found
