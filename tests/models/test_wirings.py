"""Every kind of model agrees with the model asked directly, and no wrong wiring passes: each is caught with the cure in its message."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from parts.foreign_kinds import ForeignKind, foreign_kinds
from parts.sensible_models import sensible_figures
from parts.wirings import Kind, Miswiring, agrees, agrees_with_its_library, caught, kinds, miswirings

NEEDED = ("xgboost", "lightgbm", "catboost", "torch", "onnx", "onnxruntime", "httpx")
FOREIGN = foreign_kinds() if all(importlib.util.find_spec(name) for name in NEEDED) else []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_a_wrapped_model_agrees_with_the_model_asked_directly(kind: Kind) -> None:
    assert agrees(kind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wiring", miswirings(), ids=lambda wiring: wiring.name)
def test_a_wrong_wiring_is_caught_and_its_cure_named(wiring: Miswiring) -> None:
    assert caught(wiring) == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", FOREIGN, ids=lambda kind: kind.name)
def test_boosters_networks_folders_and_endpoints_agree_with_their_library(kind: ForeignKind) -> None:
    assert agrees_with_its_library(kind)


def test_the_tables_are_as_long_as_they_are_said_to_be() -> None:
    assert len(kinds()) + len(FOREIGN) >= 40
    assert len(miswirings()) >= 30


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("count", [6, pytest.param(90, marks=pytest.mark.slow)])
def test_fair_models_that_answer_sensibly_are_not_refused(count: int) -> None:
    """A weak one may be left open; one that is clearly better than guessing is not."""
    figures = sensible_figures(count)
    assert figures["sensible_failed"] == 0
    assert figures["clearly_sensible_doubted"] == 0
