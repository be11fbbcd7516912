"""Every registered editor of pictures and every scene operator keeps every promise; a new file is covered the moment it exists."""

import pytest

from evenhand import checks
from evenhand.checks import examples
from evenhand.media.editors import EDITORS, editor_for
from evenhand.media.operators import OPERATORS

SLOW = {"cyclegan"}
SOME = {"blur", "delete", "insert"}
"""Operators whose promises are tried in the fast half: of a whole picture, of an object, of one that comes from elsewhere."""


@pytest.fixture(scope="module")
def editors():
    return {}


def editor(known, name):
    if name not in known:
        known[name] = editor_for(name, examples.small_album(), "tone", examples.editor_tools())
    return known[name]


@pytest.mark.parametrize("check", checks.for_editor(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in EDITORS.entries()])
def test_every_editor_keeps_every_promise(editors, name, check):
    check(editor(editors, name), examples.small_album())


@pytest.fixture(scope="module")
def orders():
    return examples.change_orders()


@pytest.mark.parametrize("check", checks.for_operator(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in SOME)) for name in OPERATORS.entries()])
def test_every_operator_keeps_every_promise(orders, name, check):
    check(OPERATORS.make(name), orders)
