"""Every verb's result and every registered report format keeps every promise; a new format is covered the moment its file exists."""

import json

import pytest
from tests.repair.tables import table, tree_subject

import evenhand as eh
from evenhand import checks
from evenhand.report.formats import FORMATS
from evenhand.report.record import Record

DATA = table(200)
MODEL = tree_subject(DATA).model


VERBS = {
    "scan": lambda: eh.scan(MODEL, DATA, budget=eh.Budget(candidates=500), seed=1),
    "certify": lambda: eh.certify(MODEL, DATA),
    "doctor": lambda: eh.doctor(MODEL, DATA),
}


@pytest.fixture(scope="module")
def results():
    return {}


def result_of(known, verb):
    if verb not in known:
        known[verb] = VERBS[verb]()
    return known[verb]


@pytest.mark.parametrize("check", checks.for_result(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("verb", VERBS)
def test_every_result_keeps_every_promise(results, verb, check, tmp_path):
    check(result_of(results, verb), tmp_path)


@pytest.mark.parametrize("check", checks.for_format(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("verb", ["scan", "certify"])
@pytest.mark.parametrize("name", FORMATS.entries())
def test_every_format_keeps_every_promise(results, name, verb, check):
    told = json.loads(json.dumps(result_of(results, verb).as_dict()))
    check(FORMATS.make(name), Record.model_validate(told))
