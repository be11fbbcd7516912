"""Every registered method keeps every promise; a new file in methods/ is covered the moment it exists."""

import pytest

from evenhand import checks
from evenhand.methods import METHODS

SUBJECTS = {name: checks.subject_for(entry.make) for name, entry in METHODS.entries().items()}


@pytest.mark.parametrize("check", checks.for_method(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", METHODS.entries())
def test_every_method_keeps_every_promise(name, check):
    check(METHODS.entries()[name].make, SUBJECTS[name])
