"""Importing costs next to nothing, extras stay optional, and a method is one file."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand

ROOT = Path(evenhand.__file__).parents[2]
EXTRAS = ("torch", "onnx", "onnxruntime", "httpx", "z3", "cv2", "PIL", "polars", "xgboost", "lightgbm", "catboost", "mlflow", "boto3")


def python(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_cheap_and_brings_no_extra():
    code = f"""
import time, sys
start = time.process_time()
import evenhand
spent = time.process_time() - start
print(spent, [name for name in {EXTRAS!r} if name in sys.modules])
"""
    spent, extras = min((python(code).split(" ", 1) for _ in range(3)), key=lambda words: float(words[0]))
    assert float(spent) < 0.6
    assert extras.strip() == "[]"


def test_the_command_line_starts_without_extras():
    blocked = "; ".join(f"sys.modules[{name!r}] = None" for name in EXTRAS)
    code = f"import sys; {blocked}; sys.argv = ['evenhand', 'methods', '--json']; from evenhand.cli.main import main; main()"
    assert "themis" in [entry["name"] for entry in json.loads(python(code))]


@pytest.mark.parametrize("command", ["scan", "measure", "methods"])
def test_what_takes_long_to_load_waits_until_it_is_needed(command):
    start = f"import sys; sys.argv = ['evenhand', {command!r}, '--help']; from evenhand.cli.main import main"
    ended = "try: main()\nexcept SystemExit: pass"
    waiting = ("numba", "torch", "sklearn", "scipy.stats", "PIL")
    assert python(f"{start}\n{ended}\nprint([name for name in {waiting!r} if name in sys.modules])").splitlines()[-1] == "[]"


def test_public_names_are_there():
    for name in evenhand.__all__:
        assert getattr(evenhand, name) is not None
    assert callable(evenhand.scan)


METHOD = '''"""LUCKY: proposes rows whose digits are all high.

Paper: none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import Model
from evenhand.contract import Candidates, Search, Task


@dataclass(frozen=True)
class Lucky:
    """A method for this test."""

    batch: int = 500

    needs: ClassVar[type] = Model

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Uniform rows, again and again."""
        while True:
            yield Candidates(task.domain.sample(self.batch, rng), "luck")
'''


@pytest.mark.slow  # one file of every kind, a method too, is put into a copied tree in tests/conformance/test_one_file.py
def test_a_method_is_one_new_file(tmp_path):
    """It appears in the list, in the checks and in the power table, with no other edit."""
    shutil.copytree(ROOT / "src" / "evenhand", tmp_path / "evenhand", ignore=shutil.ignore_patterns("__pycache__", "tables"))
    (tmp_path / "evenhand" / "methods" / "lucky.py").write_text(METHOD)
    code = """
import json
from evenhand import checks
from evenhand.methods import METHODS
assert "lucky" in METHODS.entries()
subject = checks.standard_subject()
for check in checks.for_method():
    check(METHODS.entries()["lucky"].make, subject)
table = checks.power_table(["lucky"], checks.Trial(1_000, (0,)))
print(json.dumps([METHODS.entries()["lucky"].summary, len(table), sum(sum(entry.findings) for entry in table)]))
"""
    summary, shapes, findings = json.loads(python(code, PYTHONPATH=str(tmp_path)))
    assert summary == "LUCKY: proposes rows whose digits are all high."
    assert shapes == 9
    assert findings > 100


def test_a_method_file_that_breaks_the_rule_is_named(tmp_path):
    shutil.copytree(ROOT / "src" / "evenhand", tmp_path / "evenhand", ignore=shutil.ignore_patterns("__pycache__", "tables"))
    (tmp_path / "evenhand" / "methods" / "empty.py").write_text('"""Nothing here."""\n')
    code = """
from evenhand.methods import METHODS
from evenhand.errors import RegistryError
try:
    METHODS.entries()
except RegistryError as fault:
    print(fault)
"""
    assert "methods/empty.py must define one frozen dataclass" in python(code, PYTHONPATH=str(tmp_path))


def test_another_package_adds_a_method_by_entry_point(tmp_path):
    (tmp_path / "outside.py").write_text(METHOD)
    card = tmp_path / "outside-1.0.dist-info"
    card.mkdir()
    (card / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (card / "entry_points.txt").write_text("[evenhand.methods]\noutsider = outside:Lucky\n")
    code = "import evenhand as eh; print(eh.method('outsider', batch=7))"
    assert "Lucky(batch=7)" in python(code, PYTHONPATH=str(tmp_path))
