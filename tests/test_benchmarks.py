"""Every script in benchmarks/ is one that `make bench` can run: it takes --quick and --json FILE, and loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))
EACH = """
import contextlib, io, json, runpy, sys

ends = {}
for script in sys.argv[1:]:
    sys.argv, told = [script, "--help"], io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            runpy.run_path(script, run_name="__main__")
            ends[script] = [None, told.getvalue()]
        except SystemExit as end:
            ends[script] = [end.code, told.getvalue()]
        except Exception as fault:
            ends[script] = [repr(fault), told.getvalue()]
print(json.dumps(ends))
"""


@pytest.fixture(scope="module")
def ends():
    """How each script ends that is asked for its options, all in one process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "benchmarks"), *sys.path])}
    done = subprocess.run([sys.executable, "-c", EACH, *map(str, SCRIPTS)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_benchmark_takes_quick_and_json(ends, script):
    code, told = ends[str(script)]
    assert code == 0, f"{code}: {told}"
    for option in ("--quick", "--json"):
        assert option in told, f"{script.name} does not know {option}"
