"""The gradient methods from end to end on every source of gradients: torch in both precisions, converted ONNX, differences."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.methods.adf import Adf
from evenhand.methods.eidig import Eidig
from evenhand.methods.neuronfair import NeuronFair
from evenhand.models.budget import Budget
from evenhand.models.differences import DifferenceGradients
from evenhand.models.wrap import wrap

DOMAIN = TabularDomain(
    (Column("sex", "integer", low=0, high=1), *(Column(name, "integer", low=0, high=9) for name in "abcd")),
    ("sex",),
    Label("y", (0, 1), (1,)),
)
ROWS = DOMAIN.sample(200, np.random.default_rng(0))
METHODS = [Adf(seeds=60, local_steps=30), Eidig(seeds=60, local_steps=30), NeuronFair(seeds=60, iterations=10, local_steps=30)]
KERNEL = np.random.default_rng(4).normal(0, 0.5, (5, 12)).astype(np.float32)
KERNEL[0] *= 3
OUT = np.random.default_rng(5).normal(0, 0.5, (12, 2)).astype(np.float32)
BIAS = np.float32([0.0, 0.3])

every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)


def found(method, model):
    done = run(method, Subject(DOMAIN, model, ROWS), Plan(1, Budget(candidates=2_000)))
    assert len(done.findings), "the model is unfair to many"
    assert done.facts["gradients"]["global_steps"] > 0
    return done.findings


def assert_flips(findings, model):
    """Every finding holds on this model."""
    first, second = (model.scores(rows).argmax(axis=1) for rows in (findings.rows, findings.twins))
    assert (first != second).all()


def module():
    torch = pytest.importorskip("torch")
    made = torch.nn.Sequential(torch.nn.Linear(5, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2))
    with torch.no_grad():
        for place, weight, bias in ((0, KERNEL, np.zeros(12, np.float32)), (2, OUT, BIAS)):
            made[place].weight.copy_(torch.as_tensor(weight.T))
            made[place].bias.copy_(torch.as_tensor(bias))
    return made


@every_method
def test_rough_gradients_lead_to_findings_of_the_exact_model(method):
    from evenhand.models.torch import from_module
    from evenhand.models.torch_adapter import TorchSettings

    exact, rough = (from_module(module(), DOMAIN, settings=TorchSettings(precision=p)) for p in ("float32", "bfloat16"))
    assert_flips(found(method, rough), exact)


@every_method
def test_a_converted_file_is_searched_and_its_findings_hold_in_the_file_itself(method, tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("torch")
    from evenhand.models.onnx_torch import torch_from_onnx

    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        make.make_node("MatMul", ["x", "k"], ["h"]),
        make.make_node("Relu", ["h"], ["r"]),
        make.make_node("Gemm", ["r", "o", "b"], ["l"]),
        make.make_node("Softmax", ["l"], ["p"], axis=1),
    ]
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in (("k", KERNEL), ("o", OUT), ("b", BIAS))]
    ends = [[make.make_tensor_value_info(name, kind, [None, width])] for name, width in (("x", 5), ("p", 2))]
    path = tmp_path / "net.onnx"
    graph = make.make_graph(nodes, "net", *ends, weights)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), path)
    assert_flips(found(method, torch_from_onnx(path, DOMAIN)), wrap(path, DOMAIN))


@every_method
def test_differences_open_the_methods_to_a_model_that_only_answers(method):
    def answer(codes):
        logits = np.maximum(codes @ KERNEL, 0) @ OUT + BIAS
        return 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))

    black_box = wrap(answer, DOMAIN, takes="codes")
    assert_flips(found(method, DifferenceGradients(black_box, domain=DOMAIN)), black_box)


def test_a_small_budget_leaves_half_of_itself_to_the_local_phase():
    from evenhand.models.torch import from_module

    done = run(NeuronFair(local_steps=30), Subject(DOMAIN, from_module(module(), DOMAIN), ROWS), Plan(1, Budget(candidates=600)))
    assert done.facts["gradients"]["local_steps"] > 0
