"""ONNX files: every usual way in and out, and conversion to torch that computes the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_domain import DOMAIN, rows

from evenhand.contract import SCORES, Transparent, labels_of
from evenhand.domain.tabular import Label
from evenhand.errors import InvalidArgument, MissingAbility, ModelFailed
from evenhand.models.meter import Meter
from evenhand.models.wrap import wrap

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
helper, FLOAT, INT64, STRING = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.STRING

CODES = rows(60)
WEIGHTS = np.array([0.05, 1.0, 1.5, 0.05])
BIAS = -6.2
MARGIN = CODES @ WEIGHTS + BIAS
CHANCE = 1 / (1 + np.exp(-MARGIN))


def save(path: Path, nodes: list[object], inputs: list[object], outputs: list[object], constants: dict[str, np.ndarray]) -> Path:
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "test", inputs, outputs, weights)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), path)
    return path


def value(name: str, kind: int, shape: list[object]) -> object:
    return helper.make_tensor_value_info(name, kind, shape)


def classifier(path: Path, labels: list[object], zipped: bool) -> Path:
    """A linear classifier as converters write it: label and probabilities; `labels` in the file's own order, 'high' or 1 being likely."""
    sign = np.array([1.0 if label in ("high", 1) else -1.0 for label in labels])
    names = {"classlabels_strings": labels} if isinstance(labels[0], str) else {"classlabels_ints": labels}
    node = helper.make_node(
        "LinearClassifier",
        ["x"],
        ["label", "raw"],
        domain="ai.onnx.ml",
        coefficients=np.outer(sign, WEIGHTS / 2).reshape(-1).tolist(),
        intercepts=(sign * BIAS / 2).tolist(),
        post_transform="SOFTMAX",
        **names,
    )
    nodes = [node]
    out = value("raw", FLOAT, [None, 2])
    if zipped:
        keys = {"classlabels_strings": labels} if isinstance(labels[0], str) else {"classlabels_int64s": labels}
        nodes.append(helper.make_node("ZipMap", ["raw"], ["zipped"], domain="ai.onnx.ml", **keys))
        kind = STRING if isinstance(labels[0], str) else INT64
        content = helper.make_map_type_proto(kind, helper.make_tensor_type_proto(FLOAT, []))
        out = helper.make_value_info("zipped", helper.make_sequence_type_proto(content))
    label = value("label", STRING if isinstance(labels[0], str) else INT64, [None])
    return save(path, nodes, [value("x", FLOAT, [None, 4])], [label, out], {})


@pytest.mark.parametrize("labels", [["high", "low"], ["low", "high"], [0, 1]])
@pytest.mark.parametrize("zipped", [True, False])
def test_classifiers_are_read_by_the_names_in_the_file(tmp_path: Path, labels: list[object], zipped: bool) -> None:
    model = wrap(classifier(tmp_path / "m.onnx", labels, zipped), DOMAIN)
    assert model.classes == ("low", "high")
    assert not model.is_hard
    assert np.allclose(Meter(model).scores(CODES)[:, 1], CHANCE, atol=1e-5)


def test_labels_alone_are_hard(tmp_path: Path) -> None:
    model = wrap(classifier(tmp_path / "m.onnx", ["high", "low"], False), DOMAIN, returns="labels")
    assert model.is_hard
    assert np.array_equal(labels_of(model.scores(CODES)), MARGIN > 0)


def network(path: Path, rows_allowed: object = None, outputs: int = 2, soft: bool = True) -> Path:
    rng = np.random.default_rng(0)
    shape = (4, 5, outputs)
    constants = {
        "w1": (rng.normal(size=shape[:2]) / np.array([[50], [1], [1], [40]])).astype(np.float32),
        "b1": rng.normal(size=5).astype(np.float32),
        "w2": rng.normal(size=(outputs, 5)).astype(np.float32),
        "b2": rng.normal(size=outputs).astype(np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["m"]),
        helper.make_node("Add", ["m", "b1"], ["a"]),
        helper.make_node("Relu", ["a"], ["h"]),
        helper.make_node("Gemm", ["h", "w2", "b2"], ["z"], transB=1),
    ]
    if soft:
        nodes.append(helper.make_node("Softmax", ["z"], ["p"], axis=1))
    out = value("p" if soft else "z", FLOAT, [rows_allowed, outputs])
    return save(path, nodes, [value("x", FLOAT, [rows_allowed, 4])], [out], constants)


@pytest.mark.parametrize("rows_allowed", [None, 1, 8])
def test_one_score_tensor_with_any_number_of_rows(tmp_path: Path, rows_allowed: object) -> None:
    free = wrap(network(tmp_path / "free.onnx"), DOMAIN)
    model = wrap(network(tmp_path / "m.onnx", rows_allowed), DOMAIN)
    assert np.allclose(model.scores(CODES), free.scores(CODES), atol=1e-5)
    assert np.allclose(model.scores(CODES).sum(axis=1), 1, atol=1e-5)


