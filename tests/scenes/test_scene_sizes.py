"""The benchmark's larger streets are whole scenes: objects that stand can be collected from them, as large as the pictures are."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from evenhand.media.scenes import ChangePlan, Scenes
from parts.scene_sizes import TIMES, enlarged


def test_enlarged_streets_lend_enlarged_donors(streets):
    plan = ChangePlan(("person",), ("person",), ("insert",), controls=False)
    small, large = (Scenes(scenes, plan).bank for scenes in (streets[:3], [enlarged(scene) for scene in streets[:3]]))
    tallest = [max(one.height for one in bank.of("person")) for bank in (small, large)]
    assert tallest[1] >= TIMES * tallest[0]
