"""Every registered repair keeps every promise; a new file in repairs/ is covered the moment it exists."""

import pytest
from tests.repair.tables import net_subject, table, tree_subject

from evenhand import checks
from evenhand.oracles.flip import LabelFlip
from evenhand.repairs import REPAIRS
from evenhand.repairs.parts.case import Case


def case_of(subject):
    unfair = LabelFlip().judge(subject.rows, subject.domain, subject.model).unfair
    return Case.of(subject, subject.rows[unfair])


TREE, NET = case_of(tree_subject(table(200))), case_of(net_subject(table(120)))


@pytest.mark.parametrize("check", checks.for_repair(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", REPAIRS.entries())
def test_every_repair_keeps_every_promise(name, check):
    make = REPAIRS.entry(name).make
    check(make, TREE if isinstance(TREE.model, make.needs) else NET)
