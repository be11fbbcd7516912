"""Every registered synthesiser keeps every promise; a new file in synthesis/ is covered the moment it exists."""

from functools import cache, partial

import numpy as np
import pytest

from evenhand import checks, datasets
from evenhand.synthesis import SYNTHESISERS
from evenhand.synthesis.ctgan import CtganSettings
from evenhand.synthesis.tvae import TvaeSettings

DATA = datasets.credit()
ROWS = DATA.rows[:400]
BRIEF = {
    "ctgan": CtganSettings(embedding=8, generator=(16, 16), discriminator=(16, 16), batch=50, pack=5, epochs=2),
    "tvae": TvaeSettings(embedding=8, encoder=(16,), decoder=(16,), batch=50, epochs=2),
}


OF_FITTING = {"check_the_seed_decides", "check_leaves_the_learning_rows_alone"}
"""Promises of the fitting itself; the others speak of what was fitted, which is fitted once for all of them."""


class Briefly:
    """A synthesiser that is trained for a moment only."""

    def __init__(self, kind, settings):
        self.fit = partial(kind.fit, settings=settings)


class Kept:
    """A synthesiser whose every call of `fit` gives the same population."""

    def __init__(self, population):
        self.fit = lambda *_: population


def kind_of(name):
    kind = SYNTHESISERS.entry(name).make
    return Briefly(kind, BRIEF[name]) if name in BRIEF else kind


@cache
def kept(name):
    return Kept(kind_of(name).fit(np.array(ROWS), DATA.domain, np.random.default_rng(2)))


@pytest.mark.parametrize("check", checks.for_population(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in BRIEF)) for name in SYNTHESISERS.entries()])
def test_every_synthesiser_keeps_every_promise(name, check):
    check(kind_of(name) if check.__name__ in OF_FITTING else kept(name), np.array(ROWS), DATA.domain)


def test_the_promises_of_fitting_are_among_the_promises():
    assert {check.__name__ for check in checks.for_population()} > OF_FITTING
