"""How the detectors that people export to ONNX take pictures and tell boxes: YOLOX, YOLOv5 to v11, DETR, torchvision, SSD, EfficientDet.

Each layout is one entry of `LAYOUTS`; which one a file has is told by the names and shapes of its outputs, or said by the user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask
from evenhand.errors import WrongAnswer, require
from evenhand.media.scene import Picture

Floats = NDArray[np.float32]
IMAGENET_MEAN, IMAGENET_SPREAD = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
GREY = 114.0
DECODED = 20.0
"""Sizes of boxes above this are pixels; raw answers on a grid are logarithms, and far smaller."""
MOST_QUERIES = 1000
"""A net with so few places asks queries, and has no grid."""


@dataclass(frozen=True)
class PlacedPicture:
    """A picture as a net takes it, and where in it the picture lies."""

    tensor: NDArray[Any]  # without a batch side
    rows: int
    columns: int
    across: float  # input pixels for each pixel of the picture
    down: float
    left: float = 0.0
    top: float = 0.0

    def back(self, boxes: Floats) -> Floats:
        """Boxes in input pixels as boxes in the picture."""
        shift = np.array([self.left, self.top] * 2, np.float32)
        return np.asarray((boxes - shift) / np.array([self.across, self.down] * 2, np.float32), np.float32)


@dataclass(frozen=True)
class RawBoxes:
    """What a net said: boxes (n, 4) as left, top, right, bottom in input pixels, with their scores and class numbers.

    kinds: how many classes it has a score for; 0 where it only names the number of each box.
    """

    boxes: Floats
    scores: Floats
    classes: NDArray[np.intp]
    kinds: int = 0

    def where(self, chosen: Mask) -> RawBoxes:
        """The chosen ones."""
        return RawBoxes(self.boxes[chosen], self.scores[chosen], self.classes[chosen], self.kinds)


@dataclass(frozen=True)
class BoxLayout:
    """One way of taking pictures and telling boxes.

    fit: corner (shrunk, padded right and below), middle (padded on all sides), or stretch.  values: bytes (0 to 255), unit (0 to 1) or
    imagenet (normalised).  first_label: the number of the first class where the user names them.  is_91: COCO's own numbers, with gaps.
    """

    read: Callable[[Sequence[NDArray[Any]], PlacedPicture], RawBoxes]
    fit: str = "stretch"
    values: str = "unit"
    blue_first: bool = False
    first_label: int = 0
    is_91: bool = False


def placed(picture: Picture, shape: Sequence[Any], kind: str, layout: BoxLayout) -> PlacedPicture:
    """A picture as the net's input of this shape and type takes it; free sides are the picture's own, or 640 where it is padded."""
    cv2 = require("cv2", "image")
    last = len(shape) >= 3 and shape[-1] == 3 and shape[-3] != 3  # channels last
    sides = shape[-3:-1] if last else shape[-2:]
    usual = picture.shape[:2] if layout.fit == "stretch" else (640, 640)
    rows, columns = (side if isinstance(side, int) and side > 0 else free for side, free in zip(sides, usual, strict=True))
    ratio = min(rows / picture.shape[0], columns / picture.shape[1])
    down, across = (ratio, ratio) if layout.fit != "stretch" else (rows / picture.shape[0], columns / picture.shape[1])
    size = (columns, rows) if layout.fit == "stretch" else (int(picture.shape[1] * ratio), int(picture.shape[0] * ratio))
    shrunk = cv2.resize(picture, size, interpolation=cv2.INTER_LINEAR)
    left, top = ((columns - size[0]) // 2, (rows - size[1]) // 2) if layout.fit == "middle" else (0, 0)
    canvas = np.full((rows, columns, 3), GREY, np.float32)
    canvas[top : top + size[1], left : left + size[0]] = shrunk[..., ::-1] if layout.blue_first else shrunk
    tensor = canvas.astype(np.uint8) if "uint8" in kind else _valued(canvas, layout.values)
    return PlacedPicture(tensor if last else tensor.transpose(2, 0, 1), rows, columns, across, down, left, top)


def _valued(canvas: Floats, values: str) -> Floats:
    if values == "bytes":
        return canvas
    unit = canvas / 255
    return np.asarray((unit - IMAGENET_MEAN) / IMAGENET_SPREAD if values == "imagenet" else unit, np.float32)


def grid_of(rows: int, columns: int) -> tuple[Floats, Floats]:
    """Cell corners and strides of three levels (8, 16, 32), in the order of an answer on them."""
    cells, strides = [], []
    for stride in (8, 16, 32):
        y, x = np.mgrid[0 : rows // stride, 0 : columns // stride]
        cells.append(np.stack([x.ravel(), y.ravel()], axis=1))
        strides.append(np.full((x.size, 1), stride))
    return np.concatenate(cells).astype(np.float32), np.concatenate(strides).astype(np.float32)


def _corners(middles: NDArray[Any]) -> Floats:
    """Left, top, right, bottom from middle and size."""
    half = middles[:, 2:4] / 2
    return np.concatenate([middles[:, :2] - half, middles[:, :2] + half], axis=1).astype(np.float32)


def _best(boxes: Floats, chances: NDArray[Any]) -> RawBoxes:
    """Each box with its likeliest class."""
    classes = chances.argmax(axis=1)
    return RawBoxes(boxes, chances[np.arange(len(chances)), classes].astype(np.float32), classes.astype(np.intp), chances.shape[1])


def _single(found: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The one answer of a net as (places, values)."""
    raw = np.asarray(found[0])
    raw = raw[0] if raw.ndim == 3 else raw
    if raw.ndim != 2:
        raise WrongAnswer(f"the detector answered with shape {np.asarray(found[0]).shape}; (1, places, values) is expected")
    return raw.astype(np.float32)


