"""Group figures agree with Fairlearn, name groups that are too small, and know continua, weights and amounts."""

import fairlearn.metrics as theirs
import numpy as np
import pytest
import sklearn.metrics

from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.measures.group import BY_NAME, SHARES, Outcomes
from evenhand.measures.group_curve import ProtectedNumber, curve_figure
from evenhand.measures.group_fairlearn import GroupAnswers, through_fairlearn
from evenhand.measures.group_figures import GroupSettings, corrected, figure
from evenhand.measures.groups import Grouping, continua, groupings
from evenhand.statistics.gaps import leaves_out

SETTINGS = GroupSettings(draws=199)


def people(rng, sizes=(400, 300, 500), gap=0.0):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    score = rng.beta(2, 3, len(codes))
    truth = (rng.random(len(codes)) < score).astype(np.int8)
    return Outcomes(score + gap * (codes == 0) > 0.45, truth, score), Grouping("group", codes, tuple("abcdefghijkl"[: len(sizes)]))


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("weighted", [False, True])
def test_every_shared_figure_equals_fairlearns(weighted):
    rng = np.random.default_rng(0)
    plain, grouping = people(rng, gap=0.1)
    weights = rng.uniform(0.1, 3, len(grouping.codes)) if weighted else None
    outcomes = Outcomes(plain.chosen, plain.truth, plain.score, weights=weights)
    sample = {"sample_weight": weights} if weighted else {}
    for metric in BY_NAME.values():
        ours = figure(metric, outcomes, grouping, SETTINGS, rng)
        if ours is None or not metric.fairlearn or metric.name == "disparate_impact":
            continue
        said = outcomes.score if metric.name == "mean_score" else outcomes.chosen.astype(int)
        function = getattr(theirs, metric.fairlearn, None) or getattr(sklearn.metrics, metric.fairlearn)
        frame = theirs.MetricFrame(
            metrics=function, y_true=outcomes.truth, y_pred=said, sensitive_features=grouping.codes, sample_params=sample
        )
        assert [part.estimate for part in ours.groups] == pytest.approx(list(frame.by_group), abs=1e-12)
        assert ours.every == pytest.approx(frame.difference(), abs=1e-12)
    answers = {"sensitive_features": grouping.codes, **sample}
    named = {
        "disparate_impact": theirs.demographic_parity_ratio(outcomes.truth, outcomes.chosen, **answers),
        "equalized_odds": theirs.equalized_odds_difference(outcomes.truth, outcomes.chosen, **answers),
        "average_odds": theirs.equalized_odds_difference(outcomes.truth, outcomes.chosen, agg="mean", **answers),
    }
    for name, value in named.items():
        assert figure(BY_NAME[name], outcomes, grouping, SETTINGS, rng).every == pytest.approx(value, abs=1e-12)


@pytest.mark.slow
def test_fair_models_pass_and_unfair_ones_do_not():
    rng = np.random.default_rng(1)
    convicted = 0
    for _ in range(40):
        outcomes, grouping = people(rng, (100, 250, 150))
        found = corrected([figure(metric, outcomes, grouping, SETTINGS, rng) for metric in SHARES])
        convicted += any(each.verdict == "different" for each in found)
    assert convicted <= 6
    outcomes, grouping = people(rng, gap=0.2)
    assert figure(BY_NAME["statistical_parity"], outcomes, grouping, SETTINGS, rng).verdict == "different"


def test_two_figures_of_one_hypothesis_are_corrected_once():
    rng = np.random.default_rng(2)
    outcomes, grouping = people(rng, gap=0.1)
    names = ("statistical_parity", "disparate_impact", "accuracy")
    found = corrected([figure(BY_NAME[name], outcomes, grouping, SETTINGS, rng) for name in names])
    assert found[0].test == found[1].test
    assert found[0].adjusted <= 2 * found[0].test.p_value + 1e-12


