"""ADF's own promises: where it steps, what it never asks twice, and what it says when gradients vanish."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest

from evenhand.contract import Task
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import InvalidArgument
from evenhand.methods.adf import Adf, AgreeingSigns
from evenhand.methods.eidig import Eidig
from evenhand.methods.neuronfair import NeuronFair
from evenhand.methods.parts.chosen_twin import Partners
from evenhand.methods.parts.seeds import cluster, clustered_seeds, in_turn
from evenhand.methods.parts.walks import Moves, pick
from evenhand.models.budget import Budget
from evenhand.models.dense import DenseNet
from evenhand.models.meter import Meter
from evenhand.oracles.flip import LabelFlip
from evenhand.oracles.gap import ScoreGap
from evenhand.planted import shapes

METHODS = (Adf, Eidig, NeuronFair)


def subject(shape="wide_band", n=400):
    planted = shapes()[shape]
    return Subject(planted.domain, planted.model, planted.domain.sample(n, np.random.default_rng(5)))


def linear_net(weights, bias=0.0):
    """A network without hidden layers, whose loss gradient is known by hand."""
    half = np.array(weights, dtype=np.float32) / 2
    return DenseNet((np.stack([-half, half], axis=1),), (np.array([-bias / 2, bias / 2], dtype=np.float32),))


def conversation(method, given, steps, seed=0):
    """Drive a method by hand; every yielded batch with its verdict."""
    search = method.search(Task(given.domain, Meter(given.model), given.rows), np.random.default_rng(seed))
    heard = []
    candidates = next(search)
    for _ in range(steps):
        verdict = LabelFlip().judge(candidates.rows, given.domain, given.model)
        heard.append((candidates, verdict))
        try:
            candidates = search.send(verdict)
        except StopIteration:
            break
    search.close()
    return heard


def test_global_steps_climb_the_loss_along_attributes_on_which_both_twins_agree():
    domain = TabularDomain((Column("sex", "integer", low=0, high=1), *(Column(n, "integer", low=0, high=9) for n in "abc")), ("sex",))
    net = linear_net([1.0, 0.5, -0.5, 0.0], bias=-0.2)
    rows = np.array([[0.0, 5.0, 1.0, 4.0]])
    twins = np.array([[1.0, 5.0, 1.0, 4.0]])
    # Both twins are in the second class: the loss grows where its logit falls.
    assert AgreeingSigns(Meter(net)).directions(rows, twins, np.arange(1)).tolist() == [[-1.0, -1.0, 1.0, 0.0]]
    domain_moves = Moves(domain)
    assert domain_moves.step(rows, np.array([[-1.0, -1.0, 1.0, 0.0]])).tolist() == [[0.0, 4.0, 2.0, 4.0]], "protected cells stay"


def test_attributes_on_which_twins_disagree_stay():
    net = linear_net([4.0, 1.0], bias=-2.5)
    rows, twins = np.array([[0.0, 1.0]]), np.array([[1.0, 1.0]])
    # One twin on each side of the boundary: the loss grows in opposite directions.
    assert not AgreeingSigns(Meter(net)).directions(rows, twins, np.arange(1)).any()


def test_where_the_own_gradient_vanishes_the_twin_leads():
    dead = DenseNet(
        (np.array([[1.0], [1.0]], np.float32), np.array([[-1.0, 1.0]], np.float32)),
        (np.array([-6.0], np.float32), np.array([0.0, -2.0], np.float32)),
    )
    # relu(x0 + x1 - 6) is dead for the row and alive for its twin.
    rows, twins = np.array([[0.0, 5.0]]), np.array([[3.0, 5.0]])
    assert AgreeingSigns(Meter(dead)).directions(rows, twins, np.arange(1))[0, 1] != 0


@pytest.mark.parametrize("method", METHODS)
def test_no_row_is_proposed_twice(method):
    given = subject()
    heard = conversation(method(seeds=60, local_steps=80), given, 5_000)
    keys = np.concatenate([given.domain.keys(candidates.rows) for candidates, _ in heard])
    assert len(keys) > 1_000
    assert len(np.unique(keys)) == len(keys)


@pytest.mark.parametrize("method", METHODS)
def test_both_phases_find_and_the_local_phase_follows_the_global_one(method):
    done = run(method(seeds=60, local_steps=80), subject(), Plan(0, Budget(candidates=200_000)))
    phases = Counter(done.findings.phase)
    assert done.ended == "method finished"
    assert phases["global"] > 20
    assert phases["local"] > phases["global"]
    assert done.ledger.duplicates == 0
    first_local = int(done.findings.candidate[done.findings.phase == "local"].min())
    assert first_local > int(done.findings.candidate[done.findings.phase == "global"].max())


@pytest.mark.parametrize("method", METHODS)
def test_thousands_of_seeds_advance_in_one_batch(method):
    given = subject(n=4_000)
    heard = conversation(method(seeds=3_000, local_steps=1), given, 2)
    assert len(heard[0][0].rows) == 3_000


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", ["one_of_nine", "intersection", "proxy"])
def test_many_values_and_several_protected_attributes(method, shape):
    done = run(method(seeds=100, local_steps=50), subject(shape), Plan(1, Budget(candidates=5_000)))
    assert done.ledger.findings > 1.2 * float(shapes()[shape].rate) * done.ledger.candidates


@pytest.mark.parametrize("method", METHODS)
def test_vanished_gradients_are_counted_and_the_search_goes_on(method):
    planted = shapes()["wide_band"]
    flat = DenseNet(tuple(np.zeros_like(k) for k in planted.model.kernels), planted.model.biases, planted.model.classes)
    given = Subject(planted.domain, flat, planted.domain.sample(50, np.random.default_rng(0)))
    done = run(method(seeds=50, iterations=4), given, Plan(0, Budget(candidates=10_000)))
    assert done.facts["gradients"]["global_without_gradient"] == done.facts["gradients"]["global_steps"] == 200
    assert done.ledger.candidates > 100, "random steps must lead somewhere"
    assert done.ledger.findings == 0


def test_steady_gradients_are_not_counted_as_vanished():
    done = run(Adf(seeds=50, local_steps=20), subject(), Plan(0, Budget(candidates=10_000)))
    assert done.facts["gradients"]["local_without_gradient"] == 0
    assert done.facts["gradients"]["local_steps"] > 0


def test_the_partner_is_the_twin_with_the_largest_difference():
    planted = shapes()["one_of_nine"]
    rows = planted.domain.sample(200, np.random.default_rng(2))
    chosen = Partners(planted.domain, Meter(planted.model)).choose(rows)
    orbit = planted.domain.twins(rows).rows
    own = planted.model.scores(rows)[:, 1]
    gaps = np.stack([np.abs(planted.model.scores(twins)[:, 1] - own) for twins in orbit])
    line = np.arange(len(rows))
    assert (planted.domain.combinations[chosen, 0] != rows[:, 0]).all(), "nobody is the partner of oneself"
    assert gaps[chosen, line] == pytest.approx(gaps.max(axis=0))


def test_all_twins_are_asked_in_one_batch():
    planted = shapes()["one_of_nine"]
    meter = Meter(planted.model)
    Partners(planted.domain, meter).choose(planted.domain.sample(100, np.random.default_rng(2)))
    assert meter.calls == 1
    assert meter.rows_asked == 1_000


def test_a_walk_that_never_leaves_the_findings_stays_one_step_away_from_them():
    given = subject()
    heard = conversation(Adf(seeds=40, local_steps=30, after_miss=0.0), given, 400)
    found = np.zeros((0, len(given.domain.columns)))
    for candidates, verdict in heard:
        found = np.concatenate([found, candidates.rows[verdict.unfair]])
        if candidates.phase == "local":
            distance = np.abs(candidates.rows[:, None, 1:] - found[None, :, 1:]).sum(axis=2).min(axis=1)
            assert (distance <= 1).all()


@dataclass(frozen=True)
class Unfused:
    """A net whose gradients come without a look at the scores, so that nothing can be foreseen."""

    net: DenseNet
    classes: tuple[int, ...] = (0, 1)
    is_hard: bool = False
    batch_rows: int = 8192

    def scores(self, rows):
        return self.net.scores(rows)

    def gradient(self, rows, cotangent, layer="scores"):
        return self.net.gradient(rows, cotangent, layer)

    def fingerprint(self):
        return self.net.fingerprint()


@pytest.mark.parametrize("after_miss", [0.0, 1 / math.e])
def test_foreseen_verdicts_lead_to_the_same_findings_as_heard_ones(after_miss):
    given = subject("interaction")
    method, plan = Adf(seeds=60, local_steps=70, after_miss=after_miss), Plan(3, Budget(candidates=100_000))
    foreseen, heard = (run(method, replace(given, model=model), plan) for model in (given.model, Unfused(given.model)))
    assert foreseen.ledger.calls < heard.ledger.calls / 1.5, "steps that need not wait are judged together"
    assert {*map(tuple, foreseen.findings.rows)} == {*map(tuple, heard.findings.rows)}


def test_a_verdict_that_was_foreseen_wrongly_is_believed():
    given = subject("wide_band")
    plan = Plan(3, Budget(candidates=100_000), ScoreGap(0.1))
    method = Adf(seeds=60, local_steps=40, after_miss=0.0)
    foreseen, heard = (run(method, replace(given, model=model), plan) for model in (given.model, Unfused(given.model)))
    assert len(heard.findings)
    assert len(foreseen.findings) > 0.9 * len(heard.findings)


def test_more_steps_are_kept_after_a_miss_with_a_larger_probability():
    shares = [run(Adf(seeds=100, local_steps=100, after_miss=p), subject(), Plan(0, Budget(candidates=50_000))).ledger for p in (0.0, 1.0)]
    staying, straying = (ledger.findings / ledger.candidates for ledger in shares)
    assert staying > straying + 0.1


def test_constraints_are_kept():
    columns = (Column("sex", "integer", low=0, high=1), *(Column(n, "integer", low=0, high=9) for n in "ab"))
    domain = TabularDomain(columns, ("sex",), Label("y", (0, 1), (1,)), compile_constraints(["a <= b"], columns))
    net = linear_net([2.0, 1.0, 1.0], bias=-9.5)
    given = Subject(domain, net, domain.sample(30, np.random.default_rng(0)))
    for candidates, _ in conversation(Adf(seeds=30, local_steps=10), given, 50):
        assert (candidates.rows[:, 1] <= candidates.rows[:, 2]).all()


def test_real_columns_move_by_a_hundredth_of_their_range_and_stay_inside():
    domain = TabularDomain((Column("sex", "integer", low=0, high=1), Column("income", "real", low=0.0, high=50.0)), ("sex",))
    moves = Moves(domain)
    assert moves.step(np.array([[0.0, 10.0], [1.0, 49.9]]), np.array([[1.0, 1.0], [0.0, 1.0]])).tolist() == [[0.0, 10.5], [1.0, 50.0]]
    assert moves.step_one(np.array([[0.0, 0.2]]), np.array([1]), np.array([-1.0])).tolist() == [[0.0, 0.0]]


def test_columns_are_picked_as_often_as_their_weights_say():
    weights = np.array([0.0, 1.0, 3.0, 0.0])
    chosen = pick(np.tile(np.cumsum(weights)[:, None], (1, 40_000)), np.random.default_rng(0))
    assert np.bincount(chosen, minlength=4) / 40_000 == pytest.approx(weights / 4, abs=0.01)


def test_clusters_separate_what_is_far_apart_and_take_turns():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(centre, 0.1, (50, 2)) for centre in ((0, 0), (9, 0), (0, 9), (9, 9))])
    labels = cluster(rows, 4, rng)
    assert len({tuple(sorted(set(labels[i : i + 50]))) for i in range(0, 200, 50)}) == 4
    for turn in in_turn(labels, rng).reshape(-1, 4):
        assert len(set(labels[turn])) == 4, "every cluster gives one seed in each turn"


def test_seeds_are_distinct_rows_of_the_data():
    given = subject(n=300)
    rows = np.concatenate([given.rows, given.rows])
    seeds = clustered_seeds(Task(given.domain, Meter(given.model), rows), 1_000, 4, np.random.default_rng(0))
    assert len(seeds) == len(np.unique(given.domain.keys(given.rows)))
    assert {tuple(row) for row in seeds} <= {tuple(row) for row in rows}


def test_without_data_the_seeds_come_from_the_domain():
    planted = shapes()["wide_band"]
    done = run(Adf(seeds=50, local_steps=10), Subject(planted.domain, planted.model), Plan(0, Budget(candidates=2_000)))
    assert done.facts["seeds"] == 50
    assert done.ledger.findings > 0


@pytest.mark.parametrize(
    ("method", "wrong"),
    [
        (Adf, {"seeds": 0}),
        (Adf, {"clusters": 0}),
        (Adf, {"iterations": -1}),
        (Adf, {"step": 0.0}),
        (Adf, {"after_miss": 1.5}),
        (Adf, {"epsilon": 0.0}),
        (Eidig, {"decay": 1.0}),
        (Eidig, {"refresh": -1}),
        (Eidig, {"local_steps": -1}),
        (NeuronFair, {"random_share": -0.1}),
        (NeuronFair, {"random_every": 0}),
        (NeuronFair, {"local": "newton"}),
        (NeuronFair, {"step": math.nan}),
    ],
)
def test_an_impossible_parameter_is_named(method, wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong)).removeprefix("local_")):
        method(**wrong)
