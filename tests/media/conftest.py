"""What takes long among the media: portraits are one more medium on the road, and an album costs most to start."""

from __future__ import annotations

import pytest

SLOW = (
    "test_demos.py::test_a_demo_leaves_a_result_a_report_and_a_replay_line_that_works[pictures",
    "test_open.py::test_the_examples_of_the_document_work",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The table, the text, and one run of every other medium stay in the fast suite."""
    for item in items:
        is_portraits = "test_one_road.py" in item.nodeid and "portraits" in item.nodeid
        if is_portraits or any(part in item.nodeid for part in SLOW):
            item.add_marker(pytest.mark.slow)
