"""The first picture of a page is what decides: the rate, gaps between groups, a leaning, classes of objects, or a change."""

import re
from typing import Any

from evenhand.report import page
from evenhand.report.charts.canvas import Axis
from evenhand.report.charts.tolerances import ToleranceRow, tolerances
from evenhand.report.lead import lead
from evenhand.report.record import Record, read
from evenhand.report.two_minutes import strip

RATE = {"estimate": 0.05, "low": 0.04, "high": 0.06, "n": 1000, "confidence": 0.95, "population": "data", "unfair": 50, "whole": True}
GAP = {
    "metric": "statistical_parity",
    "attribute": "sex",
    "unit": "share",
    "estimate": 0.2,
    "low": 0.15,
    "high": 0.25,
    "verdict": "different",
}


def told(verb: str, body: dict[str, Any], medium: str = "table", details: dict[str, Any] | None = None) -> Record:
    header = {"medium": {"kind": medium}, "domain": {"protected": ["sex"]}, "details": details or {}, "data": {"name": "d", "rows": 1000}}
    return read({"evenhand_result": 2, "verb": verb, "header": header, "outcome": "violation", "reason": "it is so", "body": body})


def shown(record: Record) -> str:
    first = strip(record)
    assert first is not None
    assert str(first.picture) in page.render(record)
    return str(first.picture)


def test_a_measurement_shows_rate_and_gaps_against_their_own_tolerances() -> None:
    drawn = shown(told("measure", {"rates": [RATE], "groups": [GAP]}, details={"max_rate": 0.1, "max_gap": 0.12}))
    assert "tolerated up to 10%" in drawn
    assert "Gap between groups by sex" in drawn
    assert "tolerated up to 12%" in drawn


def test_a_leaning_decides_about_pictures() -> None:
    leaning = {"net": {"old": -0.3}, "low": {"old": -0.4}, "high": {"old": -0.2}, "tolerance": 0.05, "pairs": 300, "along": "tone goes up"}
    study = {"leaning": {"figures": {"leanings": [leaning | {"strongest": "old"}]}}}
    drawn = shown(told("measure", {"rates": [RATE], "studies": study}, "portraits"))
    assert "30.00% less often (20.00% to 40.00%), n = 300; tolerated up to 5%" in drawn


def test_where_groups_of_pictures_decide_they_lead_and_the_share_of_flips_does_not() -> None:
    leaning = {"net": {"old": -0.1}, "low": {"old": -0.2}, "high": {"old": 0.0}, "tolerance": 0.05, "pairs": 90, "along": "tone goes up"}
    check = {"name": "tone", "outcome": "inconclusive", "message": "too few pairs"}
    study = {"leaning": {"figures": {"leanings": [leaning | {"strongest": "old"}]}, "checks": [check]}}
    record = told("measure", {"rates": [RATE], "groups": [GAP], "studies": study}, "album")
    assert lead(record) == "It is so."
    assert "of every" not in page.render(record)
    drawn = shown(record)
    assert drawn.index("Gap between groups by sex") < drawn.index("10.00% less often")


def test_classes_decide_about_scenes() -> None:
    answer = {"label": "sign", "question": "lost", "outcome": "treated worse", "rate": 0.4, "others": 0.1, "ratio": 4.0, "p_value": 0.001}
    calm = {"label": "car", "question": "lost", "outcome": "not shown", "rate": 0.1, "others": 0.12, "ratio": 0.8, "p_value": 1.0}
    answers = [calm | {"power": 0.9, "objects": 40, "scenes": 20}, answer | {"power": 0.9, "objects": 40, "scenes": 20}]
    study = {"classes": {"figures": {"objects": {"answers": answers}}}}
    drawn = shown(told("scan", {"rates": [RATE], "studies": study}, "scenes"))
    assert drawn.index("sign: lost") < drawn.index("car: lost"), "the worst comes first"
    assert "40.00%, comparable others 10.00%, factor 4.0 · ✕ treated worse" in drawn


