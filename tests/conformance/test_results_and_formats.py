"""Every verb's result and every registered report format keeps every promise; a new format is covered the moment its file exists."""

import json

import pytest
from tests.repair.tables import table, tree_subject

import evenhand as eh
from evenhand import checks
from evenhand.campaign.repair_trial import Effort
from evenhand.report.formats import FORMATS
from evenhand.report.record import Record

DATA = table(200)
MODEL = tree_subject(DATA).model


def repaired():
    effort = Effort(candidates=300, judge_candidates=200, rate_rows=200)
    return eh.repair(MODEL, DATA, repairs=["hide_protected"], options=eh.RepairOptions(seeds=2, effort=effort))


def scanned():
    return eh.scan(MODEL, DATA, budget=eh.Budget(candidates=500), seed=1)


VERBS = {
    "scan": scanned,
    "measure": lambda: eh.measure(MODEL, DATA),
    "certify": lambda: eh.certify(MODEL, DATA),
    "repair": repaired,
    "synth": lambda: eh.synth(DATA, 50),
    "bench": lambda: eh.bench(["themis"], ["credit"], budget=eh.Budget(candidates=200)),
    "compare": lambda: eh.compare(MODEL, MODEL, DATA),
    "doctor": lambda: eh.doctor(MODEL, DATA),
    "replay": lambda: eh.replay(scanned().witnesses[0], MODEL, DATA),
}


QUICK = ("scan", "measure", "repair", "synth", "doctor")
"""Verbs whose results are made in a moment; the rest are in the slow half."""


@pytest.fixture(scope="module")
def results():
    return {}


def result_of(known, verb):
    if verb not in known:
        known[verb] = VERBS[verb]()
    return known[verb]


@pytest.mark.parametrize("check", checks.for_result(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("verb", [verb if verb in QUICK else pytest.param(verb, marks=pytest.mark.slow) for verb in VERBS])
def test_every_result_keeps_every_promise(results, verb, check, tmp_path):
    check(result_of(results, verb), tmp_path)


SOME = ("scan", "measure", "repair")
"""Three verbs whose results have most in common with all others; the rest are in the slow half."""


@pytest.mark.parametrize("check", checks.for_format(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("verb", [verb if verb in SOME else pytest.param(verb, marks=pytest.mark.slow) for verb in VERBS])
@pytest.mark.parametrize("name", FORMATS.entries())
def test_every_format_keeps_every_promise(results, name, verb, check):
    told = json.loads(json.dumps(result_of(results, verb).as_dict()))
    check(FORMATS.make(name), Record.model_validate(told))
