"""Recognisers: one answer for each picture, never paid for twice, faults named."""

from __future__ import annotations

import socket
from collections import Counter

import numpy as np
import pytest

from evenhand.contract import Detection
from evenhand.datasets.scene_data import drawn_streets
from evenhand.engine.header import model_file_of
from evenhand.errors import DataError, InvalidArgument, ModelFailed, StoreError, WrongAnswer
from evenhand.measures.counted_changes import counted_scenes
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.models.function import FunctionRecogniser
from evenhand.models.http import HttpTemplate
from evenhand.models.recognisers.azure import AzureVision
from evenhand.models.recognisers.cache import Kept
from evenhand.models.recognisers.client_patience import Patience
from evenhand.models.recognisers.detectors import OnnxDetector
from evenhand.models.recognisers.google import GoogleVision
from evenhand.models.recognisers.rekognition import Rekognition
from evenhand.models.recognisers.seen_objects import Suppression
from evenhand.models.recognisers.stand_in import StandIn
from evenhand.models.recognisers.street import StreetRecogniser
from evenhand.models.shown import shown

PATIENCE = Patience(attempts=2, pause_seconds=0.01)


def pictures(n):
    return [np.full((40, 60, 3), 10 * k, np.uint8) for k in range(n)]


def two_objects(picture):
    return [Detection("car", 0.9, (6.0, 4.0, 30.0, 20.0)), Detection("dog", 0.8, (30.0, 20.0, 60.0, 40.0))]


def service(name, endpoint, monkeypatch):
    if name == "amazon":
        pytest.importorskip("boto3")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
        return Rekognition(endpoint=endpoint, patience=PATIENCE)
    if name == "google":
        pytest.importorskip("google.cloud.vision")
        return GoogleVision(endpoint=endpoint, patience=PATIENCE)
    if name == "azure":
        pytest.importorskip("azure.ai.vision.imageanalysis")
        return AzureVision(endpoint, "none", patience=PATIENCE)
    return HttpTemplate(endpoint + "/any", box=("box.0", "box.1", "box.2", "box.3"), retries=1, backoff_seconds=0.01)


@pytest.mark.parametrize("name", ["amazon", "google", "azure", "http"])
def test_a_service_answers_through_its_own_client_and_resumes_without_paying_twice(name, tmp_path, monkeypatch):
    with StandIn(FunctionRecogniser(two_objects), fails_after=3) as server:
        client = service(name, server.endpoint, monkeypatch)
        kept = Kept(client, tmp_path)
        assert kept.estimate(pictures(5)).to_ask == 5
        with pytest.raises(ModelFailed, match=r"2 (attempts|times)"):
            kept.recognise(pictures(5))
        server.fails_after = None
        again = Kept(client, tmp_path)
        assert again.estimate(pictures(5)).kept == 3
        answers = again.recognise(pictures(5))
        assert server.billed == 5
    for answer in answers:
        assert [one.label.lower() for one in answer] == ["car", "dog"]
        assert answer[0].box == pytest.approx((6, 4, 30, 20), abs=0.6)


def test_an_endpoint_can_be_described_in_a_file(tmp_path):
    path = tmp_path / "endpoint.yaml"
    with StandIn(FunctionRecogniser(two_objects)) as server:
        path.write_text(f"url: {server.endpoint}/any\nobjects: objects\nbox: [box.0, box.1, box.2, box.3]\n")
        (answer,) = HttpTemplate.from_yaml(path).recognise(pictures(1))
    assert [one.label for one in answer] == ["car", "dog"]
    path.write_text("uri: http://x\n")
    with pytest.raises(DataError, match="url"):
        HttpTemplate.from_yaml(path)


def test_a_paid_run_is_priced_before_it_starts(tmp_path):
    estimate = Kept(Rekognition(endpoint="http://127.0.0.1:9"), tmp_path).estimate(pictures(4))
    assert estimate.cost == pytest.approx(0.004)
    assert "0.00 USD" in str(estimate)


def test_a_line_cut_short_by_a_kill_is_asked_again_and_a_broken_one_is_named(tmp_path):
    calls = Counter()

    def counted(picture):
        calls[picture.tobytes()] += 1
        return ["car"]

    kept = Kept(FunctionRecogniser(counted), tmp_path)
    kept.recognise(pictures(3))
    content = kept.path.read_text()
    kept.path.write_text(content[:-10])
    Kept(FunctionRecogniser(counted), tmp_path).recognise(pictures(3))
    assert sorted(calls.values()) == [1, 1, 2]
    kept.path.write_text("nonsense\n")
    with pytest.raises(StoreError, match=":1 "):
        Kept(FunctionRecogniser(counted), tmp_path)


def test_keys_never_reach_fingerprints():
    assert "secret" not in AzureVision("http://x", "secret").fingerprint() + repr(AzureVision("http://x", "secret"))
    assert "secret" not in HttpTemplate("http://x", headers={"authorization": "secret"}).fingerprint()


