"""Every script in benchmarks/ is one that `make bench` can run: it takes --quick and --json FILE, and loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("script", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_every_benchmark_takes_quick_and_json(script):
    done = subprocess.run([sys.executable, str(script), "--help"], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    for option in ("--quick", "--json"):
        assert option in done.stdout, f"{script.name} does not know {option}"
