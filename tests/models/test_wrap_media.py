"""Every kind of model, wrapped for an album, for texts and for scenes, answers as the model itself does when it is asked directly."""

from __future__ import annotations

import base64
import io
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import evenhand as eh
from evenhand import checks
from evenhand.contract import Detecting, Model, PixelTransparent
from evenhand.datasets.album_data import from_album
from evenhand.datasets.text_data import Templates, from_templates
from evenhand.errors import InvalidArgument, ModelFailed, UntrustedModel
from evenhand.models.adapters import ADAPTERS
from evenhand.models.function import FunctionClassifier, FunctionRecogniser
from evenhand.models.http import HttpModel, HttpTemplate
from evenhand.models.model_wishes import ObjectSettings
from evenhand.models.preparation import Preparation
from evenhand.planted.letters import TEMPLATES, WORDS
from evenhand.planted.portraits import synthetic_faces

ALBUM = from_album(synthetic_faces(60, np.random.default_rng(0), 24), ["tone"])
CLASSES = tuple(ALBUM.domain.label.values)
ROWS = ALBUM.domain.sample(40, np.random.default_rng(1))
PICTURES = ALBUM.medium.show(ROWS)
TEXTS = from_templates(Templates(TEMPLATES), WORDS, ["gender"])
ANSWERS = ("declined", "invited")
SENTENCES = TEXTS.medium.show(TEXTS.rows)


def brightness(pictures):
    """Three scores from a picture's brightness."""
    bright = np.asarray(pictures, np.float64).reshape(len(pictures), -1).mean(axis=1) / 255
    scores = np.stack([np.exp(-((bright - middle) ** 2) / 0.02) for middle in (0.3, 0.5, 0.7)], axis=1)
    return scores / scores.sum(axis=1, keepdims=True)


def politeness(texts):
    """How likely a letter is to be invited."""
    return np.array([0.2 if "rude" in text else 0.9 if "kind" in text else 0.6 for text in texts])


def invited(texts):
    return np.stack([1 - politeness(texts), politeness(texts)], axis=1)


