"""Evidence packs: dated, sourced, no legal advice, and nothing that reads like a pass mark where the law sets none."""

from __future__ import annotations

import re
from typing import Any

import pytest
import verb_results

from evenhand import report

PACKS = ("nyc_local_law_144", "four_fifths", "twin_tests", "eu_ai_act")


def crossed() -> dict[str, Any]:
    """A measurement with two attributes and their intersections, one of which is small."""
    sizes = {"female, a": 200, "female, b": 180, "male, a": 400, "male, b": 10}
    rates = {"female, a": 0.3, "female, b": 0.2, "male, a": 0.5, "male, b": 0.45}
    parts = [
        {
            "name": name,
            "rows": sizes[name],
            "estimate": rates[name],
            "low": rates[name] - 0.1,
            "high": rates[name] + 0.1,
            "is_enough": sizes[name] > 50,
        }
        for name in sizes
    ]
    figure = {"metric": "statistical_parity", "title": "SPD", "meaning": "", "attribute": "sex and race", "unit": "share", "groups": parts}
    content = verb_results.result("measure").as_dict()
    return {
        **content,
        "body": {**content["body"], "groups": [{**figure, "estimate": 0.3, "low": 0.1, "high": 0.5, "verdict": "different"}]},
    }


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_is_dated_sourced_and_no_advice(name: str) -> None:
    told = report.render(crossed(), name)
    assert "Not legal advice" in told
    assert re.search(r"Sources \(this text is of \d{4}-\d\d-\d\d", told)
    listed = [line for line in told.splitlines() if line.startswith("- ") and "http" in line]
    assert len(listed) >= 2
    for line in listed:
        assert re.fullmatch(r"- .+, .+ \(.*\d{4}-\d\d-\d\d.*\): <https?://\S+>; read in .+", line), line
    assert re.search(r"Measured `\d{4}-\d\d-\d\d`", told)


def test_impact_ratios_of_intersections_without_a_pass_mark() -> None:
    told = report.render(crossed(), "nyc_local_law_144")
    assert "| `female, b` | 180 (22.78%) | 20.00% | 10.00% to 30.00% | 0.400 |" in told
    assert "below 2 % of the data" in told
    words = re.sub(r"sets no pass mark", "", told).lower()
    assert not re.search(r"\b(pass|fail|violation|compliant|four.fifths|0\.8)\b", words)


def test_four_fifths_are_named_only_where_asked_for() -> None:
    assert "Below four fifths" in report.render(crossed(), "four_fifths")
    page = report.render(crossed())
    assert "four-fifths" not in page.lower().replace(".four-fifths.md", "")
    assert "four fifths" not in page.lower()


def test_the_two_percent_of_the_guidelines_are_quoted_from_their_section() -> None:
    told = report.render(crossed(), "four_fifths")
    assert "2 % of the applicable workforce (§ 1607.15(A)(2)(a))" in told
    assert "rescind" in told


def test_what_was_not_measured_is_said() -> None:
    told = report.render(verb_results.result("doctor").as_dict(), "eu_ai_act")
    assert told.count("not measured in this result") >= 3
    assert "the system's own logs: not measured in this result" in told.replace("\\", "")
    assert "This result holds no groups" in report.render(verb_results.result("scan").as_dict(), "nyc_local_law_144").replace("\\", "")
