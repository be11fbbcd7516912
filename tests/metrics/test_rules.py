"""Rules for where unfair treatment is: the planted place is found, chance patterns are not, and odd tables are survived."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import evenhand as eh
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.measures.rules import JudgedRows, RuleSettings, mine_rules
from evenhand.report import render
from evenhand.report.sections.concentration import concentration

DOMAIN = TabularDomain(
    (
        Column("sex", "category", ("f", "m")),
        Column("marital status", "category", ("married", "single", "divorced", "<b>widowed</b>")),
        Column("hours", "integer", low=0, high=99),
        Column("gain", "integer", low=0, high=50_000),
        Column("city", "category", tuple(f"city {place}" for place in range(300)), missing=0.1),
        Column("score", "real", low=-2.0, high=2.0, missing=0.3),
    ),
    ("sex",),
    Label("y", (0, 1), (1,)),
)


def people(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = DOMAIN.sample(n, rng)
    rows[:, 3] = np.where(rng.random(n) < 0.8, 0, rows[:, 3])
    return rows


def planted(rows: np.ndarray, seed: int = 1) -> np.ndarray:
    """Married, 41 to 60 hours, no gain: 63 % flip; elsewhere 2 %."""
    inside = (rows[:, 1] == 0) & (rows[:, 2] >= 41) & (rows[:, 2] <= 60) & (rows[:, 3] == 0)
    return np.random.default_rng(seed).random(len(rows)) < np.where(inside, 0.63, 0.02)


def mined(rows: np.ndarray, unfair: np.ndarray, seed: int = 2, **settings: object):
    return mine_rules(JudgedRows(rows, unfair, "data"), DOMAIN, np.random.default_rng(seed), RuleSettings(**settings))


def test_a_planted_rule_is_found_in_words_and_with_its_share() -> None:
    rows = people(10_000)
    rules = mined(rows, planted(rows)).rules
    first = rules[0]
    assert "marital status = married" in first.text
    assert "hours" in first.text
    assert "gain = 0" in first.text
    assert first.share.low < 0.63 < first.share.high or first.share.estimate > 0.5
    assert first.others < 0.05
    assert first.p_value < 1e-6
    assert f"n = {first.share.n:,}" in first.sentence


def test_figures_come_from_rows_that_the_search_did_not_see() -> None:
    rows = people(4_000)
    found = mined(rows, planted(rows))
    assert found.tree is not None
    assert found.tree.n == 2_000
    assert all(rule.share.n <= 2_000 for rule in found.rules)


def test_no_rule_is_told_twice() -> None:
    """A slanted border is described by several ranges, which the last step moves towards one another."""
    for seed in (0, 1, 4):
        rng = np.random.default_rng(seed)
        rows = DOMAIN.sample(3000, rng)
        rows[:, 3] = np.floor(rng.lognormal(9, 0.5, len(rows))).clip(0, 50_000)
        slanted = np.abs(rows[:, 2] / 40 + (rows[:, 3] - 8000) / 4000) < 0.7
        texts = [rule.text for rule in mined(rows, rng.random(len(rows)) < np.where(slanted, 0.7, 0.03), seed).rules]
        assert texts
        assert len(texts) == len(set(texts))


def test_pure_chance_gives_no_rule_more_often_than_it_may() -> None:
    alarms = 0
    for seed in range(60):
        rows = people(600, seed)
        unfair = np.random.default_rng(1_000 + seed).random(600) < 0.15
        alarms += bool(mined(rows, unfair, seed, longest=2, beam=8, most=3).rules)
    assert alarms <= 8  # 5 % of 60 are 3; 9 or more have a chance below 1 %


@pytest.mark.parametrize(
    ("unfair", "told"),
    [
        (np.zeros(200, dtype=bool), "nobody"),
        (np.ones(200, dtype=bool), "everybody"),
        (np.arange(200) == 7, "too few"),
        (np.zeros(0, dtype=bool), "nobody was judged"),
        (np.arange(200) != 7, "too few"),
    ],
)
def test_what_cannot_be_described_is_said(unfair: np.ndarray, told: str) -> None:
    found = mined(people(len(unfair)), unfair)
    assert told in found.note
    assert found.rules == ()


def test_influential_columns_come_first_and_noise_is_not_significant() -> None:
    rows = people(6_000)
    found = mined(rows, planted(rows)).influences
    assert {found[0].column, found[1].column} == {"marital status", "hours"}
    assert all(each.p_value > 0.01 for each in found if each.column in ("city", "score"))


def test_missing_cells_can_be_a_rule() -> None:
    rows = people(4_000)
    unfair = np.isnan(rows[:, 5]) & (np.random.default_rng(0).random(4_000) < 0.5)
    assert mined(rows, unfair).rules[0].text == "score is missing"


def test_a_verdict_is_needed_for_every_row() -> None:
    with pytest.raises(InvalidArgument, match="one verdict per row"):
        JudgedRows(people(3), np.ones(2, dtype=bool), "data")


def test_equal_inputs_give_equal_rules() -> None:
    rows = people(2_000)
    assert mined(rows, planted(rows)).as_dict() == mined(rows, planted(rows)).as_dict()


@pytest.fixture(scope="module")
def scanned() -> eh.scanning.ScanResult:
    class Table:
        name, domain, rows = "people", DOMAIN, people(3_000)
        labels = np.zeros(3_000, dtype=np.intp)

    def model(rows: np.ndarray) -> np.ndarray:
        biased = (rows[:, 1] == 3) & (rows[:, 2] > 50) & (rows[:, 0] == 1)
        return np.where(biased, 0.9, 0.1)

    return eh.scan(eh.wrap(model, DOMAIN, takes="codes"), Table(), methods=["themis"], budget=eh.Budget(candidates=500))


def test_a_scan_says_where_and_the_page_shows_it_escaped(scanned: eh.scanning.ScanResult) -> None:
    assert scanned.where is not None
    assert "<b>widowed</b>" in scanned.where.rules[0].text
    assert scanned.where.worst["gap"] == pytest.approx(0.8, abs=1e-6)
    page = render(scanned.as_dict())
    HTMLParser().feed(page)
    assert "Where it concentrates" in page
    assert "<b>widowed" not in page
    assert "&lt;b&gt;widowed" in page


def test_the_summary_and_markdown_name_the_rule(scanned: eh.scanning.ScanResult) -> None:
    assert "Where it concentrates" in scanned.summary()
    assert "## Where it concentrates" in render(scanned.as_dict(), "md")


def test_a_result_without_rules_has_no_section(scanned: eh.scanning.ScanResult) -> None:
    from evenhand.report.record import read

    told = scanned.as_dict()
    without = told | {"body": told["body"] | {"where": None}}
    assert concentration(read(without)) is None
    assert "Where it concentrates" not in render(without)