def _yolox(found: Sequence[NDArray[Any]], at: PlacedPicture) -> RawBoxes:
    """(places, 5 + classes) on a grid: middle and log size, how sure it is of an object, how sure of each class."""
    raw = _single(found)
    grid, stride = grid_of(at.rows, at.columns)
    if len(raw) != len(grid):
        raise WrongAnswer(
            f"the detector answered {len(raw)} places; the yolox style expects {len(grid)} at {at.rows} x {at.columns} pixels"
        )
    if len(raw) and raw[:, 2:4].max() < DECODED:
        raw = np.concatenate([(raw[:, :2] + grid) * stride, np.exp(np.minimum(raw[:, 2:4], 12)) * stride, raw[:, 4:]], axis=1)
    return _best(_corners(raw), raw[:, 4:5] * raw[:, 5:])


def _yolo(found: Sequence[NDArray[Any]], at: PlacedPicture) -> RawBoxes:
    """YOLOv5 to v7 (places, 5 + classes), v8, v9 and v11 (4 + classes, places), v10 and others that choose themselves (n, 6 or 7).

    RT-DETR as Ultralytics exports it is (queries, 4 + classes).  Instance heads bring weights of masks behind the classes.
    """
    raw, places = _single(found), len(grid_of(at.rows, at.columns)[0])
    is_grid = len(raw) in (places, 3 * places)
    if raw.shape[1] in (6, 7) and not is_grid:
        return _chosen(raw)
    has_classes_first = raw.shape[0] < raw.shape[1]
    raw = raw.T if has_classes_first else raw
    raw = raw[:, : raw.shape[1] - _mask_values(found)]
    if has_classes_first or (len(raw) <= MOST_QUERIES and not is_grid):  # no separate sureness of an object
        boxes, chances = _corners(raw), raw[:, 4:]
    else:
        boxes, chances = _corners(raw), raw[:, 4:5] * raw[:, 5:]
    if len(boxes) and np.abs(boxes).max() <= 2.0:  # shares of the input
        boxes = boxes * np.array([at.columns, at.rows] * 2, np.float32)
    return _best(boxes, chances)


def _mask_values(found: Sequence[NDArray[Any]]) -> int:
    """How many values of each box are weights of a second output's masks, (1, values, rows, columns): those of instance heads."""
    masks = [np.asarray(part) for part in found[1:]]
    return int(masks[0].shape[1]) if len(masks) == 1 and masks[0].ndim == 4 else 0


def _chosen(raw: Floats) -> RawBoxes:
    """(n, 6): corners, score, class; (n, 7): number of the picture, corners, class, score."""
    if raw.shape[1] == 6:
        return RawBoxes(raw[:, :4], raw[:, 4], raw[:, 5].round().astype(np.intp))
    return RawBoxes(raw[:, 1:5], raw[:, 6], raw[:, 5].round().astype(np.intp))


def _detr(found: Sequence[NDArray[Any]], at: PlacedPicture) -> RawBoxes:
    """Logits (queries, classes and perhaps "nothing") and boxes (queries, 4) as shares: middle and size."""
    flat = [np.asarray(part)[0] if np.asarray(part).ndim == 3 else np.asarray(part) for part in found]
    boxes = next((part for part in flat if part.ndim == 2 and part.shape[1] == 4 and part.min() >= 0 and part.max() <= 1.5), None)
    logits = next((part for part in flat if part.ndim == 2 and part is not boxes and boxes is not None and len(part) == len(boxes)), None)
    if boxes is None or logits is None:
        raise WrongAnswer(f"the detector answered with shapes {[part.shape for part in flat]}; logits and boxes (queries, 4) are expected")
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    # DETR's last class is "nothing", in a softmax; its successors have a sureness for each class, and no such class.
    has_nothing = logits.shape[1] in (92, 81 + 1) or bool(np.median(logits.argmax(axis=1)) == logits.shape[1] - 1)
    chances = (shares / shares.sum(axis=1, keepdims=True))[:, :-1] if has_nothing else 1 / (1 + np.exp(-logits))
    return _best(_corners(boxes.astype(np.float32)) * np.array([at.columns, at.rows] * 2, np.float32), chances)