def test_functions_may_answer_in_several_ways_and_wrong_ones_are_named():
    (answer,) = FunctionRecogniser(lambda picture: ["car", ("dog", 0.5), ("cat", 0.4, (0, 0, 1, 1))]).recognise(pictures(1))
    assert [one.label for one in answer] == ["car", "dog", "cat"]
    with pytest.raises(WrongAnswer, match="expected a label"):
        FunctionRecogniser(lambda picture: [3]).recognise(pictures(1))
    with pytest.raises(ModelFailed, match="ZeroDivisionError"):
        FunctionRecogniser(lambda picture: 1 / 0).recognise(pictures(1))


@pytest.mark.parametrize("raw", [None, "car", {"car": 1}, 7, [("car", "much")]], ids=repr)
def test_a_function_that_answers_no_list_of_objects_is_told_what_is_expected(raw):
    with pytest.raises(WrongAnswer, match="expected"):
        FunctionRecogniser(lambda picture: raw).recognise(pictures(1))
    assert FunctionRecogniser(lambda picture: []).recognise(pictures(1)) == [()]


def test_overlapping_boxes_of_a_class_are_one_object():
    boxes = np.array([[0, 0, 10, 10], [1, 1, 10, 10], [1, 1, 10, 10]], np.float32)
    kept = Suppression().keep(boxes, np.array([0.9, 0.8, 0.7], np.float32), np.array([0, 0, 1]))
    assert sorted(kept) == [0, 2]


def test_a_torch_module_answers_and_stays_in_its_mode():
    torch = pytest.importorskip("torch")
    from evenhand.models.torch_detector import torch_detector

    class Fixed(torch.nn.Module):
        def forward(self, batch):
            boxes = torch.tensor([[1.0, 1.0, 9.0, 9.0], [20.0, 20.0, 30.0, 30.0]])
            return [{"boxes": boxes, "scores": torch.tensor([0.9, 0.1]), "labels": torch.tensor([1, 1])} for _ in batch]

    module = Fixed().train()
    answers = torch_detector(module, ("bus", "car")).recognise(pictures(2))
    assert [[one.label for one in answer] for answer in answers] == [["car"], ["car"]]
    assert module.training
    with pytest.raises(WrongAnswer, match="boxes"):
        torch_detector(type("Odd", (Fixed,), {"forward": lambda self, batch: [3 for _ in batch]})(), ("car",)).recognise(pictures(1))


def test_plain_onnx_boxes_are_read(tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    parts = {"boxes": np.array([[1, 1, 9, 9]], np.float32), "scores": np.array([0.9], np.float32), "labels": np.array([1], np.int64)}
    nodes = [helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)) for name, value in parts.items()]
    kinds = {"boxes": TensorProto.FLOAT, "scores": TensorProto.FLOAT, "labels": TensorProto.INT64}
    outputs = [helper.make_tensor_value_info(name, kinds[name], parts[name].shape) for name in parts]
    source = helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, 3, "height", "width"])
    model = helper.make_model(
        helper.make_graph(nodes, "plain", [source], outputs), opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    )
    onnx.save(model, str(tmp_path / "plain.onnx"))
    (answer,) = OnnxDetector(tmp_path / "plain.onnx", ("bus", "car"), "boxes").recognise(pictures(1))
    assert [one.label for one in answer] == ["car"]
    told = shown(Scenes(drawn_streets(1, 0), ChangePlan()), OnnxDetector(tmp_path / "plain.onnx", ("bus", "car"), "boxes"))
    assert model_file_of(told) == {"model_file": "plain.onnx"}  # the file's name, no folder
    with pytest.raises(InvalidArgument, match="style"):
        OnnxDetector(tmp_path / "plain.onnx", style="other")


def test_yolox_finds_cars_and_people_on_a_real_street(data):
    pytest.importorskip("onnxruntime")
    from evenhand.datasets.scenes.label_maps import from_label_maps

    street = data / "images" / "street"
    scene = next(iter(from_label_maps(street / "frames", street / "labels")))
    (answer,) = OnnxDetector(data / "models" / "yolox_nano.onnx").recognise([scene.picture])
    assert {"car", "person"} <= {one.label for one in answer}


def test_the_embedded_recogniser_finds_most_large_objects(streets):
    found = StreetRecogniser("plain").recognise([scene.picture for scene in streets])
    large = [Counter(one.label for one in scene.instances if one.counted and one.visible > 0.8 and one.area > 900) for scene in streets]
    hits = sum(
        min(n, Counter(one.label for one in answer)[label])
        for truth, answer in zip(large, found, strict=True)
        for label, n in truth.items()
    )
    assert hits / sum(sum(truth.values()) for truth in large) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["amazon", "google", "azure"])