def test_twelve_groups_of_five_are_insufficient_and_say_how_many_they_need():
    rng = np.random.default_rng(3)
    outcomes, grouping = people(rng, (5,) * 12)
    found = figure(BY_NAME["statistical_parity"], outcomes, grouping, SETTINGS, rng)
    assert found.verdict == "insufficient"
    assert len(found.insufficient) == 12
    assert found.size.high > 0.9
    assert all(100 < part.needed < 1_000 for part in found.groups)


def test_a_small_group_does_not_make_the_size():
    """Three people who all get it are no gap of one half."""
    codes = np.repeat([0, 1, 2], [800, 800, 3])
    chosen = np.concatenate([np.arange(1600) % 2 == 0, [True, True, True]])
    found = figure(
        BY_NAME["statistical_parity"], Outcomes(chosen), Grouping("g", codes, ("a", "b", "c")), SETTINGS, np.random.default_rng(0)
    )
    assert found.size.estimate == 0
    assert found.every == 0.5
    assert [part.name for part in found.insufficient] == ["c"]


def test_one_group_only_is_nothing_to_compare():
    found = figure(
        BY_NAME["statistical_parity"], Outcomes(np.arange(500) % 2 == 0), Grouping("g", np.zeros(500, int), ("a",)), SETTINGS,
        np.random.default_rng(0),
    )  # fmt: skip
    assert (found.verdict, found.test.kind) == ("insufficient", "impossible")


def test_missing_labels_count_only_where_none_is_needed():
    rng = np.random.default_rng(4)
    outcomes, grouping = people(rng)
    truth = outcomes.truth.copy()
    truth[::2] = -1
    half = Outcomes(outcomes.chosen, truth, outcomes.score)
    assert sum(p.rows for p in figure(BY_NAME["statistical_parity"], half, grouping, SETTINGS, rng).groups) == 1200
    assert sum(p.rows for p in figure(BY_NAME["accuracy"], half, grouping, SETTINGS, rng).groups) == 600
    assert figure(BY_NAME["calibration"], Outcomes(outcomes.chosen), grouping, SETTINGS, rng) is None


def test_calibration_compares_people_of_like_scores():
    rng = np.random.default_rng(5)
    codes = np.repeat([0, 1], 1_000)
    score = np.clip(rng.beta(2, 3, 2_000) + 0.2 * codes, 0, 1)
    grouping = Grouping("g", codes, ("a", "b"))
    fair = Outcomes(score > 0.5, (rng.random(2_000) < score).astype(np.int8), score)
    unfair = Outcomes(score > 0.5, (rng.random(2_000) < score - 0.12 * codes).astype(np.int8), score)
    assert figure(BY_NAME["calibration"], fair, grouping, SETTINGS, rng).test.p_value > 0.05
    assert figure(BY_NAME["calibration"], unfair, grouping, SETTINGS, rng).test.p_value < 0.05


def test_amounts_of_a_regression():
    rng = np.random.default_rng(6)
    codes = np.repeat([0, 1, 2], 300)
    actual = rng.normal(100, 10, 900)
    outcomes = Outcomes(amount=actual + rng.normal(0, 3, 900) + 5 * (codes == 2), actual=actual)
    grouping = Grouping("g", codes, ("a", "b", "c"))
    error = figure(BY_NAME["mean_error"], outcomes, grouping, SETTINGS, rng)
    assert error.verdict == "different"
    assert error.size.low < 5 < error.size.high
    assert figure(BY_NAME["statistical_parity"], outcomes, grouping, SETTINGS, rng) is None


