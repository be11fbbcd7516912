"""Promises about a user's own classifier and pictures: ONNX files, juries, outcomes, the command."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import InvalidArgument
from evenhand.models.onnx import onnx_classifier
from evenhand.models.preparation import Preparation
from evenhand.planted.portraits import synthetic_faces

onnx = pytest.importorskip("onnx", reason="the ONNX adapter needs onnx")
pytest.importorskip("onnxruntime", reason="the ONNX adapter needs onnxruntime")


def brightness_net(file):
    """An ONNX classifier of two logits: bright pictures against dark ones."""
    from onnx import TensorProto, helper

    weights = helper.make_tensor("weights", TensorProto.FLOAT, [3, 2], np.array([[40.0, -40.0]] * 3, np.float32).ravel())
    bias = helper.make_tensor("bias", TensorProto.FLOAT, [2], np.array([-54.0, 54.0], np.float32))
    nodes = [
        helper.make_node("GlobalAveragePool", ["pictures"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("Gemm", ["flat", "weights", "bias"], ["logits"]),
    ]
    entry = helper.make_tensor_value_info("pictures", TensorProto.FLOAT, ["n", 3, "h", "w"])
    leave = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 2])
    graph = helper.make_graph(nodes, "brightness", [entry], [leave], [weights, bias])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), file)
    return file


class Cropped(Preparation):
    """Looks at the face only, so that the net reads skin."""

    def __call__(self, pictures):
        return super().__call__(pictures[:, 12:20, 12:20])


@pytest.fixture
def net(tmp_path):
    return onnx_classifier(brightness_net(tmp_path / "net.onnx"), ("bright", "dark"), Cropped(8)).read_as("logit")


def test_an_onnx_classifier_answers_shares(net):
    scores = net.scores(synthetic_faces(20, np.random.default_rng(0), 32).pictures)
    assert np.allclose(scores.sum(axis=1), 1.0)
    with pytest.raises(InvalidArgument, match="cannot be read"):
        onnx_classifier("nowhere.onnx", ("a", "b"), Preparation(8))


@pytest.mark.slow
def test_a_shared_reader_leaves_the_trunk_as_it_was():
    torch = pytest.importorskip("torch")
    from evenhand.models.picture_networks import VggLike
    from evenhand.models.picture_training import Course
    from evenhand.models.shared_reader import shared_reader
    from evenhand.models.torch_pictures import torch_classifier

    torch.manual_seed(0)
    album = synthetic_faces(160, np.random.default_rng(4), 32)
    classifier = torch_classifier(VggLike(3, 32, width=8), ("a", "b", "c"), VggLike.readable)
    before = classifier.scores(album.pictures)
    reader = shared_reader(classifier, album, "tone", np.random.default_rng(0), Course(8, 32, 8e-3))
    assert np.array_equal(classifier.scores(album.pictures), before)
    assert np.mean(reader.scores(album.pictures).argmax(axis=1) == album.attribute("tone").codes) > 0.8
    assert reader.loss_gradient(album.pictures[:4], album.attribute("tone").codes[:4]).any()


def fixed_net(file, batch=4):
    """An ONNX file that takes four pictures of bytes at once, colours last."""
    from onnx import TensorProto, helper

    weights = helper.make_tensor("weights", TensorProto.FLOAT, [3, 3], np.eye(3, dtype=np.float32).ravel())
    nodes = [
        helper.make_node("Cast", ["pictures"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["numbers"], ["turned"], perm=[0, 3, 1, 2]),
        helper.make_node("GlobalAveragePool", ["turned"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["logits"]),
    ]
    entry = helper.make_tensor_value_info("pictures", TensorProto.UINT8, [batch, 16, 16, 3])
    leave = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, 3])
    graph = helper.make_graph(nodes, "colours", [entry], [leave], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), file)
    return file


def test_an_onnx_file_says_itself_what_it_takes(tmp_path):
    net = onnx_classifier(fixed_net(tmp_path / "net.onnx"), ("red", "green", "blue")).read_as("logit")
    pictures = synthetic_faces(7, np.random.default_rng(0), 32).pictures
    assert np.array_equal(net.scores(pictures).argmax(axis=1), pictures.mean(axis=(1, 2)).argmax(axis=1))


@pytest.mark.parametrize(
    ("answer", "second"),
    [
        (lambda p: ["no" if one.mean() < 0 else "yes" for one in p], 1.0),
        (lambda p: np.ones(len(p), int), 1.0),
        (lambda p: np.full(len(p), 0.25), 0.25),
        (lambda p: np.full((len(p), 1), 0.25), 0.25),
    ],
    ids=["names", "places", "probability", "column"],
)
def test_functions_may_answer_in_many_ways(answer, second):
    from evenhand.models.function import FunctionClassifier

    scores = FunctionClassifier(answer, ("no", "yes"), batch=3).scores(np.zeros((5, 8, 8, 3), np.uint8))
    assert np.allclose(scores, [1.0 - second, second])


def test_logits_are_never_guessed():
    from evenhand.errors import WrongAnswer
    from evenhand.models.function import FunctionClassifier

    pictures = np.zeros((5, 8, 8, 3), np.uint8)
    unsaid = FunctionClassifier(lambda p: np.tile([0.0, np.log(3.0)], (len(p), 1)), ("no", "yes"), batch=3)
    with pytest.raises(WrongAnswer, match=r"as logits they would mean \[0.25 0.75\], as scores"):
        unsaid.scores(pictures)
    assert np.allclose(unsaid.read_as("logit").scores(pictures), [0.25, 0.75])


def test_a_function_that_answers_nonsense_is_named():
    from evenhand.errors import WrongAnswer
    from evenhand.models.function import FunctionClassifier

    with pytest.raises(WrongAnswer, match="maybe"):
        FunctionClassifier(lambda p: ["maybe"] * len(p), ("no", "yes")).scores(np.zeros((2, 8, 8, 3), np.uint8))


def test_torch_modules_may_take_prepared_values_and_answer_one_logit():
    torch = pytest.importorskip("torch")
    from evenhand.errors import WrongAnswer
    from evenhand.models.torch_pictures import torch_classifier

    pictures = synthetic_faces(6, np.random.default_rng(0), 32).pictures
    prepare = Preparation(16, mean=(0.5, 0.4, 0.3), deviation=(0.2, 0.3, 0.4), blue_first=True)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16 * 16 * 3, 1))
    classifier = torch_classifier(module, ("no", "yes"), prepare=prepare)
    with torch.inference_mode():
        logits = module(torch.from_numpy(prepare(pictures)))[:, 0].numpy()
    assert np.allclose(classifier.scores(pictures)[:, 1], 1.0 / (1.0 + np.exp(-logits)), atol=1e-4)
    assert classifier.loss_gradient(pictures, np.zeros(6, int)).any()
    with pytest.raises(WrongAnswer, match="3 classes"):
        torch_classifier(module, ("a", "b", "c"), prepare=prepare).scores(pictures)
