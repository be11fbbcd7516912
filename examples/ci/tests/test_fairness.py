"""The same policy in the unit tests: `pytest --evenhand-budget 2000 --evenhand-seed 1`."""


def test_the_model_keeps_the_policy(assert_fair):
    assert_fair("evenhand.yaml")
