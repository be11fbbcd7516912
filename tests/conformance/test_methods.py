"""Every registered method keeps every promise; a new file in methods/ is covered the moment it exists."""

from functools import partial

import pytest

from evenhand import checks
from evenhand.methods import METHODS

BRIEF = {"limi_pictures": {"drawn": 1_000}}
"""Where the published parameters take long before the first candidate is proposed."""
MAKES = {name: partial(entry.make, **BRIEF.get(name, {})) for name, entry in METHODS.entries().items()}
SUBJECTS = {name: checks.subject_for(entry.make) for name, entry in METHODS.entries().items()}


BY_ALL = "check_proposes_rows_inside_the_domain"
SOME = ("evenhand", "themis", "adf", "fairsift_batched", "random_generation")
"""One method of each kind makes every promise in the fast half, and every method the first of them; the rest is in the slow half."""


def half(name, check):
    is_fast = name in SOME or check.__name__ == BY_ALL
    return pytest.param(name, check, marks=[] if is_fast else pytest.mark.slow, id=f"{name}-{check.__name__}")


@pytest.mark.parametrize(("name", "check"), [half(name, check) for name in MAKES for check in checks.for_method()])
def test_every_method_keeps_every_promise(name, check):
    check(MAKES[name], SUBJECTS[name])


def test_the_fast_half_knows_its_names():
    assert set(SOME) <= set(MAKES)
    assert BY_ALL in {check.__name__ for check in checks.for_method()}
