"""ExpGA's own promises: explanations that rank columns as the model uses them, verified seeds, and a genetic search within bounds."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.contract import Task
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import InvalidArgument
from evenhand.methods.expga import Expga
from evenhand.methods.parts.explanations import ColumnScale, Explainer
from evenhand.methods.parts.genetics import nudged, roulette, segments, tournament
from evenhand.methods.parts.walks import Moves
from evenhand.models.budget import Budget
from evenhand.models.function import from_callable
from evenhand.models.meter import Meter
from evenhand.planted import shapes

COLUMNS = (Column("sex", "integer", low=0, high=1), *(Column(n, "integer", low=0, high=9) for n in "abc"))
DOMAIN = TabularDomain(COLUMNS, ("sex",))


def probability(x):
    return 1 / (1 + np.exp(-(x[:, 1] + 0.1 * x[:, 2] + 4 * x[:, 0] - 9.0)))


MODEL = from_callable(probability, DOMAIN, classes=(0, 1), takes="codes")


def test_explanations_rank_columns_as_a_linear_model_weighs_them():
    data = DOMAIN.sample(2000, np.random.default_rng(0))
    scale = ColumnScale.of(data)
    rows = scale.perturbed(4000, DOMAIN, np.random.default_rng(1))
    scores = np.column_stack([1 - (rows @ [0.0, 0.1, 0.03, 0.0]), rows @ [0.0, 0.1, 0.03, 0.0]])
    explainer = Explainer(scale, rows, scores)
    assert DOMAIN.inside(rows).all()
    assert (np.argsort(-explainer.weights(data[:50]), axis=1)[:, :2] == [1, 2]).all()
    assert (explainer.ranks(data[:50], np.array([1])) == 0).all()
    assert (explainer.ranks(data[:50], np.array([2])) == 1).all()
    assert (explainer.ranks(data[:50], np.array([0, 2])) == 1).all(), "of several columns the best counts"


def test_explanations_agree_with_a_weighted_ridge_regression():
    from sklearn.linear_model import Ridge

    data = DOMAIN.sample(500, np.random.default_rng(0))
    scale = ColumnScale.of(data)
    rows = scale.perturbed(800, DOMAIN, np.random.default_rng(1))
    explainer = Explainer(scale, rows, MODEL.scores(rows))
    here = data[7]
    near, mine = (rows - scale.mean) / scale.deviation, (here - scale.mean) / scale.deviation
    kernel = np.exp(-((near - mine) ** 2).sum(axis=1) / (2 * (0.75**2 * 4)))
    expected = sum(np.abs(Ridge(alpha=1.0).fit(near, MODEL.scores(rows)[:, c], sample_weight=kernel).coef_) for c in (0, 1))
    np.testing.assert_allclose(explainer.weights(here[None])[0], expected, rtol=1e-3, atol=1e-5)


def test_missing_and_constant_columns_are_explained_as_no_effect():
    domain = TabularDomain((*COLUMNS, Column("m", "integer", low=0, high=9, missing=0.3), Column("k", "integer", low=4, high=4)), ("sex",))
    data = domain.sample(400, np.random.default_rng(0))
    scale = ColumnScale.of(data)
    rows = scale.perturbed(1000, domain, np.random.default_rng(1))
    weights = Explainer(scale, rows, MODEL.scores(rows[:, :4])).weights(data[:20])
    assert np.isfinite(weights).all()
    assert (weights[:, 5] == 0).all()


def test_roulette_draws_in_proportion_to_fitness_within_each_population():
    fitness = np.tile([1.0, 3.0, 0.0, 4.0], (2000, 1))
    fitness[1000:] = [1.0, 0.0, 0.0, 0.0]
    drawn = roulette(fitness, np.random.default_rng(0))
    shares = np.bincount(drawn[:1000].ravel(), minlength=4) / 4000
    np.testing.assert_allclose(shares, [0.125, 0.375, 0.0, 0.5], atol=0.03)
    assert (drawn[1000:] == 0).all()


def test_a_tournament_has_two_different_parents_among_the_leaders():
    order = np.tile(np.arange(20, 30), (50, 1))
    first, second = tournament(order, 3, 99, np.random.default_rng(0))
    assert first.shape == second.shape == (50, 99)
    assert (first != second).all()
    assert set(np.unique(first)) == set(range(20, 28)), "the best of three out of ten is never one of the last two"
    share = float((first == 20).mean())
    assert abs(share - 0.3) < 0.02, "the fittest enters three of ten draws"


def test_stretches_are_of_neighbouring_free_columns_and_of_every_length():
    free = np.array([1, 2, 4, 5])
    mask = segments(4000, free, 6, np.random.default_rng(0))
    assert not mask[:, [0, 3]].any()
    inside = mask[:, free].astype(int)
    assert (np.abs(np.diff(np.pad(inside, ((0, 0), (1, 1))), axis=1)).sum(axis=1) <= 2).all()
    assert set(inside.sum(axis=1)) == {0, 1, 2, 3, 4}


def test_mutants_change_so_many_free_columns_within_reach():
    rows = np.full((500, 4), 5.0)
    rows[:, 0] = 1.0
    moved = nudged(rows, 2, 3, Moves(DOMAIN), np.random.default_rng(0)) - rows
    assert (moved[:, 0] == 0).all()
    assert np.abs(moved).max() == 3
    assert ((moved != 0).sum(axis=1) <= 2).all()


def first_batch(method, subject):
    search = method.search(Task(subject.domain, Meter(subject.model), subject.rows), np.random.default_rng(0))
    return next(search)


def test_seeds_are_judged_before_anything_is_made_of_them():
    subject = Subject(DOMAIN, MODEL, DOMAIN.sample(500, np.random.default_rng(2)))
    done = run(Expga(global_samples=300), subject, Plan(0, Budget(candidates=2000)))
    facts = done.facts["explanations"]
    assert facts["samples"] >= 300
    assert facts["unfair"] < facts["high_rank"]
    assert (done.findings.phase == "global").sum() <= facts["unfair"]


def test_samples_where_the_protected_column_matters_little_are_left_out():
    def blind(x):
        return 1 / (1 + np.exp(-(x[:, 1] + x[:, 2] + x[:, 3] + 1e-3 * x[:, 0] - 13.0)))

    subject = Subject(DOMAIN, from_callable(blind, DOMAIN, classes=(0, 1), takes="codes"))
    task = Task(DOMAIN, Meter(subject.model))
    search = Expga(rank=3).search(task, np.random.default_rng(0))
    assert len(next(search).rows) == 1000, "where no sample ranks high enough, all are taken"
    assert task.facts["explanations"]["high_rank"] == 0


def test_children_take_cells_of_parents_or_fresh_ones_and_keep_constraints():
    domain = TabularDomain(COLUMNS, ("sex",), constraints=compile_constraints(["a <= b"], COLUMNS))
    parents = domain.sample(60, np.random.default_rng(0)).reshape(3, 20, 4)
    task = Task(domain, Meter(MODEL))
    children = Expga(mutation=0.2)._children(parents, task, np.random.default_rng(1))
    assert domain.contains(children).all()
    assert (children.reshape(3, 20, 4)[:, :, 0] == parents[:, :, 0]).all(), "protected cells neither cross nor mutate"
    unmixed = Expga(mutation=0.0, crossover=1.0)._children(parents[:, :, :], Task(DOMAIN, Meter(MODEL)), np.random.default_rng(1))
    for island, mine in zip(parents, unmixed.reshape(3, 20, 4), strict=True):
        assert all(set(mine[:, c]) <= set(island[:, c]) for c in range(4)), "mates come from the same population"


def test_hard_labels_and_no_data_are_enough():
    model = from_callable(lambda x: (probability(x) > 0.5).astype(int), DOMAIN, classes=(0, 1), takes="codes")
    assert model.is_hard
    assert run(Expga(), Subject(DOMAIN, model), Plan(0, Budget(candidates=1500))).ledger.findings > 200


def test_a_proxy_counts_as_what_it_stands_for():
    planted = shapes()["proxy"]
    done = run(Expga(), Subject(planted.domain, planted.model), Plan(0, Budget(candidates=3000)))
    assert done.facts["explanations"]["high_rank"] > 0


def test_without_global_samples_the_rows_at_hand_are_bred_from():
    rows = DOMAIN.sample(30, np.random.default_rng(3))
    done = run(Expga(global_samples=0, generations=4), Subject(DOMAIN, MODEL, rows), Plan(0, Budget(candidates=5000)))
    assert done.ended == "method finished"
    assert done.ledger.candidates <= 30 * 5
    assert "explanations" not in done.facts


@pytest.mark.parametrize("wrong", [{"neighbours": 1}, {"rank": -1}, {"seeds": 0}, {"crossover": 1.1}, {"mutation": -0.1}])
def test_parameters_are_checked(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        Expga(**wrong)