def _plain(found: Sequence[NDArray[Any]], at: PlacedPicture) -> RawBoxes:
    """Boxes (n, 4) by their corners, with scores (n,) and labels (n,), or scores (n, classes); shares or input pixels."""
    flat = [
        part[0] if part.ndim == 3 or (part.ndim == 2 and len(part) == 1 and part.shape[1] != 4) else part for part in map(np.asarray, found)
    ]
    boxes = next((part for part in flat if part.ndim == 2 and part.shape[1] == 4), None)
    rest = [part for part in flat if part is not boxes]
    if boxes is None:
        raise _odd(flat)
    corners = boxes.astype(np.float32)
    if len(corners) and np.abs(corners).max() <= 2.0:
        corners = corners * np.array([at.columns, at.rows] * 2, np.float32)
    wide = next((part for part in rest if part.ndim == 2 and len(part) == len(boxes)), None)
    if wide is not None:
        return _best(corners, wide)
    scores = next((part for part in rest if part.ndim == 1 and np.issubdtype(part.dtype, np.floating)), None)
    classes = next((part for part in rest if part.ndim == 1 and np.issubdtype(part.dtype, np.integer)), None)
    if scores is None or classes is None:
        raise _odd(flat)
    return RawBoxes(corners, scores.astype(np.float32), classes.astype(np.intp))


def _odd(found: Sequence[NDArray[Any]]) -> WrongAnswer:
    shapes = [part.shape for part in found]
    return WrongAnswer(
        f"the detector answered with shapes {shapes}; expected boxes (n, 4) with scores (n, classes), or scores (n,) and labels (n,)"
    )


def _tensorflow(found: Sequence[NDArray[Any]], at: PlacedPicture) -> RawBoxes:
    """The object detection zoo: boxes (n, 4) as shares, top first, classes and scores (n,), in any order, and how many count."""
    flat = [np.asarray(part)[0] if np.asarray(part).ndim in (2, 3) else np.asarray(part) for part in found]
    boxes = next((part for part in flat if part.ndim == 2 and part.shape[1] == 4), None)
    lines = [part for part in flat if part.ndim == 1 and boxes is not None and len(part) == len(boxes)]
    classes = next((part for part in lines if len(part) and (part == part.round()).all() and part.max() > 0), None)
    scores = next((part for part in lines if part is not classes and part.min() >= 0 and part.max() <= 1), None)
    if boxes is None or classes is None or scores is None:
        raise _odd(flat)
    sides = np.array([at.columns, at.rows] * 2, np.float32)
    return RawBoxes(boxes[:, [1, 0, 3, 2]].astype(np.float32) * sides, scores.astype(np.float32), classes.astype(np.intp))


def _efficientdet(found: Sequence[NDArray[Any]], at: PlacedPicture) -> RawBoxes:  # noqa: ARG001 - its boxes are input pixels
    """(n, 7): number of the picture, top, left, bottom, right in input pixels, score, class."""
    raw = _single(found)
    return RawBoxes(raw[:, [2, 1, 4, 3]], raw[:, 5], raw[:, 6].round().astype(np.intp))


LAYOUTS: dict[str, BoxLayout] = {
    "yolox": BoxLayout(_yolox, "corner", "bytes", blue_first=True),
    "yolo": BoxLayout(_yolo, "middle"),
    "rtdetr": BoxLayout(_yolo),
    "detr": BoxLayout(_detr, values="imagenet", is_91=True),
    "boxes": BoxLayout(_plain),
    "torchvision": BoxLayout(_plain, is_91=True),
    "ssd": BoxLayout(_plain, values="imagenet", first_label=1),
    "tensorflow": BoxLayout(_tensorflow, values="bytes", is_91=True),
    "efficientdet": BoxLayout(_efficientdet, values="bytes", is_91=True),
}
"""Every layout by its name."""


def layout_of(names: Sequence[str], answers: Sequence[NDArray[Any]], at: PlacedPicture) -> str:
    """Which layout a net has, by the names of its outputs and its answer to a grey picture of the input's size."""
    words = {name.lower().split(":")[0] for name in names}
    if words & {"detection_boxes", "num_detections"}:
        return "tensorflow"
    if words & {"pred_boxes", "pred_logits"}:
        return "detr"
    if "bboxes" in words:
        return "ssd"
    raw = np.asarray(answers[0])
    has_maps_only = all(np.asarray(part).ndim >= 4 for part in answers[1:])  # masks, or the same boxes before they are decoded
    if len(answers) > 1 and not (raw.ndim == 3 and has_maps_only):
        # torchvision's own exporter numbers its outputs: boxes, labels, scores, and what instance heads add
        is_torchvision = {"boxes", "labels", "scores"} <= words or (len(answers) > 2 and all(word.isdigit() for word in words))
        return "torchvision" if is_torchvision else "boxes"
    places = len(grid_of(at.rows, at.columns)[0])
    if raw.ndim == 3 and raw.shape[1] == places and raw[0, :, 2:4].max() < DECODED:
        return "yolox"
    if raw.ndim == 3 and 7 < raw.shape[2] < raw.shape[1] <= MOST_QUERIES < places:
        return "rtdetr"
    is_automl = raw.ndim == 3 and raw.shape[2] == 7 and raw.shape[1] != 3 * places
    return "efficientdet" if is_automl else "yolo"
