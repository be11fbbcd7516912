"""Means, ranks, critical differences and duels; and the page that shows them."""

import re

import numpy as np
import pytest

from evenhand.campaign.standings import Standings, averaged_curve
from evenhand.errors import InvalidArgument
from evenhand.report import render, write
from evenhand.statistics.ranking import duel, mean_interval, ranking, ranks

NASTY = '<script>alert("x")</script>'


def record(method, dataset, seed, pace, **more):
    curve = {"model_rows": [10, 100], "candidates": [5, 50], "findings": [1, pace], "natural_valid": [1, pace], "cpu_seconds": [0.1, 1.0]}
    figures = {"findings_per_cpu_second": 2.0 * pace, "natural_valid_per_cpu_second": pace, "natural_share": 0.5, "findings": 2 * pace}
    told = {"rules": pace // 10, "rules_total": 20, "leaf_pairs": 0, "leaf_pairs_possible": 0, "valid_share": 1.0, "unseen": 0.1}
    place = {"method": method, "dataset": dataset, "protected": "sex", "model": "mlp", "seed": seed, "date": "2026-01-01"}
    base = {"id": f"{method}{dataset}{seed}", "status": "done", "reason": "", "gradients": "own", "budget": {"candidates": 100}}
    return {**base, **place, **figures, **told, "curve": curve, **more}


@pytest.fixture
def records():
    paces = {"evenhand": (90, 80, 70), "chains": (60, 85, 50), "themis": (1, 2, 3)}
    made = [record(m, f"t{at}", seed, pace + seed) for m, each in paces.items() for at, pace in enumerate(each) for seed in (0, 1)]
    failed = {
        "id": "",
        "method": NASTY,
        "dataset": "t0",
        "protected": "sex",
        "model": "mlp",
        "seed": 0,
        "status": "failed",
        "reason": NASTY,
    }
    return [*made, failed]


def test_the_critical_difference_is_the_published_one():
    # Demsar 2006: four classifiers on fourteen data sets, q = 2.569, CD = 1.25.
    scores = np.random.default_rng(0).random((14, 4))
    assert ranking(scores).critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=2e-3)


def test_ranks_share_ties_and_the_largest_is_first():
    assert ranks(np.array([[3.0, 1.0, 3.0]])).tolist() == [[1.5, 3.0, 1.5]]
    same = ranking(np.ones((5, 3)))
    assert same.p_value == 1.0
    assert ranking(np.ones((1, 3))).p_value is None
    with pytest.raises(InvalidArgument, match="complete table"):
        ranking(np.array([[1.0, np.nan]]))


def test_a_mean_has_students_interval():
    found = mean_interval([1.0, 2.0, 3.0])
    assert (found.mean, found.low, found.high) == pytest.approx((2.0, 2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5))
    assert mean_interval([4.0]).low is None


def test_a_duel_is_paired():
    found = duel([2, 3, 4, 5, 6, 7], [1, 1, 1, 1, 1, 7])
    assert (found.wins, found.ties, found.losses) == (5, 1, 0)
    assert found.p_value == pytest.approx(2 / 2**5)
    assert duel([1, 1], [1, 1]).p_value == 1.0


def test_wins_are_counted_alone_and_failures_are_never_zeros(records):
    told = Standings(tuple(records)).as_dict()
    ranked = told["rankings"]["natural_valid_per_cpu_second"]["mlp"]
    assert ranked["wins"] == {"evenhand": 2, "chains": 1, "themis": 0, NASTY: 0}
    assert ranked["left_out"] == [NASTY]
    assert ranked["mean_ranks"]["themis"] == 3.0
    assert {each["other"] for each in ranked["duels"]} == {"chains", "themis"}
    assert told["quality"][NASTY]["findings"] is None
    assert told["troubles"][0]["runs"] == 1
    cell = next(c for c in told["cells"] if c["method"] == "evenhand" and c["dataset"] == "t0")
    assert cell["figures"]["natural_valid_per_cpu_second"]["mean"] == 90.5


def test_curves_are_averaged_where_all_seeds_still_run():
    runs = [{"curve": {"model_rows": [10, 100], "findings": [0, n], "natural_valid": []}} for n in (10, 30)]
    line = averaged_curve(runs)
    assert line["model_rows"][-1] == pytest.approx(100)
    assert line["findings"][-1] == pytest.approx(20)
    assert averaged_curve([]) is None


def test_the_page_is_self_contained_and_escaped(records, tmp_path):
    page = write(Standings(tuple(records)).as_dict(), tmp_path / "arena.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)
    assert "url(" not in page
    assert "evenhand leads in natural, valid findings per CPU-second on 2 of 3 grounds" in page
    assert "failed</strong> and is not counted as having found nothing" in page


def test_a_page_is_made_of_next_to_nothing(records):
    assert "Nobody is ahead alone" in render(Standings((records[-1],)).as_dict())
    with pytest.raises(InvalidArgument, match="runs: field required"):
        render({"evenhand_result": 1})
