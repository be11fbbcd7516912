"""Every hostile file and answer of the table is stopped: nothing runs, nothing crashes, and one clear line is said."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from parts.hostile import CASES, Hostile, run_case

for library in ("torch", "onnx", "onnxruntime", "httpx", "cv2", "PIL", "xgboost", "lightgbm", "catboost"):
    pytest.importorskip(library)


def test_the_table_is_long_and_names_are_said_once():
    assert len(CASES) >= 60
    assert len({each.name for each in CASES}) == len(CASES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("hostile", CASES, ids=lambda each: each.name)
def test_it_is_stopped(hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    said, wrong = run_case(hostile, tmp_path)
    assert wrong == "", said
