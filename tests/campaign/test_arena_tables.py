"""The arena's small result file and the tables that the documents show."""

import importlib.util
import json
from pathlib import Path

import pytest

from evenhand.campaign.standings import Standings

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("arena_tables", ROOT / "benchmarks" / "parts" / "arena_tables.py")
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)


def record(method, dataset, model, seed, pace):
    place = {"method": method, "dataset": dataset, "protected": "sex", "model": model, "seed": seed, "date": "2026-01-01"}
    figures = {"natural_valid_per_cpu_second": pace, "findings_per_cpu_second": pace, "rules": pace // 10, "rules_total": 20}
    figures |= {"mass_covered": pace / 100, "natural_valid_per_thousand_rows": pace, "natural_by_classifier": 0.5, "natural_share": 0.25}
    figures |= {"ended_early": method == "chains", "cpu_seconds_used": 0.4}
    return {**place, **figures, "id": "x", "status": "done", "reason": "", "budget": {"candidates": None, "cpu_seconds": 1.5}}


@pytest.fixture
def result():
    paces = {"evenhand": 90, "themis": 10, "chains": 50}
    records = [record(m, d, f, s, pace + s) for d in ("adult", "bank") for f in ("mlp", "svm") for m, pace in paces.items() for s in (0, 1)]
    missing = {"method": "adf", "dataset": "adult", "protected": "sex", "model": "svm", "seed": 0, "status": "failed", "reason": "no way"}
    return tables.compact(Standings((*records, missing)).as_dict(), {"command": "python arena"}, [*records, missing])


def test_the_small_file_has_what_the_tables_need(result):
    again = json.loads(json.dumps(result))
    assert tables.readme_table(again) == tables.readme_table(result)
    assert again["rankings"]["rules"]["all"]["wins"] == {"evenhand": 4}


def test_the_readme_ranks_every_method_and_says_how_it_was_measured(result):
    text = tables.readme_table(result)
    assert "| `evenhand` | 1.0 (2) / 1.0 (2) / 1.0 (2) | 1.0 (2) / 1.0 (2) / 1.0 (2) |" in text
    assert text.index("`evenhand`") < text.index("`chains`") < text.index("`themis`")
    assert "| `adf` | – / – / – | – / – / – |" in text
    assert "`python arena`, 2026-01-01, 2 seeds (0, 1), 1.5 cpu seconds for each run" in text


def test_the_page_marks_the_best_and_tells_failures(result):
    text = tables.page_tables(result)
    assert "| adult sex mlp (of 20) | **9** ±0 | 5 ±0 | 1 ±0 |" in text
    assert "- `adf` failed (1 runs): no way" in text
    assert "| `chains` | – | 50% | – | 25% | – | – | – | 50.5 | 4 of 4, after 0.4 s |" in text.replace("8 of 8", "4 of 4")
    assert "ahead of every other method on 4 of 4 grounds, 1.8 times the best other in the median." in text


def test_lost_grounds_are_told(result):
    result["grounds"][0]["means"]["chains"]["mass_covered"] = [0.99, None, None]
    told = tables.survives(result)
    assert "behind on adult sex mlp (to `chains`, 0.91)" in told


def test_only_what_stands_between_the_markers_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n")
    tables.between(page, "new")
    assert page.read_text() == f"before\n{tables.BEGIN}\nnew\n{tables.END}\nafter\n"
    page.write_text("nothing")
    with pytest.raises(SystemExit, match="lacks the markers"):
        tables.between(page, "new")


@pytest.mark.parametrize("document", ["README.md", "docs/arena.md"])
def test_the_documents_have_the_markers_once(document):
    text = (ROOT / document).read_text()
    assert text.count(tables.BEGIN) == text.count(tables.END) == 1
