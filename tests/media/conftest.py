"""What takes long among the media: portraits are one more medium on the road, and an album costs most to start."""

from __future__ import annotations

import pytest

SLOW = ("test_one_road.py::test_exit_codes_are_the_same[album", "test_one_road.py::test_exit_codes_are_the_same[scenes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The table, the text, and one run of every other medium stay in the fast suite."""
    for item in items:
        if "test_one_road.py" in item.nodeid and ("portraits" in item.nodeid or any(part in item.nodeid for part in SLOW)):
            item.add_marker(pytest.mark.slow)
