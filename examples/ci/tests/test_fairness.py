"""The same policy in the unit tests: `pytest --evenhand-budget 2000 --evenhand-seed 1`."""


def test_the_model_keeps_the_policy(assert_fair):
    """A violation fails the test with the pairs in its message; inconclusive fails as well."""
    assert_fair("evenhand.yaml")
