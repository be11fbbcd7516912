"""AEQUITAS's own promises: what a walk learns, what it never loses, and that the three modes stand under their own names."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.contract import Task, name_of
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import InvalidArgument
from evenhand.methods import METHODS
from evenhand.methods.aequitas import LEAST_SHARE, Aequitas, Guide
from evenhand.models.budget import Budget
from evenhand.models.function import from_callable
from evenhand.models.meter import Meter
from evenhand.planted import shapes

COLUMNS = (Column("sex", "integer", low=0, high=1), *(Column(n, "integer", low=0, high=9) for n in "abc"))
DOMAIN = TabularDomain(COLUMNS, ("sex",))
NAMES = ("aequitas", "aequitas_semi", "aequitas_full")


def granted(rows):
    """Women need three points more; only labels are said."""
    return (rows[:, 1:].sum(axis=1) - 3 * rows[:, 0] > 12).astype(np.intp)


MODEL = from_callable(granted, DOMAIN, classes=(0, 1), takes="codes")


def guide(mode, **parameters):
    return Guide(Task(DOMAIN, Meter(MODEL)), Aequitas(mode=mode, **parameters), np.random.default_rng(0))


def one_step(given, rows):
    moved = given.propose(rows, np.ones(len(rows), dtype=bool))
    return (moved - rows)[(moved != rows).any(axis=1)]


def test_the_three_modes_stand_under_their_own_names():
    assert [METHODS.make(name).mode for name in NAMES] == ["random", "semi", "full"]
    for name in NAMES:
        done = run(METHODS.make(name, {"global_samples": 50, "local_steps": 5}), Subject(DOMAIN, MODEL), Plan(0, Budget(candidates=100)))
        assert done.method == name == name_of(METHODS.make(name))


def test_a_hit_makes_its_side_likelier_and_a_miss_the_other():
    rows = np.full((1, 4), 5.0)
    rows[0, 0] = 0.0
    for unfair in (True, False):
        given = guide("semi")
        step = one_step(given, rows)
        place = int(np.flatnonzero(step[0])[0]) - 1
        given.learn(np.array([unfair]))
        grew = (step[0].sum() < 0) == unfair  # the probability is the one of a step down
        expected = np.full(3, 0.5)
        expected[place] += 0.001 if grew else -0.001
        np.testing.assert_allclose(given.down, expected)
        np.testing.assert_allclose(given.attributes, np.full(3, 1 / 3))


def test_a_single_hit_or_miss_moves_an_attribute_by_the_published_thousandth():
    rows = np.array([[0.0, 5.0, 5.0, 5.0]])
    for unfair in (True, False):
        given = guide("full")
        place = int(np.flatnonzero(one_step(given, rows)[0])[0]) - 1
        given.learn(np.array([unfair]))
        published = np.full(3, 1 / 3)
        published[place] += 0.001 if unfair else -0.001
        np.testing.assert_allclose(given.attributes, published / published.sum(), atol=5e-6)


def test_thousands_of_misses_at_once_leave_every_attribute_a_chance():
    given = guide("full")
    rows = np.column_stack([np.zeros(5000), np.full((5000, 3), 5.0)])
    for _ in range(20):
        steps = one_step(given, rows)
        given.learn(steps[:, 1] != 0)  # only the first attribute leads on
    assert given.attributes[0] > 0.8
    assert given.attributes.min() >= LEAST_SHARE / 3 * 0.8
    assert np.isclose(given.attributes.sum(), 1.0)


def test_random_steps_learn_nothing():
    given = guide("random")
    one_step(given, np.full((50, 4), 1.0))
    given.learn(np.ones(50, dtype=bool))
    assert (given.down == 0.5).all()


@pytest.mark.parametrize("name", NAMES)
def test_walks_find_several_times_what_random_inputs_do_on_labels_alone(name):
    assert MODEL.is_hard
    wide = TabularDomain((*COLUMNS, Column("d", "integer", low=0, high=999)), ("sex",))
    model = from_callable(
        lambda x: (np.abs(x[:, 1:4].sum(axis=1) - 24.5 + 2 * x[:, 0]) < 1).astype(int), wide, classes=(0, 1), takes="codes"
    )
    rate = shares(model, wide)
    done = run(METHODS.make(name), Subject(wide, model), Plan(0, Budget(candidates=6000)))
    assert done.ledger.findings > 3 * rate * 6000


def shares(model, domain):
    rows = domain.sample(20_000, np.random.default_rng(1))
    labels = [model.scores(np.column_stack([np.full(len(rows), sex), rows[:, 1:]])).argmax(axis=1) for sex in (0, 1)]
    return float((labels[0] != labels[1]).mean())


@pytest.mark.parametrize("name", NAMES)
def test_constraints_and_several_protected_columns(name):
    columns = (*COLUMNS, Column("age", "integer", low=0, high=2), Column("d", "integer", low=0, high=99))
    domain = TabularDomain(columns, ("sex", "age"), constraints=compile_constraints(["a <= b"], columns))
    model = from_callable(lambda x: (x[:, 1] + x[:, 3] + x[:, 0] * x[:, 4] > 9).astype(int), domain, classes=(0, 1), takes="codes")
    found = run(METHODS.make(name), Subject(domain, model), Plan(0, Budget(candidates=1500))).findings
    assert len(found) > 150
    assert domain.contains(found.rows).all()


def test_no_row_is_walked_to_twice():
    done = run(Aequitas(), Subject(DOMAIN, MODEL), Plan(0, Budget(candidates=3000)))
    assert (done.findings.phase == "local").any()
    global_rows = done.ledger.duplicates  # 1,000 inputs exist: only random sampling may meet one again, and a walk what was sampled
    assert done.ledger.candidates - global_rows <= 1000


def test_a_tiny_domain_is_no_endless_loop():
    tiny = TabularDomain((Column("sex", "integer", low=0, high=1), Column("a", "integer", low=0, high=1)), ("sex",))
    model = from_callable(lambda x: (x[:, 0] * x[:, 1] > 0).astype(int), tiny, classes=(0, 1), takes="codes")
    assert run(Aequitas(), Subject(tiny, model), Plan(0, Budget(candidates=2500))).ledger.findings == 1


@pytest.mark.parametrize("name", [*NAMES, "expga", "grft"])
def test_where_everything_is_protected_there_is_one_input(name):
    domain = TabularDomain(COLUMNS[:1], ("sex",))
    model = from_callable(lambda x: x[:, 0].astype(int), domain, classes=(0, 1), takes="codes")
    assert run(METHODS.make(name), Subject(domain, model), Plan(0, Budget(candidates=500))).ledger.findings == 1


def test_without_global_samples_the_rows_at_hand_are_the_seeds():
    rows = DOMAIN.sample(40, np.random.default_rng(3))
    done = run(Aequitas(global_samples=0, local_steps=3), Subject(DOMAIN, MODEL, rows), Plan(0, Budget(candidates=5000)))
    assert done.ended == "method finished"
    assert done.ledger.candidates <= 40 + 40 * 3
    with pytest.raises(InvalidArgument, match="global_samples=0 takes the rows at hand"):
        run(Aequitas(global_samples=0), Subject(DOMAIN, MODEL), Plan(0, Budget(candidates=10)))


@pytest.mark.parametrize(
    "wrong", [{"mode": "directed"}, {"global_samples": -1}, {"step": 0.0}, {"direction": 1.5}, {"local_steps": -1}, {"after_miss": 2.0}]
)
def test_parameters_are_checked(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong)).removeprefix("local_")):
        Aequitas(**wrong)


def test_what_was_learnt_is_told():
    planted = shapes()["wide_band"]
    brief = METHODS.make("aequitas_full", {"global_samples": 100, "local_steps": 10})
    done = run(brief, Subject(planted.domain, planted.model), Plan(0, Budget(candidates=3_000)))
    assert set(done.facts["attributes"]) == set(done.facts["steps_down"]) == {f"f{i}" for i in range(1, 7)}
