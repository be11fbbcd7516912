"""MAFT's own promises: EIDIG's search from answers alone, one batch for a gradient, every query charged, labels without scores."""

from __future__ import annotations

import numpy as np
import pytest
from odd_tasks import odd_subject

from evenhand import checks
from evenhand.contract import Task
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.methods.eidig import Eidig
from evenhand.methods.maft import Maft
from evenhand.methods.parts.gradients import own_score
from evenhand.methods.parts.zero_order import ZeroOrder
from evenhand.models.budget import Budget
from evenhand.models.function import from_callable
from evenhand.models.meter import Meter
from evenhand.planted import shapes

PLANTED = shapes()["wide_band"]
ROWS = PLANTED.domain.sample(300, np.random.default_rng(5))


def scored(domain, function):
    return from_callable(function, domain, classes=(0, 1), takes="codes")


def test_a_gradient_is_one_batch_of_the_row_and_one_neighbour_for_each_free_column():
    meter = Meter(PLANTED.model)
    ZeroOrder(Task(PLANTED.domain, meter), 1.0).pullback(ROWS[:50], own_score)
    assert (meter.calls, meter.rows_asked) == (1, 50 * 7)


def test_differences_have_the_signs_of_the_derivatives():
    estimated = ZeroOrder(Task(PLANTED.domain, Meter(PLANTED.model)), 1.0).pullback(ROWS, own_score)
    true = Meter(PLANTED.model).pullback(ROWS, own_score)
    assert (np.sign(estimated[:, 1:]) == np.sign(true[:, 1:])).all()
    assert not estimated[:, 0].any()


def test_real_cells_move_by_a_hundredth_of_their_range_and_missing_ones_stay():
    domain = TabularDomain(
        (
            Column("sex", "integer", low=0, high=1),
            Column("income", "real", low=0.0, high=500.0),
            Column("k", "integer", low=0, high=9, missing=0.5),
        ),
        ("sex",),
    )
    seen = []
    model = scored(domain, lambda x: seen.append(x.copy()) or np.clip(x[:, 1] / 1000 + 0.01 * np.nan_to_num(x[:, 2]), 0, 1))
    rows = np.array([[0.0, 100.0, 3.0], [1.0, 499.0, np.nan]])
    seen.clear()
    gradient = ZeroOrder(Task(domain, Meter(model)), 1.0).pullback(rows, lambda scores: np.tile([0.0, 1.0], (len(scores), 1)))
    asked = np.concatenate(seen).reshape(3, 2, 3)
    assert asked[1, :, 1].tolist() == [105.0, 494.0], "the second one turns round at the border"
    assert gradient == pytest.approx(np.array([[0.0, 0.001, 0.01], [0.0, 0.001, 0.0]]), abs=1e-9)


def test_answers_alone_find_as_much_as_gradients_do():
    blind = scored(PLANTED.domain, lambda x: PLANTED.model.scores(x)[:, 1])
    subjects = Subject(PLANTED.domain, blind, ROWS), Subject(PLANTED.domain, PLANTED.model, ROWS)
    done = [run(method, each, Plan(0, Budget(candidates=4_000))) for method, each in zip((Maft(), Eidig()), subjects, strict=True)]
    assert done[0].ledger.findings > 0.9 * done[1].ledger.findings > 2_000


def test_every_query_is_charged_to_the_run():
    asked = []
    blind = scored(PLANTED.domain, lambda x: asked.append(len(x)) or PLANTED.model.scores(x)[:, 1])
    subject = Subject(PLANTED.domain, blind, ROWS)
    asked.clear()
    done = run(Maft(), subject, Plan(0, Budget(model_rows=5_000)))
    assert done.ledger.model_rows == sum(asked) - 2 * 64 <= 5_000
    assert done.ended == "budget spent"


def test_labels_alone_make_it_a_random_walk_that_asks_for_no_differences():
    subject = odd_subject()
    done = run(Maft(), subject, Plan(0, Budget(candidates=600)))
    assert done.facts["maft"]["rows_per_gradient"] == 0
    assert "random" in done.facts["maft"]["gradients"]
    assert done.facts["gradients"]["global_steps"] == 0
    assert subject.domain.contains(done.findings.rows).all()
    assert done.ledger.findings > 300


def test_labels_alone_without_an_unfair_seed_lead_to_random_global_steps():
    domain = TabularDomain((Column("sex", "integer", low=0, high=1), Column("a", "integer", low=0, high=9)), ("sex",))
    model = from_callable(lambda x: (x[:, 1] + x[:, 0] > 6).astype(int), domain, classes=(0, 1), takes="codes")
    done = run(Maft(), Subject(domain, model, np.array([[0.0, 5.0], [1.0, 7.0]])), Plan(0, Budget(candidates=100)))
    assert done.ledger.findings == 1
    assert done.findings.rows[0, 1] == 6


def test_hidden_layers_are_refused():
    with pytest.raises(MissingAbility, match="relu_1"):
        ZeroOrder(Task(PLANTED.domain, Meter(PLANTED.model)), 1.0).pullback(ROWS, own_score, "relu_1")


@pytest.mark.parametrize("wrong", [{"reach": 0.0}, {"reach": float("nan")}, {"decay": 1.0}, {"seeds": 0}, {"epsilon": 0.0}])
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(InvalidArgument):
        Maft(**wrong)


def test_it_keeps_every_promise_on_a_model_without_gradients():
    blind = scored(PLANTED.domain, lambda x: PLANTED.model.scores(x)[:, 1])
    for check in checks.for_method():
        check(Maft, Subject(PLANTED.domain, blind, ROWS))
