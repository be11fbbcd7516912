"""One pass or two, NumPy or torch: the gradient of a coupled loss is the same, and it is charged for what it asks."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.methods.parts.gradients import cross_entropy, dynamic_loss, own_score, pair_gradients
from evenhand.models.budget import Budget
from evenhand.models.differences import DifferenceGradients
from evenhand.models.meter import Meter
from evenhand.planted import shapes

PLANTED = shapes()["interaction"]
ROWS = PLANTED.domain.sample(300, np.random.default_rng(0))
TWINS = ROWS.copy()
TWINS[:, 0] = 1 - TWINS[:, 0]
CASES = [(cross_entropy, "scores"), (own_score, "scores"), (dynamic_loss(np.ones(6, dtype=bool)), "relu_1")]


class TwoPasses:
    """The same network without the fused pass."""

    def __init__(self, model):
        self._model = model
        self.gradient, self.activations, self.layers, self.scores = model.gradient, model.activations, model.layers, model.scores
        self.classes, self.is_hard, self.batch_rows, self.fingerprint = model.classes, False, model.batch_rows, model.fingerprint


@pytest.mark.parametrize(("slope", "layer"), CASES)
def test_one_pass_gives_the_gradient_of_two(slope, layer):
    one, two = (pair_gradients(Meter(model), ROWS, TWINS, slope, layer) for model in (PLANTED.model, TwoPasses(PLANTED.model)))
    assert one[0] == pytest.approx(two[0])
    assert one[1] == pytest.approx(two[1])
    assert one[0].any()


@pytest.mark.parametrize(("slope", "layer"), CASES)
def test_small_batches_change_nothing(slope, layer):
    class Small(TwoPasses):
        def __init__(self, model):
            super().__init__(model)
            self.batch_rows = 16

    whole, cut = (pair_gradients(Meter(model), ROWS, TWINS, slope, layer) for model in (PLANTED.model, Small(PLANTED.model)))
    assert whole[0] == pytest.approx(cut[0])


def test_torch_gives_the_same_gradients_in_one_pass():
    torch = pytest.importorskip("torch")
    from evenhand.models.torch import from_module

    parts = []
    for kernel, bias in zip(PLANTED.model.kernels, PLANTED.model.biases, strict=True):
        linear = torch.nn.Linear(*kernel.shape)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(kernel.T.copy()))
            linear.bias.copy_(torch.tensor(bias))
        parts += [linear, torch.nn.ReLU()]
    meter = Meter(from_module(torch.nn.Sequential(*parts[:-1]), PLANTED.domain))
    for slope, layer in CASES:
        ours = pair_gradients(Meter(PLANTED.model), ROWS, TWINS, slope, layer)
        theirs = pair_gradients(meter, ROWS, TWINS, slope, "1" if layer == "relu_1" else layer)
        assert theirs[0] == pytest.approx(ours[0], abs=1e-5)
        assert theirs[1] == pytest.approx(ours[1], abs=1e-5)
    assert meter.rows_asked == 2 * len(ROWS) * len(CASES)


def test_every_row_that_differences_ask_is_charged():
    meter = Meter(DifferenceGradients(PLANTED.model, domain=PLANTED.domain), Budget(model_rows=10_000_000))
    pair_gradients(meter, ROWS, TWINS, own_score)
    columns = len(PLANTED.domain.columns)
    assert meter.rows_asked == 2 * len(ROWS) * (1 + columns + 1)


def test_the_label_decides_between_equal_scores():
    assert own_score(np.array([[0.5, 0.5], [0.2, 0.8]])).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert cross_entropy(np.array([[0.25, 0.75]])).tolist() == [[0.0, -1 / 0.75]]
