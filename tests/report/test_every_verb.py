"""The result of every verb keeps the shipped schema, is rendered in every format, and shows itself in a notebook."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest
import verb_results

import evenhand as eh
from evenhand import report
from evenhand.report import record
from evenhand.verbs.scan import Options

VERBS = list(verb_results.MAKERS)


def told(verb: str) -> dict[str, Any]:
    content: dict[str, Any] = record.plain(verb_results.result(verb).as_dict())
    return content


def test_the_shipped_schema_is_the_one_of_the_classes() -> None:
    assert report.schema() == json.loads(json.dumps(record.made_schema()))
    jsonschema.Draft202012Validator.check_schema(report.schema())


@pytest.mark.parametrize("verb", VERBS)
def test_a_result_keeps_the_schema(verb: str) -> None:
    content = told(verb)
    jsonschema.validate(content, report.schema())
    assert content["evenhand_result"] == 2
    assert content["verb"] == verb
    assert content["header"]["data"]["name"] == "people"


def test_the_schema_refuses_what_is_no_result() -> None:
    for wrong in ({}, {**told("scan"), "outcome": "maybe"}, {**told("scan"), "checks": [{"name": "x", "outcome": "ok"}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, report.schema())


@pytest.mark.parametrize("name", report.known_formats())
@pytest.mark.parametrize("verb", VERBS)
def test_a_result_is_rendered_in_every_format_the_same_every_time(verb: str, name: str, tmp_path: Path) -> None:
    ending = report.known_formats()[name][0]
    first = verb_results.result(verb).report(tmp_path / f"one{ending}")
    again = report.write(report.load(report.write(told(verb), tmp_path / "result.json")), tmp_path / f"two{ending}")
    assert first.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("verb", VERBS)
def test_a_page_leads_with_the_verdict_and_escapes_the_data(verb: str) -> None:
    page = report.render(told(verb))
    assert page.count("<h1") == 1
    assert "<b>a</b>" not in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)


def test_methods_that_all_ran_clear_no_model() -> None:
    content = {**told("bench"), "outcome": "pass"}
    assert "Pass" not in report.render(content).split("</h1>")[0]
    assert report.render(content, "md").startswith("# ✅ Done: ")


@pytest.mark.parametrize("verb", VERBS)
def test_a_build_server_sees_the_verdict_and_every_check(verb: str) -> None:
    root = ET.fromstring(report.render(told(verb), "junit"))
    assert len(root.findall(".//testcase")) == 1 + len(told(verb)["checks"])
    failed = root.find(".//testcase[@name='verdict']/failure") is not None
    assert failed == (told(verb)["outcome"] == "violation")
    log = json.loads(report.render(told(verb), "sarif"))
    assert log["version"] == "2.1.0"


@pytest.mark.parametrize("verb", VERBS)
def test_a_notebook_shows_it_without_script_or_style(verb: str) -> None:
    shown = verb_results.result(verb)._repr_html_()
    assert not re.search(r"<script|<style|\bon[a-z]+=|<b>a</b>", shown)
    assert ET.fromstring(shown).tag == "div"
    assert repr(verb_results.result(verb)).startswith(f"<{verb} of people: ")
    assert len(repr(verb_results.result(verb))) < 400


def test_a_table_of_pairs_computes_nothing_in_a_spreadsheet() -> None:
    content = told("scan")
    attacks = {"=1+1": "=HYPERLINK(1)", " @x": "+1", "-a": "-5", "plain": "=\n2", "number": -5}
    content["witnesses"] = [{"id": "=id", "person": attacks, "twin": attacks, "outcome": "@yes", "method": "\t=x"}]
    lines = list(csv.reader(io.StringIO(report.render(content, "csv"))))
    assert len(lines) == 2
    for cell in (cell for line in lines for cell in line):
        assert not cell.lstrip().startswith(("=", "+", "@")), cell
        assert not cell.startswith("-") or cell == "-5"


def test_a_table_has_a_line_for_every_pair() -> None:
    lines = list(csv.reader(io.StringIO(report.render(told("scan"), "csv"))))
    assert [line[0] for line in lines[1:]] == [each["id"] for each in told("scan")["witnesses"]]
    assert "person.income" in lines[0]


def test_a_page_names_the_parquet_files_that_hold_all_findings(tmp_path: Path) -> None:
    options = Options(rate_rows=50, most_witnesses=2, folder=tmp_path / "runs")
    budget = eh.Budget(candidates=200)
    made = eh.scan(verb_results.model(), verb_results.people(), methods=["themis"], budget=budget, options=options)
    (named,) = re.findall(r"<code>([^<]*part-\*\.parquet)</code>", report.render(made.as_dict()))
    files = list(Path("/").glob(named.removeprefix("/")))
    assert sum(len(pd.read_parquet(file)) for file in files) == len(made.findings.findings) > 2
