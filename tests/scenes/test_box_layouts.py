"""Detectors as people export them: each layout is recognised by its outputs, and its boxes land where they belong."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import InvalidArgument, WrongAnswer
from evenhand.models.recognisers.box_layouts import LAYOUTS, grid_of
from evenhand.models.recognisers.detectors import COCO_80, COCO_91, OnnxDetector

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
SIDE = 320
PICTURE = np.full((240, 320, 3), 90, np.uint8)
BOX = (60.0, 40.0, 180.0, 200.0)  # of a car, in a picture of 320 x 240
STRETCHED = (60.0, 40.0 * 320 / 240, 180.0, 200.0 * 320 / 240)
PADDED = (60.0, 80.0, 180.0, 240.0)  # in the middle of 320 x 320
CAR_80, CAR_91 = COCO_80.index("car"), COCO_91.index("car")


def saved(folder, outputs, source=("FLOAT", [1, 3, SIDE, SIDE]), more=(), sides=(1, 2), notes=""):
    """A net that answers with these arrays whatever it is shown; `more` names further inputs, `notes` its classes."""
    from onnx import TensorProto, helper, numpy_helper

    nodes = [helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)) for name, value in outputs.items()]
    told = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in outputs.items()
    ]
    inputs = [helper.make_tensor_value_info("images", getattr(TensorProto, source[0]), source[1])]
    inputs += [helper.make_tensor_value_info(name, TensorProto.INT64, list(sides)) for name in more]
    graph = helper.make_graph(nodes, "detector", inputs, told)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    if notes:
        helper.set_model_props(model, {"names": notes})
    onnx.save(model, str(folder / "net.onnx"))
    return folder / "net.onnx"


def middle(box):
    left, top, right, bottom = box
    return np.array([(left + right) / 2, (top + bottom) / 2, right - left, bottom - top], np.float32)


def yolov5():
    raw = np.zeros((1, 3 * len(grid_of(SIDE, SIDE)[0]), 85), np.float32)
    raw[0, 700, :4], raw[0, 700, 4], raw[0, 700, 5 + CAR_80] = middle(PADDED), 0.9, 0.95
    return {"output0": raw}


def yolov8():
    raw = np.zeros((1, 84, len(grid_of(SIDE, SIDE)[0])), np.float32)
    raw[0, :4, 300], raw[0, 4 + CAR_80, 300] = middle(PADDED), 0.85
    return {"output0": raw}


def yolov10():
    raw = np.zeros((1, 300, 6), np.float32)
    raw[0, 0] = (*PADDED, 0.9, CAR_80)
    return {"output0": raw}


def yolox():
    grid, stride = grid_of(SIDE, SIDE)
    raw = np.zeros((1, len(grid), 85), np.float32)
    corner = middle(BOX)  # the picture lies in the upper left corner
    raw[0, 900, :2], raw[0, 900, 2:4] = corner[:2] / stride[900] - grid[900], np.log(corner[2:] / stride[900])
    raw[0, 900, 4], raw[0, 900, 5 + CAR_80] = 0.9, 0.95
    return {"output": raw}


def detr(classes=92):
    logits, boxes = np.full((1, 100, classes), -4.0, np.float32), np.full((1, 100, 4), 0.1, np.float32)
    logits[0, :, -1] = 6.0 if classes == 92 else -4.0
    logits[0, 3, -1], logits[0, 3, CAR_91 if classes == 92 else CAR_80], boxes[0, 3] = -4.0, 6.0, middle(STRETCHED) / SIDE
    return {"logits": logits, "pred_boxes": boxes}


def torchvision():
    return {"boxes": np.array([STRETCHED], np.float32), "labels": np.array([CAR_91]), "scores": np.array([0.9], np.float32)}


def ssd():
    boxes, labels, scores = np.zeros((1, 50, 4), np.float32), np.ones((1, 50), np.int64), np.zeros((1, 50), np.float32)
    boxes[0, 2], labels[0, 2], scores[0, 2] = np.array(STRETCHED) / SIDE, CAR_80 + 1, 0.8
    return {"bboxes": boxes, "labels": labels, "scores": scores}


def ssd_scores():
    boxes, scores = np.zeros((1, 50, 4), np.float32), np.zeros((1, 50, 81), np.float32)
    scores[0, :, 0] = 0.95  # the background, which is no class
    boxes[0, 2], scores[0, 2, 0], scores[0, 2, CAR_80 + 1] = np.array(STRETCHED) / SIDE, 0.1, 0.8
    return {"boxes": boxes, "scores": scores}


def tensorflow():
    boxes, classes, scores = np.zeros((1, 20, 4), np.float32), np.ones((1, 20), np.float32), np.zeros((1, 20), np.float32)
    left, top, right, bottom = np.array(STRETCHED) / SIDE
    boxes[0, 0], classes[0, 0], scores[0, 0] = (top, left, bottom, right), CAR_91, 0.8
    return {
        "detection_boxes": boxes,
        "detection_classes": classes,
        "detection_scores": scores,
        "num_detections": np.array([1.0], np.float32),
    }


def efficientdet():
    raw = np.zeros((1, 100, 7), np.float32)
    left, top, right, bottom = STRETCHED
    raw[0, 0] = (0, top, left, bottom, right, 0.9, CAR_91)
    return {"detections": raw}


def yolov8_of(kinds, car):
    raw = np.zeros((1, 4 + kinds, len(grid_of(SIDE, SIDE)[0])), np.float32)
    raw[0, :4, 300], raw[0, 4 + car, 300] = middle(PADDED), 0.85
    return {"output0": raw}


def yolov8_instances():
    boxes = yolov8()["output0"]
    return {"output0": np.concatenate([boxes, boxes[:, :32]], axis=1), "output1": np.zeros((1, 32, 80, 80), np.float32)}


def rtdetr():
    raw = np.zeros((1, 300, 84), np.float32)
    raw[0, 5, :4], raw[0, 5, 4 + CAR_80] = middle(STRETCHED) / SIDE, 0.9
    return {"output0": raw}


BYTES = ("UINT8", [1, SIDE, SIDE, 3])
NETS = {
    "yolov5": (yolov5, {}),
    "yolov8 to v11": (yolov8, {}),
    "yolov10": (yolov10, {}),
    "yolox": (yolox, {}),
    "detr": (detr, {}),
    "torchvision": (torchvision, {"source": ("FLOAT", [3, SIDE, SIDE])}),
    "ssd": (ssd, {}),
    "ssd with another input": (ssd, {"more": ("orig_target_sizes",)}),
    "ssd, scores of all classes and the background": (ssd_scores, {}),
    "tensorflow": (tensorflow, {"source": BYTES}),
    "efficientdet": (efficientdet, {"source": BYTES}),
    "yolov8, instances": (yolov8_instances, {}),
    "yolov8, half": (lambda: {"output0": yolov8()["output0"].astype(np.float16)}, {"source": ("FLOAT16", [1, 3, SIDE, SIDE])}),
    "rtdetr": (rtdetr, {}),
    "detr with a mask of pixels": (detr, {"more": ("pixel_mask",), "sides": ("n", "rows", "columns")}),
    "torchvision, numbered": (lambda: dict(zip("123", torchvision().values(), strict=True)), {"source": ("FLOAT", [3, SIDE, SIDE])}),
    "queries without nothing": (lambda: detr(80), {}),
    "own classes": (lambda: yolov8_of(3, 1), {"notes": "{0: 'person', 1: 'car', 2: 'dog'}"}),
}


def test_classes_that_are_not_cocos_must_be_named(tmp_path):
    with pytest.raises(InvalidArgument, match="3 classes and does not name them"):
        OnnxDetector(saved(tmp_path, yolov8_of(3, 1)))
    (answer,) = OnnxDetector(tmp_path / "net.onnx", ("person", "car", "dog")).recognise([PICTURE])
    assert [one.label for one in answer] == ["car"]


@pytest.mark.parametrize("name", NETS)
def test_an_export_is_known_by_its_outputs_and_its_car_is_found_in_its_place(tmp_path, name):
    make, given = NETS[name]
    (answer,) = OnnxDetector(saved(tmp_path, make(), **given)).recognise([PICTURE])
    assert [one.label for one in answer] == ["car"]
    assert answer[0].box == pytest.approx(BOX, abs=1.0)
    assert answer[0].score > 0.7


def test_queries_without_a_class_for_nothing_are_read_by_their_sureness(tmp_path):
    (answer,) = OnnxDetector(saved(tmp_path, detr(80)), COCO_80, "detr").recognise([PICTURE])
    assert [one.label for one in answer] == ["car"]


def test_a_file_that_takes_two_pictures_at_once_is_asked_about_three(tmp_path):
    raw = np.concatenate([yolov8()["output0"], np.zeros_like(yolov8()["output0"])])
    answers = OnnxDetector(saved(tmp_path, {"output0": raw}, ("FLOAT", [2, 3, SIDE, SIDE]))).recognise([PICTURE] * 3)
    assert [len(answer) for answer in answers] == [1, 0, 1]


def test_a_layout_that_was_said_wrongly_is_told(tmp_path):
    with pytest.raises(WrongAnswer, match="yolox style expects"):
        OnnxDetector(saved(tmp_path, yolov5()), style="yolox").recognise([PICTURE])
    assert set(LAYOUTS) >= {"yolox", "yolo", "detr", "torchvision", "ssd", "tensorflow", "efficientdet"}
