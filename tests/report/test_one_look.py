"""One style sheet, one place that draws, and a report that asks, draws by chance and judges nothing."""

from __future__ import annotations

import ast
import base64
import re
from pathlib import Path
from typing import Any

import pytest
import sample_results as results

import evenhand.report
from evenhand import report

HOME = Path(evenhand.report.__file__).parent
SOURCES = sorted(HOME.rglob("*.py"))
OTHERS = {"coco_export.py", "scene_sheets.py", "study_page.py"}  # what scenes leave beside a report: annotations, sheets, a study of people
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")


def test_only_the_chart_package_writes_svg_and_only_one_sheet_styles() -> None:
    assert {file.parent.name for file in SOURCES if "<svg" in file.read_text(encoding="utf-8")} == {"charts"}
    assert [file.name for file in HOME.rglob("*.css")] == ["style.css"]
    pages = [file for file in HOME.rglob("*.j2") if "<style" in file.read_text(encoding="utf-8")]
    assert {file.name for file in pages} >= {"page.html.j2"}
    assert all(
        re.findall(r"<style.*?</style>", file.read_text(encoding="utf-8"), re.DOTALL) == ["<style>{{ style }}</style>"] for file in pages
    )
    assert not [file for file in HOME.rglob("*.j2") if "style=" in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("file", [file for file in SOURCES if file.name not in OTHERS], ids=lambda file: file.stem)
def test_a_report_asks_no_model_and_draws_no_random_number(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    called = {node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)}
    assert not called & {"scores", "predict", "activations", "gradient", "detections", "judge", "default_rng", "sample", "decide"}
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [name for name in names if re.match(r"evenhand\.(models|methods|engine|measures|repairs|campaign|verbs|synthesis)", name)]


def album(pictures: dict[str, str]) -> dict[str, Any]:
    told = results.ordinary()
    told["header"]["medium"] = {"kind": "album", "digest": "1"}
    told["witnesses"] = [results.witness(pictures=pictures)]
    return told


def test_a_page_of_large_pictures_stays_below_eight_megabytes() -> None:
    told = album({})
    heavy = "data:image/png;base64," + "A" * 2_000_000
    told["witnesses"] = [results.witness(pictures={"person": heavy, "twin": heavy}) for _ in range(4)]
    page = report.render(told, "html")
    assert len(page) < 8_000_000
    assert page.count(heavy) == 2
    assert page.count("Its pictures are left out to keep this page small") == 3


def test_pictures_beside_the_result_are_taken_into_the_page(tmp_path: Path) -> None:
    (tmp_path / "witnesses").mkdir()
    (tmp_path / "witnesses" / "a-person.png").write_bytes(PIXEL)
    (tmp_path / "b.png").write_bytes(PIXEL)
    page = report.write(album({"person": "a-person.png", "twin": "b.png"}), tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count(f'<img src="data:image/png;base64,{base64.b64encode(PIXEL).decode()}"') == 2
    assert "Evidence: pairs of pictures" in page


@pytest.mark.parametrize(
    "name", ["../b.png", "/etc/hostname", "http://example.org/x.png", "missing.png", "text.png", "data:text/html,x", ""]
)
def test_a_picture_leads_nowhere_else(name: str, tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(PIXEL)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "text.png").write_text("no picture")
    page = report.write(album({"person": name}), tmp_path / "runs" / "report.html").read_text(encoding="utf-8")
    assert "<img" not in page


def test_studies_of_any_shape_are_told() -> None:
    told = album({})
    share = {"estimate": 0.25, "low": 0.2, "high": 0.3, "n": 240, "confidence": 0.95}
    leaning = {
        "net": {"no": 0.26, "yes": -0.26},
        "low": {"no": 0.2, "yes": -0.3},
        "high": {"no": 0.3, "yes": -0.2},
        "along": "tone <darker>",
    }
    figures = {"leanings": [leaning], "unfair_pictures": {"tone": share}, "pairs": 240, "nothing": {}, "odd": [[1, 2], "x"]}
    checks = [{"name": "tone", "outcome": "violation", "message": "it leans"}]
    told["body"]["studies"] = {
        "leaning": {"figures": figures, "sentences": ["it leans"], "checks": checks},
        "new <b>": {"figures": {"a": 1}},
    }
    page = report.render(told)
    for said in ("Which way the answers lean", "−26.00%", "20.00% to 30.00%", "tone &lt;darker&gt;", "New &lt;b&gt;", "✕ violation"):
        assert said in page, said
    assert "leans" in report.render(told, "md")
