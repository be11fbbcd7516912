"""Several results over time: what is shown of the steps, whether the newest is worse, and how rarely chance alone blames it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import report
from evenhand.errors import DataError, InvalidArgument
from evenhand.verbs.compare_series import SeriesPoint, SeriesTerms, series_of_results, steps_of

from ..command import evenhand

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


def told(unfair: int, n: int = 2_000, rows: list[int] | None = None, **header: Any) -> dict[str, Any]:
    share = unfair / n
    rate = {"estimate": share, "low": max(0, share - 0.01), "high": share + 0.01, "n": n, "unfair": unfair, "population": "data",
            "confidence": 0.95, "whole": rows is not None}  # fmt: skip
    head = {"verb": "scan", "date": "2026-05-01", "data": {"name": "loans", "digest": "d", "rows": n}, "domain": {"protected": ["sex"]},
            "model": {"digest": f"m{unfair}"}, "oracle": "flip", "medium": {"kind": "table"}} | header  # fmt: skip
    return {"evenhand_result": 2, "verb": "scan", "header": head, "outcome": "violation", "reason": "", "witnesses": [],
            "body": {"rates": [rate], "unfair_rows": rows}}  # fmt: skip


def test_the_newest_is_judged_against_the_first_and_the_one_before() -> None:
    made = eh.compare_over_time([told(40), told(45), told(160)])
    assert made.outcome == "violation"
    assert "above the first" in made.reason
    assert [step.since_before and step.since_before.verdict for step in made.steps] == [None, "not shown", "worse"]
    better = eh.compare_over_time([told(160), told(45), told(40)])
    assert [step.since_first and step.since_first.verdict for step in better.steps] == [None, "better", "better"]
    assert better.outcome == "inconclusive"  # a little worse than the one before is not ruled out
    assert eh.compare_over_time([told(160), told(100), told(20)]).outcome == "pass"
    assert "over 3 results" in made.summary()
    assert len(made.frame()) == 3


def test_a_model_that_did_not_change_is_not_held_to_be_worse() -> None:
    """A nightly look at one model and one table passes, however few rows there are; other data is another matter."""
    rows = list(range(40))
    same = eh.compare_over_time([told(40, rows=rows)] * 3)
    assert same.outcome == "pass"
    assert "same model" in same.reason
    assert "each of the 2,000 rows is judged as before" in same.reason
    after_a_change = eh.compare_over_time([told(160, rows=list(range(160))), told(40, rows=rows), told(40, rows=rows)])
    assert (after_a_change.outcome, list(after_a_change.newest)) == ("pass", ["the first"])
    other = told(40, rows=rows, data={"digest": "e"})
    assert eh.compare_over_time([told(40, rows=rows), told(40, rows=rows), other]).outcome == "inconclusive"


@pytest.mark.parametrize(("n", "expected"), [(2_000, "inconclusive"), (20_000, "pass")])
def test_drawn_rows_of_one_model_pass_only_where_they_are_enough_for_the_tolerance(n: int, expected: str) -> None:
    """A digest may miss a change, so that as many clean rows are needed as bound what it may have missed."""
    drawn = {"seed": 7, "evenhand": "1", "domain": {"protected": ["sex"], "digest": "x"}}
    assert eh.compare_over_time([told(40, n, **drawn)] * 3).outcome == expected
    assert (
        eh.compare_over_time([told(40, n, **drawn), told(40, n, **drawn), told(40, n, **drawn, model={"digest": "new"})]).outcome != "pass"
    )


def test_a_digest_that_stayed_hides_no_change() -> None:
    """A digest of the answers to fixed rows does not see every change: what was measured counts."""
    before, after = told(40, rows=list(range(40)), model={"digest": "m"}), told(160, rows=list(range(160)), model={"digest": "m"})
    assert eh.compare_over_time([before, before, after]).outcome == "violation"
    assert eh.compare(before, after).outcome == "violation"
    assert eh.compare(before, before).outcome == "pass"
    moved = told(40, rows=list(range(1, 41)), model={"digest": "m"})
    assert eh.compare(before, moved).outcome == "inconclusive"


def test_simulated_models_are_seldom_wrongly_blamed_or_passed() -> None:
    """Of each subject whose truth is known a few series; benchmarks/series.py does many, with its table of errors."""
    from parts.simulated_series import SUBJECTS, SeriesPlan, simulated

    rng, plan, wrong, right = np.random.default_rng(5), SeriesPlan(3, 2_000, True), [], []
    for name, rates in SUBJECTS.items():
        for _ in range(25):
            known = simulated(rates(plan), plan, rng)
            outcome, is_worse = series_of_results(known.contents, "abc", SeriesTerms(0.95, 0.01)).outcome, known.rise > 0.01 + 1e-9
            if outcome != "inconclusive":
                (right if (outcome == "violation") == is_worse else wrong).append(name)
    assert len(wrong) <= 0.05 * 25 * len(SUBJECTS)
    assert right.count("became fair") == 25
    assert right.count("jumped") >= 20


def test_rows_that_were_all_asked_are_compared_one_by_one() -> None:
    """Thirty rows that only became worse are shown, where two samples of this size would show nothing."""
    before, after = list(range(40)), list(range(70))
    paired = eh.compare_over_time([told(40, rows=before), told(40, rows=before), told(70, rows=after)])
    apart = eh.compare_over_time([told(40), told(40), told(70)])
    assert paired.steps[2].since_before.low > 0.004
    assert apart.steps[2].since_before.low < paired.steps[2].since_before.low


def test_chance_alone_is_seldom_called_worse() -> None:
    rng, blamed = np.random.default_rng(0), 0
    for _ in range(300):
        points = [SeriesPoint("", "", "", int(count), 1_000) for count in rng.binomial(1_000, 0.05, 8)]
        steps = steps_of(points, 0.95)
        blamed += any("worse" in (step.since_before.verdict, step.since_first.verdict) for step in steps[1:])
    assert blamed <= 0.06 * 300


def test_a_series_is_of_one_thing_and_says_where_its_data_changed() -> None:
    with pytest.raises(DataError, match="different protected columns"):
        eh.compare_over_time([told(1), told(2), told(3, domain={"protected": ["race"]})])
    with pytest.raises(InvalidArgument, match="at least two"):
        eh.compare_over_time([told(1)])
    changed = eh.compare_over_time([told(40), told(40), told(40, data={"name": "loans", "digest": "e"})])
    assert "may be theirs and not the model's" in changed.summary()


def test_the_command_leaves_a_page_with_the_trend(tmp_path) -> None:
    files = []
    for at, unfair in enumerate((40, 45, 160)):
        files.append(tmp_path / f"{at}.json")
        files[-1].write_text(json.dumps(told(unfair)))
    done = evenhand("compare", *map(str, files), "--folder", str(tmp_path / "out"), "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    content = json.loads(done.stdout)
    page = (tmp_path / "out" / "comparison.html").read_text()
    assert 'id="over-time"' in page
    assert "Since the one before" in page
    assert "## Over time" in report.render(content, "md")
    mixed = evenhand("compare", *map(str, files[:2]), "model.onnx", cwd=tmp_path)
    assert mixed.returncode == 2
    assert "'model.onnx' is no result" in mixed.stderr


def read_as(unfair: int, reading: str) -> dict[str, Any]:
    return told(unfair, details={"reading": reading})


def test_a_comparison_says_how_the_answers_of_each_were_read() -> None:
    alike = eh.compare(read_as(40, "it says a label"), read_as(45, "it says a label"))
    assert alike.header.details["reading"] == "it says a label"
    apart = eh.compare(read_as(40, "it says a label"), read_as(45, "it says a logit"))
    assert apart.header.details["reading"] == "first: it says a label; second: it says a logit"
    series = eh.compare_over_time([read_as(40, "it says a label"), read_as(45, "it says a logit"), told(41)], names=["a", "b", "c"])
    assert series.header.details["reading"] == "a: it says a label; b: it says a logit"


def test_two_results_say_whether_the_model_changed() -> None:
    assert "The model changed: m40 before, m45 after." in eh.compare(told(40), told(45)).summary()
    assert "changed" not in eh.compare(told(40), told(40)).summary()
