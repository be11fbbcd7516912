"""NeuronFair's own promises: the dynamic loss, Algorithms 2 and 3, and the published network's figures."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from evenhand import datasets
from evenhand.contract import Task
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.measures.neurons import measure_bias
from evenhand.methods.neuronfair import Dynamics, NeuronFair, Pull, SoftmaxSteps
from evenhand.methods.parts.climbing import Tally
from evenhand.methods.parts.gradients import dynamic_loss, pair_gradients
from evenhand.models.budget import Budget
from evenhand.models.dense import DenseNet
from evenhand.models.meter import Meter
from evenhand.planted import shapes

DATA = Path(os.environ.get("EVENHAND_DATA", Path(__file__).parents[3] / "shared" / "data"))
DOMAIN = TabularDomain(
    (Column("sex", "integer", low=0, high=1), *(Column(name, "integer", low=0, high=20) for name in "abcd")),
    ("sex",),
    Label("y", (0, 1), (1,)),
)


def network(seed=0, widths=(5, 16, 8, 2)):
    rng = np.random.default_rng(seed)
    kernels = tuple(rng.normal(0, 0.4, size).astype(np.float32) for size in pairwise(widths))
    return DenseNet(kernels, tuple(np.full(width, 0.2, dtype=np.float32) for width in widths[1:]))


NET = network()
ROWS = DOMAIN.sample(200, np.random.default_rng(1))
LAYER = measure_bias(NET, DOMAIN, ROWS)["relu_1"]


def twins_of(rows):
    twins = rows.copy()
    twins[:, 0] = 1 - twins[:, 0]
    return twins


def loss(rows, twins, chosen):
    """The paper's loss, neuron by neuron."""
    first, second = (NET.activations(each, ("relu_1",))["relu_1"].astype(np.float64) for each in (rows, twins))
    active = chosen & (first > 0)
    return -np.where(active, second * np.log(np.where(active, first, 1.0)), 0.0).sum(axis=1)


def test_the_slope_is_the_derivative_of_the_paper_s_loss():
    rows, twins = ROWS[:50] + 0.3, twins_of(ROWS[:50]) + 0.3
    first, second = pair_gradients(Meter(NET), rows, twins, dynamic_loss(LAYER.biased), "relu_1")
    for gradient, (moved, fixed) in zip((first, second), ((rows, twins), (twins, rows)), strict=True):
        for column in range(5):
            shift = np.zeros(5)
            shift[column] = 1e-2
            slope = (loss(moved + shift, fixed, LAYER.biased) - loss(moved - shift, fixed, LAYER.biased)) / 2e-2
            smooth = np.abs(slope - gradient[:, column]) < 0.02 * (1 + np.abs(slope))
            assert smooth.mean() > 0.9, "a unit may switch between the two sides of a few rows"


def test_only_chosen_neurons_count():
    nothing = dynamic_loss(np.zeros(16, dtype=bool))
    first, second = pair_gradients(Meter(NET), ROWS, twins_of(ROWS), nothing, "relu_1")
    assert not first.any()
    assert not second.any()


def test_the_gradient_path_ends_at_the_biased_layer():
    other = DenseNet((NET.kernels[0], NET.kernels[1] * -3, NET.kernels[2] * 7), NET.biases)
    found = [pair_gradients(Meter(net), ROWS, twins_of(ROWS), dynamic_loss(LAYER.biased), "relu_1") for net in (NET, other)]
    assert np.array_equal(found[0], found[1])


def test_global_directions_are_the_sign_of_both_gradients_with_momentum():
    compass = Pull(Dynamics(Meter(NET), LAYER, NeuronFair(random_share=0.0), np.random.default_rng(0)), 0.1, np.zeros(ROWS.shape))
    first, second = pair_gradients(Meter(NET), ROWS, twins_of(ROWS), dynamic_loss(LAYER.biased), "relu_1")
    assert np.array_equal(compass.directions(ROWS, twins_of(ROWS), np.arange(200)), np.sign(first + second))
    compass.directions(ROWS, twins_of(ROWS), np.arange(200))
    assert compass.memory == pytest.approx(1.1 * (first + second))


def test_every_walker_draws_its_own_random_neurons_as_many_as_the_share_says():
    dynamics = Dynamics(Meter(NET), LAYER, NeuronFair(random_share=0.25, random_every=2), np.random.default_rng(0))
    dynamics.turn(100)
    first = dynamics._random.copy()
    assert (first.sum(axis=1) == 4).all()
    assert len({tuple(row) for row in first}) > 50
    dynamics.turn(100)
    assert np.array_equal(first, dynamics._random), "drawn again every second iteration only"
    dynamics.turn(100)
    assert not np.array_equal(first, dynamics._random)


def test_local_steps_follow_algorithm_3():
    task = Task(DOMAIN, Meter(NET), ROWS)
    method = NeuronFair(random_share=0.0)
    start = np.repeat(ROWS[:1], 4_000, axis=0)
    start[:, 1:] = 10.0
    steps = SoftmaxSteps(task, start, Dynamics(task.model, LAYER, method, np.random.default_rng(0)), Tally(task))
    moved = steps.propose(start, np.ones(len(start), dtype=bool)) - start
    first, second = pair_gradients(Meter(NET), start[:1], twins_of(start[:1]), dynamic_loss(LAYER.biased), "relu_1")
    total = (first + second)[0, 1:]
    weights = np.exp(1 / (np.abs(total) + 1e-6) - (1 / (np.abs(total) + 1e-6)).max())
    chances = weights / weights.sum()
    assert not moved[:, 0].any(), "the protected cell stays"
    assert set(np.unique(moved[:, 1:] * np.sign(total))) <= {0.0, 1.0}, "only along the sign of the summed gradient"
    assert (moved[:, 1:] != 0).mean(axis=0) == pytest.approx(chances, abs=0.03)


def test_the_walk_goes_on_after_a_miss_unless_told_otherwise():
    planted = shapes()["wide_band"]
    subject = Subject(planted.domain, planted.model, planted.domain.sample(100, np.random.default_rng(0)))
    runs = [
        run(NeuronFair(seeds=100, local_steps=60, local="random", after_miss=p), subject, Plan(0, Budget(candidates=100_000))).ledger
        for p in (0.0, 1.0)
    ]
    assert runs[0].findings / runs[0].candidates > runs[1].findings / runs[1].candidates


def test_the_run_tells_which_neurons_it_followed():
    facts = run(NeuronFair(seeds=50, local_steps=10), Subject(DOMAIN, NET, ROWS), Plan(0, Budget(candidates=2_000))).facts
    assert facts["neurons"]["most_biased"] in NET.layers()
    assert 0 < facts["neurons"]["biased_neurons"] <= facts["neurons"]["neurons"]
    assert facts["gradients"]["global_steps"] >= facts["gradients"]["global_without_gradient"]


@pytest.mark.skipif(not (DATA / "models" / "NeuronFair_census.npz").exists(), reason="the papers' models are not at $EVENHAND_DATA")
def test_the_published_census_network_has_the_published_curves():
    adult = datasets.adult("papers")
    net = DenseNet.from_npz(DATA / "models" / "NeuronFair_census.npz")
    bias = measure_bias(net, adult.domain.protect("sex"), adult.encoded)
    assert list(bias.areas.values()) == pytest.approx([0.293, 0.752, 0.673, 0.253, 0.250], abs=0.005)
    assert bias.most_biased.name == "relu_2"
    assert bias["relu_3"].curve.crossing == pytest.approx(0.625)
    assert int(bias["relu_3"].biased.sum()) == 10
