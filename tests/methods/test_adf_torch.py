"""White-box methods on torch modules that misbehave: each is handled, or refused with a clear message."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import MissingAbility, UnsteadyModel, WrongAnswer
from evenhand.methods.adf import Adf
from evenhand.methods.neuronfair import NeuronFair
from evenhand.models.budget import Budget
from evenhand.models.dense import DenseNet
from evenhand.models.differences import DifferenceGradients

torch = pytest.importorskip("torch")
from evenhand.models.torch import from_module  # noqa: E402

DOMAIN = TabularDomain(
    (Column("sex", "integer", low=0, high=1), *(Column(name, "integer", low=0, high=9) for name in "abc")),
    ("sex",),
    Label("y", (0, 1), (1,)),
)
ROWS = DOMAIN.sample(100, np.random.default_rng(0))
SMALL = Adf(seeds=60, local_steps=30)


class Net(torch.nn.Module):
    """A small network around a step that a test chooses."""

    def __init__(self, before=None, *between):
        super().__init__()
        torch.manual_seed(2)
        self.before = before or (lambda x: x)
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 8), *between, torch.nn.ReLU(), torch.nn.Linear(8, 2))
        with torch.no_grad():
            self.body[0].weight[:, 0] *= 4

    def forward(self, x):
        return self.body(self.before(x - 4.5))


def search(module, method=SMALL):
    return run(method, Subject(DOMAIN, from_module(module, DOMAIN), ROWS), Plan(0, Budget(candidates=3_000)))


def test_a_module_gives_the_same_findings_as_the_same_network_in_numpy():
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    kernels = tuple(part.weight.detach().numpy().T.copy() for part in (module[0], module[2]))
    biases = tuple(part.bias.detach().numpy().copy() for part in (module[0], module[2]))
    dense = run(SMALL, Subject(DOMAIN, DenseNet(kernels, biases), ROWS), Plan(0, Budget(candidates=3_000)))
    assert abs(search(module).ledger.findings - dense.ledger.findings) <= 0.1 * dense.ledger.findings + 5


@pytest.mark.parametrize("method", [SMALL, NeuronFair(seeds=60, local_steps=30)], ids=["adf", "neuronfair"])
@pytest.mark.parametrize("between", [torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5)], ids=["batch norm", "dropout"])
def test_training_mode_is_switched_off_for_the_search_and_left_as_it_was(between, method):
    module = Net(None, between).train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    training = search(module, method)
    assert module.training
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items()), "running statistics are untouched"
    evaluating = search(module.eval(), method)
    assert np.array_equal(training.findings.rows, evaluating.findings.rows)
    assert training.ledger.findings > 0


def test_batch_norm_without_running_statistics_is_refused():
    with pytest.raises(UnsteadyModel, match="batch"):
        search(Net(None, torch.nn.BatchNorm1d(8, track_running_stats=False)))


def test_a_frozen_layer_changes_nothing():
    module = Net()
    free = search(module)
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    assert np.array_equal(free.findings.rows, search(module).findings.rows)


def test_a_step_that_cuts_the_graph_is_refused_with_the_cure():
    with pytest.raises(MissingAbility, match="differences"):
        search(Net(lambda x: (x > 0).float()))


def test_a_rounding_step_has_no_gradient_and_the_run_says_so():
    done = search(Net(torch.round))
    assert done.facts["gradients"]["global_without_gradient"] == done.facts["gradients"]["global_steps"] > 0


def test_differences_see_through_a_rounding_step():
    model = DifferenceGradients(from_module(Net(torch.round), DOMAIN), domain=DOMAIN)
    done = run(SMALL, Subject(DOMAIN, model, ROWS), Plan(0, Budget(candidates=3_000)))
    assert done.facts["gradients"]["global_without_gradient"] < done.facts["gradients"]["global_steps"]


def test_gradients_that_are_not_numbers_are_refused():
    # The square root's slope at zero is infinite, and infinite times zero is not a number.
    with pytest.raises(WrongAnswer, match="gradient"):
        search(Net(lambda x: x + 0.0 * torch.sqrt(torch.clamp(x - 3.5, min=0.0))))


def test_not_a_number_from_any_other_model_is_refused_too():
    class Broken(DenseNet):
        def pullback(self, rows, slope, layer="scores"):
            return np.full(rows.shape, np.nan)

    rng = np.random.default_rng(0)
    net = Broken((rng.normal(size=(4, 2)).astype(np.float32),), (np.zeros(2, np.float32),))
    with pytest.raises(WrongAnswer, match="DifferenceGradients"):
        run(SMALL, Subject(DOMAIN, net, ROWS), Plan(0, Budget(candidates=3_000)))
