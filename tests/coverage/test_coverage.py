"""Surrogates imitate, their paths are regions, suites reach every path, and LIME, neighbourhoods and properties say what they should."""

from __future__ import annotations

import numpy as np
import pytest
from fairlearn.metrics import demographic_parity_difference, demographic_parity_ratio

from evenhand.arrays import Labels, Rows, Scores
from evenhand.contract import labels_of, one_hot
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.measures.coverage.lime import Lime, top_columns
from evenhand.measures.coverage.neighbourhood import neighbours
from evenhand.measures.coverage.path_suite import path_suite
from evenhand.measures.coverage.paths import cover, coverage_of, drawer, shares_per_path
from evenhand.measures.coverage.properties import (
    Perturbation,
    Reference,
    accuracy,
    group_fairness,
    individual_fairness,
    privileged_fairness,
    robustness,
    success_score,
)
from evenhand.measures.coverage.surrogate import Imitated, Path, SurrogateSettings, grow
from evenhand.measures.coverage.tests_by_path import counts_by_path, unmet_shares
from evenhand.report.sections.searches import tree_of
from evenhand.synthesis.box import Box
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.constraint_graph import ConstraintGraph

COLUMNS = (
    Column("sex", "category", ("f", "m")),
    Column("job", "category", ("a", "b", "c", "d"), missing=0.1),
    Column("age", "integer", low=18, high=90),
    Column("income", "real", low=0.0, high=100.0),
)
DOMAIN = TabularDomain(COLUMNS, ("sex",), Label("grant", ("no", "yes"), ("yes",)))


class Rule:
    """yes for an income above 60, or above 40 for men of job a."""

    classes = ("no", "yes")
    is_hard = True
    batch_rows = 65_536

    def scores(self, rows: Rows) -> Scores:
        yes = (rows[:, 3] > 60) | ((rows[:, 3] > 40) & (rows[:, 0] == 1) & (rows[:, 1] == 0))
        return one_hot(yes.astype(np.intp), 2)

    def fingerprint(self) -> str:
        return "rule"

    def predict(self, rows: Rows) -> Labels:
        return labels_of(self.scores(rows))


def people(n: int, seed: int) -> Rows:
    return DOMAIN.sample(n, np.random.default_rng(seed))


@pytest.fixture(scope="module", params=["graph", "trees"])
def population(request):
    rng = np.random.default_rng(0)
    kind = ConstraintGraph if request.param == "graph" else ChainedTrees
    return kind.fit(people(1_500, 0), DOMAIN, rng)


@pytest.fixture(scope="module", params=[1, 3])
def surrogate(request, population):
    settings = SurrogateSettings(leaves=10, m_of_n=request.param)
    return grow(Imitated(Rule().predict, DOMAIN, Rule.classes), drawer(population), people(1_500, 0), np.random.default_rng(1), settings)


def test_the_surrogate_imitates_a_simple_rule(surrogate):
    rows = people(3_000, 5)
    fidelity = surrogate.fidelity(rows, Rule().predict(rows))
    assert fidelity.low > 0.97
    assert fidelity.n == 3_000


def test_a_suite_reaches_every_path_equally_and_stays_on_it(surrogate, population):
    suite = cover(surrogate, drawer(population), 300, np.random.default_rng(0))
    assert suite.coverage.share == 1.0
    assert suite.coverage.missed == []
    np.testing.assert_array_equal(surrogate.path_of(suite.rows), suite.path)
    assert suite.coverage.counts.max() - suite.coverage.counts.min() <= 1
    assert DOMAIN.contains(suite.rows).all()


def test_a_suite_of_paths_is_a_table_with_each_path_and_answer(population):
    found = path_suite(Rule(), people(1_500, 0), population, DOMAIN, 60, np.random.default_rng(2))
    frame = found.frame()
    assert len(frame) == 60
    assert list(frame.columns) == [*DOMAIN.names, "path", "answer"]
    assert frame["path"].nunique() == int(found.suite.coverage.possible.sum())
    rows = DOMAIN.encode(frame.drop(columns=["path", "answer"]))
    assert frame["answer"].tolist() == [Rule.classes[label] for label in Rule().predict(rows)]
    assert "100% of which are taken" in found.sentence()


def test_a_users_own_tests_may_miss_paths(surrogate):
    poor = people(2_000, 7)
    poor = poor[poor[:, 3] < 30]
    found = coverage_of(surrogate, poor)
    assert found.share < 1.0
    assert found.missed
    assert coverage_of(surrogate, poor[:0]).share == 0.0


def test_paths_are_told_in_words_and_as_a_picture(surrogate):
    assert len(surrogate.rules()) == len(surrogate.paths) > 1
    assert "income" in surrogate.rules()[0]
    picture = str(tree_of({"tree": surrogate.told()}))
    assert picture.startswith(("<svg", '<ul class="outline"'))
    assert picture.count("of rows") >= len(surrogate.paths)


