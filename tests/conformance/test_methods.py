"""Every registered method keeps every promise; a new file in methods/ is covered the moment it exists."""

from functools import partial

import pytest

from evenhand import checks
from evenhand.methods import METHODS

BRIEF = {"limi_pictures": {"drawn": 1_000}}
"""Where the published parameters take long before the first candidate is proposed."""
MAKES = {name: partial(entry.make, **BRIEF.get(name, {})) for name, entry in METHODS.entries().items()}
SUBJECTS = {name: checks.subject_for(entry.make) for name, entry in METHODS.entries().items()}


@pytest.mark.parametrize("check", checks.for_method(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MAKES)
def test_every_method_keeps_every_promise(name, check):
    check(MAKES[name], SUBJECTS[name])
