"""certify on ReLU networks: bounds hold for every input of a box, and on small domains the share is the counted one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import evenhand as eh
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.domain.twins import Implied
from evenhand.errors import MissingAbility
from evenhand.measures.proofs import ProofLimits, certify
from evenhand.measures.proofs.linear_bounds import margin_bounds
from evenhand.models.dense import DenseNet
from evenhand.models.torch_adapter import TorchSettings
from tests.certify.test_exact import COLUMNS, counted_share, domain_of, training


def net(inputs: int, outputs: int = 2, hidden: tuple[int, ...] = (6, 4), seed: int = 0, fill: bool = True) -> DenseNet:
    rng = np.random.default_rng(seed)
    widths = (inputs, *hidden, outputs)
    kernels = tuple(rng.normal(0, 0.7, size).astype(np.float32) for size in pairwise(widths))
    biases = tuple(rng.normal(0, 0.7, width).astype(np.float32) for width in widths[1:])
    filled = np.full(inputs, 1.5, dtype=np.float32) if fill else None
    return DenseNet(kernels, biases, tuple(f"class {place}" for place in range(outputs)), filled)


def test_linear_bounds_hold_for_every_input_of_a_box() -> None:
    rng = np.random.default_rng(0)
    layers = [
        (rng.normal(size=(5, 8)), rng.normal(size=8)),
        (rng.normal(size=(8, 6)), rng.normal(size=6)),
        (rng.normal(size=(6, 3)), np.ones(3)),
    ]
    low = rng.normal(size=(50, 5))
    high = low + rng.random((50, 5)) * rng.choice([0.0, 0.1, 2.0], (50, 5))
    bounds = margin_bounds(layers, low, high)
    inside = low[:, None] + rng.random((50, 400, 5)) * (high - low)[:, None]
    values = inside
    for place, (weights, bias) in enumerate(layers):
        values = values @ weights + bias
        values = np.maximum(values, 0) if place < 2 else values
    assert (values >= bounds.low[:, None]).all()
    assert (values <= bounds.high[:, None]).all()


def test_a_box_of_one_input_is_bounded_to_that_input() -> None:
    rng = np.random.default_rng(1)
    layers = [(rng.normal(size=(4, 7)), rng.normal(size=7)), (rng.normal(size=(7, 2)), rng.normal(size=2))]
    point = rng.normal(size=(9, 4))
    bounds = margin_bounds(layers, point, point)
    assert (bounds.high - bounds.low).max() < 1e-3


@pytest.mark.parametrize("classes", [2, 3])
def test_the_share_of_a_small_domain_is_the_counted_one(classes: int) -> None:
    domain = domain_of(classes)
    model = net(len(COLUMNS), classes)
    certificate = certify(model, domain)
    assert certificate.is_exact
    assert certificate.lower == pytest.approx(counted_share(model, domain), abs=1e-12)


def test_constraints_and_implied_changes_are_kept_for_networks() -> None:
    rules = compile_constraints(['job == "a" => sex == "m"', 'rank == "low" => score <= 2'], COLUMNS)
    domain = domain_of(constraints=tuple(rules), implied=(Implied("sex", "m", "f", {"job": {"a": "b"}}),))
    model = net(len(COLUMNS), seed=4)
    certificate = certify(model, domain)
    assert certificate.is_exact
    assert certificate.lower == pytest.approx(counted_share(model, domain), abs=1e-12)


def test_bounds_of_an_unfinished_search_hold_the_truth() -> None:
    domain = domain_of()
    model = net(len(COLUMNS), seed=2)
    truth = counted_share(model, domain)
    for boxes in (1, 100, 600):
        found = certify(model, domain, limits=ProofLimits(boxes=boxes))
        assert found.lower - 1e-12 <= truth <= found.upper + 1e-12


@pytest.mark.slow
def test_torch_and_scikit_learn_networks_are_read() -> None:
    torch = pytest.importorskip("torch")
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    domain = domain_of()
    torch.manual_seed(0)
    width = 2 + 4 + 3  # one-hot sex and job, then three numbers
    module = torch.nn.Sequential(torch.nn.Linear(width, 6), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(6, 1))
    settings = TorchSettings(inputs="one_hot", fill=[0.0, 0.0, 5.0, 1.0, 1.0])
    rows, labels = training(domain)
    mlp = make_pipeline(SimpleImputer(), StandardScaler(), MLPClassifier((5,), max_iter=30, tol=1e-1, random_state=0)).fit(rows, labels)
    for model in (eh.wrap(module, domain, torch=settings), eh.wrap(mlp, domain, takes="codes", classes=list(domain.label.values))):
        certificate = certify(model, domain)
        assert certificate.is_exact
        assert certificate.lower == pytest.approx(counted_share(model, domain), abs=1e-12)


def test_real_numbers_leave_a_rest_that_is_named() -> None:
    domain = TabularDomain(
        (Column("s", "boolean", (False, True)), Column("x", "real", low=-1.0, high=1.0)), ("s",), Label("y", (0, 1), (1,))
    )
    model = net(2, seed=5, fill=False)
    model = DenseNet(model.kernels, model.biases, (0, 1))
    certificate = certify(model, domain)
    grid = np.stack([np.zeros(100_001), np.linspace(-1, 1, 100_001)], axis=1)
    from evenhand.measures.rates import judge_all
    from evenhand.oracles.flip import LabelFlip

    truth = judge_all(grid, domain, model, LabelFlip()).unfair.mean()
    assert certificate.lower - 1e-4 <= truth <= certificate.upper + 1e-4
    assert certificate.upper - certificate.lower < 0.01


@pytest.mark.slow
def test_other_activations_are_refused() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    domain = domain_of()
    model = eh.wrap(module, domain, torch=TorchSettings(fill=[0.0] * 5))
    with pytest.raises(MissingAbility, match="Tanh"):
        certify(model, domain)
