"""The result of every verb on every medium is rendered in every format, with attacks in every text too, and shows itself in a notebook."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from copy import deepcopy
from pathlib import Path

import jsonschema
import pytest
from markupsafe import escape

from evenhand import report

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from parts.report_grid import medium_results, of_medium, parses, poisoned

MEDIA = [pytest.param(kind, marks=[] if kind == "text" else pytest.mark.slow) for kind in medium_results.MEDIA]
REFUSED = {("certify", kind) for kind in medium_results.MEDIA} | {("repair", kind) for kind in ("portraits", "text", "scenes")}
"""What cannot be looked into is not certified, and without labels nothing is mended: both say so in words."""


@pytest.mark.parametrize("kind", MEDIA)
@pytest.mark.parametrize("verb", medium_results.MAKERS)
def test_a_result_is_rendered_in_every_format(verb: str, kind: str) -> None:
    content = of_medium(verb, kind)
    assert (content is None) == ((verb, kind) in REFUSED)
    if content is None:
        return
    jsonschema.validate(content, report.schema())
    assert content["header"]["medium"]["kind"] == kind or verb in ("bench", "synth")
    for name in report.known_formats():
        assert parses(name, report.render(content, name)), name
        attacked = report.render(poisoned(content), name)
        attacked.encode("utf-8")
        assert parses(name, attacked), name
    shown = medium_results.result(verb, kind)._repr_html_()
    assert not re.search(r"<script|<style|\bon[a-z]+=", shown)
    assert ET.fromstring(shown).tag == "div"
    assert repr(medium_results.result(verb, kind)).startswith(f"<{verb} of ")


def test_of_two_texts_only_the_differing_words_are_marked() -> None:
    content = of_medium("scan", "text")
    assert content is not None
    pair = content["witnesses"][0]["texts"]
    page = report.render(content, "html")
    shown = re.findall(r"<q>(.*?)</q>", page)[:2]
    for text, quoted in zip((pair["person"], pair["twin"]), shown, strict=True):
        assert re.sub(r"</?mark>", "", quoted) == str(escape(text))
    one, other = (set(re.findall(r"<mark>(.*?)</mark>", quoted)) for quoted in shown)
    assert one
    assert other
    assert not one & other
    assert not (set(re.findall(r"\w+", pair["person"])) & set(re.findall(r"\w+", pair["twin"]))) & (one | other)


def test_a_name_that_no_file_can_have_is_no_picture(tmp_path: Path) -> None:
    content = of_medium("scan", "text")
    assert content is not None
    pairs = [{**content["witnesses"][0], "pictures": {"person": name}} for name in ("long" * 2000, "zero\0.png", "../outside.png")]
    assert "<img" not in report.write({**content, "witnesses": pairs}, tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_classes_of_objects_lead_the_page_of_scenes_and_hostile_names_stay_text() -> None:
    content = of_medium("scan", "scenes")
    assert content is not None
    told = deepcopy(content)
    figures = told["body"]["studies"]["classes"]["figures"]
    figures["objects"]["answers"][0]["label"] = "<script>alert(1)</script>"
    good, bad = "data:image/jpeg;base64,AA", "javascript:alert(1)"
    shown = {"scene": "<b>", "change": "fog", "lost": "<i>car", "picture_after": good}
    figures["worst_pictures"] = [{**shown, "picture_before": before} for before in (bad, good)]
    page = report.render(told, "html")
    assert "Every class, the worst first" in page
    assert page.index("Classes of objects") < page.index("How often it happens")
    assert not any(attack in page for attack in ("<script>alert", bad, "<i>car"))
    assert page.count('alt="Scene &lt;b&gt; before the change') == 1
