"""Biased neurons: measured, covered, zeroed and drawn."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import InvalidArgument, MissingAbility, UnknownName
from evenhand.measures.neurons import as_curve, coverage, measure_bias, zeroing_effect
from evenhand.measures.neurons.bias import BiasMap, LayerBias, hidden_layers
from evenhand.models.dense import DenseNet
from evenhand.models.differences import DifferenceGradients
from evenhand.planted import shapes
from evenhand.report.sections.neuron_maps import maps

PLANTED = shapes()["wide_band"]
ROWS = PLANTED.domain.sample(500, np.random.default_rng(0))


def test_the_curve_counts_neurons_above_each_threshold():
    curve = as_curve(np.array([0.0, 0.2, 0.5, 0.95]), interval=0.1)
    assert curve.thresholds == pytest.approx(np.arange(0, 0.95, 0.1))
    assert curve.shares.tolist() == [0.75, 0.75, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25]
    assert curve.area == pytest.approx(0.1 * 4.25)
    assert curve.crossing == pytest.approx(0.5), "the first threshold that is not below its own share"


def test_the_area_is_the_mean_reaction_up_to_the_interval():
    reactions = np.random.default_rng(0).random(500)
    assert as_curve(reactions, 0.001).area == pytest.approx(reactions.mean(), abs=0.002)


def test_a_layer_that_hardly_reacts_still_names_its_strongest_neuron():
    layer = LayerBias("one", np.array([0.1, 0.1, 0.02]), 0.0)
    assert layer.curve.crossing == pytest.approx(0.1)
    assert layer.biased.tolist() == [True, True, False]


def test_a_layer_that_does_not_react_has_no_biased_neuron():
    layer = LayerBias("dead", np.zeros(4), 0.0)
    assert layer.area == 0
    assert not layer.biased.any()


@pytest.mark.parametrize("interval", [0.0, 1.0, -1.0])
def test_an_impossible_interval_is_named(interval):
    with pytest.raises(InvalidArgument, match="interval"):
        as_curve(np.ones(3), interval)


def test_only_the_unit_that_reads_the_group_reacts():
    bias = measure_bias(PLANTED.model, PLANTED.domain, ROWS)
    assert bias.pairs == len(ROWS)
    # relu_1 holds the sum and the group; the group's unit goes from 0 to 1 between twins.
    assert bias["relu_1"].reactions == pytest.approx([0.0, np.tanh(1.0)])
    assert bias["relu_1"].biased.tolist() == [False, True]
    with pytest.raises(UnknownName, match="relu_9"):
        _ = bias["relu_9"]


def test_every_other_value_of_a_protected_column_is_a_pair():
    planted = shapes()["one_of_nine"]
    rows = planted.domain.sample(300, np.random.default_rng(0))
    bias = measure_bias(planted.model, planted.domain, rows)
    assert bias.pairs == 8 * 300
    # The unit of the ninth band differs in 8 of 72 ordered pairs starting there and 8 ending there.
    share = np.where(rows[:, 0] == 9, 1.0, 1 / 8).mean()
    assert bias["relu_1"].reactions[1] == pytest.approx(np.tanh(share))


def test_findings_cover_the_biased_neuron():
    layer = measure_bias(PLANTED.model, PLANTED.domain, ROWS)["relu_1"]
    low = ROWS.copy()
    low[:, 1:] = 0.0
    low[:, 0] = 1.0
    assert coverage(PLANTED.model, layer, low).share == 1.0
    low[:, 0] = 0.0
    assert coverage(PLANTED.model, layer, low).share == 0.0
    assert np.isnan(coverage(PLANTED.model, LayerBias("relu_1", np.zeros(2), 0.0), low).share)


def test_zeroing_the_biased_neuron_ends_the_unfairness():
    layer = measure_bias(PLANTED.model, PLANTED.domain, ROWS)["relu_1"]
    labels = PLANTED.model.scores(ROWS).argmax(axis=1)
    effect = zeroing_effect(PLANTED.model, PLANTED.domain, layer, ROWS, labels)
    assert float(PLANTED.rate) in effect.unfair_before
    assert effect.unfair_after.estimate == 0
    assert effect.accuracy_before.estimate == 1.0
    # Half of the band's people belong to the second group and lose what the group gave them.
    assert effect.accuracy_after.estimate == pytest.approx(1 - float(PLANTED.rate) / 2, abs=0.06)
    assert effect.as_dict()["units"] == [1]


def test_the_map_of_a_network_without_its_biased_neurons_shows_them_silent():
    planted = shapes()["wide_band"]
    rows = planted.domain.sample(200, np.random.default_rng(0))
    layer = measure_bias(planted.model, planted.domain, rows)["relu_1"]
    silenced = planted.model.without("relu_1", np.flatnonzero(layer.biased))
    after = measure_bias(silenced, planted.domain, rows)["relu_1"]
    assert layer.reactions[layer.biased].min() > 0
    assert (after.reactions[layer.biased] == 0).all()


def test_a_model_without_removable_units_is_refused():
    layer = measure_bias(PLANTED.model, PLANTED.domain, ROWS)["relu_1"]
    with pytest.raises(MissingAbility, match="units"):
        zeroing_effect(DifferenceGradients(PLANTED.model), PLANTED.domain, layer, ROWS)


def test_pictures_show_every_layer_and_the_repair():
    before = measure_bias(PLANTED.model, PLANTED.domain, ROWS)
    after = measure_bias(PLANTED.model.without("relu_1", [1]), PLANTED.domain, ROWS)
    assert after["relu_2"].area == 0 < before["relu_2"].area
    told = maps(before.as_dict())
    assert [row.head for row in told["table"].rows] == [layer.name for layer in before.layers]
    assert str(told["reactions"]).count("<rect") == sum(len(layer.reactions) for layer in before.layers)
    assert "y = x" in told["curves"]["legend"]


def test_layers_of_unequal_width_are_drawn_as_wide_as_they_are():
    told = maps(BiasMap((LayerBias("wide", np.ones(3), 0.0), LayerBias("thin", np.zeros(1), 0.0)), 1).as_dict())
    assert str(told["reactions"]).count("<rect") == 4


def test_torch_layers_react_and_fall_silent_like_numpy_ones():
    torch = pytest.importorskip("torch")
    from evenhand.models.torch import from_module

    columns = (Column("sex", "integer", low=0, high=1), Column("a", "integer", low=0, high=9))
    domain = TabularDomain(columns, ("sex",), Label("y", (0, 1), (1,)))
    module = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
    kernels = tuple(part.weight.detach().numpy().T.copy() for part in (module[0], module[2]))
    dense = DenseNet(kernels, tuple(part.bias.detach().numpy().copy() for part in (module[0], module[2])))
    model, rows = from_module(module, domain), domain.sample(200, np.random.default_rng(0))
    expected = measure_bias(dense, domain, rows)["relu_1"].reactions
    assert measure_bias(model, domain, rows)["1"].reactions == pytest.approx(expected, abs=1e-5)
    silent = model.without("1", [0, 3]).scores(rows)
    assert silent == pytest.approx(dense.without("relu_1", [0, 3]).scores(rows), abs=1e-5)
    assert model.scores(rows) == pytest.approx(dense.scores(rows), abs=1e-5), "the original stays as it was"


def test_convolutional_layers_are_flattened():
    torch = pytest.importorskip("torch")
    from evenhand.models.torch import from_module

    class Convolution(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.convolution = torch.nn.Conv1d(1, 3, 2)
            self.head = torch.nn.Linear(9, 2)

        def forward(self, x):
            return self.head(torch.relu(self.convolution(x[:, None, :])).flatten(1))

    domain = TabularDomain(
        (Column("sex", "integer", low=0, high=1), *(Column(n, "integer", low=0, high=9) for n in "abc")), ("sex",), Label("y", (0, 1), (1,))
    )
    model, rows = from_module(Convolution(), domain), domain.sample(100, np.random.default_rng(0))
    layer = measure_bias(model, domain, rows, ["convolution"])["convolution"]
    assert len(layer.reactions) == 9
    # The protected cell is the first one: only the first position of each of the three filters sees it.
    assert np.flatnonzero(layer.reactions).tolist() == [0, 3, 6]
    assert model.without("convolution", [0, 3, 6]).scores(rows).shape == (100, 2)


def test_the_answer_and_what_repeats_a_layer_are_no_hidden_layers():
    rng = np.random.default_rng(0)
    first, logits = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    layers = {"first": first, "again": first, "last": logits, "net": logits, "softmax": scores, "odds": (logits[:, 1:] - logits[:, :1])}

    class Wrapped:
        def layers(self):
            return tuple(layers)

        def activations(self, rows, names):
            return {name: layers[name][: len(rows)] for name in names}

        def scores(self, rows):
            return scores[: len(rows)]

    assert hidden_layers(Wrapped(), np.zeros((40, 1))) == ("first",)