def test_a_class_that_has_an_interval_shows_it_against_equal_treatment() -> None:
    common = {"question": "lost", "power": 0.9, "objects": 40, "scenes": 20, "p_value": 0.001}
    worse = common | {"label": "sign", "outcome": "treated worse", "rate": 0.4, "others": 0.1, "ratio": 4.0, "low": 2.1, "high": 6.2}
    calm = common | {"label": "car", "outcome": "not shown", "rate": 0.1, "others": 0.12, "ratio": 0.8, "low": 0.2, "high": 30.0}
    study = {"classes": {"figures": {"objects": {"answers": [calm, worse]}}}}
    drawn = shown(told("scan", {"rates": [RATE], "studies": study}, "scenes"))
    assert "40.00% against 10.00%: factor 4.0 (2.1 to 6.2); ✕ treated worse" in drawn
    assert "factor 0.8 (0.2 to 30.0); no difference shown" in drawn, "what the axis cuts is told in figures"
    limit, dot = (float(re.search(rf'class="{kind}" c?x1?="([0-9.]+)%', drawn)[1]) for kind in ("limit", "estimate"))
    assert limit < 15, "the axis goes on far beyond equal treatment"
    assert dot > 3 * limit, "a factor of 4 stands where it belongs"


def test_of_a_comparison_only_the_first_population_decides() -> None:
    change = {"population": "data", "before": 0.06, "after": 0.02, "difference": -0.04, "low": -0.05, "high": -0.03, "n": 900}
    changes = [change | {"verdict": "better"}, change | {"population": "domain", "low": 0.03, "high": 0.05, "verdict": "worse"}]
    record = told("compare", {"changes": changes})
    assert lead(record).startswith("Better: among the real rows, 6.00% are treated differently before, 2.00% after")
    assert shown(record).count("told beside, decides nothing") == 2, "drawn once, and read aloud once"


def test_loose_bounds_stand_beside_what_asking_makes_likely() -> None:
    proof = {"lower": 0.0, "upper": 0.9, "exact": False, "likely": {"lower": 0.04, "upper": 0.06, "rows": 5000, "error": 1e-6}}
    drawn = shown(told("certify", {"certificate": proof}))
    assert "proved: at least 0%, at most 90.00%" in drawn
    assert "likely, no proof: 4.00% to 6.00%, from 5,000 questions" in drawn


def test_a_repair_shows_what_must_fall_and_what_it_costs() -> None:
    bounds = {"accuracy": {"estimate": -0.007, "low": -0.009, "high": -0.004}, "spd": {"estimate": -0.27, "low": -0.3, "high": -0.24}}
    line = {"name": "reweigh", "role": "repair", "verdict": "better", "means": {}, "changes": bounds}
    body = {"repairs": {"lines": [line | {"means": {"accuracy": bounds["accuracy"], "spd": bounds["spd"]}}]}}
    drawn = shown(told("repair", body, details={"terms": {"goal": "groups", "tolerance": 0.01, "confidence": 0.95}}))
    assert "−27.00% (−30.00% to −24.00%); it must fall" in drawn
    assert "0.70% (0.40% to 0.90%); tolerated up to 1%" in drawn


def test_a_long_name_has_two_lines_so_that_a_phone_shows_all_of_it() -> None:
    long = "“female” when origin goes from African or Indian to European or Asian"
    drawn = str(
        tolerances([ToleranceRow(long, "8% (1% to 16%)", 0.01, 0.16), ToleranceRow("short", "5%", 0.0, 0.1)], Axis(0.0, 0.2, unit="share"))
    )
    lines = re.findall(r'class="name" x="0" y="(\d+)">([^<]*)<', drawn)
    assert " ".join(line for _, line in lines) == f"{long} short"
    assert max(len(line) for _, line in lines) <= 40
    assert [int(height) for height, _ in lines] == [16, 33, 33]
