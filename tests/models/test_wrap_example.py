"""The example of `wrap` runs as it stands."""

import doctest

from evenhand.models import wrap


def test_the_example_runs():
    outcome = doctest.testmod(wrap)
    assert outcome.attempted >= 4
    assert outcome.failed == 0
