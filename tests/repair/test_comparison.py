"""A repair is called better only when it is; chance, triviality and one answer for everybody are called by their names."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaign.paired_differences import Design, Range, change_of, mean_of
from evenhand.campaign.repair_comparison import RepairRole, RepairTerms, compare
from evenhand.campaign.repair_trial import Effort, Material, SeedOutcome, split
from evenhand.engine.header import Header
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.measures.repair_measures import amounts_card
from evenhand.report import render
from evenhand.verbs.repair import ALWAYS, RepairOptions

from .tables import table, tree_subject

ROLES = {
    "no_change": RepairRole("control", False),
    "refit_again": RepairRole("control", True),
    "add_random_rows": RepairRole("control", True),
    "mine": RepairRole("repair", True),
    "marginalise": RepairRole("baseline", False),
    "constant_answer": RepairRole("baseline", False),
}
BASE = {
    "accuracy": 0.80, "worst_group_accuracy": 0.7, "if_o": 0.10, "if_r": 0.05, "still_found": 0.5, "found_anew": 0.2, "worst_gap": 0.9,
    "spd": 0.1, "aod": 0.1, "one_answer": 0.7,
}  # fmt: skip


def outcomes(mine, seeds=5, noise=0.002, **others):
    """Figures of made-up seeds: everything like the base but for what is said."""
    rng = np.random.default_rng(1)
    made = []
    for _ in range(seeds):
        figures = {name: {m: v + noise * rng.standard_normal() for m, v in BASE.items()} for name in (*ROLES, "as_given")}
        figures["mine"] |= {m: v + noise * rng.standard_normal() for m, v in mine.items()}
        figures["marginalise"] |= {"if_o": 0.0, "if_r": 0.0, "found_anew": 0.0, "accuracy": 0.79}
        figures["constant_answer"] |= {"if_o": 0.0, "if_r": 0.0, "found_anew": 0.0, "accuracy": 0.7, "one_answer": 1.0}
        for name, changed in others.items():
            figures[name] |= changed
        facts = {"seed": {"held_out": 300, "train_rows": 700, "rows_to_train": 700, "train_findings": 9, "judge_findings": 9}}
        made.append(SeedOutcome(figures, {}, facts))
    return made


DETAILS = {"train_method": "A()", "judge_method": "B()", "train_rows": 700, "held_out_rows": 300}
HEADER = Header(
    "repair", "0", "today", "", 0, {}, {"name": "people"}, {"protected": ["sex"]}, {"kind": "Tree"}, {"kind": "table"}, "", DETAILS
)


def judged(mine, **more):
    return compare(outcomes(mine, **more), ROLES, HEADER, RepairTerms())


FALLS = {"if_o": 0.02, "if_r": 0.01, "found_anew": 0.03}


def test_a_clear_fall_with_kept_accuracy_is_better():
    found = judged(FALLS, noise=0.001)
    assert found["mine"].verdict == "better"
    assert found.best.name == "mine"


def test_no_difference_is_no_evidence():
    found = judged({})
    assert found["mine"].verdict == "no evidence of improvement"
    assert found.best is None


def test_a_fall_only_among_random_inputs_is_no_evidence():
    assert judged({"if_r": 0.01}, noise=0.001)["mine"].verdict == "no evidence of improvement"


def test_a_fall_among_the_held_out_people_alone_is_no_evidence():
    found = judged({"if_o": 0.02}, noise=0.001)["mine"]
    assert found.verdict == "no evidence of improvement"
    assert "a fall of IF_r or Found by a new search is not shown" in found.reason


@pytest.mark.parametrize("seen", ["if_r", "found_anew"])
def test_a_fall_is_seen_beyond_them_in_the_whole_domain_or_by_another_method(seen):
    assert judged({"if_o": 0.02, seen: FALLS[seen]}, noise=0.001)["mine"].verdict == "better"


def test_lost_accuracy_is_a_price():
    assert judged(FALLS | {"accuracy": 0.70}, noise=0.001)["mine"].verdict == "better, at a price"


def test_a_rise_is_worse():
    assert judged({"if_o": 0.2, "found_anew": 0.4}, noise=0.001)["mine"].verdict == "worse"


def test_large_noise_hides_a_small_fall():
    assert judged({"if_o": 0.09, "found_anew": 0.18}, noise=0.02)["mine"].verdict == "no evidence of improvement"


def test_a_figure_that_was_not_measured_decides_nothing():
    found = judged(FALLS | {"found_anew": float("nan"), "if_r": float("nan")}, noise=0.001)["mine"]
    assert found.verdict == "no evidence of improvement"


def test_one_seed_shows_nothing():
    found = judged(FALLS, seeds=1)["mine"]
    assert found.verdict == "no evidence of improvement"
    assert "one seed" in found.reason


def test_a_repair_that_answers_alike_to_everybody_raises_an_alarm():
    found = judged(FALLS | {"one_answer": 1.0}, noise=0.0)
    assert found["mine"].verdict == "alarm"
    assert found["constant_answer"].verdict == "alarm"
    assert found.best is None


def test_trivial_baselines_are_named_and_held_against_the_best():
    found = judged(FALLS | {"accuracy": 0.79}, noise=0.0005, marginalise={"accuracy": 0.81})
    assert found["marginalise"].verdict == "trivial"
    assert any("no better than the trivial marginalise" in note for note in found.notes)


def test_trivial_baselines_and_random_rows_are_held_against_a_repair_by_the_goal_that_is_named():
    better, terms = FALLS | {"spd": 0.02, "aod": 0.02}, RepairTerms(goal="groups")
    others = {"marginalise": {"if_o": 0.0, "spd": 0.09}, "add_random_rows": {"if_o": 0.01, "spd": 0.09}}
    found = compare(outcomes(better, noise=0.0005, **others), ROLES, HEADER, terms)
    assert found["mine"].verdict == "better"
    assert not any("trivial" in note for note in found.notes)
    assert not found["mine"].notes
    others = {"marginalise": {"spd": 0.01, "accuracy": 0.85}, "add_random_rows": {"spd": 0.01}}
    found = compare(outcomes(better, noise=0.0005, **others), ROLES, HEADER, terms)
    assert any("trivial marginalise, in accuracy and in SPD" in note for note in found.notes)
    assert any("random rows" in note for note in found["mine"].notes)


def test_what_random_rows_do_as_well_is_noted():
    found = judged(FALLS, noise=0.001, add_random_rows={"if_o": 0.01})
    assert any("random rows" in note for note in found["mine"].notes)


def test_rising_group_gaps_are_noted():
    assert any("SPD rose" in note for note in judged(FALLS | {"spd": 0.4}, noise=0.001)["mine"].notes)


def test_the_front_holds_what_nothing_beats():
    found = judged(FALLS | {"accuracy": 0.85}, noise=0.0)
    assert found["mine"].on_front
    assert found["marginalise"].on_front
    assert not found["refit_again"].on_front


def test_intervals_allow_for_overlapping_training_rows():
    before, after = np.zeros(5), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    alone, shared = (change_of(before, after, Design(ratio)) for ratio in (0.0, 0.5))
    from scipy.stats import ttest_1samp

    assert alone.p_value == pytest.approx(ttest_1samp(after, 0).pvalue)
    assert shared.p_value > alone.p_value
    assert shared.mean.high - shared.mean.low > alone.mean.high - alone.mean.low


def steady(rng):
    return 0.01 * rng.standard_normal()


def two_humps(rng):
    """A search that either explodes or does not, whatever was repaired."""
    return rng.choice([-0.08, 0.4])


@pytest.mark.slow
@pytest.mark.parametrize("noise", [steady, two_humps])
def test_false_alarms_stay_below_the_level(noise):
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        made = outcomes({}, seeds=5, noise=0.0)
        for outcome in made:
            for figures in outcome.figures.values():
                for name in ("if_o", "if_r", "found_anew"):
                    figures[name] = max(0.0, figures[name] + noise(rng))
        hits += compare(made, ROLES, HEADER, RepairTerms())["mine"].verdict.startswith(("better", "worse"))
    assert hits <= 0.05 * 200


def test_a_fall_to_a_tenth_is_shown_though_what_was_before_varies():
    made = outcomes({}, seeds=5, noise=0.0)
    for outcome, before in zip(made, (0.5, 0.15, 0.3, 0.2, 0.45), strict=True):
        for name, share in (("refit_again", before), ("mine", 0.1 * before)):
            outcome.figures[name] |= {"if_o": share, "found_anew": share, "if_r": share}
    assert compare(made, ROLES, HEADER, RepairTerms())["mine"].verdict == "better"


def test_the_page_fetches_nothing_and_escapes_names():
    found = judged(FALLS)
    page = render(replace(found, header=replace(HEADER, data={"name": "<script>x</script>"}), refused={"<b>": "<i>"}).as_dict())
    assert "<script" not in page
    assert "<b>" not in page.split("</style>")[1].split("not possible")[0].split("<tbody>")[-1] or "&lt;b&gt;" in page
    assert not re.search(r"(src|href)=\"https?:", page)
    assert "<svg" in page


def test_json_and_frame_hold_every_figure():
    found = judged(FALLS)
    content = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert {line["name"] for line in content["body"]["repairs"]["lines"]} == {"as_given", *ROLES}
    assert len(found.frame()) == 5 * 7 * len(BASE)


DATA = table(200)
QUICK = RepairOptions(
    train_method="themis", judge_method="chains", seeds=2, effort=Effort(candidates=200, judge_candidates=100, rate_rows=100)
)


@pytest.mark.slow
def test_a_whole_comparison_has_controls_and_baselines_and_leaves_the_model_alone(tmp_path):
    model = tree_subject(DATA).model
    before = model.fingerprint()
    found = eh.repair(model, DATA, repairs=["retrain_twins"], options=QUICK)
    names = {line.name for line in found.lines}
    assert {*ALWAYS, "retrain_twins", "as_given"} == names
    assert model.fingerprint() == before
    assert found["no_change"].means["still_found"].estimate == 1.0
    assert found["marginalise"].means["if_o"].estimate == 0.0
    page = found.report(tmp_path / "page.html")
    assert "retrain_twins" in page.read_text(encoding="utf-8")
    again = eh.repair(model, DATA, repairs=["retrain_twins"], options=QUICK)
    assert again.frame().equals(found.frame()), "the same seeds must give the same figures"


def test_a_model_that_cannot_be_fitted_gets_what_is_possible_and_reasons_for_the_rest():
    model = eh.wrap(lambda frame: np.where(frame["sex of person"] == "x", "grant", "deny"), DATA.domain, takes="frame")
    found = eh.repair(model, DATA, repairs=["retrain_twins", "adjust_thresholds"], options=QUICK)
    assert "cannot be fitted again" in found.refused["retrain_twins"]
    assert "only says labels" in found.refused["adjust_thresholds"]
    assert found["marginalise"].verdict in ("trivial", "alarm")
    assert any("may have learned from" in note for note in found.notes)


def test_twins_are_never_on_both_sides_of_the_split():
    under = tree_subject(DATA)
    material = Material(DATA.domain, under.model, DATA.rows, DATA.labels, None, None)
    train, held = split(material, Effort(), np.random.default_rng(0))
    assert not set(DATA.domain.keys(train.rows)) & set(DATA.domain.keys(held.rows))
    assert len(train.rows) + len(held.rows) == len(DATA.rows)


def test_wrong_wishes_are_named():
    model = tree_subject(DATA).model
    with pytest.raises(UnknownName, match="retrain_twins"):
        eh.repair(model, DATA, repairs=["retrain_twin"], options=QUICK)
    with pytest.raises(InvalidArgument, match="another method"):
        eh.repair(model, DATA, options=RepairOptions("themis", "themis"))
    with pytest.raises(InvalidArgument, match="seeds"):
        RepairOptions(seeds=0)


def test_a_repair_is_judged_by_the_goal_that_is_named():
    """A gap between groups that falls is better for groups, no evidence for flips; chance is better for no goal; a floor is kept."""
    made = outcomes({"spd": 0.02}, noise=0.001)
    assert compare(made, ROLES, HEADER, RepairTerms())["mine"].verdict == "no evidence of improvement"
    found = compare(made, ROLES, HEADER, RepairTerms(goal="groups"))
    assert (found["mine"].verdict, found.best.name) == ("better", "mine")
    assert "gap between protected groups" in found.sentence
    dear = compare(made, ROLES, HEADER, RepairTerms(goal="groups", floor=0.95))
    assert dear["mine"].verdict == "better, at a price"
    assert dear.sentence.startswith("mine is better, at a price")
    assert "an accuracy of at least 95.00% is not shown" in dear.sentence
    assert compare(made, ROLES, HEADER, RepairTerms(goal="groups", floor=0.5))["mine"].verdict == "better"
    for goal in ("flips", "groups", "worst_case"):
        assert compare(outcomes({}), ROLES, HEADER, RepairTerms(goal=goal)).best is None
    narrower = outcomes({"worst_gap": 0.3}, noise=0.001)
    assert compare(narrower, ROLES, HEADER, RepairTerms(goal="worst_case"))["mine"].verdict == "better"
    with pytest.raises(UnknownName, match="goal of a repair"):
        RepairTerms(goal="profit")


def test_amounts_of_groups_that_become_equal_while_more_people_s_own_amount_moves_have_a_price():
    card = amounts_card("EUR")
    base = {"explained": 0.8, "mean_error": 80.0, "worst_group_error": 90.0, "mean_gap": 400.0, "error_gap": 50.0, "worst_gap": 300.0}

    def found(moved):
        made = outcomes({}, noise=0.001)
        rng = np.random.default_rng(2)
        for outcome in made:
            for name in outcome.figures:
                outcome.figures[name] |= {m: v * (1 + 0.001 * rng.standard_normal()) for m, v in base.items()}
            outcome.figures["mine"] |= {"mean_gap": 5.0 + rng.random(), "if_o": moved + 0.001 * rng.standard_normal()}
        return compare(made, ROLES, HEADER, RepairTerms(goal="groups"), card)["mine"]

    assert found(BASE["if_o"]).verdict == "better"
    assert found(0.9).verdict == "better, at a price"
    assert "IF_o rose" in found(0.9).reason


def test_with_two_seeds_no_interval_leaves_what_is_possible():
    design, shares = Design(0.4), Range(0.0, 1.0)
    before, after = np.array([0.3, 0.9]), np.array([0.05, 0.1])
    mean, change = mean_of(before, design, shares), change_of(before, after, design, within=shares)
    assert (mean.low, mean.high) == (0.0, 1.0)
    assert (change.mean.low, change.mean.high) == (-1.0, 1.0)
    free = change_of(before, after, design)
    assert free.mean.low < -1.0
    assert change.p_value == free.p_value
    assert change.mean.at_least(0.95) == free.mean.at_least(0.95)
    told = judged({"if_o": 0.01}, seeds=2, noise=0.01).as_dict()
    bounds = [part[figure] for line in told["body"]["repairs"]["lines"] for part in (line["means"],) for figure in BASE]
    assert all(each["low"] >= 0.0 and each["high"] <= 1.0 for each in bounds)
