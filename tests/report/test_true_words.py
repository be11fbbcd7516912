"""What pages say fits what was done: a proof is no sample, a lead is no proof, a model is called by its own class."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
import verb_results

import evenhand as eh
from evenhand import report
from evenhand.engine.header import kind_of
from evenhand.report import record, words
from evenhand.report.sections.repair_lines import goal_changes
from evenhand.report.two_minutes import strip


def told(verb: str) -> dict[str, Any]:
    content: dict[str, Any] = record.plain(verb_results.result(verb).as_dict())
    return content


@pytest.mark.parametrize("verb", ["scan", "measure", "certify", "compare"])
def test_the_model_is_called_by_its_own_class(verb: str) -> None:
    assert told(verb)["header"]["model"]["kind"] == "DecisionTreeClassifier"
    assert "DecisionTreeClassifier" in report.render(told(verb))


def test_a_function_has_no_class_of_its_own() -> None:
    assert kind_of(eh.wrap(lambda frame: ["no"] * len(frame), verb_results.people())) == "FunctionModel"


def test_a_proof_does_not_speak_of_samples() -> None:
    page = report.render(told("certify"))
    assert "proved from the model itself" in page
    assert "chance in drawing" not in page
    assert "the dot the estimate" not in page
    assert "no sample was drawn" in page


def test_a_comparison_says_which_pairs_are_new_and_which_are_gone() -> None:
    content = told("compare")
    pair = {**told("scan")["witnesses"][0]}
    asked = {**content["header"], "details": {"second": {"kind": "DecisionTreeClassifier"}, "tolerance": 0.0}}
    for fate, sentence in (("new", "New: only the second"), ("gone", "Gone: only the first")):
        page = report.render({**content, "header": asked, "witnesses": [{**pair, "method": f"{fate}: data"}]})
        assert f"{sentence} treat" in page
        assert "Both models were asked" in page
        results = report.render({**content, "witnesses": [{**pair, "method": f"{fate}: data"}]})
        assert f"{sentence} result lists this pair" in results
        assert "Both models were asked" not in results
        assert f"found by {fate}" not in page
        assert "found by asking the real rows" in page


def test_pairs_of_a_learned_editor_are_leads() -> None:
    content = told("scan")
    assert "Every pair above is proof" in report.render(content)
    learned = {**content, "header": {**content["header"], "medium": {"kind": "album", "learned_twins": ["tone"]}}}
    page = report.render(learned)
    assert "is proof" not in page
    assert "a lead, no proof" in page
    assert "nothing changed but the protected cells" not in page


def test_the_rate_is_also_told_out_of_a_round_number() -> None:
    content = told("scan")
    rate = {**content["body"]["rates"][0], "population": "data", "estimate": 0.0042, "low": 0.004, "high": 0.005}
    page = report.render({**content, "outcome": "violation", "body": {**content["body"], "rates": [rate]}})
    assert "About 4 of every 1,000 people like these are concerned." in page


def test_a_number_stays_behind_a_name_from_right_to_left() -> None:
    assert words.isolated("سوريا") == "\u2068سوريا\u2069"
    assert words.isolated("divers") == "divers"
    content = told("measure")
    figure = {"metric": "f1_score", "attribute": "origin", "difference": 0.1, "by_group": {"DE": 0.5, "سوريا": 0.4}}
    page = report.render({**content, "body": {**content["body"], "fairlearn": [figure]}})
    assert "DE 0.500; \u2068سوريا\u2069 0.400" in page


def test_pairs_that_are_asked_again_are_no_sample() -> None:
    content = told("scan")
    page = report.render({**content, "verb": "replay", "outcome": "violation", "body": {"replays": [{"id": "a", "gap": 0.4}]}})
    assert f"{len(content['witnesses'])} pairs that an earlier run kept" in page
    assert "chance in drawing" not in page
    assert "Further figures" not in page


def test_an_examination_says_nothing_about_fairness_and_tells_its_cost_once() -> None:
    content = {**told("doctor"), "outcome": "pass"}
    content["body"] = {**content["body"], "cost": {"candidates": 7, "rows": 14, "seconds": 1.0}, "left_out": 0}
    page = report.render(content)
    assert "That says nothing about whether it is fair." in page
    assert "Further figures" not in page
    assert "Left out" in report.render({**content, "body": {**content["body"], "left_out": 3}})


@pytest.mark.parametrize("classes", [["invited", "rejected"], ["rejected", "invited"]])
def test_what_people_hope_for_has_one_colour_in_whatever_order_the_classes_stand(classes: list[str]) -> None:
    content = told("scan")
    content["header"]["domain"] |= {"classes": classes, "favourable": ["invited"]}
    content["witnesses"] = [{**content["witnesses"][0], "outcome": "invited", "twin_outcome": "rejected"}]
    page = report.render(content)
    assert '<span class="outcome-chip tone-1">invited</span>' in page
    assert '<span class="outcome-chip tone-0">rejected</span>' in page


def test_proved_bounds_are_rounded_outwards_and_the_same_wherever_they_stand() -> None:
    content = told("certify")
    proof = {**content["body"]["certificate"], "exact": False, "lower": 0.106753, "upper": 0.201679}
    page = report.render({**content, "body": {**content["body"], "certificate": proof}})
    assert "at least 10.67%, at most 20.17%" in page
    assert ">10.67%<" in page
    assert "10.68%" not in page


def test_a_page_of_texts_speaks_of_texts() -> None:
    content = told("scan")
    texts = {**content, "header": {**content["header"], "medium": {"kind": "text"}}}
    assert "whether or not it occurs in the data" in report.render(texts)
    assert "people do not exist" not in report.render(texts)
    assert "people do not exist" in report.render(content)


def test_repairs_that_a_model_cannot_have_are_no_failures_and_the_best_come_first() -> None:
    found = replace(verb_results.result("repair"), refused={"damp_neurons": "it has no neurons"})
    content: dict[str, Any] = record.plain(found.as_dict())
    line = next(each for each in content["body"]["repairs"]["lines"] if each["role"] == "repair")
    better = copy.deepcopy(line) | {"name": "another"}
    for change in better["changes"].values():
        change["estimate"] = -0.9
    content["body"]["repairs"]["lines"].append(better)
    page = report.render(content)
    assert "it has no neurons" in page
    assert "What failed" not in page
    assert [name for name, _, _ in goal_changes(record.read(content))] == ["another", line["name"]]


def test_the_first_picture_of_a_measurement_shows_what_decides_where_no_outcome_is_hoped_for() -> None:
    content = told("measure")
    figure = {"metric": "label_accuracy", "title": "Accuracy of the label", "attribute": "skin", "unit": "share", "verdict": "different",
              "low": 0.22, "high": 0.43, "estimate": 0.33, "groups": []}  # fmt: skip
    leaning = {"along": "skin", "strongest": "yes", "net": {"yes": 0.2}, "low": {"yes": 0.1}, "high": {"yes": 0.3}, "tolerance": 0.05}
    study = {"sentences": [], "figures": {"leanings": [leaning]}, "checks": [{"name": "skin", "outcome": "inconclusive", "message": ""}]}
    body = {**content["body"], "groups": [figure], "studies": {"leaning": study}}
    picture = strip(record.read({**content, "outcome": "violation", "body": body}))
    assert picture is not None
    shown = str(picture.picture)
    assert shown.index("Gap between groups, accuracy of the label, by skin") < shown.index("told beside, decides nothing")
    assert "any gap that is shown counts" in shown


def test_a_search_among_learned_twins_is_followed_by_a_measurement() -> None:
    content = told("scan")
    header = {**content["header"], "medium": {"kind": "album", "learned_twins": ["skin"]}}
    page = report.render({**content, "outcome": "inconclusive", "header": header})
    assert "Look at the pairs as leads." in page


def test_amounts_of_pairs_are_rounded_in_their_unit_and_counted_by_which_is_more() -> None:
    content = told("scan")
    pair = {**content["witnesses"][0], "outcome": 5.842051606132685, "twin_outcome": 32.57241915597146}
    header = {**content["header"], "oracle": "amounts:tolerance=1.5,unit=years"}
    page = report.render({**content, "header": header, "witnesses": [pair, {**pair, "outcome": 7.25, "twin_outcome": 30.125}]})
    assert "5.842 years becomes 32.57 years" in page
    assert "5.842051606132685" not in page
    evidence = page.partition("Who gets what")[2].partition("</ul>")[0]
    assert "2 of 2" in evidence
    assert "more" in evidence
    assert "less" in evidence


def test_what_a_study_found_leads_where_it_decides_and_many_sentences_of_it_stand_in_its_section() -> None:
    content = told("measure")
    many = [f"lost after change {place}: 10.0% of the right answers" for place in range(9)]
    study = {"figures": {"tolerated": 0.05}, "sentences": many, "checks": []}
    body = {**content["body"], "rates": [], "studies": {"robust_groups": study}}
    reason = "one group is hurt more: lost after change 7"
    page = report.render({**content, "body": body, "sentences": many, "outcome": "violation", "reason": reason})
    first = page.partition('<h1 id="verdict-title">')[2].partition("In two minutes")[0]
    assert "One group is hurt more: lost after change 7." in first.partition("</h1>")[0]
    assert "lost after change 3" not in first.lower()
    assert "lost after change 3" in page.lower()
