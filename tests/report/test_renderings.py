"""Every rendering shows a result truthfully, survives every hostile or empty one, and a file that is no result is named as that."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sample_results as results

from evenhand import report
from evenhand.errors import InvalidArgument, StoreError, UnknownName
from evenhand.report import words
from evenhand.report.charts.heat_maps import STRONGEST

CASES = {"ordinary": results.ordinary(), "hostile": results.hostile(), **results.empty_cases()}
SAID = [
    "✕",
    (
        "Violation: Among the real rows, 7.77% would get a different outcome if only sex were different "
        "(95% interval 7.27% to 8.37%, n = 10,000)."
    ),
    "1,595 distinct people are proven",
    "7.77%",
    "between 7.27% and 8.37%",
    "exact 95% interval; 777 of 10,000 judged",
    "Real rows",
    "The whole domain",
    "sex: Male → Female",
    ">50K becomes <=50K",
    "relationship implied",
    "evenhand replay 95a71c6f32",
    "A real row (row 4,732 of the data) with 1 cell changed : gain 0 → 12629",
    "real row: 0",
    "country (missing)",
    "used its whole budget",
    "6,380",
    "Causal discrimination 1.60% (99.9% interval 1.44% to 1.76%)",
    "1.42 points",
    "best for sex = Male, worst for sex = Female",
    "1 of 1 : sex = Female gets <=50K , sex = Male gets >50K",
    "count of a search, not a rate",
    "proxy",
    "2bfe2fcb",
    "100,000 candidates",
]
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """The page as a browser's parser sees it: which elements, which attributes, which text; raises where tags do not match."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page_of(result: dict[str, Any]) -> Page:
    return Page(report.render(result))


@pytest.mark.parametrize("name", report.known_formats())
@pytest.mark.parametrize("case", CASES)
def test_every_format_renders_every_result_and_the_same_one_every_time(name: str, case: str, tmp_path: Path) -> None:
    first, second = (report.write(CASES[case], tmp_path / each / "report", name) for each in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()
    assert [file.name for file in first.parent.iterdir()] == ["report"]


@pytest.mark.parametrize("case", CASES)
def test_page_runs_and_fetches_nothing(case: str) -> None:
    page = page_of(CASES[case])
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "iframe", "object", "embed", "form", "base", "audio", "video", "use", "image", "foreignobject"}
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset", "action", "xlink:href")], tag
        assert (attributes.get("href") or "#").startswith(("#", "data:,")), attributes
    policy = next(meta["content"] for meta in page.named("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "url(" not in report.render(CASES[case]).split("</style>")[0]


@pytest.mark.parametrize("case", CASES)
def test_page_can_be_heard_and_walked_through(case: str) -> None:
    page = page_of(CASES[case])
    assert page.named("html")[0]["lang"] == "en"
    assert [len(page.named(tag)) for tag in ("main", "header", "footer", "nav", "h1", "title")] == [1] * 6
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels)), levels
    identities = [a["id"] for _, a in page.elements if "id" in a]
    assert len(identities) == len(set(identities))
    pointed = [a["href"][1:] for a in page.named("a") if a["href"]] + [
        a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a
    ]
    assert set(pointed) <= set(identities)
    assert all(a.get("scope") in ("row", "col") for a in page.named("th"))
    assert all(a.get("aria-label") for a in page.named("svg") if a.get("role") == "img")


def test_hostile_text_is_shown_as_text() -> None:
    page = page_of(results.hostile())
    assert page.text.count(results.SCRIPT) > 20
    assert "{{ 7 * 7 }}" in page.text
    assert "(20,000 characters)" in page.text
    assert "\\u202egnp.exe" in page.text
    assert len(report.render(results.hostile())) < 1_500_000


def test_page_says_the_verdict_the_rates_and_the_pair() -> None:
    text = page_of(results.ordinary()).text
    for said in SAID:
        assert said in text, said
    assert page_of(results.ordinary()).elements.count(("mark", {})) == 4


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("pass", "✓ Pass: Among the real rows, 0% would get a different outcome"),
        ("pass", "Nothing found."),
        ("pass", "No pair of people was found"),
        ("interrupted", "themis was interrupted."),
        ("interrupted", "? Inconclusive: Among the real rows, 7.77%"),
        ("only failures", "adf failed and is not counted as having found nothing: no gradients"),
        ("only failures", "No search was completed, but 777 of the people"),
        ("nothing at all", "No rate was measured, so this report cannot say how often it happens."),
        ("nothing at all", "No method was run."),
        ("nothing at all", "no search was completed"),
        ("unmeasured", "no input of this population could be judged"),
        ("no time", "not measured"),
        ("only sampled", "but 777 of the people sampled for the rate are treated differently"),
        ("unkept", "The searches have 1,595 findings, but this result keeps no pairs"),
        ("tolerated", "a rate of 5.00% is tolerated"),
        ("tolerated", "The dashed line is the tolerated rate"),
        ("score gap", ">50K for both, with different scores"),
        ("score gap", "by more than 0.2"),
        ("without data", "Not compared with a real row"),
        ("a real row", "A real row (row 4,732 of the data), nothing changed but the protected cells"),
        ("wide", "44 more columns, the same for both"),
        ("wide", "column_51 protected, the same here"),
    ],
)
def test_unusual_results_are_told_as_what_they_are(case: str, said: str) -> None:
    assert said in page_of(CASES[case]).text
    assert "nan" not in page_of(CASES[case]).text.lower().split()


