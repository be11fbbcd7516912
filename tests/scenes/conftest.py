"""Scenes that several tests share, rendered once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cv2")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "papers"))  # the paper's tables stand outside the package

from evenhand.media.operators.parts.donors import collect
from evenhand.media.streets.render import StreetMaker
from evenhand.media.vocabulary import Labels


@pytest.fixture(scope="session")
def streets():
    return list(StreetMaker(casts=5, density=1.3).scenes(10, np.random.default_rng(3)))


@pytest.fixture(scope="session")
def bank(streets):
    return collect(streets, Labels())


@pytest.fixture(scope="session")
def data():
    folder = Path(os.environ.get("EVENHAND_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the benchmark data is not at {folder}")
    return folder