def test_failing_shares_are_counted_per_path(surrogate):
    rows = people(500, 2)
    shares = shares_per_path(surrogate, rows, np.ones(500, dtype=bool))
    assert np.nanmin(shares) == np.nanmax(shares) == 1.0


def test_paths_that_constraints_forbid_are_not_counted_as_missed():
    domain = TabularDomain(COLUMNS, ("sex",), constraints=compile_constraints(["age < 30 => income < 50"], COLUMNS))
    rng = np.random.default_rng(0)
    rows = domain.sample(1_500, rng)
    graph = ConstraintGraph.fit(rows, domain, rng)
    tree = grow(Imitated(Rule().predict, domain, Rule.classes), drawer(graph), rows, rng, SurrogateSettings(leaves=8))
    suite = cover(tree, drawer(graph), 200, rng)
    assert suite.coverage.share == 1.0
    assert domain.contains(suite.rows).all()


@pytest.mark.parametrize("wrong", [{"rows": 1}, {"leaves": 0}, {"purity": 0.2}, {"m_of_n": 0}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(InvalidArgument):
        SurrogateSettings(**wrong)


def test_lime_finds_the_column_that_decides():
    rng, rows = np.random.default_rng(0), people(100, 1)
    lime = Lime.prepare(people(1_000, 0), 2_000, DOMAIN, rng)
    weights = lime.answered(Rule().scores(lime.rows)).weights(rows, Rule().predict(rows))
    chosen = top_columns(weights, 0.25, np.zeros(4, dtype=bool))
    assert (chosen.sum(axis=1) == 1).all()
    assert chosen[:, 3].mean() > 0.9
    assert not top_columns(weights, 1.0, np.array([True, False, False, False]))[:, 0].any()


def test_lime_of_a_row_does_not_depend_on_its_batch():
    rng, rows = np.random.default_rng(0), people(130, 1)
    lime = Lime.prepare(people(300, 0), 200, DOMAIN, rng)
    lime = lime.answered(Rule().scores(lime.rows))
    together = lime.weights(rows, Rule().predict(rows))
    np.testing.assert_allclose(together[77:78], lime.weights(rows[77:78], Rule().predict(rows[77:78])), atol=1e-5)


def test_neighbours_change_one_cell_each_within_reach_and_range():
    row = np.array([[0.0, 2.0, 19.0, 50.0]])
    found = neighbours(row, np.ones((1, 4), dtype=bool), DOMAIN)
    assert ((found.rows != row).sum(axis=1) == 1).all()
    assert sorted(found.rows[found.rows[:, 2] != 19, 2]) == [18, 20, 21, 22]
    assert sorted(found.rows[found.rows[:, 1] != 2, 1]) == [0, 1, 3]
    incomes = found.rows[found.rows[:, 3] != 50, 3]
    assert incomes.min() == 47
    assert incomes.max() == 53
    assert DOMAIN.contains(found.rows).all()


def test_neighbours_of_missing_numbers_and_of_no_rows_are_none():
    assert len(neighbours(np.empty((0, 4)), np.ones((0, 4), dtype=bool), DOMAIN).rows) == 0


def test_robustness_fails_near_the_border_only():
    rows = np.array([[0.0, 1.0, 40.0, 59.0], [0.0, 1.0, 40.0, 10.0]])
    found = robustness(Rule(), rows, DOMAIN, np.random.default_rng(0), Perturbation(data=people(500, 0)))
    np.testing.assert_array_equal(found.failing, [True, False])
    assert found.score.estimate == 0.5


def test_individual_fairness_fails_where_sex_decides():
    rows = np.array([[0.0, 0.0, 40.0, 50.0], [1.0, 1.0, 40.0, 50.0]])
    np.testing.assert_array_equal(individual_fairness(Rule(), rows, DOMAIN).failing, [True, False])


def test_group_metrics_are_fairlearns():
    rows = people(4_000, 3)
    found = group_fairness(Rule(), rows, DOMAIN, np.random.default_rng(0), Reference("m", Rule().predict(rows)))
    predicted = Rule().predict(rows)
    known = {"sensitive_features": rows[:, 0]}
    assert found.parity_difference.value == pytest.approx(demographic_parity_difference(predicted, predicted, **known))
    assert found.parity_ratio.value == pytest.approx(demographic_parity_ratio(predicted, predicted, **known))
    assert found.disparate_impact.low < found.disparate_impact.value < found.disparate_impact.high
    assert found.equalized_odds_difference == 0.0
    assert set(found.shares) == {"f", "m"}


def test_group_fairness_needs_two_groups_and_a_known_one():
    with pytest.raises(InvalidArgument, match="two groups"):
        group_fairness(Rule(), people(50, 0) * [0, 1, 1, 1], DOMAIN, np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="privileged"):
        group_fairness(Rule(), people(50, 0), DOMAIN, np.random.default_rng(0), Reference("x"))


def test_accuracy_is_measured_against_a_labeller():
    rows = people(200, 0)
    assert accuracy(Rule(), rows, Rule().predict).estimate == 1.0


class NarrowRule(Rule):
    """yes for an income of 50 to 53: a step that no quartile sees."""

    def scores(self, rows: Rows) -> Scores:
        yes = (rows[:, 3] >= 50) & (rows[:, 3] <= 53)
        return one_hot(yes.astype(np.intp), 2)


def test_no_column_is_missed_whose_small_changes_turn_the_label():
    rows = people(400, 5)
    rows[:, 3] = np.linspace(47.5, 55.5, 400)
    every, prominent = (
        robustness(NarrowRule(), rows, DOMAIN, np.random.default_rng(0), Perturbation(share=share)).score.estimate for share in (1.0, 0.25)
    )
    assert every > 0.9
    assert prominent > 0.9 * every


def test_a_privileged_group_may_be_any_rule():
    rows = people(4_000, 6)
    found = privileged_fairness(Rule(), rows, DOMAIN, np.random.default_rng(0), "sex == 'm' and job == 'a'")
    assert found.disparate_impact.high < 0.9
    assert list(found.shares) == ["sex == 'm' and job == 'a'", "not (sex == 'm' and job == 'a')"]
    with pytest.raises(InvalidArgument, match="must hold for some people and not for others"):
        privileged_fairness(Rule(), rows, DOMAIN, np.random.default_rng(0), "age >= 18")


def test_the_success_score_counts_the_neighbours_of_failing_seeds():
    rows = people(500, 8)
    seeds, both = individual_fairness(Rule(), rows, DOMAIN), success_score(Rule(), rows, DOMAIN, np.random.default_rng(0))
    assert both.n > len(rows)
    assert both.estimate > seeds.score.estimate  # around an unfair seed most are unfair
    fair = rows.copy()
    fair[:, 3] = 99.0
    assert success_score(Rule(), fair, DOMAIN, np.random.default_rng(0)).n == 500


def test_robustness_misses_no_column_whose_effect_lies_within_a_quartile():
    """Only one of ten columns matters, and it rises and falls within each quartile, which LIME's regression does not see."""

    class Wave:
        classes = (0, 1)

        def scores(self, rows: Rows) -> Scores:
            chance = 1 / (1 + np.exp(-3 * np.sin(rows[:, 7])))
            return np.column_stack([1 - chance, chance])

    domain = TabularDomain(tuple(Column(f"x{at}", "integer", low=0, high=100) for at in range(10)))
    rows = np.random.default_rng(0).integers(0, 101, (60, 10)).astype(float)
    found = [robustness(Wave(), rows, domain, np.random.default_rng(1), Perturbation(share=share)).failing for share in (0.5, 1.0)]
    assert np.array_equal(*found)
    assert found[0].all()


def test_robustness_misses_no_column_of_which_a_single_value_matters():
    """One of thirty jobs changes the answer; other columns move the score far more, and never so far."""

    class OneJob:
        classes = (0, 1)

        def scores(self, rows: Rows) -> Scores:
            chance = np.where(rows[:, 4] == 17, 0.6, 0.05 + 0.004 * rows[:, :4].mean(axis=1))
            return np.column_stack([1 - chance, chance])

    numbers = [Column(f"x{at}", "integer", low=0, high=100) for at in range(4)]
    domain = TabularDomain((*numbers, Column("job", "category", tuple(f"j{at}" for at in range(30)))))
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 101, (60, 4)), rng.integers(0, 17, 60)]).astype(float)
    found = [robustness(OneJob(), rows, domain, np.random.default_rng(1), Perturbation(share=share)).failing for share in (0.25, 1.0)]
    assert np.array_equal(*found)
    assert found[0].all()