def test_a_number_is_compared_as_a_curve():
    rng = np.random.default_rng(7)
    age = rng.integers(17, 90, 3_000).astype(float)
    age[:50] = np.nan
    parity = BY_NAME["statistical_parity"]
    bump = rng.random(3_000) < 0.3 + 0.3 * np.exp(-0.5 * ((age - 45) / 6) ** 2)
    found = curve_figure(parity, Outcomes(bump), ProtectedNumber("age", age), SETTINGS, rng)
    assert found.verdict == "different"
    top = found.curve["at"][int(np.argmax(found.curve["estimate"]))]
    assert 40 <= top <= 50
    assert 0.05 < found.size.low < 0.3 < found.size.high
    flat = [
        curve_figure(parity, Outcomes(rng.random(400) < 0.3), ProtectedNumber("age", age[-400:]), SETTINGS, rng).test.p_value
        for _ in range(40)
    ]
    assert np.mean(np.array(flat) <= 0.05) <= 0.125
    few = curve_figure(parity, Outcomes(bump[-30:]), ProtectedNumber("age", age[-30:]), SETTINGS, rng)
    assert few.size.estimate is None
    assert curve_figure(BY_NAME["average_odds"], Outcomes(bump, bump.astype(np.int8)), ProtectedNumber("age", age), SETTINGS, rng) is None


def test_groups_intersect_and_numbers_stay_whole():
    columns = (
        Column("sex", "category", ("f", "m"), missing=0.1),
        Column("race", "category", ("x", "y", "z")),
        Column("age", "integer", low=0, high=99),
    )
    domain = TabularDomain(columns, ("sex", "race", "age"))
    rows = np.random.default_rng(0).integers(0, 2, (300, 3)).astype(float)
    rows[:, 2] = np.arange(300) % 80
    rows[0, 0] = np.nan
    assert [g.name for g in groupings(rows, domain)] == ["sex", "race", "sex and race"]
    assert "(missing)" in groupings(rows, domain)[0].names
    assert groupings(rows, domain)[2].sizes.sum() == 300
    assert continua(rows, domain) == ["age"]


def test_the_rest_comes_through_fairlearn():
    rng = np.random.default_rng(8)
    outcomes, grouping = people(rng, gap=0.2)
    answers = GroupAnswers(outcomes.truth.astype(int), outcomes.chosen.astype(int), outcomes.score)
    (found,) = through_fairlearn(["balanced_accuracy_score"], answers, grouping, rng, draws=9)
    first = grouping.codes == 0
    assert found.by_group["a"] == pytest.approx(sklearn.metrics.balanced_accuracy_score(answers.truth[first], answers.predicted[first]))
    assert 0.1 <= found.p_value <= 1
    with pytest.raises(UnknownName, match="did you mean 'f1_score'"):
        through_fairlearn(["f1_skore"], answers, grouping, rng)


def test_broken_outcomes_are_named():
    with pytest.raises(InvalidArgument, match="one length"):
        Outcomes(np.ones(3, bool), np.ones(4, np.int8))
    with pytest.raises(InvalidArgument, match="weights"):
        Outcomes(np.ones(3, bool), weights=np.array([1.0, -1.0, 1.0]))


def test_verdicts_and_bounds_agree_after_correction():
    """Different exactly where the bounds leave out no difference, for shares, ratios, odds, amounts and curves, at every size of gap."""
    rng, seen = np.random.default_rng(3), []
    for sizes, gap in [((60, 80), 0.1), ((60, 80), 0.25), ((300, 200, 100), 0.05), ((900, 40), 0.15), ((400, 400), 0.07)]:
        outcomes, grouping = people(rng, sizes, gap)
        found = [figure(metric, outcomes, grouping, SETTINGS, rng) for metric in BY_NAME.values()]
        age = ProtectedNumber("age", rng.normal(40, 10, len(grouping.codes)) + 4 * outcomes.chosen)
        found.append(curve_figure(BY_NAME["statistical_parity"], outcomes, age, SETTINGS, rng))
        for each in corrected([each for each in found if each is not None]):
            assert (each.verdict == "different") == leaves_out(each.size, each.none), each
            assert (each.verdict == "different") == (each.test.kind != "impossible" and each.adjusted <= each.alpha)
            seen.append(each.verdict == "different")
    assert 0.1 < np.mean(seen) < 0.9  # both kinds were seen
