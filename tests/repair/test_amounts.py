"""Models that say amounts are mended too: by the tolerance, with an error in the label's unit, and kept on disk without code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.campaign.repair_comparison import RepairTerms
from evenhand.campaign.repair_trial import Effort
from evenhand.engine.subject import Subject
from evenhand.errors import MissingAbility
from evenhand.models.saving import load, save
from evenhand.oracles.amounts import AmountGap
from evenhand.repairs import REPAIRS
from evenhand.repairs.parts.case import MENDS_AMOUNTS, Case

RNG = np.random.default_rng(7)
COUNT = 500
PAY = pd.DataFrame(
    {
        "years": RNG.integers(0, 20, COUNT),
        "job": RNG.choice(["clerk", "cook", "driver"], COUNT),
        "sex": RNG.choice(["f", "m"], COUNT),
    }
)
PAY["pay"] = 2000.0 + 90 * PAY["years"] + 300 * (PAY["job"] == "driver") + 400 * (PAY["sex"] == "m") + RNG.normal(0, 60, COUNT)
DATA = eh.open(PAY, label="pay", protected=["sex"])
CODES = DATA.rows
CONTROLS = ("no_change", "refit_again", "add_random_rows", "constant_answer")


def regression() -> Any:
    from sklearn.linear_model import LinearRegression

    return eh.wrap(LinearRegression().fit(CODES, PAY["pay"]), DATA, takes="codes")


def case() -> Case:
    return Case.of(Subject(DATA.domain, regression(), DATA.rows, np.asarray(DATA.amounts)), DATA.rows[:60])  # type: ignore[arg-type]


def rate(model: Any) -> float:
    return float(AmountGap(tolerance=100.0).judge(DATA.rows, DATA.domain, model).unfair.mean())


@pytest.mark.parametrize("name", [*MENDS_AMOUNTS, *CONTROLS])
def test_what_mends_amounts_says_amounts_and_is_read_back_from_disk(name: str, tmp_path: Path) -> None:
    made = REPAIRS.entries()[name].make().mend(case(), np.random.default_rng(0))
    said = made.model.scores(DATA.rows)
    assert said.shape == (len(DATA.rows), 1)
    assert abs(float(said.mean()) - PAY["pay"].mean()) < 300
    again = load(save(made.model, tmp_path / "kept"), DATA.domain)
    assert np.allclose(again.scores(DATA.rows), said, rtol=1e-6)


@pytest.mark.parametrize("name", sorted(set(REPAIRS.entries()) - {*MENDS_AMOUNTS, *CONTROLS}))
def test_what_does_not_names_what_does(name: str) -> None:
    with pytest.raises(MissingAbility, match=r"says amounts; what mends amounts: retrain_alone, .*equal_means"):
        REPAIRS.entries()[name].make().mend(case(), np.random.default_rng(0))


def test_twins_are_treated_alike_by_construction_where_that_is_said() -> None:
    assert rate(regression()) == 1.0
    for name in ("marginalise", "drop_protected", "hide_protected", "constant_answer"):
        assert rate(REPAIRS.entries()[name].make().mend(case(), np.random.default_rng(0)).model) == 0.0


def test_equal_means_are_equal_and_learning_from_averaged_twins_narrows_the_gap() -> None:
    shifted = REPAIRS.entries()["equal_means"].make().mend(case(), np.random.default_rng(0)).model.scores(DATA.rows)[:, 0]
    women = (PAY["sex"] == "f").to_numpy()
    assert abs(shifted[women].mean() - shifted[~women].mean()) < 1e-6
    taught = REPAIRS.entries()["retrain_twins"].make(share=3.0).mend(case(), np.random.default_rng(0)).model
    before, after = (AmountGap(tolerance=0.0).judge(DATA.rows, DATA.domain, each).gap.mean() for each in (regression(), taught))
    assert after < 0.9 * before


def test_the_comparison_judges_by_the_tolerance_and_in_the_unit(tmp_path: Path) -> None:
    options = eh.RepairOptions(
        seeds=3,
        effort=Effort(candidates=300, judge_candidates=200, rate_rows=200),
        terms=RepairTerms(goal="groups"),
        oracle="amounts:tolerance=100",
    )
    result = eh.repair(regression(), DATA, repairs=["equal_means", "adjust_thresholds"], options=options)
    assert result["no_change"].means["if_o"].estimate == 1.0
    assert result["marginalise"].means["if_o"].estimate == 0.0
    assert 60 < result["no_change"].means["mean_error"].estimate < 100
    assert result["equal_means"].means["mean_gap"].estimate < 0.2 * result["no_change"].means["mean_gap"].estimate
    assert result["equal_means"].verdict == "better, at a price"  # the true amounts of the groups differ
    assert result["equal_means"].reason.startswith("Gap of means fell, but Gap of errors")
    assert result["constant_answer"].verdict == "alarm"
    assert "thresholds are for two classes" in result.refused["adjust_thresholds"]
    assert "Mean error" in result.summary()
    assert "nan" not in result.summary().lower().split()
    page = result.report(tmp_path / "page.html").read_text()
    assert "Gap of means" in page
    assert "explained share of the variance" in page


def test_a_mean_error_that_is_not_shown_is_a_price() -> None:
    options = eh.RepairOptions(
        seeds=3,
        effort=Effort(candidates=200, judge_candidates=100, rate_rows=100),
        terms=RepairTerms(goal="groups", most_error=1.0, tolerance=1.0),
    )
    line = eh.repair(regression(), DATA, repairs=["equal_means"], options=options)["equal_means"]
    assert line.verdict == "better, at a price"
    assert "a mean error of at most 1" in line.reason


def test_a_callable_is_mended_as_far_as_answers_allow() -> None:
    model = eh.wrap(lambda frame: 2000.0 + 90 * frame["years"] + 400 * (frame["sex"] == "m"), DATA)
    options = eh.RepairOptions(seeds=2, effort=Effort(candidates=200, judge_candidates=100, rate_rows=100))
    result = eh.repair(model, DATA, repairs=["equal_means", "retrain_twins"], options=options)
    assert "equal_means" in {line.name for line in result.lines}
    assert "cannot be fitted again" in result.refused["retrain_twins"]
