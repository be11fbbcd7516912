"""Every kind of model agrees with the model asked directly, and no wrong wiring passes: each is caught with the cure in its message."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from parts.wirings import Kind, Miswiring, agrees, caught, kinds, miswirings


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_a_wrapped_model_agrees_with_the_model_asked_directly(kind: Kind) -> None:
    assert agrees(kind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wiring", miswirings(), ids=lambda wiring: wiring.name)
def test_a_wrong_wiring_is_caught_and_its_cure_named(wiring: Miswiring) -> None:
    assert caught(wiring) == ""