def cars(picture):
    """As many cars as the picture is bright."""
    return ["automobile"] * int(picture.mean() // 30)


@pytest.fixture(scope="module")
def service():
    """An endpoint that decodes what it is sent and answers as the functions do."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["instances"]
            answers = (politeness(asked) if "text" in self.path else brightness([decoded(one) for one in asked])).tolist()
            content = json.dumps({"predictions": answers}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def decoded(text):
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(io.BytesIO(base64.b64decode(text))))


def module():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 5, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(196, 3))


def by_hand(net, scale=1 / 255):
    torch = pytest.importorskip("torch")
    with torch.no_grad():
        return torch.softmax(net.eval()(torch.from_numpy(PICTURES * np.float32(scale)).permute(0, 3, 1, 2)), dim=1).numpy()


def assert_alike(model, expected, rows=ROWS):
    assert isinstance(model, Model)
    assert np.allclose(model.scores(rows), expected, atol=1e-5)
    for check in checks.for_model():
        check(model, rows[:6])


# -- an album ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [ALBUM, ALBUM.medium], ids=["data", "medium"])
def test_functions_and_readers_of_pictures(data):
    assert_alike(eh.wrap(brightness, data), brightness(PICTURES))
    assert_alike(eh.wrap(FunctionClassifier(brightness, CLASSES), data), brightness(PICTURES))
    turned = eh.wrap(lambda pictures: brightness(pictures)[:, ::-1], data, classes=CLASSES[::-1])
    assert_alike(turned, brightness(PICTURES))


def test_a_function_gets_prepared_pictures():
    def half(values):
        assert values.shape[1:] == (3, 12, 12)
        assert values.max() <= 1.0
        return brightness(values * 255)

    assert_alike(eh.wrap(half, ALBUM, prepare=Preparation(12)), brightness(PICTURES))


@pytest.mark.slow
def test_estimators_of_pictures_in_memory_and_in_files(tmp_path):
    import skops.io
    from sklearn.naive_bayes import GaussianNB

    flat = PICTURES.reshape(len(PICTURES), -1)
    labels = np.array(CLASSES, dtype=object)[brightness(PICTURES).argmax(axis=1)]
    labels[:3] = CLASSES
    fitted = GaussianNB(var_smoothing=1.0).fit(flat, labels.astype(str))
    order = [list(fitted.classes_).index(name) for name in CLASSES]
    assert_alike(eh.wrap(fitted, ALBUM), fitted.predict_proba(flat)[:, order])
    skops.io.dump(fitted, tmp_path / "model.skops")
    assert_alike(eh.wrap(str(tmp_path / "model.skops"), ALBUM), fitted.predict_proba(flat)[:, order])


def test_torch_modules_of_pictures_with_layers_and_gradients(tmp_path):
    torch = pytest.importorskip("torch")
    net = module()
    model = eh.wrap(net, ALBUM)
    assert_alike(model, by_hand(net))
    assert isinstance(model, PixelTransparent)
    assert model.layers() == ("1",)
    assert model.pixel_gradient(ROWS, np.ones((40, 3))).shape == PICTURES.shape
    assert_alike(eh.wrap(net, ALBUM, prepare=Preparation(scale=1.0)), by_hand(net, 1.0))
    torch.save(net, tmp_path / "model.pt")
    with pytest.raises(UntrustedModel):
        eh.wrap(tmp_path / "model.pt", ALBUM)
    assert_alike(eh.wrap(tmp_path / "model.pt", ALBUM, trusted=True), by_hand(net))
    small = eh.wrap(torch.nn.Sequential(net, torch.nn.Softmax(dim=1)), ALBUM)
    assert_alike(small, by_hand(net))


def test_onnx_files_of_pictures(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper = onnx.helper
    weight = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)
    ends = [helper.make_tensor_value_info("x", 1, ("n", 3, 24, 24)), helper.make_tensor_value_info("y", 1, ("n", 3))]
    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [onnx.numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(tmp_path / "net.onnx"))
    logits = PICTURES.mean(axis=(1, 2)) / 255 @ weight
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert_alike(eh.wrap(tmp_path / "net.onnx", ALBUM), expected)
    with pytest.raises(InvalidArgument, match="cannot be asked about texts"):
        eh.wrap(tmp_path / "net.onnx", TEXTS, classes=ANSWERS)


def test_endpoints_of_pictures(service):
    pytest.importorskip("httpx")
    assert_alike(eh.wrap(service + "/pictures", ALBUM), brightness(PICTURES))
    assert_alike(eh.wrap(HttpModel(service + "/pictures", batch_rows=7), ALBUM), brightness(PICTURES))


def test_a_name_in_a_python_module(tmp_path, monkeypatch):
    lines = (
        "class Home:",
        "    @staticmethod",
        "    def read(pictures):",
        "        return (pictures.mean(axis=(1, 2, 3)) > 128).astype(int)",
    )
    (tmp_path / "own_models.py").write_text("\n".join(lines))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    model = eh.wrap("own_models:Home.read", ALBUM)
    assert np.array_equal(model.scores(ROWS).argmax(axis=1), PICTURES.reshape(40, -1).mean(axis=1) > 128)
    for wrong in ("own_models:absent", "no_such_module_here:thing"):
        with pytest.raises(InvalidArgument, match="cannot be imported"):
            eh.wrap(wrong, ALBUM)
    (tmp_path / "broken_models.py").write_text("1 / 0")
    with pytest.raises(ModelFailed, match="ZeroDivisionError"):
        eh.wrap("broken_models:thing", ALBUM)


# -- texts -------------------------------------------------------------------------------------------------------------------


def test_models_of_texts(service):
    pytest.importorskip("httpx")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    expected = invited(SENTENCES)
    assert_alike(eh.wrap(politeness, TEXTS, classes=ANSWERS), expected, TEXTS.rows)
    assert_alike(eh.wrap(FunctionClassifier(invited, ANSWERS), TEXTS), expected, TEXTS.rows)
    assert_alike(eh.wrap(service + "/text", TEXTS, classes=ANSWERS), expected, TEXTS.rows)
    labels = np.where(politeness(SENTENCES) > 0.5, "invited", "declined")
    fitted = make_pipeline(CountVectorizer(), LogisticRegression()).fit(SENTENCES, labels)
    assert_alike(eh.wrap(fitted, TEXTS), fitted.predict_proba(SENTENCES), TEXTS.rows)
    with pytest.raises(InvalidArgument, match="classes are unknown"):
        eh.wrap(politeness, TEXTS)
    with pytest.raises(InvalidArgument, match="tokenises"):
        eh.wrap(module(), TEXTS, classes=ANSWERS)


# -- scenes ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scenes():
    pytest.importorskip("cv2")
    from evenhand.media.scenes import ChangePlan, Scenes
    from evenhand.media.streets.render import StreetMaker

    return Scenes(
        list(StreetMaker(casts=3).scenes(3, np.random.default_rng(3))),
        ChangePlan(insert=("person",), change=("car",), operators=("paper",)),
    )


def assert_counts(model, scenes, label, expected):
    assert isinstance(model, Detecting)
    rows = scenes.rows()
    place = model.classes.index(label)
    assert np.array_equal(model.scores(rows)[:, place], [expected(picture) for picture in scenes.show(rows)])
    assert [len(answer) for answer in model.detections(rows[:2])] == [expected(picture) for picture in scenes.show(rows[:2])]
    for check in checks.for_model():
        check(model, rows[:3])


def bright_cars(picture):
    return int(picture.mean() // 30)


def test_functions_recognisers_and_services_of_scenes(scenes, tmp_path):
    pytest.importorskip("httpx")
    from evenhand.models.recognisers.stand_in import StandIn

    for given in (cars, FunctionRecogniser(cars)):
        assert_counts(eh.wrap(given, scenes), scenes, "car", bright_cars)
    with StandIn(FunctionRecogniser(lambda picture: ["car"] * 2)) as server:
        (tmp_path / "service.yaml").write_text(f"url: {server.endpoint}/any\n")
        for given in (server.endpoint + "/any", HttpTemplate(server.endpoint + "/any"), tmp_path / "service.yaml"):
            assert_counts(eh.wrap(given, scenes), scenes, "car", lambda picture: 2)
        billed = server.billed
        for _ in range(2):
            told = ObjectSettings(cache=tmp_path / "answers")
            eh.wrap(HttpTemplate(server.endpoint + "/any"), scenes, objects=told).scores(scenes.rows())
        assert server.billed == billed + len({picture.tobytes() for picture in scenes.show(scenes.rows())})


def test_named_recognisers_and_detecting_modules(scenes):
    torch = pytest.importorskip("torch")
    from evenhand.models.recognisers.street import StreetRecogniser

    for name, weights in (("street", "plain"), ("street-planted", "planted"), ("street_planted", "planted")):
        model = eh.wrap(name, scenes)
        assert model.detections(scenes.rows()[:2]) == StreetRecogniser(weights).recognise(scenes.show(scenes.rows()[:2]))

    class Two(torch.nn.Module):
        def forward(self, batch):
            boxes = torch.tensor([[1.0, 1.0, 9.0, 9.0], [20.0, 20.0, 30.0, 30.0]])
            return [{"boxes": boxes, "scores": torch.tensor([0.9, 0.8]), "labels": torch.tensor([2, 2])} for _ in batch]

    model = eh.wrap(Two(), scenes, objects=ObjectSettings(names=("bus", "car"), first_label=1))
    assert_counts(model, scenes, "car", lambda picture: 2)


@pytest.mark.parametrize("name", ["rekognition", "google", "azure"])
def test_a_paid_service_can_be_tried_without_a_bill(scenes, name):
    pytest.importorskip({"rekognition": "boto3", "google": "google.cloud.vision", "azure": "azure.ai.vision.imageanalysis"}[name])
    model = eh.wrap(name, scenes, objects=ObjectSettings(endpoint="stand-in"))
    rows = scenes.rows()[:2]
    truth = eh.wrap("street", scenes).scores(rows)
    assert isinstance(model, Detecting)
    assert truth.sum() > 0
    assert abs(model.scores(rows).sum() - truth.sum()) <= 0.3 * truth.sum()  # JPEG and the service's own threshold lose little


def test_what_cannot_be_asked_about_scenes_or_rows_says_so(scenes):
    from sklearn.dummy import DummyClassifier

    with pytest.raises(InvalidArgument, match="cannot be asked about scenes; give a recogniser"):
        eh.wrap(DummyClassifier().fit([[0], [1]], [0, 1]), scenes)
    with pytest.raises(InvalidArgument, match="HttpTemplate"):
        eh.wrap(HttpModel("http://127.0.0.1:9"), scenes)
    with pytest.raises(InvalidArgument, match="cannot be asked about rows"):
        eh.wrap(FunctionClassifier(brightness, CLASSES), ALBUM.domain)
    with pytest.raises(InvalidArgument, match=r"is not there.*street"):
        eh.wrap("strete", scenes)


def test_every_adapter_says_what_it_takes():
    assert {"estimators", "functions", "onnx_files", "torch_modules", "endpoints"} <= set(ADAPTERS.entries())
    for entry in ADAPTERS.entries().values():
        assert entry.summary
        assert not entry.make().accepts(object())
