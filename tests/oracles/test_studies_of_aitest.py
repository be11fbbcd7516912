"""AITEST's properties, reached through `measure`: each says what is true of a planted model."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.datasets.dataset import Dataset
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.measures.studies.independent_groups import dealt

QUICK = {"rate_rows": 200, "natural_candidates": 0, "null_draws": 0, "compare_rows": 0, "draws": 199}


def people(n=2_000):
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b"], n)
    district = np.where(rng.random(n) < 0.95, np.where(group == "a", "north", "south"), "north")
    digit = rng.integers(0, 10, n)
    truth = np.where(digit >= 5, "yes", "no")
    return pd.DataFrame({"group": group, "district": district, "digit": digit, "truth": truth})


def data():
    columns = (
        eh.Column("group", "category", ("a", "b")),
        eh.Column("district", "category", ("north", "south")),
        eh.Column("digit", "integer", low=0, high=9),
    )
    return Dataset("people", people(), eh.TabularDomain(columns, ("group",), eh.Label("truth", ("no", "yes"), ("yes",))))


def measured(function, *studies):
    return eh.measure(function, data(), options=eh.MeasureOptions(**QUICK, studies=studies)).studies


def by_group(frame):
    return np.where((frame["digit"] >= 5) & ((frame["group"] == "b") | (frame["digit"] >= 8)), "yes", "no")


def by_district(frame):
    return np.where((frame["digit"] >= 5) & (frame["district"] == "north"), "yes", "no")


def test_nothing_is_made_unless_it_is_asked_for():
    assert measured(by_group) == {}


def test_groups_dealt_out_by_chance_show_the_group_itself_and_no_proxy():
    direct = measured(by_group, "independent_groups")["independent_groups"].figures
    assert direct["disparate_impact"]["value"] == pytest.approx(0.4, abs=0.06)
    assert direct["disparate_impact"]["high"] < 0.8
    proxy = measured(by_district, "independent_groups")["independent_groups"].figures
    assert proxy["disparate_impact"]["low"] > 0.8


def test_equal_shares_are_told_of_two_groups():
    found = measured(lambda frame: np.full(len(frame), "yes"), "independent_groups:privileged=group == 'a'")
    said = found["independent_groups"].sentences[0]
    assert "100.0% of \"group == 'a'\" and 100.0% of \"not (group == 'a')\"" in said


def test_dealing_keeps_everything_but_the_group():
    rows, domain = data().rows, data().domain
    mixed = dealt(rows, domain, np.random.default_rng(0))
    assert np.array_equal(mixed[:, 1:], rows[:, 1:])
    assert abs(np.corrcoef(mixed[:, 0], mixed[:, 1])[0, 1]) < 0.1


def test_prominent_changes_are_the_papers_robustness_score():
    figures = measured(lambda frame: np.where(frame["digit"] >= 5, "yes", "no"), "prominent_changes")["prominent_changes"].figures
    # Within three steps of the threshold: digits 2 to 7.
    assert figures["score"]["estimate"] == pytest.approx(0.6, abs=0.06)
    steady = measured(lambda frame: np.where(frame["group"] == "a", "yes", "no"), "prominent_changes")["prominent_changes"].figures
    assert steady["failing_neighbours"] > 0  # the protected cell itself is prominent here


def test_accuracy_is_told_group_by_group():
    section = measured(by_group, "accuracy")["accuracy"]
    figures = section.figures
    assert figures["groups"]["b"]["estimate"] == 1.0
    assert figures["groups"]["a"]["estimate"] == pytest.approx(0.7, abs=0.05)
    assert "least often of 'a'" in section.sentences[0]


def test_a_study_that_does_not_fit_is_named():
    with pytest.raises(UnknownName, match="did you mean 'accuracy'"):
        measured(by_group, "acuracy")
    with pytest.raises(InvalidArgument, match="study leaning looks at album, portraits"):
        measured(by_group, "leaning")
