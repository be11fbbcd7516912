"""What people get wrong with scenes ends in an error that teaches or in an open verdict, never in a clean one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import evenhand as eh
from evenhand.datasets.scene_data import drawn_streets, from_scenes
from parts.scene_misuses import FEW, MISUSES, Unsteady, is_caught


@pytest.mark.parametrize("name", list(MISUSES))
def test_misuse_is_refused_or_left_open(name, tmp_path):
    caught, told = is_caught(MISUSES[name], tmp_path)
    assert caught, told
    assert told


@pytest.mark.parametrize("chance", [pytest.param(0.5, marks=pytest.mark.slow), 0.1])
def test_doctor_does_not_ask_a_recognisers_memory(chance):
    data = from_scenes(drawn_streets(8, 0), FEW)
    result = eh.doctor(eh.wrap(Unsteady(chance), data), data)
    assert result.outcome != "pass"
    assert "saw other objects" in result.summary()
