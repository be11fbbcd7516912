"""What the documents show works as shown."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evenhand.domain import project_file

ROOT = Path(__file__).parents[1]
MORE_COLUMNS = """  start_year: {kind: integer, low: 1, high: 9}
  end_year: {kind: integer, low: 1, high: 9}
  job: {kind: category, values: [clerk, nurse]}
  years_of_education: {kind: integer, low: 1, high: 9}
  city: {kind: category, values: [Paris, Bonn]}
  country: {kind: category, values: [France, Germany]}
  diagnosis: {kind: category, values: [pregnant, well]}
"""


def blocks(document, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def test_every_example_of_the_project_file_is_valid(tmp_path):
    columns, twins, constraints, _relations, project, endpoint = blocks("docs/project-file.md", "yaml")
    path = tmp_path / "evenhand.yaml"
    path.write_text(columns + MORE_COLUMNS + twins)
    rng = np.random.default_rng(0)
    rows = project_file.load(path).sample(500, rng)
    path.write_text(columns + MORE_COLUMNS + twins + constraints)
    domain = project_file.load(path, rows)
    assert len(domain.constraints) == 9
    assert domain.contains(domain.sample(200, rng)).all()
    path.write_text(columns + MORE_COLUMNS + twins + project)
    assert project_file.read_project(path).scan.candidates == 100_000
    path.write_text(columns + MORE_COLUMNS + twins + endpoint)
    assert project_file.read_project(path).model.http["answer"] == "predictions[*].probability"


def test_the_page_of_the_oracles_names_every_one():
    from evenhand.oracles import ORACLES

    page = (ROOT / "docs/oracles.md").read_text()
    assert [name for name in ORACLES.entries() if f"| `{name}` |" not in page] == []


@pytest.mark.slow
def test_the_method_of_the_contributing_guide_keeps_every_promise(tmp_path):
    shutil.copytree(ROOT / "src" / "evenhand", tmp_path / "evenhand", ignore=shutil.ignore_patterns("__pycache__", "tables"))
    (tmp_path / "evenhand" / "methods" / "walk.py").write_text(blocks("CONTRIBUTING.md", "python")[0])
    code = """
import json
from evenhand import checks
from evenhand.methods import METHODS
entry = METHODS.entries()["walk"]
for check in checks.for_method():
    check(entry.make, checks.standard_subject())
power = [p for p in checks.power_table(["walk"], checks.Trial(3_000, (0,))) if p.shape == "pocket"][0]
print(json.dumps([entry.paper, power.mean, power.random_mean]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    paper, found, at_random = json.loads(done.stdout)
    assert paper == 'A. Author, "A Title", A Venue 2026.'
    assert found > at_random


def test_whatever_a_page_shows_and_does_not_run_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from page_blocks import pages, unchecked

    assert [str(block) for page in pages() for block in unchecked(page)] == []
    page = tmp_path / "page.md"
    page.write_text("```yaml\na: 1\n```\n\n```yaml\nb: 1\n```\n\n<!-- python\nassert shown\n-->\n")
    assert [block.line for block in unchecked(page)] == [1]
