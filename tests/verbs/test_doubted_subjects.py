"""A model that may not have been asked what it should be gets no verdict, whatever pairs are found; what was found is told all the same."""

import json

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.report import render

RNG = np.random.default_rng(4)
PEOPLE = pd.DataFrame({"sex": RNG.choice(["f", "m"], 500), "pay": RNG.integers(1, 100, 500), "age": RNG.integers(20, 60, 500)})
PEOPLE["paid"] = np.where(PEOPLE["age"] + RNG.normal(0, 4, 500) > 40, "yes", "no")
DATA = eh.open(PEOPLE, protected=["sex"], label="paid", favourable="yes")
SMALL = eh.Options(rate_rows=300)
QUICK = eh.MeasureOptions(rate_rows=300, natural_candidates=0, compare_rows=0, null_draws=0)
BUDGET = eh.Budget(candidates=500)


def by_another_column(frame):
    """Biased, and wired to a column that says nothing of the label."""
    return (frame["pay"].to_numpy(float) + 20 * (frame["sex"] == "m")) / 130


def by_the_right_column(frame):
    """As biased, and as good as the label allows."""
    return 1 / (1 + np.exp(40 - frame["age"].to_numpy(float) - 6 * (frame["sex"] == "m")))


def wrapped(function):
    return eh.wrap(function, DATA, returns="probability", classes=["no", "yes"])


@pytest.fixture(scope="module")
def scanned():
    return eh.scan(wrapped(by_another_column), DATA, budget=BUDGET, options=SMALL)


def test_pairs_of_a_doubted_model_are_told_and_decide_nothing(scanned):
    assert scanned.outcome == "inconclusive"
    assert "not shown to be better than guessing" in scanned.reason
    assert "if it is wired right after all, pairs prove" in scanned.reason
    assert len(scanned.findings) > 10


@pytest.fixture(scope="module")
def measured():
    return eh.measure(wrapped(by_another_column), DATA, options=QUICK)


def test_the_same_holds_for_a_measurement(measured):
    assert measured.outcome == "inconclusive"
    assert "better than guessing" in measured.reason
    assert measured.as_dict()["body"]["wiring_doubt"]


def test_none_of_its_checks_is_decided(scanned, measured):
    told = [check for result in (scanned, measured) for check in result.as_dict()["checks"]]
    assert {check["outcome"] for check in told} == {"inconclusive"}
    assert "statistical_parity" in {each.metric for each in measured.figures if each.verdict == "different"}


def test_every_rendering_leads_with_the_doubt_and_blames_nobody(scanned, measured):
    for result in (scanned, measured):
        content = result.as_dict()
        for form in ("html", "md", "model_card", "twin_tests", "nyc_local_law_144", "four_fifths", "eu_ai_act"):
            assert "It is in doubt whether the model is wired correctly" in render(content, form), form
        assert "<failure" not in render(content, "junit")
        assert "one proven pair is a violation" not in render(content, "html")
        levels = {each["level"] for each in json.loads(render(content, "sarif"))["runs"][0]["results"]}
        assert levels == {"note"}
        assert "It is in doubt" in result._repr_html_()


def test_no_policy_overrules_the_doubt(scanned):
    ruling = eh.Policy(eh.Gate(max_rate=0.01), worst_gap=0.01).judge([scanned.as_dict()])
    assert {each.outcome for each in ruling.held} == {"inconclusive"}
    assert ruling.outcome == "inconclusive"
    assert ruling.reason.startswith("labels: accuracy")
    assert ruling.reason.count("better than guessing") == 1


def test_a_model_that_is_wired_right_is_judged():
    assert eh.scan(wrapped(by_the_right_column), DATA, budget=BUDGET, options=SMALL).outcome == "violation"


def test_one_label_for_all_rows_decides_nothing_unless_real_people_show_another():
    rarely = wrapped(lambda frame: np.where((frame["age"] > 40) & (frame["sex"] == "m") & (frame["pay"] == 99), 0.9, frame["age"] / 200))
    off_the_data = wrapped(
        lambda frame: np.where((frame["age"] > 58) & (frame["sex"] == "m") & (frame["pay"] == 0), 0.9, frame["age"] / 200)
    )
    assert eh.scan(rarely, DATA, budget=BUDGET, options=SMALL).outcome == "violation"
    told = eh.scan(off_the_data, DATA, budget=BUDGET, options=SMALL)
    assert told.outcome == "inconclusive"
    assert "is labelled 'no'" in told.reason


def test_a_doubted_result_is_neither_better_nor_worse_than_another(scanned):
    wired = eh.scan(wrapped(by_the_right_column), DATA, budget=BUDGET, options=SMALL)
    for compared in (eh.compare(wired, scanned), eh.compare_over_time([wired, scanned])):
        assert compared.outcome == "inconclusive"
        assert "better than guessing" in compared.reason
        assert {check["outcome"] for check in compared.as_dict()["checks"]} == {"inconclusive"}
        assert "It is in doubt" in render(compared.as_dict(), "md")