def test_one_input_per_column_gets_the_original_cells(tmp_path: Path) -> None:
    make = helper.make_node
    nodes = [
        make("LabelEncoder", ["sex"], ["s"], domain="ai.onnx.ml", keys_strings=["male"], values_floats=[1.0], default_float=0.0),
        helper.make_node("Cast", ["age"], ["a"], to=FLOAT),
        helper.make_node("Mul", ["a", "small"], ["b"]),
        helper.make_node("Add", ["b", "s"], ["z"]),
        helper.make_node("Sigmoid", ["z"], ["p"]),
    ]
    inputs = [value("age", INT64, [None, 1]), value("sex", STRING, [None, 1])]
    path = save(tmp_path / "m.onnx", nodes, inputs, [value("p", FLOAT, [None, 1])], {"small": np.float32([-0.02])})
    expected = 1 / (1 + np.exp(-(CODES[:, 0] * -0.02 + CODES[:, 2])))
    assert np.allclose(wrap(path, DOMAIN).scores(CODES)[:, 1], expected, atol=1e-5)


def test_a_converted_network_computes_the_same_and_shows_its_layers(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from evenhand.models.torch_adapter import TorchSettings

    path = network(tmp_path / "m.onnx")
    plain, open_model = wrap(path, DOMAIN), wrap(path, DOMAIN, torch=TorchSettings())
    assert isinstance(open_model, Transparent)
    assert np.allclose(plain.scores(CODES), open_model.scores(CODES), atol=1e-5)
    assert [name.split(".")[1].split("_")[0] for name in open_model.layers()] == ["matmul", "add", "relu", "gemm", "softmax"]
    assert np.abs(open_model.gradient(CODES, np.tile([0.0, 1.0], (60, 1)), SCORES)).max() > 0


def test_a_converted_convolution_computes_the_same(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from evenhand.models.onnx_torch import torch_from_onnx

    rng = np.random.default_rng(1)
    constants = {
        "shape": np.array([-1, 1, 2, 2]),
        "k": rng.normal(size=(3, 1, 2, 2)).astype(np.float32) / 50,
        **{name: rng.random(3).astype(np.float32) + 0.5 for name in ("scale", "shift", "mean", "var")},
        "w": rng.normal(size=(27, 2)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["i"]),
        helper.make_node("Conv", ["i", "k"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["n"]),
        helper.make_node("Tanh", ["n"], ["t"]),
        helper.make_node("Flatten", ["t"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["z"]),
    ]
    path = save(tmp_path / "m.onnx", nodes, [value("x", FLOAT, [None, 4])], [value("z", FLOAT, [None, 2])], constants)
    model = torch_from_onnx(path, DOMAIN)
    assert np.allclose(wrap(path, DOMAIN).scores(CODES), model.scores(CODES), atol=1e-4)
    assert model.activations(CODES, [model.layers()[1]])[model.layers()[1]].shape == (60, 27)


def test_operations_without_counterpart_are_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from evenhand.models.onnx_torch import torch_from_onnx

    with pytest.raises(MissingAbility, match=r"uses LinearClassifier, .*DifferenceGradients"):
        torch_from_onnx(classifier(tmp_path / "m.onnx", ["low", "high"], False), DOMAIN)


def test_mistakes_are_named(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no graph")
    with pytest.raises(ModelFailed, match=r"text\.onnx is not an ONNX file"):
        wrap(tmp_path / "text.onnx", DOMAIN)
    with pytest.raises(InvalidArgument, match="takes 4 columns, the domain has 3"):
        wrap(network(tmp_path / "m.onnx"), replace(DOMAIN, columns=DOMAIN.columns[:3]))
    two = [value("age", FLOAT, [None, 1]), value("sex", FLOAT, [None, 1])]
    add = helper.make_node("Add", ["age", "sex"], ["z"])
    path = save(tmp_path / "two.onnx", [add], two, [value("z", FLOAT, [None, 1])], {})
    with pytest.raises(InvalidArgument, match="input 'sex' is no column"):
        wrap(path, replace(DOMAIN, columns=(DOMAIN.columns[0],), protected=()))
    with pytest.raises(InvalidArgument, match="is not there"):
        wrap(tmp_path / "absent.onnx", DOMAIN)


def test_three_outputs_for_three_classes(tmp_path: Path) -> None:
    domain = replace(DOMAIN, label=Label("grade", ("a", "b", "c"), ("a",)))
    assert wrap(network(tmp_path / "m.onnx", outputs=3, soft=False), domain).scores(CODES).shape == (60, 3)