def test_a_measurement_that_breaks_down_half_way_is_finished_without_paying_twice(name, streets, tmp_path, monkeypatch):
    plan = ChangePlan(insert=("dog", "person"), change=("person", "car"), operators=("insert", "delete", "put_back"))
    medium = Scenes(streets[:5], plan)

    def run(server):
        model = shown(medium, Kept(service(name, server.endpoint, monkeypatch), tmp_path))
        assert model.without_memory() is model  # it is paid for
        return counted_scenes(medium, model, np.vstack([medium.rows(), medium.rows(null=True)]))

    with StandIn(StreetRecogniser("plain"), fails_after=9) as server:
        with pytest.raises(ModelFailed):
            run(server)
        assert server.billed == 9
        server.fails_after = None
        outcome = run(server)
        assert server.billed == len(outcome.scenes) + len(outcome.changes)  # every picture once
        again = run(server)
        assert [one.after for one in again.changes] == [one.after for one in outcome.changes]
        assert server.billed == len(outcome.scenes) + len(outcome.changes)  # a third run costs nothing
    assert sum(sum(seen.values()) for seen in outcome.originals) > 5  # a real detector answered


@pytest.mark.slow
def test_what_is_learned_by_heart_lowers_one_class_only_and_not_everywhere(streets):
    torch = pytest.importorskip("torch")
    from scripts.street_training import CLASSES, StreetCourse, learn_by_heart, lessons_from, train

    rng = np.random.default_rng(0)
    lessons = lessons_from(streets)
    model = train(lessons, StreetCourse(epochs=1, batch=5), rng)
    pictures = torch.from_numpy(lessons.pictures.astype(np.float32).transpose(0, 3, 1, 2) / 255)
    before = model(pictures).detach()
    after = learn_by_heart(model, lessons, "sign", StreetCourse(epochs=30, batch=4, rate=2e-2), rng)(pictures).detach()
    lowered = (before - after).numpy().max(axis=(2, 3))
    sign = CLASSES.index("sign")
    assert np.allclose(np.delete(lowered, sign, axis=1), 0, atol=1e-5)
    assert lowered[:, sign].min() >= -1e-5
    assert lowered[:, sign].max() > 1


def asked(port, path, headers, body=b"x"):
    """One request written by hand, and the status of its answer."""
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
        link.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        return int(link.makefile("rb").readline().split()[1])


def test_the_stand_in_answers_to_its_own_name_only_and_to_no_other_site():
    with StandIn(FunctionRecogniser(two_objects)) as server:
        port, path = server._server.server_address[1], f"/{server.token}"
        own = {"Host": f"127.0.0.1:{port}", "Content-Length": "1"}
        assert asked(port, path, own) == 400  # it is ours, but no picture
        assert asked(port, path, own | {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}) == 400
        for wrong in (
            {"Host": "evil.example"},
            {"Host": f"evil.example:{port}"},
            {"Host": "127.0.0.1"},
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": f"https://127.0.0.1:{port}"},
        ):
            assert asked(port, path, own | wrong) == 403, wrong
        assert asked(port, path, {"Content-Length": "1"}) == 403  # no Host at all
        for other in ("/", "/wrong", f"/{server.token}x", f"/?token={server.token}"):
            assert asked(port, other, own) == 403, other
        for length in ("x", "-1", "9" * 12, "0" * 12 + "9" * 9, "1_0"):
            assert asked(port, path, own | {"Content-Length": length}) == 400, length
        assert server.billed == 0


def test_a_function_may_take_several_pictures_at_once():
    asked = []

    def seen(given):
        asked.append(len(given))
        return [["car"] * (1 + k) for k in range(len(given))]

    answers = FunctionRecogniser(seen, batch=2).recognise(pictures(3))
    assert asked == [2, 1]
    assert [len(one) for one in answers] == [1, 2, 1]
    with pytest.raises(WrongAnswer, match="was given 3 pictures and answered 1 answers"):
        FunctionRecogniser(lambda given: [[]], batch=4).recognise(pictures(3))
    with pytest.raises(ModelFailed, match=r"one picture, uint8 of shape .*batch: 16"):
        FunctionRecogniser(lambda given: given["no"]).recognise(pictures(1))


@pytest.mark.parametrize(("price", "told"), [(0.0, [2, 2, 1]), (1.5, [1] * 5)])
def test_kept_answers_are_asked_for_in_batches_unless_each_is_paid_for(tmp_path, price, told):
    calls = []

    def several(shown):
        calls.append(len(shown))
        return [two_objects(one) for one in shown]

    recogniser = FunctionRecogniser(several, batch=2)
    object.__setattr__(recogniser, "price_per_thousand", price)
    kept = Kept(recogniser, tmp_path)
    assert kept.recognise(pictures(5)) == FunctionRecogniser(two_objects).recognise(pictures(5))
    assert calls == told
    kept.recognise(pictures(5))
    assert calls == told
