"""The pytest plugin: the fixture `assert_fair` and the options `--evenhand-seed` and `--evenhand-budget`.

pytest loads this file in every project that has Evenhand installed, so it imports nothing of Evenhand until a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from evenhand.verbs.build_gate import GateResult


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("evenhand", "fairness of models")
    group.addoption("--evenhand-seed", type=int, default=None, help="Seed of assert_fair; default: the project's, or 0.")
    group.addoption("--evenhand-budget", type=int, default=5_000, help="Candidates of the search in assert_fair (5,000).")


@pytest.fixture
def assert_fair(request: pytest.FixtureRequest) -> Callable[..., GateResult]:
    """A function that fails the test unless a model keeps a policy.

    `assert_fair("evenhand.yaml")`, or `assert_fair(model, data, policy)` with what `evenhand.wrap` and `evenhand.open` return.
    """
    seed, budget = request.config.getoption("--evenhand-seed"), request.config.getoption("--evenhand-budget")

    def judge(*subject: Any) -> GateResult:
        __tracebackhide__ = True
        from evenhand.integrations.fairness_assertion import assert_fair as assert_it

        return assert_it(*subject, seed=seed, candidates=budget)

    return judge
