"""The planted share is exact: counted over every input of the domain."""

import numpy as np
import pytest

from evenhand.oracles.flip import LabelFlip
from evenhand.planted import shapes

SHAPES = shapes()
MANY_INPUTS = {"proxy"}  # every input with every protected value, for the value implies others


def every_input(domain, protected_first_only):
    axes = [np.arange(c.lowest, c.highest + 1) for c in domain.columns]
    if protected_first_only:  # the verdict does not depend on the protected value of the input
        for place in domain.protected_places:
            axes[place] = axes[place][:1]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in MANY_INPUTS)) for name in SHAPES])
def test_the_planted_share_is_exact(name):
    planted = SHAPES[name]
    inputs = every_input(planted.domain, protected_first_only=not planted.domain.implied)
    unfair = sum(
        int(LabelFlip().judge(inputs[at : at + 50_000], planted.domain, planted.model).unfair.sum()) for at in range(0, len(inputs), 50_000)
    )
    assert unfair == planted.rate * len(inputs)


def test_there_are_six_shapes_and_more():
    assert len(SHAPES) >= 6
    assert SHAPES["fair"].rate == 0
