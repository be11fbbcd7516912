"""What people get wrong with scenes ends in an error that teaches or in an open verdict, never in a clean one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from parts.scene_misuses import MISUSES, is_caught


@pytest.mark.parametrize("name", list(MISUSES))
def test_misuse_is_refused_or_left_open(name, tmp_path):
    caught, told = is_caught(MISUSES[name], tmp_path)
    assert caught, told
    assert told