def test_failed_method_is_never_shown_as_zero() -> None:
    failed = results.changed(failures={"adf": "no gradients"})
    assert "✕ failed, so nothing is counted: no gradients" in page_of(failed).text
    assert "failed: not counted" in report.render(failed)
    assert "| `adf` | – | – | – | – | – | – | **failed** |" in report.render(failed, "md")
    case = ET.fromstring(report.render(failed, "junit")).find(".//testcase[@name='adf']/error")
    assert case is not None
    assert case.get("message") == "no gradients"
    assert json.loads(report.render(failed, "sarif"))["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_wide_pair_shows_the_telling_columns_first() -> None:
    page = report.render(results.wide())
    shown, folded = page.split("more columns, the same for both</summary>")
    assert "column_40" in shown
    assert "column_51" in shown
    assert "column_59" in folded


def test_colours_have_enough_contrast_in_light_and_dark() -> None:
    style = report.render(results.ordinary()).split("<style>")[1].split("</style>")[0]
    light, dark = (
        dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", block))
        for block in style.split("@media print")[0].split("@media screen and (prefers-color-scheme: dark)")
    )
    pairs = [(ink, back) for ink in ("ink", "soft", "link") for back in ("page", "card")]
    pairs += [(ink, f"{ink}-back") for ink in ("bad", "good", "unsure")] + [("soft", f"{back}-back") for back in ("bad", "good", "unsure")]
    pairs += [("mark-ink", "mark"), ("bad", "card"), ("ink", "track")] + [(f"tone-{tone}-ink", f"tone-{tone}") for tone in range(4)]
    for colours in (light, dark):
        for ink, back in pairs:
            assert contrast(colours[ink], colours[back]) >= 4.5, (ink, back)
        for drawn in ("accent", "second", "bad"):
            assert contrast(colours[drawn], colours["track"]) >= 3.0, drawn
        for heat in ("heat", "heat-negative"):  # a square at its strongest, with words on it
            assert contrast(colours["ink"], laid_over(colours[heat], colours["card"], STRONGEST)) >= 4.5, heat


def laid_over(colour: str, back: str, opacity: float) -> str:
    parts = [(int(colour[at : at + 2], 16), int(back[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(opacity * over + (1 - opacity) * under):02x}" for over, under in parts)


def contrast(first: str, second: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dim, bright = sorted((luminance(first), luminance(second)))
    return (bright + 0.05) / (dim + 0.05)


def test_junit_fails_on_violation_and_errs_on_inconclusive() -> None:
    violation = ET.fromstring(report.render(results.ordinary(), "junit"))
    assert [violation.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["2", "2", "0", "0"]
    failure = violation.find(".//testcase[@name='themis']/failure")
    assert failure is not None
    assert "evenhand replay 95a71c6f32" in (failure.text or "")
    passed = ET.fromstring(report.render(CASES["pass"], "junit"))
    assert [passed.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["2", "0", "0", "0"]
    interrupted = ET.fromstring(report.render(CASES["interrupted"], "junit"))
    assert [interrupted.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["2", "0", "1", "1"]


@pytest.mark.parametrize("case", CASES)
def test_junit_is_well_formed_and_counts_its_cases(case: str) -> None:
    root = ET.fromstring(report.render(CASES[case], "junit"))
    assert int(root.get("tests", "0")) == len(root.findall(".//testcase")) == 1 + len(CASES[case]["checks"])
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(root.get(attribute, "-1")) == len(root.findall(f".//testcase/{kind}"))


@pytest.mark.parametrize("case", CASES)
def test_sarif_has_one_result_per_witness(case: str) -> None:
    log = json.loads(report.render(CASES[case], "sarif"))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    violated = [check for check in CASES[case]["checks"] if check["outcome"] == "violation"]
    assert len(run["results"]) == len(CASES[case]["witnesses"] or violated)
    for each in run["results"]:
        assert run["tool"]["driver"]["rules"][each["ruleIndex"]]["id"] == each["ruleId"]
        assert each["level"] in ("error", "warning", "note")
        assert re.fullmatch(
            r"(witnesses/[A-Za-z0-9%._~-]+|result)\.json", each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        )
        assert not re.search(r"(?<!\\)\[", each["message"]["text"])
    assert run["invocations"][0]["executionSuccessful"] is not bool(CASES[case]["body"]["failures"])


def test_markdown_tables_keep_their_shape_under_attack() -> None:
    text = report.render(results.hostile(), "md")
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(blocks) == 4
    for block in blocks:
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(counts) == 1, block[:400]
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not re.search(r"(?<!\\)<(?!br>)", outside)
    assert "@somebody" not in outside
    assert "javascript:" not in outside.replace("\\:", "")


def test_json_is_read_back_as_it_was_with_null_for_nan(tmp_path: Path) -> None:
    path = report.write(results.hostile(), tmp_path / "result.json")
    assert report.load(path) == results.hostile()
    unmeasured = report.load(report.write(CASES["unmeasured"], tmp_path / "unmeasured.json"))
    assert unmeasured["body"]["rates"][0]["estimate"] is None
    assert report.render(unmeasured) == report.render(CASES["unmeasured"])


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("a.html", "html"),
        ("A.HTM", "html"),
        ("a.md", "md"),
        ("a.xml", "junit"),
        ("a.sarif", "sarif"),
        ("a.sarif.json", "sarif"),
        ("a.json", "json"),
    ],
)
def test_format_is_chosen_by_the_ending(name: str, chosen: str) -> None:
    assert report.format_for(name) == chosen


def test_unknown_ending_and_unknown_format_are_named() -> None:
    with pytest.raises(InvalidArgument, match=r"'report\.pdf' must end in one of .*\.html/\.htm \(html\)"):
        report.format_for("report.pdf")
    with pytest.raises(UnknownName, match="did you mean 'html'"):
        report.format_for("report.pdf", "htlm")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        ("", "not readable as JSON"),
        ("<html>", "not readable as JSON"),
        ("[" * 100_000, "not readable as JSON"),
        (b"\xff\xfe\x00", "not readable as JSON"),
        ("[1, 2]", "it is not a result of Evenhand"),
        ('{"witness": 1}', "it is not a result of Evenhand"),
        ('{"evenhand_result": 3}', "it has version 3 of the result format, and this release reads versions 1 and 2"),
        ('{"evenhand_result": 2}', "verb: field required"),
        ('{"evenhand_result": true}', "it has version True"),
        ('{"evenhand_result": 1}', "runs: field required"),
        ('{"evenhand_measurement": 1}', "anytime: field required"),
        ('{"evenhand_result": 1, "runs": 3, "failures": 4, "outcome": 5}', "not those of a result of version 1"),
        (json.dumps(results.changed(outcome="maybe")), "outcome: input should be 'pass', 'violation' or 'inconclusive'"),
        (
            json.dumps(results.changed(runs=[results.run(candidates=-1)])),
            r"body\.runs\.0\.candidates: input should be greater than or equal to 0",
        ),
        (json.dumps(results.changed(witnesses=[{"id": "1"}])), r"witnesses\.0\.person: field required"),
    ],
)
def test_file_that_is_no_result_is_named_with_what_is_wrong(content: str | bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(StoreError, match=message) as caught:
        report.load(path)
    assert str(path) in str(caught.value)
    with pytest.raises(StoreError, match="is a folder"):
        report.load(tmp_path)


def test_record_of_one_run_names_the_result_that_it_belongs_to(tmp_path: Path) -> None:
    run = tmp_path / "themis-1"
    run.mkdir()
    for file in (run / "header.json", run / "result.json", tmp_path / "result.json"):
        file.write_text('{"method": "themis"}')
    with pytest.raises(StoreError, match=re.escape(f"it is the record of one run; the result of the whole command is {tmp_path}")):
        report.load(run / "result.json")


def test_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(StoreError, match="cannot write the report to"):
        report.write(results.ordinary(), tmp_path / "file" / "report.html")
    with pytest.raises(StoreError, match="it is a folder"):
        report.write(results.ordinary(), tmp_path, "html")
    with pytest.raises(InvalidArgument, match="not a result of Evenhand"):
        report.write({}, tmp_path / "report.html")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0, "0%"), (1.0, "100%"), (0.0777, "7.77%"), (0.00003, "0.003%"), (0.99999, "99.999%"), (None, "not measured")]
)
def test_small_shares_do_not_vanish(share: float | None, shown: str) -> None:
    assert words.percent(share) == shown


def test_values_that_differ_look_different() -> None:
    assert words.different(1, "1") == ("1", "'1'")
    assert words.different("a\u200b", "a") == ("a\\u200b", "a")
    assert words.different(None, "") == ("(missing)", "“” (empty)")