def test_a_suite_for_every_path_keeps_a_wished_share_though_most_paths_lead_through_one_value():
    """Women's paths are many more than men's: equally many tests for each path would make a suite of women."""
    man = np.array([False, True])
    paths = [Path(at, (Box({0: ~man}, {2: (at, at + 1.0)}),), 0, "") for at in range(12)]
    paths += [Path(12 + at, (Box({0: man}),), 1, "") for at in range(3)] + [Path(15, (Box(),), 1, "")]
    wished = {0: np.array([0.5, 0.5, 0.0])}
    counts = counts_by_path(paths, 60, wished)
    assert counts.sum() == 60
    assert counts[:12].sum() == 30
    assert counts.min() >= 1
    assert counts_by_path(paths, 20, wished)[:12].tolist() == [1] * 12  # no path goes without
    assert np.ptp(counts_by_path(paths, 60, {})) <= 1
    rows = np.repeat([[0.0, 0, 20, 5], [1.0, 0, 20, 5]], [8, 12], axis=0)
    assert unmet_shares(rows, wished, DOMAIN) == ["sex = f: 8 of 10 wished for", "sex = m: 12 of 10 wished for"]
    assert unmet_shares(rows[4:], {0: np.array([0.25, 0.75, 0.0])}, DOMAIN) == []
